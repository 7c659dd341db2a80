//! Packing what was unpacked gives the same members, and packing twice the same bytes.

use std::fs;

use neff::pack::{self, Options};
use neff::{Container, Limits, Package, extract, sample};

use crate::common::*;

#[test]
fn unpacked_and_packed_again_members_are_equal() {
    for cores in [1, 2] {
        let file = sample::package(cores);
        let container = Container::open(&file).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let done = extract(&container, folder.path(), false, &Limits::default(), |_| true).unwrap();
        let sources = pack::folder(folder.path()).unwrap();
        assert_eq!(sources.len() as u64, done.files);
        let again = bodies(sources.clone());
        assert_eq!(again, bodies(sample::members(cores)));
        // The header is made from the members; what words need is added by those who read words.
        let package = Package::read(&file, &Limits::default()).unwrap();
        let mut header = pack::derive_header(&package);
        assert_eq!(header.feature_bits, if cores > 1 { 0xC00 } else { 0x800 });
        header.feature_bits |= 0x209000;
        assert_eq!(pack::to_bytes(header.clone(), &sources, &Options::default()).unwrap(), file);
        // Once more over the same folder.
        assert!(extract(&container, folder.path(), false, &Limits::default(), |_| true).is_err());
        fs::write(folder.path().join("sg00/PE.bin"), "changed").unwrap();
        extract(&container, folder.path(), true, &Limits::default(), |_| true).unwrap();
        assert_eq!(bodies(pack::folder(folder.path()).unwrap()), again);
    }
}

#[test]
fn only_what_was_asked_for_is_unpacked() {
    let file = sample::package(1);
    let folder = tempfile::tempdir().unwrap();
    let wanted = |name: &str| name == "sg00/PE.bin";
    let container = Container::open(&file).unwrap();
    let done = extract(&container, folder.path(), false, &Limits::default(), wanted).unwrap();
    assert_eq!((done.files, done.bytes), (1, 768));
    assert_eq!(fs::read(folder.path().join("sg00/PE.bin")).unwrap().len(), 768);
    assert!(!folder.path().join("neff.json").exists());
}

#[test]
fn a_payload_need_not_be_compressed() {
    let options = Options { compression: neff::Compression::None, ..Options::default() };
    let file = pack::to_bytes(neff::Header::default(), &sample::members(1), &options).unwrap();
    let package = read(&file);
    assert_eq!(package.payload.compression, neff::Compression::None);
    assert_eq!(package.payload.inflated + 1024, file.len() as u64);
}

#[cfg(unix)]
#[test]
fn links_are_not_packed() {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/etc/passwd", folder.path().join("x")).unwrap();
    assert!(pack::folder(folder.path()).unwrap_err().to_string().contains("is a link or device"));
}
