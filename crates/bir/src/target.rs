//! Hardware targets: memory geometry and limits of each architecture, and the engines (spec: verify 3, ordering 1).

use crate::conf::Conf;
use crate::generated::enums::{ArchLevel, EngineType};
pub use crate::generated::targets::Target;
use crate::generated::targets::{ENGINES, TARGETS};
use crate::module::Module;
use crate::open_enum::OpenEnum;

/// What a field of a [`Target`] means, and where it comes from. See [`Target::FACTS`].
#[derive(Debug)]
pub struct Fact {
    /// Name of the field.
    pub name: &'static str,
    /// Its unit; may be empty.
    pub unit: &'static str,
    /// How sure it is.
    pub conf: Conf,
    /// Where the specification states it.
    pub spec: &'static str,
    /// What it is.
    pub doc: &'static str,
}

/// Where an access may start: at one of `starts`, if it has at most so many partitions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Starts {
    /// Most partitions that the rule is for.
    pub partitions: u64,
    /// Partitions to start at.
    pub starts: &'static [u32],
}

impl Target {
    /// The target of an architecture; `None` for names that the table does not have, and for those without known
    /// geometry.
    pub fn of(arch: ArchLevel) -> Option<&'static Target> {
        TARGETS.iter().find(|target| target.arch == arch)
    }

    /// The target of a module. One without an arch, or with an arch of unknown geometry, is taken for
    /// [`Target::FALLBACK`].
    pub fn of_module(module: &Module) -> &'static Target {
        let arch = module.root.arch.unwrap_or(Target::FALLBACK);
        Target::of(arch).or_else(|| Target::of(Target::FALLBACK)).expect("the fallback is in the table")
    }

    /// The architecture assumed where none is known.
    pub const FALLBACK: ArchLevel = ArchLevel::Gen3;

    /// All targets, by level.
    pub fn all() -> &'static [Target] {
        TARGETS
    }

    /// Bytes of PSUM in one partition.
    pub fn psum_partition_bytes(&self) -> u64 {
        self.psum_banks * self.psum_bank_bytes
    }

    /// Bytes of one SB partition that the allocator may use.
    pub fn sb_usable_bytes(&self) -> u64 {
        self.sb_partition_bytes - self.sb_reserved_bytes
    }

    /// Partitions at which an access to so many partitions may start; `None` when the target has no rule for it.
    pub fn access_starts_of(&self, partitions: u64) -> Option<&'static [u32]> {
        starts_of(self.access_starts, partitions)
    }

    /// Partitions at which an access to so many partitions of PSUM may start; `None` when the target has no rule
    /// for it.
    pub fn psum_starts_of(&self, partitions: u64) -> Option<&'static [u32]> {
        starts_of(self.psum_starts, partitions)
    }
}

fn starts_of(rules: &'static [Starts], partitions: u64) -> Option<&'static [u32]> {
    rules.iter().find(|rule| partitions <= rule.partitions).map(|rule| rule.starts)
}

/// Facts of one engine.
#[derive(Debug)]
pub struct EngineInfo {
    /// The engine.
    pub engine: EngineType,
    /// Its name in profiles and public documentation.
    pub profile_name: &'static str,
    /// Its name in kernel programs.
    pub kernel_name: Option<&'static str>,
    /// Whether it runs an instruction stream of its own.
    pub datapath: bool,
    /// Its number in instruction words.
    pub wire: Option<u8>,
}

impl EngineInfo {
    /// The facts of an engine; `None` for a name that the table does not have.
    pub fn of(engine: EngineType) -> Option<&'static EngineInfo> {
        ENGINES.get(engine.ordinal()? as usize)
    }

    /// All engines, by ordinal.
    pub fn all() -> &'static [EngineInfo] {
        &ENGINES
    }
}

impl EngineType {
    /// Whether the engine runs an instruction stream of its own: Pool, Activation, PE, DVE, SP.
    pub fn is_datapath(self) -> bool {
        EngineInfo::of(self).is_some_and(|info| info.datapath)
    }
}
