//! What golden sessions cannot show: pipes, links, devices, large and hostile inputs.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn inputs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/inputs")
}

fn bir() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bir"));
    command.current_dir(inputs()).env_remove("NO_COLOR");
    command
}

fn run(args: &[&str], input: &[u8]) -> Output {
    let mut child =
        bir().args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // The program may end before it has read everything.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_path_buf();
    (folder, path)
}

fn canonical() -> Vec<u8> {
    fs::read(inputs().join("canonical.json")).unwrap()
}

/// A canonical module of a few megabytes: large enough to be mapped, and for more than one buffer of output.
fn large() -> String {
    let mut module = String::from(
        "{\n  \"arch\": \"gen3\",\n  \"functions\": [\n    {\n      \"allocations\": [],\n      \"attributes\": [],\n      \
         \"blocks\": [\n        {\n          \"instructions\": [\n",
    );
    let count = 10_000;
    for i in 0..count {
        let comma = if i + 1 < count { "," } else { "" };
        module.push_str(&format!(
            "            {{\n              \"engine\": \"SP\",\n              \"engine_id\": 0,\n              \
             \"ins\": [],\n              \"name\": \"I-{i}\",\n              \"opcode\": \"NoOp\",\n              \
             \"origin\": \"Internal\",\n              \"outs\": [],\n              \"scheduled_end\": 0,\n              \
             \"scheduled_start\": 0\n            }}{comma}\n"
        ));
    }
    module.push_str(
        "          ],\n          \"name\": \"Block1\",\n          \"origin\": \"Internal\"\n        }\n      ],\n      \
         \"name\": \"main\",\n      \"origin\": \"Internal\"\n    }\n  ],\n  \"version\": 2\n}\n",
    );
    module
}

fn assert_fails(output: &Output, message: &str) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.starts_with("error: ") && stderr.contains(message), "{stderr}");
    assert!(stderr.len() < 4000, "{} bytes of message", stderr.len());
    assert!(output.stdout.is_empty());
}

#[test]
fn a_large_file_is_mapped_and_comes_back_byte_for_byte() {
    let (_folder, path) = folder();
    let text = large();
    assert!(text.len() > 2 << 20);
    let (input, output) = (path.join("in.json"), path.join("out.json"));
    fs::write(&input, &text).unwrap();
    let status = bir().arg("roundtrip").arg(&input).arg("-o").arg(&output).status().unwrap();
    assert!(status.success());
    assert!(fs::read_to_string(&output).unwrap() == text);
    // Onto itself: the mapped file is replaced, not overwritten.
    fs::write(&input, format!(" {text}")).unwrap();
    assert!(bir().arg("roundtrip").arg(&input).arg("-o").arg(&input).status().unwrap().success());
    assert!(fs::read_to_string(&input).unwrap() == text);
    assert!(bir().args(["roundtrip", "--check"]).arg(&input).status().unwrap().success());
}

#[test]
fn a_closed_pipe_ends_the_program_quietly() {
    let (_folder, path) = folder();
    let input = path.join("in.json");
    fs::write(&input, large()).unwrap();
    for command in [&["roundtrip"][..], &["roundtrip", "--wrap"]] {
        let mut child =
            bir().args(command).arg(&input).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut start = [0; 2];
        child.stdout.take().unwrap().read_exact(&mut start).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(start, *b"{\n");
        assert_eq!((output.status.code(), &output.stderr[..]), (Some(0), &b""[..]));
    }
}

#[test]
fn an_output_that_fails_leaves_what_was_there() {
    let (_folder, path) = folder();
    let out = path.join("out.json");
    fs::write(&out, "before").unwrap();
    let out_name = out.to_str().unwrap();
    assert_fails(&run(&["roundtrip", "-o", out_name], b"{\"functions\": [}"), "expected");
    assert_fails(&run(&["stats", "-o", out_name, "wrong-type.json"], b""), "expected a string");
    assert_eq!(fs::read_to_string(&out).unwrap(), "before");
    assert_eq!(fs::read_dir(&path).unwrap().count(), 1, "no temporary file is left");
}

#[cfg(unix)]
#[test]
fn links_modes_and_devices_stay_what_they_are() {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
    let (_folder, path) = folder();
    let (target, link) = (path.join("target.json"), path.join("link.json"));
    fs::write(&target, "before").unwrap();
    fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
    symlink(&target, &link).unwrap();
    assert!(bir().args(["roundtrip", "dump.json", "-o"]).arg(&link).status().unwrap().success());
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read(&target).unwrap(), canonical());
    assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o640);

    assert!(run(&["roundtrip", "dump.json", "-o", "/dev/null"], b"").status.success());
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    let full = Path::new("/dev/full");
    if full.exists() {
        assert_fails(&run(&["roundtrip", "dump.json", "-o", "/dev/full"], b""), "cannot write /dev/full");
        let child =
            bir().args(["roundtrip", "dump.json"]).stdout(File::create(full).unwrap()).output().unwrap();
        assert_fails(&child, "cannot write standard output");
    }
}

