//! Files that want to do harm: a clear error, nothing written outside, no memory that the file does not justify.

use std::fs;

use neff::{Container, Header, Limits, Package, extract, sample};

use crate::common::*;

#[test]
fn members_that_lead_elsewhere_are_refused() {
    for (name, reason) in [
        (&b"../evil"[..], "leads out of its folder"),
        (b"sg00/../../evil", "leads out of its folder"),
        (b"./../evil", "leads out of its folder"),
        (b"..", "leads out of its folder"),
        (b"/etc/passwd", "absolute name"),
        (b".//etc/passwd", "absolute name"),
        (b"a//b", "simplest form"),
        (b"a/./b", "simplest form"),
        (b"C:\\x", "absolute on other systems"),
        (b"a\\..\\b", "absolute on other systems"),
        (b"a\nb", "control characters"),
        (b"\xff\xfe", "not UTF-8"),
        (b"./", "no name"),
    ] {
        let kind = if name == b"./" { b'7' } else { b'0' };
        let file = wrap(&gzip(&tar_with(name, kind, b"", 1, b"x")));
        let text = fault(&file);
        assert!(text.contains(reason), "{name:?}: {text}");
        let folder = tempfile::tempdir().unwrap();
        let container = Container::open(&file).unwrap();
        let target = folder.path().join("out");
        assert!(extract(&container, &target, true, &Limits::default(), |_| true).is_err());
        assert!(!target.exists(), "nothing is written");
    }
    // The same through a PAX record and a GNU name.
    let pax =
        [&tar_with(b"x", b'x', b"", 18, b"18 path=../../etc\n")[..1024], &tar_with(b"y", b'0', b"", 0, b"")]
            .concat();
    assert!(fault(&wrap(&gzip(&pax))).contains("leads out"));
    let gnu =
        [&tar_with(b"x", b'L', b"", 10, b"/etc/what\0")[..1024], &tar_with(b"y", b'0', b"", 0, b"")].concat();
    assert!(fault(&wrap(&gzip(&gnu))).contains("absolute"));
}

#[test]
fn members_that_are_no_files_are_refused() {
    for (kind, reason) in [
        (b'1', "hard link"),
        (b'2', "symbolic link"),
        (b'3', "device"),
        (b'4', "device"),
        (b'6', "pipe"),
        (b'S', "sparse"),
        (b'Z', "unknown kind"),
    ] {
        let text = fault(&wrap(&gzip(&tar_with(b"sg00/x", kind, b"/etc/passwd", 0, b""))));
        assert!(text.contains(reason), "{text}");
    }
}

#[cfg(unix)]
#[test]
fn links_in_the_folder_are_not_followed() {
    let file = sample::package(1);
    let container = Container::open(&file).unwrap();
    let outside = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(outside.path(), folder.path().join("sg00")).unwrap();
    let error = extract(&container, folder.path(), true, &Limits::default(), |_| true).unwrap_err();
    assert!(error.to_string().contains("it is no folder"), "{error}");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);

    let folder = tempfile::tempdir().unwrap();
    let victim = outside.path().join("victim");
    fs::write(&victim, "untouched").unwrap();
    std::os::unix::fs::symlink(&victim, folder.path().join("neff.json")).unwrap();
    assert!(extract(&container, folder.path(), false, &Limits::default(), |_| true).is_err());
    extract(&container, folder.path(), true, &Limits::default(), |_| true).unwrap();
    assert_eq!(fs::read_to_string(&victim).unwrap(), "untouched");
    assert!(fs::symlink_metadata(folder.path().join("neff.json")).unwrap().is_file());
}

