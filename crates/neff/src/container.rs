//! The file around the payload: header, payload, and whether the one speaks of the other (spec: neff 1 to 3).

use md5::{Digest, Md5};
use serde::Serialize;
use sha2::Sha256;

use crate::archive::{Archive, Compression};
use crate::error::{Error, Finding, Severity};
use crate::header::{Header, hex};
use crate::limits::Limits;

/// A package file, taken apart into header and payload.
pub struct Container<'a> {
    /// The header; none when the file is a bare payload.
    pub header: Option<Header>,
    /// The payload with its padding, as it is stored.
    pub payload: &'a [u8],
    /// What is odd about the file.
    pub findings: Vec<Finding>,
}

impl<'a> Container<'a> {
    /// Looks at a file. A gzip or tar file without the header in front of it is taken for a payload.
    ///
    /// # Errors
    /// When it is no package, is cut, or has a version that is not known.
    pub fn open(file: &'a [u8]) -> Result<Container<'a>, Error> {
        let mut findings = Vec::new();
        let size = file.len() as u64;
        let header = match Header::read(file, size) {
            Ok(header) => header,
            Err(error @ (Error::PackageVersion(_) | Error::TooShort(_))) => {
                // An empty archive is zeros, as is anything else.
                let is_empty = file.iter().take(512).all(|&byte| byte == 0);
                if is_empty || Compression::of(file).is_none() {
                    return Err(error);
                }
                let message = "a payload without the header of a package in front of it";
                findings.push(Finding::new("NEFF-01", Severity::Warning, message));
                return Ok(Container { header: None, payload: file, findings });
            }
            Err(error) => return Err(error),
        };
        let end = (header.header_size + header.data_size) as usize;
        let payload = &file[header.header_size as usize..end];
        let rest = &file[end..];
        if !rest.is_empty() {
            let what = if rest.iter().all(|&byte| byte == 0) { "zeros" } else { "bytes" };
            let message = format!("{} {what} follow the payload", rest.len());
            findings.push(Finding::new("NEFF-03", Severity::Warning, message));
        }
        Ok(Container { header: Some(header), payload, findings })
    }

    /// Computes the digest of the payload and compares it with the header's.
    pub fn integrity(&self) -> Integrity {
        Integrity::of(self.header.as_ref(), self.payload)
    }

    /// The members of the payload.
    ///
    /// # Errors
    /// When it is neither gzip nor tar.
    pub fn archive(&self, limits: &'a Limits) -> Result<Archive<'a>, Error> {
        Archive::new(self.payload, limits)
    }
}

/// How a digest lies in the header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HashForm {
    /// In order.
    Plain,
    /// With the bytes of each group of four reversed.
    WordReversed,
}

/// The digest of a payload, and what the header says of it (spec: neff 3).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Integrity {
    /// Hexadecimal digits of the MD5, or in packages of version 1 the SHA-256.
    pub digest: String,
    /// Whether it is a SHA-256.
    pub is_sha256: bool,
    /// In which form the header has it; none when it has another, or there is no header.
    pub form: Option<HashForm>,
}

impl Integrity {
    fn of(header: Option<&Header>, payload: &[u8]) -> Integrity {
        let is_sha256 = header.is_some_and(|header| header.pkg_version == 1);
        let digest: Vec<u8> =
            if is_sha256 { Sha256::digest(payload).to_vec() } else { Md5::digest(payload).to_vec() };
        let form = header.and_then(|header| {
            let stored = &header.hash[..digest.len()];
            match () {
                () if stored == word_reversed(&digest) => Some(HashForm::WordReversed),
                () if stored == digest => Some(HashForm::Plain),
                () => None,
            }
        });
        Integrity { digest: hex(&digest), is_sha256, form }
    }

    /// Whether the header has the digest of the payload.
    pub fn is_ok(&self) -> bool {
        self.form.is_some()
    }

    /// The error that a difference is to those who ask for it.
    ///
    /// # Errors
    /// When the header has another digest.
    pub fn require(&self, header: &Header) -> Result<(), Error> {
        if self.is_ok() {
            return Ok(());
        }
        let stored = hex(&header.hash[..self.digest.len() / 2]);
        Err(Error::Hash { stored, computed: self.digest.clone() })
    }
}

/// What a header holds for an MD5: the digest with the bytes of each word reversed, and zeros.
pub(crate) fn stored_md5(payload: &[u8]) -> [u8; 32] {
    let mut hash = [0; 32];
    hash[..16].copy_from_slice(&word_reversed(&Md5::digest(payload)));
    hash
}

fn word_reversed(digest: &[u8]) -> Vec<u8> {
    digest.chunks(4).flat_map(|word| word.iter().rev().copied()).collect()
}