#[test]
fn hostile_documents_give_a_short_error() {
    let deep = "[".repeat(100_000);
    assert_fails(&run(&["roundtrip"], deep.as_bytes()), "expected a module");
    assert_fails(
        &run(&["roundtrip"], format!("{{\"functions\": [], \"x\": {deep}").as_bytes()),
        "exceed the limit",
    );
    let nulls = format!("{{\"functions\": [{}null]}}", "null,".repeat(1_000_000));
    assert_eq!(run(&["roundtrip"], nulls.as_bytes()).status.code(), Some(2));
    // A name of a megabyte, which no object has, in a document without line breaks.
    let text = String::from_utf8(fs::read(inputs().join("unresolved.json")).unwrap()).unwrap();
    let text = text.replace("\"memref\": \"c\"", &format!("\"memref\": \"{}\"", "x".repeat(1 << 20)));
    let text = text.replace('\n', " ");
    assert_fails(&run(&["roundtrip"], text.as_bytes()), "no memory location is called `xxx");
    assert_fails(&run(&["stats"], &[0; 1000]), "looks like binary data");
    assert_fails(&run(&["klr", "info"], b"a\x01\xff\x02"), "looks like binary data");
    assert_fails(&run(&["neff", "info"], b""), "<stdin> is empty");
}

/// Cut off anywhere, a document is refused with a place, and nothing else happens.
#[test]
fn truncated_anywhere() {
    let text = canonical();
    // One process for each place would take long: the library's own tests try every byte.
    for end in (1..text.len() - 2).step_by(97) {
        let output = run(&["roundtrip"], &text[..end]);
        assert_fails(&output, "--> <stdin>:");
    }
}

#[test]
fn color_is_for_terminals_and_can_be_forced() {
    let colored = |command: &mut Command| {
        let output = command.arg("roundtrip").arg("truncated.json").output().unwrap();
        output.stderr.contains(&0x1b)
    };
    assert!(!colored(&mut bir()), "standard error is a pipe");
    assert!(colored(bir().args(["--color", "always"])));
    assert!(colored(bir().args(["--color", "always"]).env("NO_COLOR", "1")), "the option is stronger");
}

#[test]
fn every_command_has_a_completion_and_a_manual_page() {
    let commands = ["demo", "roundtrip", "stats", "klr", "completions", "man"];
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = run(&["completions", shell], b"");
        let script = String::from_utf8(output.stdout).unwrap();
        assert!(commands.iter().all(|command| script.contains(command)), "{shell}");
        assert!(script.contains("drop-unknown"), "{shell}");
    }
    let (_folder, path) = folder();
    assert!(bir().args(["man", "--dir"]).arg(&path).status().unwrap().success());
    for command in commands.into_iter().chain(["klr-info"]) {
        let page = fs::read(path.join(format!("bir-{command}.1"))).unwrap();
        assert_eq!(run(&["man", command], b"").stdout, page);
    }
    assert_eq!(run(&["man"], b"").stdout, fs::read(path.join("bir.1")).unwrap());
}

/// Every kernel comes back through JSON byte for byte, and cut off anywhere it is refused with a place.
#[test]
fn kernels_come_back_through_json() {
    let made = inputs().join("../../../klr/tests/data/made");
    let (_folder, path) = folder();
    assert!(bir().arg("demo").arg(&path).status().unwrap().success());
    let names = ["k_aug.klr", "k_dflt.klr", "k_dflt.py.klr", "k_ops.klr", "k_ops.py.klr", "k_stmts.klr"];
    let files = names.map(|name| made.join(name)).into_iter().chain([path.join("softmax.klr")]);
    for file in files {
        let bytes = fs::read(&file).unwrap();
        let json = run(&["klr", "decode"], &bytes);
        assert!(json.status.success() && json.stderr.is_empty(), "{}", file.display());
        assert!(run(&["klr", "encode"], &json.stdout).stdout == bytes, "{}", file.display());
        for end in (0..bytes.len()).step_by(bytes.len() / 8) {
            let output = run(&["klr", "print"], &bytes[..end]);
            assert_fails(&output, &format!("--> <stdin>, byte {end}\n"));
        }
    }
}
