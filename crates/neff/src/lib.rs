//! The NEFF package: what the Neuron compiler ships to a device.
//!
//! A package is a header of 1024 bytes and a payload: a tar archive, usually in one gzip member. What a member is says
//! the manifest that names it, so a reader follows them from `neff.json` on. Layers, from the file up:
//!
//! - [`Container`] takes header and payload apart and checks the digest; [`Header`] has the fields.
//! - [`Archive`] reads the payload as a stream of members and refuses what has no place in one.
//! - [`Package`] reads a payload once, follows the manifests, and knows the kind of every member.
//! - [`Info`] is all that can be said about a package, [`check`] what is wrong with it.
//! - [`debug`] leads from an instruction word to its source line.
//! - [`pack`] writes packages, [`extract`] writes members into a folder.
//!
//! Words are bytes here; the crate `tpb-isa` takes them apart. Pages are cited as `spec: neff`.

mod archive;
pub mod check;
mod container;
pub mod debug;
mod error;
mod extract;
mod features;
mod generated;
mod header;
mod info;
mod kind;
mod limits;
pub mod manifest;
pub mod pack;
mod package;
mod proto;
pub mod sample;

pub use archive::{Archive, Compression, Entry, PayloadFacts, TarFormat};
pub use check::RULES;
pub use container::{Container, HashForm, Integrity};
pub use error::{Error, Finding, Severity};
pub use extract::{Extracted, extract};
pub use features::{feature_bit, feature_name, feature_names};
pub use header::{HEADER_BYTES, Header};
pub use info::Info;
pub use kind::{EngineKey, Kind};
pub use limits::Limits;
pub use package::{EnginePart, Graph, Member, Package};

/// Bytes of an instruction word (spec: isa-bundle 1).
pub const WORD_BYTES: u64 = 64;
