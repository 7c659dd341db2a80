//! The NEFF features that a module will need: what a package's header tells the loader. spec: neff 9

use bir::enums::ArchLevel;
use bir::{Module, OpenEnum};
use serde::Serialize;

use crate::generated::features::FEATURES;

/// A row of the generated table.
pub(crate) struct KnownFeature {
    pub(crate) bit: u64,
    pub(crate) name: &'static str,
    /// Module attribute that asks for the feature.
    pub(crate) attribute: Option<&'static str>,
    /// Modules of this arch level and above have the feature.
    pub(crate) arch_min: Option<u32>,
}

/// A feature that a package made from a module needs its loader to have.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Feature {
    /// The bit of the header's feature word, in hexadecimal.
    pub bit: String,
    /// Name, as in the specification.
    pub name: &'static str,
    /// Why the module needs it: the module attribute that is set, the instructions that need it, or its arch.
    pub because: Vec<String>,
}

/// Instructions of a module that need a feature, whether an attribute says so or not.
#[derive(Clone, Copy, Default)]
pub(crate) struct FeatureUse {
    /// `CustomOp`: words 0x85.
    pub(crate) custom_ops: u64,
    /// `SwitchQueueInstance`: words 0xCF.
    pub(crate) queue_switches: u64,
    /// `Call`: words 0xD3.
    pub(crate) calls: u64,
    /// DMA whose descriptors are generated on the device: words 0xD4.
    pub(crate) generated_dma: u64,
    /// Those of them that convert the type.
    pub(crate) casting_dma: u64,
}

/// The features that a module asks for by attribute or by its arch, in ascending order of their bits.
pub fn features(module: &Module) -> Vec<Feature> {
    needed(module, FeatureUse::default())
}

pub(crate) fn needed(module: &Module, used: FeatureUse) -> Vec<Feature> {
    let level = module.root.arch.and_then(ArchLevel::ordinal);
    let needed = FEATURES.iter().map(|known| {
        let mut because = Vec::new();
        // An attribute counts as set when the entry exists, whatever its value. spec: bir-json 3.1
        if let Some(attribute) = known.attribute
            && module.root.attributes.get(attribute).is_some()
        {
            because.push(format!("attribute {attribute}"));
        }
        let (count, what) = match known.name {
            "custom_ops" => (used.custom_ops, "CustomOp"),
            "queue_set_instances" => (used.queue_switches, "SwitchQueueInstance"),
            "has_functions" => (used.calls, "Call"),
            "DGE" => (used.generated_dma, "DMA with generated descriptors"),
            "DGE_cast" => (used.casting_dma, "of them converting the type"),
            _ => (0, ""),
        };
        if count > 0 {
            because.push(format!("{count} {what}"));
        }
        if let (Some(level), Some(min)) = (level, known.arch_min)
            && level >= min
        {
            because.push(format!("arch level {level}"));
        }
        Feature { bit: format!("{:#x}", known.bit), name: known.name, because }
    });
    needed.filter(|feature| !feature.because.is_empty()).collect()
}

/// The feature word that holds all of some features.
pub(crate) fn mask(features: &[Feature]) -> u64 {
    let has = |bit: u64| features.iter().any(|feature| feature.bit == format!("{bit:#x}"));
    FEATURES.iter().map(|known| known.bit).filter(|bit| has(*bit)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bir::Value;

    #[test]
    fn an_attribute_counts_whatever_its_value() {
        let mut module = Module::new(ArchLevel::Sunda);
        assert_eq!(features(&module), []);
        module.root.attributes.insert("neff_feature_indirect_memcpy_bound_check", Value::Bool(false));
        module.root.attributes.insert("neff_feature_of_the_future", Value::Bool(true));
        let found = features(&module);
        assert_eq!(found.len(), 1);
        assert_eq!((&*found[0].bit, found[0].name), ("0x100", "indirect_memcpy_bound_check"));
    }

    /// The real packages of the specification have 0x800 on v3. spec: neff 9
    #[test]
    fn the_arch_alone_needs_some() {
        assert_eq!(mask(&features(&Module::new(ArchLevel::Gen3))), 0x800);
        assert_eq!(mask(&features(&Module::new(ArchLevel::CoreV4))), 0x100_0800);
    }
}
