//! The one loader: a file or standard input, compressed or not, recognised by content.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::ops::Deref;
use std::path::{Path, PathBuf};

use bir_json::{Loaded, ReadOptions};
use memmap2::Mmap;

use crate::map::{map, release};
use crate::report::{Context, Fault, Result};

/// Most bytes of an input that are held in memory: of standard input, and of what a compressed file holds. A plain
/// file is mapped and has no limit.
pub(crate) const MAX_HELD: u64 = 4 << 30;

/// Files below this size are read rather than mapped.
const MIN_MAPPED: u64 = 1 << 20;

/// The option of commands with one input.
#[derive(clap::Args)]
pub(crate) struct InputOpt {
    /// Input file; none or `-` for standard input. May be compressed with gzip or zstd
    ///
    /// At most 4 GiB of standard input, or of what a compressed file holds, are read; plain files may be of any size.
    #[arg(value_name = "IN")]
    input: Option<PathBuf>,
}

impl InputOpt {
    /// The input of a path that a command found itself.
    pub(crate) fn of(path: PathBuf) -> InputOpt {
        InputOpt { input: Some(path) }
    }

    pub(crate) fn open(&self, context: &Context) -> Result<Input> {
        match self.input.as_deref() {
            Some(path) if path != Path::new("-") => Input::file(path, context),
            _ => Input::stdin(context),
        }
    }
}

/// An input, decompressed.
pub(crate) struct Input {
    /// What messages call it.
    pub(crate) name: String,
    bytes: Bytes,
}

enum Bytes {
    Held(Vec<u8>),
    Mapped(Mmap),
}

impl Deref for Bytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Held(bytes) => bytes,
            Bytes::Mapped(map) => map,
        }
    }
}

/// What a file is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// JSON text, or text that is nothing else: BIR-JSON, bare or wrapped.
    Json,
    /// A KLR file.
    Klr,
    /// A NEFF package.
    Neff,
    /// A tar archive, as the payload of a NEFF is.
    Tar,
    /// 64-byte instruction words.
    Words,
    /// Compressed data inside of compressed data.
    Compressed,
    /// UTF-16 text.
    Utf16,
    /// None of these.
    Binary,
}

impl Kind {
    /// Recognises decompressed content.
    pub(crate) fn of(bytes: &[u8]) -> Kind {
        let u64_at = |at: usize| {
            let bytes = bytes.get(at..at + 8)?;
            Some(u64::from_le_bytes(bytes.try_into().expect("eight bytes")))
        };
        // The tag of a KLRFile, which is the magic number of CBOR. spec: klr 4
        if bytes.starts_with(b"\xd9\xd9\xf7") {
            return Kind::Klr;
        }
        // pkg_version and header_size. spec: neff 2
        if matches!(u64_at(0), Some(1 | 2)) && matches!(u64_at(8), Some(24..=65536)) && bytes.len() >= 1024 {
            return Kind::Neff;
        }
        if bytes.get(257..262) == Some(b"ustar") {
            return Kind::Tar;
        }
        if compression(bytes).is_some() {
            return Kind::Compressed;
        }
        if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
            return Kind::Utf16;
        }
        // Byte 1 of the preamble that starts a word. spec: isa-bundle 1
        if bytes.len() >= 64 && bytes.len().is_multiple_of(64) && matches!(bytes[1], 0x10 | 0x11) {
            return Kind::Words;
        }
        let first = bytes.iter().find(|b| !matches!(b, b' ' | b'\t' | b'\r' | b'\n'));
        let is_text = |byte: &u8| !byte.is_ascii_control();
        if first.is_none_or(is_text) { Kind::Json } else { Kind::Binary }
    }

    pub(crate) fn describe(self) -> &'static str {
        match self {
            Kind::Json => "BIR-JSON",
            Kind::Klr => "a KLR file",
            Kind::Neff => "a NEFF package",
            Kind::Tar => "a tar archive, as in a NEFF package",
            Kind::Words => "a stream of 64-byte instruction words",
            Kind::Compressed => "data that was compressed twice",
            Kind::Utf16 => "UTF-16 text",
            Kind::Binary => "binary data",
        }
    }
}

