//! `bir demo`: a sample module and what every stage says of it.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use bir::sample::Tiles;
use bir_json::WriteOptions;
use clap::Parser;

use super::Status;
use crate::output::Output;
use crate::report::{Context, Fault, Result};

/// Write the built-in sample module and run it through every stage
///
/// The first thing to run. Each stage is a command of this program, shown as you would type it, with what it prints.
#[derive(clap::Args)]
pub(crate) struct Opts {
    /// Folder for the files that are written
    #[arg(value_name = "DIR", default_value = "bir-demo")]
    dir: PathBuf,
}

/// A stage: what it shows, and the command. `MODULE` stands for the sample's file, `KERNEL` for that of the sample
/// kernel, `DIR` for the folder.
struct Stage {
    shows: &'static str,
    command: &'static [&'static str],
}

/// Name of the sample's file.
const FILE: &str = "matmul_softmax.json";

const ABOUT: &str = "\
The sample is a matrix product with a softmax of each row, as a compiler would hand it to the code generator:
placed in memory, with engines, DMA queues, dependencies, semaphores and source lines.";

/// Name of the sample kernel's file.
const KERNEL: &str = "softmax.klr";

/// Every stage in order. A new part of the program adds its own.
const STAGES: &[Stage] = &[
    Stage {
        shows: "Read the module, write it again: not a byte differs.",
        command: &["roundtrip", "--check", "MODULE"],
    },
    Stage { shows: "What it is made of, and what it needs.", command: &["stats", "MODULE"] },
    Stage { shows: "Every rule of its target holds.", command: &["verify", "MODULE"] },
    Stage {
        shows: "What a message of the vendor's verifier means.",
        command: &["explain", "Pattern accesses 64 (> 32) partitions starting at partition 32"],
    },
    Stage {
        shows: "Every two instructions that touch the same bytes run in a fixed order.",
        command: &["order", "MODULE"],
    },
    Stage {
        shows: "Why: what is between a load and a use of it.",
        command: &["order", "--explain", "load_x0_0", "mm0_1_0", "MODULE"],
    },
    Stage {
        shows: "Its instructions as text: here those of one engine.",
        command: &["dump", "--engine", "Activation", "MODULE"],
    },
    Stage {
        shows: "One instruction: what it touches, what it waits for and why, and who waits for it.",
        command: &["show", "MODULE", "mm0_1_0"],
    },
    Stage {
        shows: "Which bytes are in use when, with a picture for a report.",
        command: &["mem", "--svg", "DIR/mem.svg", "MODULE"],
    },
    Stage {
        shows: "How much the engines wait for each other, for `dot -Tsvg`.",
        command: &["graph", "--kind", "engines", "-o", "DIR/engines.dot", "MODULE"],
    },
    Stage { shows: "No difference from itself.", command: &["diff", "MODULE", "MODULE"] },
    Stage {
        shows: "The instruction words of each engine, and which instruction each belongs to.",
        command: &["encode", "MODULE", "-o", "DIR/streams"],
    },
    Stage {
        shows: "The words of the scalar engine, taken apart.",
        command: &["objdump", "--bir", "MODULE", "DIR/streams/Activation.bin"],
    },
    Stage {
        shows: "A kernel as the front end hands it over: what it holds.",
        command: &["klr", "info", "KERNEL"],
    },
    Stage { shows: "Nothing in it that the backend would refuse.", command: &["klr", "lint", "KERNEL"] },
    Stage {
        shows: "The kernel as BIR, for all the other commands.",
        command: &["klr", "lower", "KERNEL", "-o", "DIR/softmax.json"],
    },
    Stage {
        shows: "A package as it ships, for two cores: whether a device can load it.",
        command: &["neff", "check", "--device", "trn2", "DIR/product.neff"],
    },
    Stage {
        shows: "One instruction of it: its words, and where they come from.",
        command: &["show", "DIR/product.neff", "store", "--max", "1", "-q"],
    },
];

impl Opts {
    pub(crate) fn run(&self, context: &Context) -> Result<Status> {
        let dir = self.dir.display().to_string();
        fs::create_dir_all(&self.dir).map_err(|error| Fault::io("create", &dir, &error))?;
        let path = self.dir.join(FILE);
        let module = bir::sample::matmul_softmax(&Tiles::default());
        Output::file(&path)?.write_with(|sink| {
            bir_json::write(&module, sink, &WriteOptions::default())?;
            sink.write_all(b"\n")
        })?;
        let kernel = self.dir.join(KERNEL);
        let bytes = klr::encode(&klr::sample::softmax(&klr::Arena::new()));
        Output::file(&kernel)?.write_with(|sink| sink.write_all(&bytes))?;
        let package = neff::sample::package(2);
        Output::file(&self.dir.join("product.neff"))?.write_with(|sink| sink.write_all(&package))?;
        let (path, kernel) = (path.display().to_string(), kernel.display().to_string());
        say(&format!("{ABOUT}\nIt is in {path}.\n"))?;
        for stage in STAGES {
            let words = stage.command.iter().map(|word| match *word {
                "MODULE" => path.clone(),
                "KERNEL" => kernel.clone(),
                "DIR" => dir.clone(),
                word => match word.strip_prefix("DIR/") {
                    Some(file) => self.dir.join(file).display().to_string(),
                    None => word.to_owned(),
                },
            });
            let words: Vec<String> = ["bir".to_owned()].into_iter().chain(words).collect();
            let typed: Vec<String> = words.iter().map(|word| quoted(word)).collect();
            say(&format!("\n# {}\n$ {}\n", stage.shows, typed.join(" ")))?;
            let cli = crate::Cli::try_parse_from(&words).map_err(|error| Fault::new(error.to_string()))?;
            if cli.command.run(context)? != Status::Clean {
                return Err(Fault::new(format!("`{}` does not like its own sample", words.join(" "))));
            }
        }
        say(&format!("\nNow try them on a dump of your own. The sample stays in {dir}.\n"))?;
        Ok(Status::Clean)
    }
}

/// A word as a shell wants it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,@+".contains(c);
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

fn say(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    let said = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    said.map_err(|error| Fault::io("write", "standard output", &error))
}
