//! The examples of `bir explain` for rules about packages: what breaks a rule in the sample, and what is said of it.
//! `BLESS=1` writes them anew.

use std::collections::BTreeSet;
use std::fmt::Write;

use neff::{Container, Finding};

use crate::common::*;

/// Where the examples stand: the rule, what was changed in a package that is clean, and what is said of it.
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/examples.tsv");

type Members = Vec<(String, Vec<u8>)>;

/// A rule, what breaks it, and how.
struct Example(&'static str, &'static str, How);

enum How {
    /// The members are changed and packed.
    Members(fn(&mut Members)),
    /// The text of a member, the first to the second.
    Edit(&'static str, &'static str, &'static str),
    /// The file is changed.
    File(fn(Vec<u8>) -> Vec<u8>),
    /// A package for so many cores, on a device of another generation.
    Device(usize, &'static str, &'static str),
}

const DEFINITION: &str = "sg00/def.json";

const RECORDS: &str = r#""dma":[{"id":1,"queue":"q","desc":[{"from":"x","to":"nothing","from_steps":[1],"from_sizes":[4],"to_steps":[1],"to_sizes":[4]}]}]"#;
const UNEVEN: &str = r#""dma":[{"id":1,"queue":"q","desc":[{"from":"x","to":"x","from_steps":[1,2],"from_sizes":[4],"to_steps":[1],"to_sizes":[4]}]}]"#;

const EXAMPLES: &[Example] = &[
    Example("NEFF-01", "the 1024 bytes of the header cut off", How::File(|file| file[1024..].to_vec())),
    Example("NEFF-02", "a byte of the payload changed after packing", How::File(damaged)),
    Example("NEFF-03", "bytes put behind the file", How::File(|file| [&file[..], b"more"].concat())),
    Example(
        "NEFF-04",
        "bytes behind the end of the tar archive",
        How::File(|_| {
            let archive = tar_of(&one_core(), tar::Header::new_ustar);
            wrap(&gzip(&[&archive[..], b"x"].concat()))
        }),
    ),
    Example("NEFF-05", "another name in info.json", How::Edit("info.json", "product", "other")),
    Example(
        "NEFF-06",
        "`lnc_size` 2 for 1 in the header",
        How::File(|mut file| {
            file[0x228] = 2;
            file
        }),
    ),
    Example(
        "NEFF-07",
        "neff.json left out",
        How::Members(|members| members.retain(|(name, _)| name != "neff.json")),
    ),
    Example(
        "NEFF-08",
        "sg00/identity.npy left out",
        How::Members(|members| {
            members.retain(|(name, _)| name != "sg00/identity.npy");
        }),
    ),
    Example(
        "NEFF-09",
        "`pe_instr` names SP.bin in sg00/def.json",
        How::Edit(DEFINITION, "\"pe_instr\": \"PE.bin\"", "\"pe_instr\": \"SP.bin\""),
    ),
    Example(
        "NEFF-10",
        "`var_id` 40 for 4 in sg00/def.json",
        How::Edit(DEFINITION, "\"var_id\": 4", "\"var_id\": 40"),
    ),
    Example(
        "NEFF-11",
        "the variable of type `output` made a `tmp-buf`",
        How::Edit(DEFINITION, "\"type\": \"output\"", "\"type\": \"tmp-buf\""),
    ),
    Example(
        "NEFF-12",
        "a transfer to `nothing`, which no variable is called",
        How::Edit("sg00/PE.json", "\"dma\":[]", RECORDS),
    ),
    Example(
        "NEFF-13",
        "a transfer with two steps and one size",
        How::Edit("sg00/PE.json", "\"dma\":[]", UNEVEN),
    ),
    Example(
        "NEFF-14",
        "`num_queues` 17 for 16 in sg00/def.json",
        How::Edit(DEFINITION, "\"num_queues\": 16", "\"num_queues\": 17"),
    ),
    Example(
        "NEFF-15",
        "`runtime_semaphore_count` 9 for 3 in sg00/def.json",
        How::Edit(DEFINITION, "\"runtime_semaphore_count\": 3", "\"runtime_semaphore_count\": 9"),
    ),
    Example("NEFF-16", "a byte more in sg00/PE.bin", How::Members(|members| stream(members).push(0))),
    Example(
        "NEFF-18",
        "the last word of sg00/PE.bin cut off",
        How::Members(|members| stream(members).truncate(11 * 64)),
    ),
    Example(
        "NEFF-19",
        "the end of a debug member cut off",
        How::Members(|members| {
            let (_, body) =
                members.iter_mut().find(|(name, _)| name.ends_with("debug_info_backend_PE.dbg")).unwrap();
            body.truncate(body.len() - 3);
        }),
    ),
    Example(
        "NEFF-21",
        "`neff_features` names a feature that the header does not set",
        How::Edit(DEFINITION, "\"neff_features\": []", "\"neff_features\": [\"neff_feature_vnc\"]"),
    ),
    Example("NEFF-22", "the reservation of type `something`", How::Edit(DEFINITION, "evtaccel", "something")),
    Example("NEFF-23", "a package for trn2, on trn1", How::Device(1, "v2", "trn1")),
    Example("NEFF-24", "a package for two cores that are joined, on trn1", How::Device(2, "v2", "trn1")),
    Example(
        "NEFF-26",
        "a member that no manifest names",
        How::Members(|members| members.push(("stray".into(), vec![1]))),
    ),
    Example(
        "NEFF-28",
        "the lowest feature bit set in the header",
        How::File(|mut file| {
            file[0x220] |= 1;
            file
        }),
    ),
];

fn stream(members: &mut Members) -> &mut Vec<u8> {
    &mut members.iter_mut().find(|(name, _)| name == "sg00/PE.bin").unwrap().1
}

/// The file with another time in the header of its gzip member.
fn damaged(mut file: Vec<u8>) -> Vec<u8> {
    file[1024 + 4] ^= 1;
    file
}

fn found(how: &How) -> Vec<Finding> {
    let file = match how {
        How::Members(change) => {
            let mut members = one_core();
            change(&mut members);
            wrapped(&members)
        }
        How::Edit(member, from, to) => {
            let mut members = one_core();
            edit(&mut members, member, from, to);
            wrapped(&members)
        }
        How::File(change) => change(neff::sample::package(1)),
        How::Device(cores, generation, name) => {
            return neff::check::device(&read(&neff::sample::package(*cores)), generation, name);
        }
    };
    neff::check::check(&Container::open(&file).unwrap(), &read(&file))
}

#[test]
fn examples_are_what_the_check_says() {
    let mut lines = String::new();
    for Example(code, what, how) in EXAMPLES {
        let found = found(how);
        let finding = found.iter().find(|finding| finding.code == *code);
        let finding = finding.unwrap_or_else(|| panic!("{code}: {what}: {found:?}"));
        writeln!(lines, "{code}\t{what}\t{}", finding.to_string().replace(['\t', '\n'], " ")).unwrap();
    }
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(FILE, &lines).unwrap();
    }
    assert_eq!(std::fs::read_to_string(FILE).unwrap(), lines);
    let codes: BTreeSet<&str> = EXAMPLES.iter().map(|Example(code, ..)| *code).collect();
    assert_eq!(codes.len(), EXAMPLES.len());
    for rule in neff::RULES {
        assert_eq!(rule.example().is_some(), codes.contains(rule.code), "{}", rule.code);
    }
}
