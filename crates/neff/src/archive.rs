//! The payload as a stream of members: one gzip member or none, and the tar archive in it (spec: neff 4).
//!
//! Headers are taken apart by the crate `tar`; what may stand in a package, and how much of it, is decided here.

use std::io::{BufReader, Read};

use flate2::bufread::GzDecoder;
use serde::Serialize;

use crate::error::{Error, Finding, Severity};
use crate::limits::Limits;

const BLOCK: usize = 512;

/// A long name or a set of PAX records may have this many bytes.
const MAX_EXTENSION: u64 = 1 << 20;

/// How the payload is compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    /// One gzip member.
    Gzip,
    /// A plain tar archive.
    None,
}

impl Compression {
    /// Looks at the first bytes of a payload.
    pub fn of(payload: &[u8]) -> Option<Compression> {
        if payload.starts_with(&[0x1f, 0x8b]) {
            return Some(Compression::Gzip);
        }
        let is_tar = payload.get(257..262) == Some(b"ustar") || is_old_tar(payload);
        is_tar.then_some(Compression::None)
    }
}

/// Archives from before `ustar` have nothing but the checksum, and an empty one only zeros.
fn is_old_tar(payload: &[u8]) -> bool {
    payload.len() >= BLOCK
        && (payload[..BLOCK].iter().all(|&byte| byte == 0) || has_checksum(header_of(&payload[..BLOCK])))
}

/// The form of a tar archive.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TarFormat {
    /// From before POSIX.
    V7,
    /// POSIX.
    Ustar,
    /// GNU.
    Gnu,
    /// POSIX with extended records.
    Pax,
}

/// A member of the archive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Path, with `/`, without a leading `./`.
    pub name: String,
    /// Length in bytes.
    pub size: u64,
}

/// What is known of a payload that has been read to its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PayloadFacts {
    /// How it is compressed.
    pub compression: Compression,
    /// Bytes of the gzip member, or of the plain archive.
    pub stored: u64,
    /// Bytes behind the gzip member.
    pub padding: u64,
    /// Bytes of the archive.
    pub inflated: u64,
    /// Build time in seconds, if there is a gzip header.
    pub gzip_mtime: Option<u32>,
    /// Form of the archive: the newest that any member needs.
    pub tar_format: TarFormat,
    /// What is odd about it.
    pub findings: Vec<Finding>,
}

enum Source<'a> {
    Gzip(BufReader<GzDecoder<&'a [u8]>>),
    Plain(&'a [u8]),
}

/// A payload that is read from member to member. Nothing but the current block is held.
///
/// ```
/// # fn demo(payload: &[u8]) -> Result<(), neff::Error> {
/// let limits = neff::Limits::default();
/// let mut archive = neff::Archive::new(payload, &limits)?;
/// while let Some(member) = archive.next()? {
///     println!("{:10} {}", member.size, member.name);
/// }
/// let facts = archive.finish()?;
/// # Ok(()) }
/// ```
pub struct Archive<'a> {
    source: Source<'a>,
    payload: &'a [u8],
    limits: &'a Limits,
    /// Bytes of the archive that have been read.
    at: u64,
    /// Bytes of the current member that have not, and of the zeros behind it.
    body: u64,
    padding: u64,
    members: u64,
    format: TarFormat,
    ended: bool,
    findings: Vec<Finding>,
}

