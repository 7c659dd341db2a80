//! The container reader: any bytes give a package or an error, in bounded memory and time, and what is read can be checked.
#![no_main]

use libfuzzer_sys::fuzz_target;
use neff::debug::{IrDebugInfo, Summary};
use neff::pack::{Options, fit_header, to_bytes};
use neff::{Compression, Container, Header, Info, Limits, Package};

fuzz_target!(|data: &[u8]| {
    let limits = Limits { inflated: 1 << 22, members: 1 << 10, ..Limits::default() };
    read(data, &limits);
    // The header and the checksums of gzip and tar keep most inputs out: the same bytes as a plain payload, and as the
    // manifests of a package that is otherwise sound.
    let mut header = Header::default();
    fit_header(&mut header, data);
    let mut file = header.write().to_vec();
    file.extend_from_slice(data);
    read(&file, &limits);
    if let Some((&which, body)) = data.split_first() {
        let mut members = neff::sample::members(1);
        let at = usize::from(which) % members.len();
        members[at].body = neff::pack::Body::Bytes(body.to_vec());
        let options = Options { compression: Compression::None, ..Options::default() };
        if let Ok(file) = to_bytes(Header::default(), &members, &options) {
            read(&file, &limits);
        }
    }
    // Debug members: what is read is written so that it is read the same, and counts agree.
    if let Ok(info) = IrDebugInfo::read("fuzz", data) {
        let again = IrDebugInfo::read("fuzz", &info.write()).expect("what is written can be read");
        assert_eq!(again, info);
        let summary = Summary::of("fuzz", data).expect("what can be read can be counted");
        assert_eq!(summary.entries, info.instructions.len() as u64);
    }
});

fn read(file: &[u8], limits: &Limits) {
    let Ok(container) = Container::open(file) else { return };
    let Ok(package) = Package::load(&container, limits, true) else { return };
    let _ = Info::new("fuzz", file.len() as u64, &container, &package).to_string();
    let _ = neff::check::check(&container, &package);
    let _ = neff::check::device(&package, "v3", "trn2");
    let Ok(program) = neff_words::Program::load(&container, &package, limits, true) else { return };
    let generation = tpb_isa::Generation::V3;
    let _ = neff_words::check::check(&package, &program, generation);
    if program.cores.iter().flat_map(|core| &core.engines).all(|stream| stream.len() < 1000) {
        if let Ok(checked) = neff_words::order::check(&package, &program, generation, &Default::default()) {
            let _ = checked.said();
        }
    }
}
