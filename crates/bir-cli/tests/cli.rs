//! Golden tests of the program. Each `tests/cli/NAME.test` is a session of commands:
//!
//! ```text
//! # What the test states.
//! $ bir roundtrip --check two.json
//! < two.json
//! exit 1
//! ```
//!
//! `< FILE` gives the command before it a standard input, `exit N` says how it must end (0 when left out). `%t` is a
//! temporary folder; the current folder is `tests/inputs`. What all commands print stands in `NAME.stdout` and
//! `NAME.stderr`; no file means nothing. `BLESS=1 cargo test -p bir-cli --test cli` writes these files anew.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use libtest_mimic::{Arguments, Failed, Trial};

/// A command of a session.
struct Step {
    args: Vec<String>,
    stdin: Option<String>,
    exit: i32,
}

fn main() -> ExitCode {
    let args = Arguments::from_args();
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let sessions = fs::read_dir(tests.join("cli")).expect("the folder of sessions is there");
    let mut paths: Vec<PathBuf> = sessions.map(|entry| entry.expect("readable").path()).collect();
    paths.sort();
    let stray = stray(&paths);
    paths.retain(|path| path.extension().is_some_and(|ext| ext == "test"));
    let trial = |path: PathBuf| {
        let name = path.file_stem().expect("a session has a name").to_string_lossy().into_owned();
        let inputs = tests.join("inputs");
        Trial::test(name, move || session(&path, &inputs))
    };
    let mut trials: Vec<Trial> = paths.into_iter().map(trial).collect();
    trials.push(Trial::test("every_output_belongs_to_a_session", move || match &stray[..] {
        [] => Ok(()),
        stray => Err(format!("no session for {stray:?}").into()),
    }));
    trials.push(Trial::test("the_version_has_a_commit_in_a_checkout", version));
    libtest_mimic::run(&args, trials).exit_code()
}

/// Files that are no session and no output of one.
fn stray(paths: &[PathBuf]) -> Vec<String> {
    let stray = paths.iter().filter(|path| !paths.contains(&path.with_extension("test")));
    stray.map(|path| path.display().to_string()).collect()
}

fn version() -> Result<(), Failed> {
    let run = |program: &str, arguments: &[&str]| Command::new(program).args(arguments).output();
    let printed = String::from_utf8(run(env!("CARGO_BIN_EXE_bir"), &["--version"])?.stdout)?;
    // A checkout of this project, rather than one that the project lies in.
    let tracked =
        run("git", &["ls-files", "--error-unmatch", "build.rs"]).is_ok_and(|git| git.status.success());
    let commit =
        printed.trim_end().strip_prefix(concat!("bir ", env!("CARGO_PKG_VERSION"))).ok_or("no version")?;
    let is_commit = |text: &str| text.len() >= 10 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let named = commit.strip_prefix(" (").and_then(|rest| rest.strip_suffix(')')).is_some_and(is_commit);
    match (tracked, commit.is_empty()) {
        (true, _) if named => Ok(()),
        (false, true) => Ok(()),
        (false, false) if named => Ok(()),
        _ => Err(format!("`{printed}` in a checkout: {tracked}").into()),
    }
}

fn session(path: &Path, inputs: &Path) -> Result<(), Failed> {
    let steps = parse(&fs::read_to_string(path)?)?;
    let temporary = tempfile::tempdir()?;
    let folder = temporary.path().to_str().ok_or("a temporary folder in UTF-8")?;
    let (mut stdout, mut stderr) = (String::new(), String::new());
    for step in &steps {
        let stdin = match &step.stdin {
            Some(file) => File::open(inputs.join(file.replace("%t", folder)))?.into(),
            None => Stdio::null(),
        };
        let output = Command::new(env!("CARGO_BIN_EXE_bir"))
            .args(step.args.iter().map(|arg| arg.replace("%t", folder)))
            .current_dir(inputs)
            .env_remove("NO_COLOR")
            .env("COLUMNS", "100")
            .stdin(stdin)
            .output()?;
        let text = |bytes: Vec<u8>| Ok::<_, Failed>(String::from_utf8(bytes)?.replace(folder, "%t"));
        let (out, err) = (text(output.stdout)?, text(output.stderr)?);
        if output.status.code() != Some(step.exit) {
            let command = step.args.join(" ");
            return Err(format!("`bir {command}` ended with {}:\n{out}{err}", output.status).into());
        }
        stdout.push_str(&out);
        stderr.push_str(&err);
    }
    // All that a session leaves in its folder is what it was asked to write.
    for entry in fs::read_dir(temporary.path())? {
        let name = entry?.file_name();
        if name.to_string_lossy().ends_with(".tmp") {
            return Err(format!("a temporary file is left: {}", name.display()).into());
        }
    }
    compare(&path.with_extension("stdout"), &stdout)?;
    compare(&path.with_extension("stderr"), &stderr)
}

fn parse(text: &str) -> Result<Vec<Step>, Failed> {
    let mut steps: Vec<Step> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let last = steps.last_mut();
        if let Some(command) = line.strip_prefix("$ bir") {
            let args = command.split_whitespace().map(str::to_owned).collect();
            steps.push(Step { args, stdin: None, exit: 0 });
        } else if let (Some(step), Some(file)) = (last, line.strip_prefix("< ")) {
            step.stdin = Some(file.to_owned());
        } else if let (Some(step), Some(code)) = (steps.last_mut(), line.strip_prefix("exit ")) {
            step.exit = code.parse()?;
        } else {
            return Err(format!("not a line of a session: {line}").into());
        }
    }
    if steps.is_empty() { Err("a session without commands".into()) } else { Ok(steps) }
}

fn compare(path: &Path, actual: &str) -> Result<(), Failed> {
    if std::env::var_os("BLESS").is_some() {
        if !actual.is_empty() {
            fs::write(path, actual)?;
        } else if path.exists() {
            fs::remove_file(path)?;
        }
        return Ok(());
    }
    let expected = if path.exists() { fs::read_to_string(path)? } else { String::new() };
    if expected == actual {
        return Ok(());
    }
    let name = path.display();
    Err(format!("not as in {name}\n--- expected\n{expected}\n--- actual\n{actual}").into())
}