#[test]
fn lengths_are_not_believed() {
    for size in [1 << 13, 1 << 32] {
        let text = fault(&wrap(&gzip(&tar_with(b"a", b'0', b"", size, b"short"))));
        assert!(text.contains("damaged") || text.contains("over the limit"), "{text}");
        let text = fault(&wrap(&tar_with(b"a", b'0', b"", size, b"short")));
        assert!(text.contains("damaged"), "{text}");
    }
    // Sizes in base 256 go up to 2^95; numbers may be no numbers.
    for field in [[0x80, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0], [0xff; 12], *b"99999999999 ", *b"hello world "]
    {
        let mut archive = tar_with(b"a", b'0', b"", 0, b"");
        archive[124..136].copy_from_slice(&field);
        let sum: u32 = archive[..512]
            .iter()
            .enumerate()
            .map(|(i, b)| if (148..156).contains(&i) { 32 } else { u32::from(*b) })
            .sum();
        archive[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        for payload in [archive.clone(), gzip(&archive)] {
            let text = fault(&wrap(&payload));
            assert!(
                text.contains("limit") || text.contains("no number") || text.contains("damaged"),
                "{text}"
            );
        }
    }
    let text = fault(&wrap(&gzip(&tar_with(b"x", b'x', b"", 1 << 32, b""))));
    assert!(text.contains("over the limit of 1048576"), "{text}");
    let text = fault(&wrap(&gzip(&tar_with(b"x", b'x', b"", 9, b"99 path=x"))));
    assert!(text.contains("PAX records are damaged"), "{text}");
}

/// Zeros that gzip makes a thousand times smaller.
#[test]
fn a_bomb_goes_off_at_the_limit() {
    let limits = Limits { inflated: 1 << 20, ..Limits::default() };
    let zeros = gzip(&tar_with(b"zeros", b'0', b"", 8 << 20, &vec![0; 8 << 20]));
    assert!(zeros.len() < 1 << 17);
    let text = Package::read(&wrap(&zeros), &limits).map(|_| ()).unwrap_err().to_string();
    assert!(text.contains("over the limit of 1048576"), "{text}");
    // Behind the end of the archive as well.
    let behind = gzip(&[&tar_of(&one_core(), tar::Header::new_ustar)[..], &vec![0; 8 << 20]].concat());
    let text = Package::read(&wrap(&behind), &limits).map(|_| ()).unwrap_err().to_string();
    assert!(text.contains("over the limit"), "{text}");
    // A manifest that is larger than any.
    let small = Limits { manifest: 100, ..Limits::default() };
    let text = Package::read(&sample::package(1), &small).map(|_| ()).unwrap_err().to_string();
    assert!(text.contains("manifest neff.json is over the limit of 100"), "{text}");
    let few = Limits { members: 10, ..Limits::default() };
    let text = Package::read(&sample::package(1), &few).map(|_| ()).unwrap_err().to_string();
    assert!(text.contains("the number of members is over the limit of 10"), "{text}");
}

#[test]
fn cut_files_are_errors() {
    let file = sample::package(2);
    let end = file.len() - file.iter().rev().take_while(|byte| **byte == 0).count();
    for length in (0..end).step_by(256) {
        assert!(Package::read(&file[..length], &Limits::default()).is_err(), "{length}");
    }
    // The same with a header that knows of it, so that the payload itself is cut; and without compression.
    let plain = tar_of(&one_core(), tar::Header::new_ustar);
    for payload in [&file[1024..end], &plain[..]] {
        for length in (256..payload.len() - 1024).step_by(256) {
            assert!(Package::read(&wrap(&payload[..length]), &Limits::default()).is_err(), "{length}");
        }
    }
}

#[test]
fn flipped_bits_never_panic() {
    let file = sample::package(1);
    for at in (0..file.len()).step_by(131) {
        let mut damaged = file.clone();
        damaged[at] ^= 1 << (at % 8);
        let _ = Package::read(&damaged, &Limits::default());
    }
    let plain = tar_of(&one_core(), tar::Header::new_ustar);
    for at in (0..plain.len()).step_by(997) {
        let mut damaged = plain.clone();
        damaged[at] ^= 1 << (at % 8);
        let _ = Package::read(&wrap(&damaged), &Limits::default());
    }
}

#[test]
fn manifests_in_a_circle_are_errors() {
    let with = |name: &'static str, from: &'static str, to: &'static str| {
        let mut members = one_core();
        edit(&mut members, name, from, to);
        fault(&wrapped(&members))
    };
    let text = with("neff.json", "\"kelf-0.json\"", "\"neff.json\"");
    assert!(text.contains("already the host-graph"), "{text}");
    let text = with("kelf-0.json", "sg00/def.json", "kelf-0.json");
    assert!(text.contains("already the kelf"), "{text}");
    let text = with("sg00/def.json", "\"PE.json\"", "\"def.json\"");
    assert!(text.contains("already the definition"), "{text}");
    let text = with("sg00/PE.json", "\"PE.bin\"", "\"PE.json\"");
    assert!(text.contains("already the engine"), "{text}");
    let text = with("sg00/def.json", "\"PE.json\"", "\"../neff.json\"");
    assert!(text.contains("is not in the package"), "{text}");
    for (member, role) in [
        ("kelf-0.json", "kelf"),
        ("sg00/def.json", "definition"),
        ("sg00/SP.json", "engine"),
        ("sg00/SP.bin", "stream"),
    ] {
        let mut members = one_core();
        members.retain(|(name, _)| name != member);
        let text = fault(&wrapped(&members));
        assert!(
            text.contains(member) && text.contains(role) && text.contains("is not in the package"),
            "{text}"
        );
    }
    let mut members = one_core();
    members.retain(|(name, _)| name != "kelf-0.json" && name != "neff.json");
    assert!(fault(&wrapped(&members)).contains("\"neff.json\", which the format names as its host-graph"));
    let two = r#"{"name":"sg00","definition":"sg00/def.json"},{"name":"b","definition":"sg00/def.json"}"#;
    let text =
        with("kelf-0.json", "\"graphs\": [", &*Box::leak(format!("\"graphs\": [{two},").into_boxed_str()));
    assert!(text.contains("two graphs have the definition"), "{text}");
}

