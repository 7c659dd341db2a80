//! Packages from members (spec: neff 4). The same members give the same bytes.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use flate2::GzBuilder;

use crate::archive::Compression;
use crate::container::stored_md5;
use crate::error::Error;
use crate::features::feature_bit;
use crate::header::{HEADER_BYTES, Header};
use crate::package::Package;

const BLOCK: u64 = 512;

/// The gzip member is padded to a multiple of this.
const RECORD: usize = 10240;

/// Folders may be this deep.
const MAX_DEPTH: usize = 64;

/// A member to be written.
#[derive(Clone, Debug)]
pub struct Source {
    /// Path in the archive.
    pub name: String,
    /// Where its bytes come from.
    pub body: Body,
}

/// Where the bytes of a member come from.
#[derive(Clone, Debug)]
pub enum Body {
    /// These.
    Bytes(Vec<u8>),
    /// Those of a file.
    File(PathBuf),
}

/// How a payload is written.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Compressed or not.
    pub compression: Compression,
    /// Effort of the compression, 0 to 9; compilers use 1.
    pub level: u32,
    /// Build time in the gzip header, in seconds.
    pub mtime: u32,
}

impl Default for Options {
    fn default() -> Options {
        Options { compression: Compression::Gzip, level: 1, mtime: 0 }
    }
}

/// The files of a folder as members, in the order of the format.
///
/// # Errors
/// When the folder cannot be read, or has a link or a name in it that no package may have.
pub fn folder(folder: &Path) -> Result<Vec<Source>, Error> {
    let mut sources = Vec::new();
    walk(folder, "", 0, &mut sources)?;
    sort(&mut sources);
    Ok(sources)
}

fn walk(folder: &Path, prefix: &str, depth: usize, sources: &mut Vec<Source>) -> Result<(), Error> {
    if depth > MAX_DEPTH {
        return Err(Error::Limit {
            what: format!("the depth of {}", folder.display()),
            limit: MAX_DEPTH as u64,
        });
    }
    let fault = |error| Error::io("read", folder, error);
    for entry in fs::read_dir(folder).map_err(fault)? {
        let entry = entry.map_err(fault)?;
        let path = entry.path();
        let Some(name) = entry.file_name().to_str().map(|name| format!("{prefix}{name}")) else {
            return Err(Error::member(path.display().to_string(), "has a name that is not UTF-8"));
        };
        let kind = entry.file_type().map_err(fault)?;
        match () {
            () if kind.is_dir() => walk(&path, &format!("{name}/"), depth + 1, sources)?,
            () if kind.is_file() => sources.push(Source { name, body: Body::File(path) }),
            () => {
                let what = "is a link or device; a package holds plain files only";
                return Err(Error::member(path.display().to_string(), what));
            }
        }
    }
    Ok(())
}

/// Puts members into the order of the format: by the bytes of their paths, `neff.json` last.
pub fn sort(sources: &mut [Source]) {
    sources.sort_by(|a, b| {
        let key = |source: &Source| (source.name == "neff.json", source.name.clone());
        key(a).cmp(&key(b))
    });
}

/// Writes a payload: the archive, compressed or not, with the padding.
///
/// # Errors
/// When a file cannot be read or has changed its size meanwhile, or `out` fails.
pub fn payload(sources: &[Source], options: &Options, out: &mut dyn Write) -> Result<(), Error> {
    let fault = |error| Error::io("write", Path::new("the payload"), error);
    match options.compression {
        Compression::None => archive(sources, out),
        Compression::Gzip => {
            let level = flate2::Compression::new(options.level.min(9));
            let counted = Counted { inner: out, written: 0 };
            let gzip = GzBuilder::new().mtime(options.mtime).operating_system(3);
            let mut encoder = gzip.write(io::BufWriter::with_capacity(1 << 16, counted), level);
            archive(sources, &mut encoder)?;
            let buffered = encoder.finish().map_err(fault)?;
            let mut counted = buffered.into_inner().map_err(|error| fault(error.into_error()))?;
            let padding = counted.written.next_multiple_of(RECORD) - counted.written;
            counted.write_all(&vec![0; padding]).map_err(fault)
        }
    }
}

