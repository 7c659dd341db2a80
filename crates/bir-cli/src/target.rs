//! The names of targets, which all commands take alike: devices, generations of words, and architectures.

use bir::OpenEnum;
use bir::enums::ArchLevel;
use clap::builder::PossibleValue;
use tpb_isa::Generation;

/// Generations of words and the architectures that have them.
const PAIRS: [(Generation, ArchLevel); 4] = [
    (Generation::V2, ArchLevel::Sunda),
    (Generation::V3, ArchLevel::Gen3),
    (Generation::V4, ArchLevel::CoreV4),
    (Generation::V5, ArchLevel::CoreV5),
];

/// An option whose value is a target, as an architecture or as a generation of words.
#[derive(Clone)]
pub(crate) struct TargetParser<T>(fn(&str) -> Result<T, String>);

/// A target as an architecture.
pub(crate) const ARCH: TargetParser<ArchLevel> = TargetParser(arch);

/// A target as a generation of words.
pub(crate) const GENERATION: TargetParser<Generation> = TargetParser(generation);

/// A target as it was called, and its generation.
pub(crate) const NAMED: TargetParser<(String, Generation)> =
    TargetParser(|name| Ok((name.to_owned(), generation(name)?)));

/// The architecture of a target.
fn arch(name: &str) -> Result<ArchLevel, String> {
    if let Some(arch) = ArchLevel::from_device(&name.to_ascii_lowercase()) {
        return Ok(arch);
    }
    let generation: Generation = name.parse().map_err(|_| unknown(name))?;
    let pair = PAIRS.iter().find(|(other, _)| *other == generation);
    pair.map(|(_, arch)| *arch).ok_or_else(|| unknown(name))
}

/// The generation of the words of a target.
fn generation(name: &str) -> Result<Generation, String> {
    let arch = arch(name)?;
    let pair = PAIRS.iter().find(|(_, other)| *other == arch);
    pair.map(|(generation, _)| *generation).ok_or_else(|| {
        let name = arch.name().unwrap_or(name);
        format!(
            "instruction words of {name} are of another kind; those of trn1, inf2, trn2 and trn3 are known"
        )
    })
}

fn unknown(name: &str) -> String {
    format!(
        "no target is called `{name}`: there are the devices inf1, trn1, inf2, trn2, trn3, the generations v2 to v5, and \
         architectures such as gen3"
    )
}

impl<T: Clone + Send + Sync + 'static> clap::builder::TypedValueParser for TargetParser<T> {
    type Value = T;

    fn parse_ref(
        &self,
        cmd: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<T, clap::Error> {
        let parse = self.0;
        clap::builder::StringValueParser::new().try_map(move |name| parse(&name)).parse_ref(cmd, arg, value)
    }

    /// For shells, which complete these; others are taken too.
    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(["inf1", "trn1", "inf2", "trn2", "trn3"].into_iter().map(PossibleValue::new)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_names_mean_one_thing() {
        for (names, expected, words) in [
            (&["trn1", "inf2", "v2", "sunda", "20", "TRN1"][..], ArchLevel::Sunda, Some(Generation::V2)),
            (&["trn2", "v3", "cayman", "gen3", "30", "Trn2"], ArchLevel::Gen3, Some(Generation::V3)),
            (&["trn3", "v4", "core_v4", "mariana", "40"], ArchLevel::CoreV4, Some(Generation::V4)),
            (&["core_v5", "v5", "50"], ArchLevel::CoreV5, Some(Generation::V5)),
            (&["inf1", "tonga", "inferentia"], ArchLevel::Inferentia, None),
        ] {
            for name in names {
                assert_eq!(arch(name), Ok(expected), "{name}");
                assert_eq!(generation(name).ok(), words, "{name}");
            }
        }
        assert!(arch("trn9").unwrap_err().contains("trn9"));
        assert!(generation("inf1").unwrap_err().contains("another kind"));
    }
}