impl<'a> Archive<'a> {
    /// Starts to read a payload.
    ///
    /// # Errors
    /// When it is neither gzip nor tar.
    pub fn new(payload: &'a [u8], limits: &'a Limits) -> Result<Archive<'a>, Error> {
        let source = match Compression::of(payload).ok_or(Error::PayloadKind)? {
            Compression::Gzip => Source::Gzip(BufReader::with_capacity(1 << 16, GzDecoder::new(payload))),
            Compression::None => Source::Plain(payload),
        };
        Ok(Archive {
            source,
            payload,
            limits,
            at: 0,
            body: 0,
            padding: 0,
            members: 0,
            format: TarFormat::V7,
            ended: false,
            findings: Vec::new(),
        })
    }

    /// Goes on to the next member; what is left of the one before is passed over.
    ///
    /// # Errors
    /// When the payload is damaged, or holds what a package must not: links, devices, names that lead out of a folder.
    #[expect(clippy::should_implement_trait, reason = "an iterator could not be read from")]
    pub fn next(&mut self) -> Result<Option<Entry>, Error> {
        self.skip_body()?;
        let mut long_name: Option<Vec<u8>> = None;
        let mut pax_size = None;
        loop {
            let Some(block) = self.header_block()? else { return Ok(None) };
            let header = header_of(&block);
            let at = self.at - BLOCK as u64;
            let bad = |reason: String| Error::Tar { at, reason };
            if !has_checksum(header) {
                return Err(bad("the checksum of a header is wrong".into()));
            }
            self.note_format(header);
            let size = match pax_size {
                Some(size) => size,
                None => header.entry_size().map_err(|_| bad("the size of a member is no number".into()))?,
            };
            let kind = block[156];
            if let b'L' | b'K' | b'x' | b'g' = kind {
                if size > MAX_EXTENSION {
                    let what = format!("a name or set of records of {size} bytes");
                    return Err(Error::Limit { what, limit: MAX_EXTENSION });
                }
                self.begin(size, "an extended header")?;
                let mut records = vec![0; size as usize];
                self.fill(&mut records)?;
                self.skip_body()?;
                match kind {
                    b'L' => {
                        records.truncate(records.iter().position(|&b| b == 0).unwrap_or(records.len()));
                        long_name = Some(records);
                    }
                    b'x' => {
                        self.format = TarFormat::Pax;
                        let found = pax(&records).ok_or_else(|| bad("PAX records are damaged".into()))?;
                        long_name = found.path.or(long_name);
                        pax_size = found.size.or(pax_size);
                    }
                    // Global records say nothing of one member; a long link belongs to a link, which is refused.
                    _ => {}
                }
                continue;
            }
            let raw = long_name.take().unwrap_or_else(|| header.path_bytes().into_owned());
            let shown = String::from_utf8_lossy(&raw).into_owned();
            let is_folder = kind == b'5' || matches!(kind, 0 | b'0') && raw.ends_with(b"/");
            if is_folder {
                self.begin(size, &shown)?;
                self.skip_body()?;
                pax_size = None;
                continue;
            }
            if let Some(what) = refused(kind) {
                return Err(Error::member(shown, what));
            }
            let name = path(&raw, self.limits)?;
            self.members += 1;
            if self.members > self.limits.members {
                return Err(Error::Limit {
                    what: "the number of members".into(),
                    limit: self.limits.members,
                });
            }
            self.begin(size, &name)?;
            return Ok(Some(Entry { name, size }));
        }
    }

    /// Reads the rest of the current member.
    ///
    /// # Errors
    /// When it is longer than `limit`, or the payload is damaged.
    pub fn read_all(&mut self, name: &str, limit: u64) -> Result<Vec<u8>, Error> {
        if self.body > limit {
            return Err(Error::Limit { what: format!("{name} with {} bytes", self.body), limit });
        }
        // The length is only a claim until the bytes are there.
        let mut bytes = Vec::with_capacity(self.body.min(1 << 20) as usize);
        let mut chunk = vec![0; self.body.min(1 << 16) as usize];
        while self.body > 0 {
            let part = self.body.min(chunk.len() as u64) as usize;
            self.fill(&mut chunk[..part])?;
            bytes.extend_from_slice(&chunk[..part]);
        }
        Ok(bytes)
    }

    /// Reads up to `most` bytes of the current member.
    ///
    /// # Errors
    /// When the payload is damaged.
    pub fn read_some(&mut self, most: usize) -> Result<Vec<u8>, Error> {
        let mut bytes = vec![0; self.body.min(most as u64) as usize];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    /// Hands the rest of the current member on, piece by piece.
    ///
    /// # Errors
    /// When the payload is damaged, or `sink` fails.
    pub fn copy(&mut self, mut sink: impl FnMut(&[u8]) -> Result<(), Error>) -> Result<(), Error> {
        let mut chunk = vec![0; self.body.min(1 << 16) as usize];
        while self.body > 0 {
            let part = self.body.min(chunk.len() as u64) as usize;
            self.fill(&mut chunk[..part])?;
            sink(&chunk[..part])?;
        }
        Ok(())
    }

    /// Reads what is left, so that the checksum of the payload is seen, and tells about it.
    ///
    /// # Errors
    /// When the payload is damaged.
    pub fn finish(mut self) -> Result<PayloadFacts, Error> {
        while self.next()?.is_some() {}
        let mut odd = false;
        let mut chunk = vec![0; 1 << 16];
        loop {
            let read = self.read(&mut chunk)?;
            if read == 0 {
                break;
            }
            odd |= chunk[..read].iter().any(|&byte| byte != 0);
        }
        if odd {
            self.finding("NEFF-04", "bytes that are not 0 follow the end of the archive");
        }
        let (compression, stored, gzip_mtime) = match &self.source {
            Source::Gzip(decoder) => {
                let rest = decoder.get_ref().get_ref().len();
                let mtime = decoder.get_ref().header().map(flate2::GzHeader::mtime);
                (Compression::Gzip, self.payload.len() - rest, mtime)
            }
            Source::Plain(rest) => (Compression::None, self.payload.len() - rest.len(), None),
        };
        if self.payload[stored..].iter().any(|&byte| byte != 0) {
            self.finding("NEFF-03", "bytes that are not 0 follow the gzip member of the payload");
        }
        Ok(PayloadFacts {
            compression,
            stored: stored as u64,
            padding: (self.payload.len() - stored) as u64,
            inflated: self.at,
            gzip_mtime,
            tar_format: self.format,
            findings: self.findings,
        })
    }

    fn finding(&mut self, code: &'static str, message: &str) {
        self.findings.push(Finding::new(code, Severity::Warning, message));
    }

    fn note_format(&mut self, header: &tar::Header) {
        let format = match (header.as_ustar().is_some(), header.as_gnu().is_some()) {
            (true, _) => TarFormat::Ustar,
            (_, true) => TarFormat::Gnu,
            _ => TarFormat::V7,
        };
        if self.format == TarFormat::V7 || self.format == TarFormat::Ustar && format == TarFormat::Gnu {
            self.format = format;
        }
    }

    /// The next header, or none at the end of the archive.
    fn header_block(&mut self) -> Result<Option<[u8; BLOCK]>, Error> {
        let mut zeros = 0;
        while !self.ended {
            let mut block = [0; BLOCK];
            let read = self.read_block(&mut block)?;
            if read == 0 {
                self.ended = true;
                if zeros == 0 {
                    let reason = "it has no end marker, so it was cut".into();
                    return Err(Error::Tar { at: self.at, reason });
                }
            } else if read < BLOCK {
                let reason = format!("it ends after {read} bytes of a block of 512");
                return Err(Error::Tar { at: self.at - read as u64, reason });
            } else if block.iter().all(|&byte| byte == 0) {
                zeros += 1;
                self.ended = zeros == 2;
            } else if zeros > 0 {
                return Err(Error::Tar {
                    at: self.at - BLOCK as u64,
                    reason: "a header follows a block of zeros".into(),
                });
            } else {
                return Ok(Some(block));
            }
        }
        Ok(None)
    }

    fn begin(&mut self, size: u64, name: &str) -> Result<(), Error> {
        let left = self.limits.inflated.saturating_sub(self.at);
        if size > left {
            let what = format!("the payload, with the {size} bytes of {name:?},");
            return Err(Error::Limit { what, limit: self.limits.inflated });
        }
        if let Source::Plain(rest) = &self.source
            && size > rest.len() as u64
        {
            let reason = format!("{name:?} has {size} bytes, but only {} follow", rest.len());
            return Err(Error::Tar { at: self.at, reason });
        }
        self.body = size;
        self.padding = size.next_multiple_of(BLOCK as u64) - size;
        Ok(())
    }

    fn skip_body(&mut self) -> Result<(), Error> {
        if let Source::Plain(rest) = &mut self.source {
            let body = (self.body as usize).min(rest.len());
            *rest = &rest[body..];
            self.at += body as u64;
            self.body = 0;
        }
        self.body += std::mem::take(&mut self.padding);
        self.copy(|_| Ok(()))
    }

    /// Fills a buffer with bytes of the current member.
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        let mut done = 0;
        while done < bytes.len() {
            let read = self.read(&mut bytes[done..])?;
            if read == 0 {
                let reason = format!("it ends {} bytes before the end of a member", self.body - done as u64);
                return Err(Error::Tar { at: self.at, reason });
            }
            done += read;
        }
        self.body -= done as u64;
        Ok(())
    }

    fn read_block(&mut self, block: &mut [u8; BLOCK]) -> Result<usize, Error> {
        let mut done = 0;
        while done < BLOCK {
            match self.read(&mut block[done..])? {
                0 => break,
                read => done += read,
            }
        }
        Ok(done)
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<usize, Error> {
        let read = match &mut self.source {
            Source::Gzip(decoder) => decoder.read(bytes),
            Source::Plain(rest) => rest.read(bytes),
        };
        let read = read.map_err(|error| Error::Gzip { inflated: self.at, reason: error.to_string() })?;
        self.at += read as u64;
        if self.at > self.limits.inflated {
            return Err(Error::Limit { what: "the inflated payload".into(), limit: self.limits.inflated });
        }
        Ok(read)
    }
}

