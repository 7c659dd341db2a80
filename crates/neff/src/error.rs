//! What makes a package unreadable, and what is merely odd about one.

use serde::Serialize;

/// Why a package cannot be read, written or unpacked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No header fits in.
    #[error("the file has {0} bytes; a package begins with a header of 1024 and has a payload")]
    TooShort(u64),
    /// Neither a header nor a bare payload.
    #[error("not a package: pkg_version is {0}, where 1 and 2 are known")]
    PackageVersion(u64),
    /// The payload would begin outside the file, or inside the fixed fields.
    #[error("header_size is {0}; expected 24 or more, and less than the {1} bytes of the file")]
    HeaderSize(u64, u64),
    /// The payload would end outside the file.
    #[error("the file is cut: data_size is {data_size}, but only {available} bytes follow the header")]
    DataSize {
        /// What the header says.
        data_size: u64,
        /// What there is.
        available: u64,
    },
    /// The payload is empty.
    #[error("the payload is empty")]
    NoPayload,
    /// A newer container.
    #[error("neff_version_major is {0}; up to 2 is known")]
    MajorVersion(u64),
    /// A loader must not guess what these bits mean.
    #[error("feature bits {0:#x} are newer than any known loader")]
    FeatureWindow(u64),
    /// The hash does not match, and it was asked to.
    #[error("the hash in the header is {stored}, but the payload's is {computed}")]
    Hash {
        /// As it lies in the file.
        stored: String,
        /// As it would lie there.
        computed: String,
    },
    /// The payload is neither gzip nor tar.
    #[error("the payload is neither gzip nor tar")]
    PayloadKind,
    /// The compressed data is damaged or cut.
    #[error("the gzip payload is damaged behind {inflated} inflated bytes: {reason}")]
    Gzip {
        /// How much came out before.
        inflated: u64,
        /// What the library says.
        reason: String,
    },
    /// The archive is damaged or cut.
    #[error("the archive is damaged at byte {at}: {reason}")]
    Tar {
        /// Offset in the inflated archive.
        at: u64,
        /// What is wrong there.
        reason: String,
    },
    /// A member that must not be in a package.
    #[error("member {name:?} {reason}")]
    Member {
        /// Its name, as it stands in the archive.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Two members of one name.
    #[error("member {0:?} is there twice")]
    Duplicate(String),
    /// Something is bigger than this reader takes.
    #[error("{what} is over the limit of {limit}")]
    Limit {
        /// What is too big.
        what: String,
        /// How big it may be.
        limit: u64,
    },
    /// A member that the manifests need is not there.
    #[error("member {member:?}, which {named_by} names as its {role}, is not in the package")]
    Missing {
        /// Its name.
        member: String,
        /// Who wants it.
        named_by: String,
        /// What it should be.
        role: &'static str,
    },
    /// Two manifests use one member as two things: the chain runs in a circle or across.
    #[error("{named_by} names member {member:?} as its {role}, but it is already the {is}")]
    Crossed {
        /// The member.
        member: String,
        /// Who names it now.
        named_by: String,
        /// As what.
        role: &'static str,
        /// What it is already.
        is: &'static str,
    },
    /// A manifest says less than it must.
    #[error("{member}: {reason}")]
    Manifest {
        /// The manifest.
        member: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A manifest is no JSON, or not of the expected form.
    #[error("{member}:{line}:{column}: {reason}")]
    Json {
        /// The manifest.
        member: String,
        /// Line in it, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What is wrong there.
        reason: String,
    },
    /// A debug member is no debug information.
    #[error("{member}: not debug information: {reason} at byte {at}")]
    Debug {
        /// The member.
        member: String,
        /// Offset in it.
        at: usize,
        /// What is wrong there.
        reason: &'static str,
    },
    /// Something in the file system.
    #[error("cannot {what} {path}: {error}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// With what.
        path: String,
        /// Why it failed.
        error: std::io::Error,
    },
}

impl Error {
    pub(crate) fn json(member: &str, error: &serde_json::Error) -> Error {
        let text = error.to_string();
        // The library ends its messages with the place, which has fields of its own here.
        let reason = text.rsplit_once(" at line ").map_or(&*text, |(reason, _)| reason).to_owned();
        Error::Json { member: member.to_owned(), line: error.line(), column: error.column(), reason }
    }

    pub(crate) fn member(name: impl Into<String>, reason: impl Into<String>) -> Error {
        Error::Member { name: name.into(), reason: reason.into() }
    }

    pub(crate) fn io(what: &'static str, path: &std::path::Path, error: std::io::Error) -> Error {
        Error::Io { what, path: path.display().to_string(), error }
    }
}

/// How bad a finding is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Odd; a loader may mind.
    Warning,
    /// Wrong; a loader will mind, or should.
    Error,
}

impl Severity {
    /// `error`, `warning` or `note`.
    pub fn name(self) -> &'static str {
        ["note", "warning", "error"][self as usize]
    }
}

/// Something odd or wrong about a package that can be read.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Finding {
    /// Which rule, `NEFF-01` and so on; [`RULES`](crate::RULES) explains them.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// The member it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
    /// Word of a stream, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub word: Option<u64>,
    /// What is wrong.
    pub message: String,
    /// How many like it this one stands for.
    pub count: u64,
}

impl Finding {
    /// A finding about the package as a whole.
    pub fn new(code: &'static str, severity: Severity, message: impl Into<String>) -> Finding {
        Finding { code, severity, member: None, word: None, message: message.into(), count: 1 }
    }

    /// Says which member it is in.
    #[must_use]
    pub fn of(mut self, member: impl Into<String>) -> Finding {
        self.member = Some(member.into());
        self
    }

    /// Says at which word of the stream it is.
    #[must_use]
    pub fn at(mut self, word: u64) -> Finding {
        self.word = Some(word);
        self
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}[{}] ", self.severity.name(), self.code)?;
        match (&self.member, self.word) {
            (Some(member), Some(word)) => write!(f, "{member} word {word}: ")?,
            (Some(member), None) => write!(f, "{member}: ")?,
            _ => {}
        }
        f.write_str(&self.message)?;
        if self.count > 1 {
            write!(f, " ({} of them)", self.count)?;
        }
        Ok(())
    }
}
