//! A package of the compiler. It lies outside the repository: `$BIR_TEST_DATA`, by default `../shared/data` beside the
//! workspace.
#![allow(clippy::print_stdout)]

use std::fmt::Write;
use std::path::PathBuf;

use neff::debug::IrDebugInfo;
use neff::pack::{Body, Options, Source};
use neff::{Container, EngineKey, Info, Kind, Limits};
use serde_json::Value;

fn data(name: &str) -> Option<Vec<u8>> {
    let default = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let path = std::env::var_os("BIR_TEST_DATA").map_or_else(default, PathBuf::from).join("neff").join(name);
    let bytes = std::fs::read(&path).ok();
    if bytes.is_none() {
        println!("skipped: {} is not there", path.display());
    }
    bytes
}

#[test]
fn every_fact_of_the_package_comes_out() {
    let (Some(file), Some(facts)) = (data("matmul_small.neff"), data("info-small.json")) else { return };
    let (info, package) = Info::read("matmul_small.neff", &file, &Limits::default()).unwrap();
    assert!(package.findings.is_empty());
    let ours = serde_json::to_value(&info).unwrap();
    let theirs: Value = serde_json::from_slice(&facts).unwrap();
    assert_eq!(ours, theirs);
}

#[test]
fn every_word_has_its_name_source_line_and_dependencies() {
    let (Some(file), Some(table)) = (data("matmul_small.neff"), data("names-small.tsv")) else { return };
    let container = Container::open(&file).unwrap();
    let limits = Limits::default();
    let package = neff::Package::read(&file, &limits).unwrap();
    let is_debug = |member: &neff::Member| matches!(member.kind, Kind::DebugBackend | Kind::DebugAsm);
    let bodies = package.fetch(&container, &limits, is_debug).unwrap();
    let mut ours = "core\tengine\tword\tbir_id\tname\ttype\tsource\tdataflow\tscheduling\n".to_owned();
    for graph in &package.graphs {
        for engine in &graph.engines {
            let debug = package.engine_debug(engine, &bodies);
            assert_eq!(debug.words.len() as u64 * 64, engine.stream_bytes);
            for word in 0..debug.words.len() {
                let _ = write!(ours, "{}\t{}\t{word}", graph.name, engine.stem());
                match debug.instruction(word) {
                    None => ours.push_str("\t\t\t\t\t\t\n"),
                    Some(at) => {
                        let edges =
                            |edges: &mut dyn Iterator<Item = (u64, neff::debug::DependencyEdgeKind)>| {
                                let texts = edges.map(|(id, kind)| format!("{id}:{}", kind.bir_name()));
                                texts.collect::<Vec<_>>().join(" ")
                            };
                        let source = at.source().map_or(String::new(), |place| place.to_string());
                        let _ = writeln!(
                            ours,
                            "\t{}\t{}\t{}\t{source}\t{}\t{}",
                            at.entry.id,
                            at.entry.name,
                            at.entry.instruction_type.name(),
                            edges(&mut at.entry.dataflow()),
                            edges(&mut at.entry.scheduling())
                        );
                    }
                }
            }
        }
    }
    let theirs = String::from_utf8(table).unwrap();
    for (ours, theirs) in ours.lines().zip(theirs.lines()) {
        assert_eq!(ours, theirs);
    }
    assert_eq!(ours.lines().count(), theirs.lines().count());
}

#[test]
fn debug_members_are_written_as_they_were() {
    let Some(file) = data("matmul_small.neff") else { return };
    let limits = Limits::default();
    let package = neff::Package::read(&file, &limits).unwrap();
    let container = Container::open(&file).unwrap();
    let bodies =
        package.fetch(&container, &limits, |member| member.kind.name().starts_with("debug-")).unwrap();
    assert_eq!(bodies.len(), 26);
    for (name, bytes) in &bodies {
        let read = IrDebugInfo::read(name, bytes).unwrap();
        assert_eq!(read.unknown_fields().count(), 0, "{name}");
        assert_eq!(&read.write(), bytes, "{name}");
    }
    // From a word to the operation of the framework.
    let graph = &package.graphs[1];
    let engine = package.engine_debug(graph.engine(EngineKey::Pe).unwrap(), &bodies);
    let front = package.front_end(graph, &bodies);
    let found = engine.instruction(8).unwrap();
    let origin = front.origin(found.entry);
    let names = [origin.penguin, origin.hlo, origin.framework].map(|at| at.unwrap().entry.name.clone());
    assert_eq!(found.entry.name, "I-72-0");
    assert_eq!(names, ["float32<128 x 64> $72", "%op0 = dot(%x, %y)", "hlo__dot_op0"]);
    assert_eq!(origin.hlo.unwrap().entry.hlo_place().unwrap().line, 58);
}

/// The archive comes out byte for byte; only the compression is another library's.
#[test]
fn the_archive_is_written_as_the_compiler_writes_it() {
    let Some(file) = data("matmul_small.neff") else { return };
    let limits = Limits::default();
    let container = Container::open(&file).unwrap();
    let package = neff::Package::read(&file, &limits).unwrap();
    let mut bodies = package.fetch(&container, &limits, |_| true).unwrap();
    let mut sources: Vec<Source> = package
        .members
        .iter()
        .map(|member| Source {
            name: member.name.clone(),
            body: Body::Bytes(bodies.remove(&member.name).unwrap()),
        })
        .collect();
    sources.reverse();
    neff::pack::sort(&mut sources);
    let options = Options { compression: neff::Compression::None, ..Options::default() };
    let mut ours = Vec::new();
    neff::pack::payload(&sources, &options, &mut ours).unwrap();
    let mut theirs = Vec::new();
    let mut decoder = flate2::bufread::GzDecoder::new(container.payload);
    std::io::Read::read_to_end(&mut decoder, &mut theirs).unwrap();
    assert!(ours == theirs);
    // And so does the header.
    assert_eq!(container.header.unwrap().write()[..], file[..1024]);
}
