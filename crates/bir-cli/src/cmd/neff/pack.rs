//! `bir neff pack`: a folder to a package.

use std::fs::File;
use std::io::{self, BufWriter, Seek};
use std::path::{Path, PathBuf};

use neff::pack::{self, Options};
use neff::{Compression, Container, Package};
use neff_words::Program;

use super::{fault, limits};
use crate::cmd::Status;
use crate::input::Input;
use crate::map::map;
use crate::output::OutputOpt;
use crate::report::{Context, Fault, Result};

/// Make a package of the files in a folder
///
/// The header is made from the manifests: names and counts of `info.json`, the number of graphs, the features that
/// definitions and words need. The same folder gives the same bytes.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  $ bir neff extract model.neff -C model
  $ bir neff pack model -o again.neff
  $ bir neff pack model --like model.neff -o again.neff")]
pub(super) struct Opts {
    /// Folder with the members
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    #[command(flatten)]
    output: OutputOpt,
    /// Take the header of this package, with its uuid, name, versions and features
    #[arg(long, value_name = "NEFF")]
    like: Option<PathBuf>,
    /// Build time to write, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    mtime: u32,
    /// Effort of the compression, 0 to 9
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=9))]
    level: u32,
    /// Do not compress the payload
    #[arg(long)]
    plain: bool,
}

impl Opts {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let name = self.folder.display().to_string();
        let stop = |error: neff::Error| fault(&name, &error);
        let template = match &self.like {
            Some(path) => Some(header_of(path, context)?),
            None => None,
        };
        let sources = pack::folder(&self.folder).map_err(stop)?;
        let compression = if self.plain { Compression::None } else { Compression::Gzip };
        let options = Options { compression, level: self.level, mtime: self.mtime };
        // The header comes first and speaks of all that follows.
        let scratch = |error: io::Error| Fault::io("write", "a temporary file", &error);
        let mut file = BufWriter::new(tempfile::tempfile().map_err(scratch)?);
        pack::payload(&sources, &options, &mut file).map_err(stop)?;
        let mut file: File = file.into_inner().map_err(|error| scratch(error.into_error()))?;
        file.rewind().map_err(scratch)?;
        let payload = map(&file).map_err(scratch)?;

        let container = Container { header: None, payload: &payload, findings: Vec::new() };
        let package = Package::load(&container, &limits(), false).map_err(stop)?;
        context.findings(&name, &package.findings);
        let mut header = match template {
            Some(header) => header,
            None => {
                let mut header = pack::derive_header(&package);
                if let Some(generation) = neff_words::generation(&package) {
                    let program = Program::load(&container, &package, &limits(), false).map_err(stop)?;
                    for need in neff_words::features::needed(&package, &program, generation) {
                        header.feature_bits |= need.bit;
                    }
                }
                header
            }
        };
        pack::fit_header(&mut header, &payload);
        self.output.create()?.write_with(|sink| {
            sink.write_all(&header.write())?;
            sink.write_all(&payload)
        })?;
        Ok(Status::Clean)
    }
}

fn header_of(path: &Path, context: &Context) -> Result<neff::Header> {
    let input = Input::package(Some(path), context)?;
    let container = Container::open(input.text()).map_err(|error| fault(&input.name, &error))?;
    container.header.ok_or_else(|| Fault::new(format!("{} has no header", input.name)))
}
