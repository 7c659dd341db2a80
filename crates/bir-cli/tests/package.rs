//! What the program says of packages. Of one that the compiler made: against the facts that stand beside it; it lies
//! outside the repository, in `$BIR_TEST_DATA`, by default `../shared/data` beside the workspace. Of packages made here:
//! the names that a module gives to their words, and findings as SARIF.
#![allow(clippy::print_stdout)]

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use neff::pack::{Body, Options, to_bytes};
use neff::{Header, sample};
use serde_json::Value;

/// A file of the data, or nothing, and that is said.
fn data(name: &str) -> Option<PathBuf> {
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("BIR_TEST_DATA").map_or_else(default, PathBuf::from);
    let path = folder.join("neff").join(name);
    let is_there = path.exists();
    if !is_there {
        println!("skipped: {} is not there", path.display());
    }
    is_there.then_some(path)
}

fn bir(args: &[&str], input: &Path) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_bir")).args(args).arg(input).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "bir {args:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// The rows of a table behind its headings.
fn table(path: &Path) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().skip(1).map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// The bytes of hexadecimal digits.
fn bytes(digits: &str) -> Vec<u8> {
    let (pairs, []) = digits.as_bytes().as_chunks::<2>() else { panic!("{digits}") };
    let digit = |byte: u8| (byte as char).to_digit(16).unwrap() as u8;
    pairs.iter().map(|[high, low]| digit(*high) << 4 | digit(*low)).collect()
}

#[test]
fn info_tells_every_fact_of_the_small_package() {
    let (Some(package), Some(facts)) = (data("matmul_small.neff"), data("info-small.json")) else { return };
    let ours = json(&bir(&["neff", "info", "--format", "json"], &package));
    let mut theirs = json(&std::fs::read_to_string(facts).unwrap());
    // The program says the path that it was given.
    theirs["file"] = ours["file"].clone();
    assert_eq!(ours, theirs);
}

#[test]
fn objdump_tells_word_name_and_line_of_the_small_package() {
    let (Some(package), Some(words), Some(names)) =
        (data("matmul_small.neff"), data("words.tsv"), data("names-small.tsv"))
    else {
        return;
    };
    let (words, names) = (table(&words), table(&names));
    let listing = bir(&["objdump", "--format", "json"], &package);
    let mut by_place: HashMap<(String, u64), Value> = HashMap::new();
    for line in listing.lines().map(json) {
        let stream = line["stream"].as_str().unwrap().to_owned();
        by_place.insert((stream, line["offset"].as_u64().unwrap() / 64), line);
    }
    assert_eq!((by_place.len(), words.len()), (names.len(), names.len()));
    for (word, name) in words.iter().zip(&names) {
        let place = (format!("{}/{}", word[0], word[1]), word[2].parse().unwrap());
        let line = &by_place[&place];
        assert_eq!(line["bytes"], word[3], "{place:?}");
        assert_eq!(line["mnemonic"], word[4], "{place:?}");
        assert_eq!(line["fields"], json(&word[6]), "{place:?}");
        assert_eq!(name[..3], word[..3]);
        assert_eq!(line["instruction"].as_str().unwrap_or_default(), name[4], "{place:?}");
        assert_eq!(word[5], name[4], "{place:?}");
        if !name[6].is_empty() {
            assert_eq!(line["source"], name[6], "{place:?}");
        }
    }
}

#[test]
fn show_tells_the_dependencies_of_the_small_package() {
    let (Some(package), Some(names)) = (data("matmul_small.neff"), data("names-small.tsv")) else { return };
    for name in table(&names).iter().filter(|row| !row[3].is_empty()) {
        let word = format!("{}/{}#{}", name[0], name[1], name[2]);
        let output = Command::new(env!("CARGO_BIN_EXE_bir"))
            .args(["show", "--format", "json"])
            .arg(&package)
            .arg(&word)
            .output()
            .unwrap();
        let shown = json(&String::from_utf8(output.stdout).unwrap());
        assert_eq!((&shown["instruction"], &shown["type"]), (&json_text(&name[4]), &json_text(&name[5])));
        assert_eq!(shown["id"].to_string(), name[3], "{word}");
        // After reduction those that words synchronise on; before it, the others too.
        let edges = |synchronised: bool| {
            let all = shown["depends_on"].as_array().unwrap().iter();
            let mut edges: Vec<String> = all
                .filter(|edge| edge["synchronised"] == synchronised)
                .map(|edge| format!("{}:{}", edge["id"], edge["kind"].as_str().unwrap()))
                .collect();
            edges.sort();
            edges
        };
        let listed = |column: usize| {
            let mut edges: Vec<String> = name[column].split_whitespace().map(str::to_owned).collect();
            edges.sort();
            edges
        };
        assert_eq!(edges(true), listed(8), "{word}");
        let mut implied = listed(7);
        implied.retain(|edge| !listed(8).contains(edge));
        assert_eq!(edges(false), implied, "{word}");
    }
}

fn json_text(text: &str) -> Value {
    Value::from(text)
}

/// The words of both tables as streams: fields, text, and the same words again from the text.
#[test]
fn words_of_packages_come_apart_and_back() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["words.tsv", "words-large-sample.tsv"] {
        let Some(path) = data(name) else { return };
        let rows = table(&path);
        let stream: Vec<u8> = rows.iter().flat_map(|row| bytes(&row[3])).collect();
        let (words, text) = (folder.path().join("words.bin"), folder.path().join("words.asm"));
        std::fs::write(&words, &stream).unwrap();
        let listing = bir(&["objdump", "--target", "trn2", "--format", "json"], &words);
        assert_eq!(listing.lines().count(), rows.len());
        for (line, row) in listing.lines().map(json).zip(&rows) {
            assert_eq!(line["mnemonic"], row[4], "{name} {:?}", &row[..3]);
            assert_eq!(line["fields"], json(&row[6]), "{name} {:?}", &row[..3]);
        }
        let listing = bir(&["objdump", "--target", "trn2"], &words);
        assert!(!listing.contains(".word"));
        std::fs::write(&text, listing).unwrap();
        let again = folder.path().join("again.bin");
        bir(&["asm", "-o", again.to_str().unwrap()], &text);
        assert!(std::fs::read(again).unwrap() == stream, "{name}");
    }
}

