//! `bir neff info`: what a package is.

use neff::{Info, Package};

use super::{PackageOpt, fault, limits};
use crate::cmd::Status;
use crate::output::OutputOpt;
use crate::report::{Context, Format, Result};

/// Say what a package is: versions, target, features, cores, tensors, queues, variables, sizes
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  $ bir neff info model.neff
  $ bir neff info --format json model.neff | jq '.graphs[0].queues'")]
pub(super) struct Opts {
    #[command(flatten)]
    package: PackageOpt,
    #[command(flatten)]
    output: OutputOpt,
}

impl Opts {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let input = self.package.open(context)?;
        let container = self.package.container(&input)?;
        let package =
            Package::load(&container, &limits(), true).map_err(|error| fault(&input.name, &error))?;
        context.findings(&input.name, &package.findings);
        let file = input.name.rsplit('/').next().unwrap_or(&input.name);
        let info = Info::new(file, input.text().len() as u64, &container, &package);
        if container.header.is_some() && !info.payload.hash_ok {
            context.hint(&format!("{}: the digest in the header is not that of the payload", input.name));
        }
        self.output.create()?.write_as(context, |sink| match context.format {
            Format::Text => write!(sink, "{info}"),
            Format::Json => {
                serde_json::to_writer_pretty(&mut *sink, &info)?;
                writeln!(sink)
            }
        })?;
        Ok(Status::Clean)
    }
}