#[test]
fn manifests_that_are_no_manifests_are_errors_with_a_place() {
    let with = |name: &str, body: &[u8]| {
        let mut members = one_core();
        members.iter_mut().find(|(member, _)| member == name).unwrap().1 = body.to_vec();
        fault(&wrapped(&members))
    };
    assert_eq!(with("neff.json", b"not json"), "neff.json: expected a JSON object");
    assert_eq!(
        with("neff.json", b"{\n \"nodes\": 1}"),
        "neff.json:2:11: invalid type: integer `1`, expected a sequence"
    );
    assert!(with("neff.json", &b"{\"a\":".repeat(100_000)).contains("recursion limit"));
    assert!(with("kelf-0.json", b"{\"graphs\":[]}").contains("0 graphs"));
    assert!(
        with("sg00/def.json", b"{\"var\":{\"a\":{\"type\":\"input\",\"var_id\":-1}}}")
            .contains("sg00/def.json:1:")
    );
    let mut members = one_core();
    edit(&mut members, "sg00/def.json", "\"pe_instr\": \"PE.bin\",", "");
    edit(&mut members, "sg00/PE.json", "\"instr\":\"PE.bin\",", "");
    assert!(fault(&wrapped(&members)).contains("names no stream"));
    assert!(with("sg00/def.json", b"{\"pe\":5}").contains("\"pe\" is not a string"));
}

#[test]
fn many_members_are_no_trouble() {
    let mut members = one_core();
    members.extend((0..10_000).map(|number| (format!("extra/{number:05}"), vec![number as u8; 3])));
    let package = read(&wrapped(&members));
    assert_eq!(package.members.len(), members.len());
    let found = neff::check::check(&Container::open(&wrapped(&members)).unwrap(), &package);
    let strays = found.iter().find(|finding| finding.code == "NEFF-26").unwrap();
    assert_eq!(strays.count, 10_000);
}

#[test]
fn what_is_no_package_is_told_apart() {
    assert!(fault(b"").contains("0 bytes"));
    assert!(fault(b"hello").contains("5 bytes"));
    assert!(fault(&[0; 5000]).contains("pkg_version is 0"));
    assert!(fault(&[1; 5000]).contains("pkg_version"));
    let mut header = Header::default();
    header.data_size = 4;
    assert_eq!(fault(&[&header.write()[..], b"what"].concat()), "the payload is neither gzip nor tar");
    assert!(fault(&[&header.write()[..], &[0x1f, 0x8b, 8, 0]].concat()).contains("gzip payload is damaged"));
}