#[derive(Clone, Copy)]
enum Compression {
    Gzip,
    Zstd,
}

fn compression(bytes: &[u8]) -> Option<Compression> {
    match bytes {
        [0x1f, 0x8b, 0x08, ..] => Some(Compression::Gzip),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Compression::Zstd),
        _ => None,
    }
}

impl Input {
    /// Opens a file.
    pub(crate) fn file(path: &Path, context: &Context) -> Result<Input> {
        Input::new(path.display().to_string(), Input::bytes_of(path, context)?)
    }

    /// The content of a file as it lies there.
    fn bytes_of(path: &Path, context: &Context) -> Result<Bytes> {
        let name = path.display().to_string();
        let _progress = context.progress(format!("reading {name}"));
        let fault = |error: &io::Error| Fault::io("read", &name, error);
        let file = File::open(path).map_err(|error| fault(&error))?;
        let facts = file.metadata().map_err(|error| fault(&error))?;
        if facts.is_dir() {
            return Err(Fault::new(format!("cannot read {name}: it is a folder")));
        }
        let bytes = if facts.is_file() && facts.len() >= MIN_MAPPED {
            Bytes::Mapped(map(&file).map_err(|error| fault(&error))?)
        } else {
            Bytes::Held(held(file, MAX_HELD).map_err(|error| fault(&error))?)
        };
        Ok(bytes)
    }

    /// Reads standard input.
    pub(crate) fn stdin(context: &Context) -> Result<Input> {
        Input::new("<stdin>".into(), Input::stdin_bytes(context)?)
    }

    fn stdin_bytes(context: &Context) -> Result<Bytes> {
        let stdin = io::stdin();
        if stdin.is_terminal() {
            context.hint("reading from standard input; end it with Ctrl-D");
        }
        let name = "<stdin>";
        let _progress = context.progress("reading standard input".into());
        let bytes = held(stdin.lock(), MAX_HELD).map_err(|error| Fault::io("read", name, &error))?;
        Ok(Bytes::Held(bytes))
    }

    fn new(name: String, bytes: Bytes) -> Result<Input> {
        let Some(compression) = compression(&bytes) else { return Ok(Input { name, bytes }) };
        match inflate(&bytes, compression, MAX_HELD) {
            Ok(inflated) => Ok(Input { name, bytes: Bytes::Held(inflated) }),
            Err(error) => Err(Fault::io("decompress", &name, &error)),
        }
    }

    /// Opens a package. The gzip around a payload is the reader's own business; what is around a package is taken off.
    pub(crate) fn package(path: Option<&Path>, context: &Context) -> Result<Input> {
        let (name, bytes) = match path {
            Some(path) if path != Path::new("-") => {
                (path.display().to_string(), Input::bytes_of(path, context)?)
            }
            _ => ("<stdin>".into(), Input::stdin_bytes(context)?),
        };
        let mut head = [0; 1024];
        let is_payload = matches!(compression(&bytes), Some(Compression::Gzip)) && {
            let mut decoder = flate2::bufread::GzDecoder::new(&bytes[..]);
            decoder.read_exact(&mut head).is_err() || Kind::of(&head) != Kind::Neff
        };
        if is_payload { Ok(Input { name, bytes }) } else { Input::new(name, bytes) }
    }

    /// Holds all that a reader gives.
    pub(crate) fn held(name: String, reader: impl Read) -> Result<Input> {
        let bytes = held(reader, MAX_HELD).map_err(|error| Fault::io("read", &name, &error))?;
        Ok(Input { name, bytes: Bytes::Held(bytes) })
    }