struct Counted<'a> {
    inner: &'a mut dyn Write,
    written: usize,
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.written += written;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

fn archive(sources: &[Source], out: &mut dyn Write) -> Result<(), Error> {
    let fault = |error| Error::io("write", Path::new("the payload"), error);
    for source in sources {
        match &source.body {
            Body::Bytes(bytes) => {
                out.write_all(&header(&source.name, bytes.len() as u64)).map_err(fault)?;
                out.write_all(bytes).map_err(fault)?;
                pad(bytes.len() as u64, out).map_err(fault)?;
            }
            Body::File(path) => {
                let unreadable = |error| Error::io("read", path, error);
                let file = fs::File::open(path).map_err(unreadable)?;
                let size = file.metadata().map_err(unreadable)?.len();
                out.write_all(&header(&source.name, size)).map_err(fault)?;
                let copied = copy(&mut file.take(size), out, path)?;
                if copied != size {
                    let error = io::Error::new(io::ErrorKind::UnexpectedEof, "it got shorter meanwhile");
                    return Err(unreadable(error));
                }
                pad(size, out).map_err(fault)?;
            }
        }
    }
    out.write_all(&[0; 2 * BLOCK as usize]).map_err(fault)
}

fn copy(from: &mut dyn Read, out: &mut dyn Write, path: &Path) -> Result<u64, Error> {
    let mut chunk = vec![0; 1 << 16];
    let mut copied = 0;
    loop {
        let read = match from.read(&mut chunk) {
            Ok(0) => return Ok(copied),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Error::io("read", path, error)),
        };
        let written = out.write_all(&chunk[..read]);
        written.map_err(|error| Error::io("write", Path::new("the payload"), error))?;
        copied += read as u64;
    }
}

fn pad(size: u64, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(&vec![0; (size.next_multiple_of(BLOCK) - size) as usize])
}

/// The blocks in front of a member: a POSIX header, and PAX records for what does not fit one.
fn header(name: &str, size: u64) -> Vec<u8> {
    let mut records = Vec::new();
    let split = split(name);
    if split.is_none() {
        record("path", name, &mut records);
    }
    if size >= 1 << 33 {
        record("size", &size.to_string(), &mut records);
    }
    let mut blocks = Vec::new();
    if !records.is_empty() {
        blocks.extend(ustar("", "././@PaxHeader", records.len() as u64, b'x'));
        let padded = records.len().next_multiple_of(BLOCK as usize);
        records.resize(padded, 0);
        blocks.extend(records);
    }
    let mut end = name.len().min(100);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    let (prefix, rest) = split.unwrap_or(("", &name[..end]));
    blocks.extend(ustar(prefix, rest, if size >= 1 << 33 { 0 } else { size }, b'0'));
    blocks
}

/// A record: its own length, key and value.
fn record(key: &str, value: &str, out: &mut Vec<u8>) {
    let rest = key.len() + value.len() + 3;
    let mut length = rest + 1;
    while length != rest + length.to_string().len() {
        length = rest + length.to_string().len();
    }
    out.extend_from_slice(format!("{length} {key}={value}\n").as_bytes());
}

/// A path as prefix and name of a POSIX header; none when it does not fit.
fn split(name: &str) -> Option<(&str, &str)> {
    if name.len() <= 100 {
        return Some(("", name));
    }
    let mut slashes = name.match_indices('/').map(|(at, _)| at);
    let at = slashes.find(|at| name.len() - at - 1 <= 100 && *at <= 155)?;
    Some((&name[..at], &name[at + 1..]))
}