/// Whatever the bytes are, as long as they are no text.
#[test]
fn streams_of_two_cores_come_back_each_in_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let (package, text) = (folder.path().join("two.neff"), folder.path().join("two.asm"));
    let out = folder.path().join("streams");
    std::fs::write(&package, sample::package(2)).unwrap();
    std::fs::write(&text, bir(&["objdump"], &package)).unwrap();
    bir(&["asm", "-o", &format!("{}/", out.display())], &text);
    let mut count = 0;
    for member in sample::members(2) {
        if !member.name.ends_with(".bin") || !out.join(&member.name).exists() {
            continue;
        }
        let Body::Bytes(bytes) = member.body else { panic!("{}", member.name) };
        assert_eq!(std::fs::read(out.join(&member.name)).unwrap(), bytes, "{}", member.name);
        count += 1;
    }
    assert_eq!(count, 10);
}

#[test]
fn any_bytes_come_back_from_their_text() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    // An extension word that follows nothing; words without an opcode; what looks like text at first; a cut word.
    let mut state = 1u64;
    let noise = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    });
    let noise: Vec<u8> = noise.take(64 * 50 + 7).collect();
    for bytes in
        [vec![0xDA; 64], vec![0xFF; 130], [b"{\"".as_slice(), &[0; 62]].concat(), vec![0xA4, 0x10], noise]
    {
        std::fs::write(at("words.bin"), &bytes).unwrap();
        for target in ["trn1", "trn2", "trn3"] {
            std::fs::write(at("words.asm"), bir(&["objdump", "--target", target], &at("words.bin"))).unwrap();
            bir(&["asm", "-o", at("again.bin").to_str().unwrap()], &at("words.asm"));
            assert!(std::fs::read(at("again.bin")).unwrap() == bytes, "{target} {:?}", &bytes[..2]);
        }
    }
}

/// The sample package for one core with other streams, and without debug members.
fn package_of(streams: &HashMap<&str, Vec<u8>>, path: &Path) {
    let mut members = sample::members(1);
    members.retain(|source| !source.name.contains("debug_info"));
    for source in &mut members {
        let stem = source.name.strip_prefix("sg00/").and_then(|name| name.strip_suffix(".bin"));
        if let Some(stream) = stem.and_then(|stem| streams.get(stem)) {
            source.body = Body::Bytes(stream.clone());
        }
    }
    let header = Header { feature_bits: 0x20_9800, ..Header::default() };
    std::fs::write(path, to_bytes(header, &members, &Options::default()).unwrap()).unwrap();
}