fn header_of(block: &[u8]) -> &tar::Header {
    tar::Header::from_byte_slice(block)
}

/// Old writers summed signed bytes.
fn has_checksum(header: &tar::Header) -> bool {
    let bytes = header.as_bytes();
    let outside = |at: &usize| !(148..156).contains(at);
    let blanks = 8 * u32::from(b' ');
    let unsigned = (0..BLOCK).filter(outside).map(|at| u32::from(bytes[at])).sum::<u32>() + blanks;
    let signed: i64 =
        (0..BLOCK).filter(outside).map(|at| i64::from(bytes[at] as i8)).sum::<i64>() + i64::from(blanks);
    header.cksum().is_ok_and(|sum| sum == unsigned || i64::from(sum) == signed)
}

/// Why a kind of member has no place in a package.
fn refused(kind: u8) -> Option<String> {
    Some(match kind {
        0 | b'0' | b'7' => return None,
        b'1' => "is a hard link; a package holds plain files only".into(),
        b'2' => "is a symbolic link; a package holds plain files only".into(),
        b'3' | b'4' => "is a device; a package holds plain files only".into(),
        b'6' => "is a pipe; a package holds plain files only".into(),
        b'S' => "is a sparse file, which is not supported".into(),
        other => format!("is of the unknown kind {:?}", char::from(other)),
    })
}