/// A POSIX header in the form that compilers write: numbers end with a blank. spec: neff 4
fn ustar(prefix: &str, name: &str, size: u64, kind: u8) -> [u8; BLOCK as usize] {
    let mut block = [0; BLOCK as usize];
    let mut put = |at: usize, bytes: &[u8]| block[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, name.as_bytes());
    put(100, b"000664 \0");
    put(108, b"001750 \0");
    put(116, b"001750 \0");
    put(124, format!("{size:011o} ").as_bytes());
    put(136, b"00000000000 ");
    put(148, b"        ");
    put(156, &[kind]);
    put(257, b"ustar\x0000");
    put(265, b"nobody");
    put(297, b"nobody");
    put(329, b"000000 \0");
    put(337, b"000000 \0");
    put(345, prefix.as_bytes());
    let sum: u32 = block.iter().map(|&byte| u32::from(byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block
}

/// The header that a package has by what is in it: names and cores of `info.json`, the number of graphs, features that
/// definitions ask for by name and those that come with the target. What words need is for the caller to add, see
/// [`Header::feature_bits`].
pub fn derive_header(package: &Package) -> Header {
    let mut header = Header { lnc_size: package.graphs.len().max(1) as u32, ..Header::default() };
    if let Some(info) = &package.compile_info {
        let number = |number: Option<u64>, default: u32| {
            number.and_then(|number| u32::try_from(number).ok()).unwrap_or(default)
        };
        header.num_tpb = number(info.num_tpb, header.num_tpb);
        header.requested_tpb_count = number(info.num_tpb_requested, header.requested_tpb_count);
        header.name = info.name.clone().unwrap_or_default();
        let nodes = info.num_tpb_per_node.iter().flatten();
        for (place, count) in header.tpb_per_node.iter_mut().zip(nodes) {
            *place = u8::try_from(*count).unwrap_or(u8::MAX);
        }
    }
    let named = package.graphs.iter().flat_map(|graph| &graph.definition.neff_features);
    header.feature_bits = named.filter_map(|name| feature_bit(name)).fold(0, |bits, bit| bits | bit);
    let mut set = |name| header.feature_bits |= feature_bit(name).unwrap_or(0);
    if package.graphs.len() > 1 {
        set("vnc");
    }
    if matches!(package.generation(), Some("v3" | "v4")) {
        set("DVE_perf_mode");
    }
    if package.generation() == Some("v4") {
        set("arch_above_39");
    }
    header
}

/// Fits a header to a payload: sizes, digest, the major version that its features need, and a uuid when it has none.
pub fn fit_header(header: &mut Header, payload: &[u8]) {
    header.pkg_version = 2;
    header.header_size = HEADER_BYTES as u64;
    header.data_size = payload.len() as u64;
    header.hash = stored_md5(payload);
    if header.feature_bits != 0 {
        header.neff_version_major = 2;
    }
    if header.uuid == [0; 16] {
        // Of the payload, so that the same members give the same package; marked as random. spec: neff 2
        header.uuid.copy_from_slice(&header.hash[..16]);
        header.uuid[6] = header.uuid[6] & 0x0F | 0x40;
        header.uuid[8] = header.uuid[8] & 0x3F | 0x80;
    }
}

/// A package in memory.
///
/// # Errors
/// When a file cannot be read.
pub fn to_bytes(mut header: Header, sources: &[Source], options: &Options) -> Result<Vec<u8>, Error> {
    let mut body = Vec::new();
    payload(sources, options, &mut body)?;
    fit_header(&mut header, &body);
    let mut bytes = header.write().to_vec();
    bytes.append(&mut body);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_count_themselves() {
        let mut out = Vec::new();
        record("path", &"x".repeat(90), &mut out);
        assert_eq!(out.len(), 99);
        assert!(out.starts_with(b"99 path=xxx"));
        out.clear();
        record("path", &"x".repeat(91), &mut out);
        assert_eq!(out.len(), 101);
        assert!(out.starts_with(b"101 path=xxx"));
    }

    #[test]
    fn neff_json_comes_last() {
        let source = |name: &str| Source { name: name.into(), body: Body::Bytes(Vec::new()) };
        let mut sources = ["neff.json", "sg00/b", "sg00/A", "zz", "a"].map(source);
        sort(&mut sources);
        assert_eq!(sources.map(|source| source.name), ["a", "sg00/A", "sg00/b", "zz", "neff.json"]);
    }
}
