//! Names of the feature bits (spec: neff 9).

use crate::generated::features::FEATURES;

/// The name of a feature bit.
pub fn feature_name(bit: u64) -> Option<&'static str> {
    FEATURES.iter().find(|(known, _)| *known == bit).map(|(_, name)| *name)
}

/// The bit that a name stands for: the short name, or that of the module attribute (`neff_feature_vnc`).
pub fn feature_bit(name: &str) -> Option<u64> {
    let short = name.strip_prefix("neff_feature_").or_else(|| name.strip_prefix("neff_")).unwrap_or(name);
    FEATURES.iter().find(|(_, known)| *known == short || *known == name).map(|(bit, _)| *bit)
}

/// Names of the bits that are set, from the lowest; `bit_0x..` for bits without a name.
pub fn feature_names(bits: u64) -> Vec<String> {
    let set = (0..64).map(|place| 1u64 << place).filter(|bit| bits & bit != 0);
    set.map(|bit| feature_name(bit).map_or_else(|| format!("bit_{bit:#x}"), str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_have_the_names_of_the_table() {
        assert_eq!(feature_names(0x201C01), ["bit_0x1", "vnc", "DVE_perf_mode", "DGE", "hardware_DGE"]);
        assert_eq!(feature_bit("neff_feature_vnc"), Some(0x400));
        assert_eq!(feature_bit("neff_has_functions"), Some(0x20));
        assert_eq!(feature_bit("DGE_cast"), Some(0x8000));
        assert_eq!(feature_bit("neff_feature_of_the_future"), None);
    }
}