#[derive(Default)]
struct Pax {
    path: Option<Vec<u8>>,
    size: Option<u64>,
}

fn pax(records: &[u8]) -> Option<Pax> {
    let mut found = Pax::default();
    for record in tar::PaxExtensions::new(records) {
        let record = record.ok()?;
        match record.key_bytes() {
            b"path" => found.path = Some(record.value_bytes().to_vec()),
            b"size" => found.size = Some(record.value().ok()?.parse().ok()?),
            key if key.starts_with(b"GNU.sparse") => return None,
            _ => {}
        }
    }
    Some(found)
}

/// The name of a member, if it stays inside of a folder.
fn path(raw: &[u8], limits: &Limits) -> Result<String, Error> {
    let refuse = |reason: &str| Err(Error::member(String::from_utf8_lossy(raw), reason));
    if raw.len() as u64 > limits.path {
        return Err(Error::Limit { what: format!("a name of {} bytes", raw.len()), limit: limits.path });
    }
    let Ok(name) = std::str::from_utf8(raw) else { return refuse("has a name that is not UTF-8") };
    // The loader strips one. spec: neff 4
    let name = name.strip_prefix("./").unwrap_or(name);
    match () {
        () if name.is_empty() => refuse("has no name"),
        () if name.chars().any(char::is_control) => refuse("has control characters in its name"),
        () if name.starts_with('/') => refuse("has an absolute name"),
        () if name.split('/').any(|part| part == "..") => refuse("has a name that leads out of its folder"),
        () if name.split('/').any(|part| part.is_empty() || part == ".") => {
            refuse("has a name that is not in its simplest form")
        }
        () if name.contains('\\') || name.as_bytes().get(1) == Some(&b':') => {
            refuse("has a name that is absolute on other systems")
        }
        () => Ok(name.to_owned()),
    }
}