/// Names of words by engine, from the index of `bir encode`.
fn indexed(folder: &Path) -> HashMap<String, Vec<String>> {
    let mut names: HashMap<String, Vec<String>> = HashMap::new();
    for line in json(&std::fs::read_to_string(folder.join("index.json")).unwrap()).as_array().unwrap() {
        let name = line["instruction"].as_str().unwrap_or_default().to_owned();
        names.entry(line["stream"].as_str().unwrap().to_owned()).or_default().push(name);
    }
    names
}

/// Names of words by engine, as objdump finds them with a module.
fn found(package: &Path, module: &Path) -> HashMap<String, Vec<String>> {
    let mut names: HashMap<String, Vec<String>> = HashMap::new();
    let listing = bir(&["objdump", "--format", "json", "--bir", module.to_str().unwrap()], package);
    for line in listing.lines().map(json) {
        let stream = line["stream"].as_str().unwrap();
        let stream = stream.strip_prefix("sg00/").unwrap_or(stream).to_owned();
        names.entry(stream).or_default().push(line["instruction"].as_str().unwrap_or_default().to_owned());
    }
    names
}

const ENGINES: [&str; 5] = ["PE", "Activation", "Pool", "DVE", "SP"];

#[test]
fn a_module_names_the_words_of_a_package() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let module = at("module.json");
    let output = Command::new(env!("CARGO_BIN_EXE_bir")).arg("demo").arg(at("demo")).output().unwrap();
    assert!(output.status.success());
    std::fs::copy(at("demo").join("matmul_softmax.json"), &module).unwrap();
    bir(&["encode", "--prologue", "-o", at("streams").to_str().unwrap()], &module);
    let streams: HashMap<&str, Vec<u8>> = ENGINES
        .into_iter()
        .map(|engine| (engine, std::fs::read(at("streams").join(engine).with_extension("bin")).unwrap()))
        .collect();
    let names = indexed(&at("streams"));
    let package = at("package.neff");
    package_of(&streams, &package);
    assert!(names["PE"].iter().filter(|name| !name.is_empty()).count() > 8);
    assert_eq!(found(&package, &module), names);

    // Words that the module does not have, and words that are missing: the others keep their names.
    let mut changed = streams.clone();
    let pe = changed.get_mut("PE").unwrap();
    let strange = [0xA4u8, 0x10].into_iter().chain(std::iter::repeat_n(0, 62));
    pe.splice(5 * 64..5 * 64, strange.clone().chain(strange));
    let dve = changed.get_mut("DVE").unwrap();
    dve.drain(4 * 64..6 * 64);
    package_of(&changed, &package);
    let mut expected = names.clone();
    expected.get_mut("PE").unwrap().splice(5..5, [String::new(), String::new()]);
    expected.get_mut("DVE").unwrap().drain(4..6);
    assert_eq!(found(&package, &module), expected);

    // Addresses that were chosen anew change no name.
    let mut moved = streams;
    let act = moved.get_mut("Activation").unwrap();
    act.chunks_exact_mut(64).skip(2).for_each(|word| word[17] ^= 0x10);
    package_of(&moved, &package);
    assert_eq!(found(&package, &module), names);
}