    /// The fault that the input is of another kind than the command reads.
    pub(crate) fn unexpected(&self, kind: Kind) -> Box<Fault> {
        let head = &self.bytes[..self.bytes.len().min(1024)];
        let is_text = |bytes: &[u8]| match std::str::from_utf8(bytes) {
            Ok(text) => !text.contains(|c: char| c.is_control() && !c.is_whitespace()),
            // The head may end within a character.
            Err(error) => error.error_len().is_none() && error.valid_up_to() > 0,
        };
        let looks = match head.iter().find(|byte| !byte.is_ascii_whitespace()) {
            None if kind == Kind::Json => return Fault::new(format!("{} is empty", self.name)),
            Some(_) if kind == Kind::Json && !is_text(head) => Kind::Binary.describe(),
            Some(b'{' | b'[') | None => kind.describe(),
            Some(_) if kind == Kind::Json => "text that is not JSON",
            Some(_) => kind.describe(),
        };
        Fault::new(format!("{} looks like {looks}, which this command does not read", self.name))
    }

    /// Whether it is a package, or the payload of one.
    pub(crate) fn is_package(&self) -> bool {
        crate::package::begins_like_one(&self.bytes[..self.bytes.len().min(4096)])
    }

    /// The content.
    pub(crate) fn text(&self) -> &[u8] {
        &self.bytes
    }

    /// Reads a module, and says what is odd about it unless it will be dropped or said later.
    pub(crate) fn module(&self, options: &ReadOptions, context: &Context) -> Result<Loaded> {
        match Kind::of(&self.bytes) {
            Kind::Json => {}
            other => {
                let fault = self.unexpected(other);
                return Err(fault.note("expected BIR-JSON, plain or compressed with gzip or zstd"));
            }
        }
        let progress = context.progress(format!("parsing {}", self.name));
        let total = self.bytes.len();
        let options = &ReadOptions { threads: threads(), ..*options };
        let read = bir_json::read_with_progress(&self.bytes, options, &mut |done| {
            progress.set(done, total);
            if let Bytes::Mapped(map) = &self.bytes {
                release(map, done);
            }
        });
        read.map_err(|error| Fault::read(&self.name, &self.bytes, &error))
    }
}

/// Threads that may read or write at once.
pub(crate) fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Reads all of a stream, unless it is longer than `limit`.
fn held(stream: impl Read, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    stream.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        let gib = limit as f64 / (1u64 << 30) as f64;
        let message = format!("more than {gib} GiB; give a plain file, which may be of any size");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

fn inflate(bytes: &[u8], compression: Compression, limit: u64) -> io::Result<Vec<u8>> {
    match compression {
        Compression::Gzip => held(flate2::read::MultiGzDecoder::new(bytes), limit),
        Compression::Zstd => held(zstd::stream::read::Decoder::new(bytes)?, limit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::read::GzEncoder::new(bytes, flate2::Compression::best());
        let mut packed = Vec::new();
        encoder.read_to_end(&mut packed).unwrap();
        packed
    }

    #[test]
    fn what_a_small_file_unpacks_to_is_limited() {
        let zeros = vec![0; 1 << 20];
        for (packed, compression) in [
            (gzip(&zeros), Compression::Gzip),
            (zstd::stream::encode_all(&zeros[..], 19).unwrap(), Compression::Zstd),
        ] {
            assert!(packed.len() < 2000);
            assert_eq!(inflate(&packed, compression, 1 << 20).unwrap(), zeros);
            let error = inflate(&packed, compression, (1 << 20) - 1).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        }
    }

    #[test]
    fn content_tells_what_a_file_is() {
        let mut neff = vec![0; 1100];
        (neff[0], neff[9]) = (2, 4);
        let mut tar = vec![0; 512];
        tar[257..262].copy_from_slice(b"ustar");
        let mut words = vec![0; 128];
        words[1] = 0x10;
        for (bytes, kind) in [
            (&b"{}"[..], Kind::Json),
            (b"", Kind::Json),
            (b"\xef\xbb\xbf {", Kind::Json),
            (b"not json", Kind::Json),
            (b"\xd9\xd9\xf7\x83\x00\x00\x0c", Kind::Klr),
            (b"\xd9\xd9\xf7", Kind::Klr),
            (&neff, Kind::Neff),
            (&tar, Kind::Tar),
            (&words, Kind::Words),
            (&gzip(b"x"), Kind::Compressed),
            (b"\xff\xfe{\0", Kind::Utf16),
            (b"\0\0", Kind::Binary),
        ] {
            assert_eq!(Kind::of(bytes), kind, "{bytes:x?}");
        }
    }
}
