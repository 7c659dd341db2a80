//! Packages put together by hand: archives in any form, headers over any payload.

use std::io::Write;

use neff::pack::{Body, Source, fit_header};
use neff::{Header, Limits, Package, sample};

/// The members of the sample for one core.
pub(crate) fn one_core() -> Vec<(String, Vec<u8>)> {
    bodies(sample::members(1))
}

pub(crate) fn bodies(sources: Vec<Source>) -> Vec<(String, Vec<u8>)> {
    let body = |source: Source| match source.body {
        Body::Bytes(bytes) => (source.name, bytes),
        Body::File(path) => (source.name, std::fs::read(path).unwrap()),
    };
    sources.into_iter().map(body).collect()
}

/// Changes the text of a member.
pub(crate) fn edit(members: &mut [(String, Vec<u8>)], name: &str, from: &str, to: &str) {
    let (_, body) = members.iter_mut().find(|(member, _)| member == name).unwrap();
    let text = String::from_utf8(body.clone()).unwrap();
    assert!(text.contains(from), "{from:?} is not in {name}");
    *body = text.replace(from, to).into_bytes();
}

/// Gives members other names, in the archive and in every manifest.
pub(crate) fn rename(members: &mut [(String, Vec<u8>)], from: &str, to: &str) {
    for (name, body) in members {
        *name = name.replace(from, to);
        if name.ends_with(".json") {
            *body = String::from_utf8(std::mem::take(body)).unwrap().replace(from, to).into_bytes();
        }
    }
}

/// An archive by the crate `tar`: another writer than ours.
pub(crate) fn tar_of(members: &[(String, Vec<u8>)], new: fn() -> tar::Header) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, body) in members {
        let mut header = new();
        header.set_size(body.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, name, &body[..]).unwrap();
    }
    builder.into_inner().unwrap()
}

/// An archive with one member that the crate would not write.
pub(crate) fn tar_with(name: &[u8], kind: u8, link: &[u8], size: u64, body: &[u8]) -> Vec<u8> {
    let mut header = tar::Header::new_ustar();
    header.as_mut_bytes()[..name.len()].copy_from_slice(name);
    header.as_mut_bytes()[157..157 + link.len()].copy_from_slice(link);
    header.as_mut_bytes()[156] = kind;
    header.set_size(size);
    header.set_cksum();
    let mut archive = header.as_bytes().to_vec();
    archive.extend_from_slice(body);
    archive.resize(archive.len().next_multiple_of(512), 0);
    archive.extend([0; 1024]);
    archive
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A header in front of a payload.
pub(crate) fn wrap(payload: &[u8]) -> Vec<u8> {
    let mut header = Header { name: "product.neff".into(), ..Header::default() };
    fit_header(&mut header, payload);
    let mut file = header.write().to_vec();
    file.extend_from_slice(payload);
    file
}

pub(crate) fn wrapped(members: &[(String, Vec<u8>)]) -> Vec<u8> {
    wrap(&gzip(&tar_of(members, tar::Header::new_ustar)))
}

pub(crate) fn read(file: &[u8]) -> Package {
    Package::read(file, &Limits::default()).unwrap()
}

pub(crate) fn fault(file: &[u8]) -> String {
    Package::read(file, &Limits::default()).map(|_| ()).expect_err("it must not be read").to_string()
}

/// Codes of the findings, warnings and errors only.
pub(crate) fn codes(file: &[u8]) -> Vec<&'static str> {
    let container = neff::Container::open(file).unwrap();
    let package = read(file);
    let found = neff::check::check(&container, &package);
    found.iter().filter(|f| f.severity > neff::Severity::Note).map(|f| f.code).collect()
}