#[test]
fn findings_of_a_package_are_sarif_too() {
    let folder = tempfile::tempdir().unwrap();
    let package = folder.path().join("race.neff");
    let mut members = sample::members(1);
    for source in members.iter_mut().filter(|source| source.name == "sg00/Pool.bin") {
        let Body::Bytes(words) = &mut source.body else { panic!("{}", source.name) };
        // The store waits for nothing.
        words[5 * 64 + 4..5 * 64 + 6].fill(0);
    }
    let header = Header { feature_bits: 0x20_9800, ..Header::default() };
    std::fs::write(&package, to_bytes(header, &members, &Options::default()).unwrap()).unwrap();
    let order = |form: &str| {
        let program = env!("CARGO_BIN_EXE_bir");
        let output = Command::new(program).args(["order", "--format", form]).arg(&package).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stdout).unwrap()
    };
    let lines: Vec<Value> = order("json").lines().map(json).collect();
    let findings = &lines[..lines.len() - 1];
    let sarif = json(&order("sarif"));
    assert_eq!(sarif["version"], "2.1.0");
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), findings.len());
    assert!(!results.is_empty());
    for (result, finding) in results.iter().zip(findings) {
        assert_eq!(result["ruleId"], finding["code"]);
        assert_eq!(result["level"], finding["severity"]);
        let place = &result["locations"][0];
        let name = place["logicalLocations"][0]["fullyQualifiedName"].as_str().unwrap();
        assert!(name.starts_with(finding["first"]["stream"].as_str().unwrap()), "{name}");
        let line = &place["physicalLocation"]["region"]["startLine"];
        assert_eq!(line, &finding["first"]["line"]);
        assert_eq!(result["relatedLocations"].is_array(), finding.get("second").is_some());
    }
    let store = results.iter().flat_map(|result| {
        let related = result["relatedLocations"].as_array().into_iter().flatten();
        result["locations"].as_array().unwrap().iter().chain(related)
    });
    let lines: Vec<_> = store
        .filter(|place| {
            place["logicalLocations"][0]["fullyQualifiedName"].as_str().unwrap().contains(" store ")
        })
        .map(|place| {
            let file = &place["physicalLocation"];
            (file["artifactLocation"]["uri"].clone(), file["region"]["startLine"].clone())
        })
        .collect();
    assert!(!lines.is_empty());
    assert!(lines.iter().all(|place| *place == ("models/product.py".into(), 13.into())), "{lines:?}");
}

/// A tar archive of one member.
fn archive(name: &str, kind: u8, link: &str, body: &[u8]) -> Vec<u8> {
    let mut header = vec![0; 512];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[100..107].copy_from_slice(b"0000644");
    header[124..135].copy_from_slice(format!("{:011o}", body.len()).as_bytes());
    header[156] = kind;
    header[157..157 + link.len()].copy_from_slice(link.as_bytes());
    header[257..265].copy_from_slice(b"ustar\x0000");
    header[148..156].fill(b' ');
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    header.extend_from_slice(body);
    header.resize(header.len().next_multiple_of(512) + 1024, 0);
    header
}

/// A payload behind a header that fits it.
fn wrapped(payload: &[u8]) -> Vec<u8> {
    let mut header = Header::default();
    neff::pack::fit_header(&mut header, payload);
    [&header.write()[..], payload].concat()
}

#[test]
fn hostile_packages_end_with_status_2_and_write_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("a/b");
    std::fs::create_dir_all(&inner).unwrap();
    let good = sample::package(1);
    let cut = &good[..good.len() / 2];
    let files = [
        ("traversal", wrapped(&archive("../../evil", b'0', "", b"x")), "leads out of its folder"),
        ("absolute", wrapped(&archive("/tmp/bir-evil", b'0', "", b"x")), "absolute name"),
        ("link", wrapped(&archive("evil", b'2', "/etc/passwd", b"")), "symbolic link"),
        ("device", wrapped(&archive("evil", b'3', "", b"")), "device"),
        ("size", wrapped(&archive("evil", b'0', "", b"x")[..700]), "damaged"),
        ("cut", cut.to_vec(), "cut"),
        ("huge", [&good[..16], &(1u64 << 60).to_le_bytes(), &good[24..]].concat(), "the file is cut"),
    ];
    for (name, bytes, reason) in files {
        let path = inner.join(name);
        std::fs::write(&path, bytes).unwrap();
        for command in ["info", "ls", "check", "extract"] {
            let mut program = Command::new(env!("CARGO_BIN_EXE_bir"));
            program.args(["neff", command]).arg(&path).current_dir(&inner);
            if command == "extract" {
                program.args(["-C", "out"]);
            }
            let output = program.output().unwrap();
            let text = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{command} {name}: {text}");
            assert!(text.starts_with("error: ") && text.contains(reason), "{command} {name}: {text}");
        }
        let objdump = Command::new(env!("CARGO_BIN_EXE_bir")).arg("objdump").arg(&path).output().unwrap();
        assert_eq!(objdump.status.code(), Some(2), "{name}");
        std::fs::remove_file(&path).unwrap();
    }
    // Of `out` there may be the folder, but nothing in it; beside it there is nothing.
    let left: Vec<_> = std::fs::read_dir(&inner).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| name == "out"), "{left:?}");
    assert!(left.is_empty() || std::fs::read_dir(inner.join("out")).unwrap().next().is_none());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
