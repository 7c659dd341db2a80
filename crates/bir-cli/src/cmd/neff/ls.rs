//! `bir neff ls`: the members of a package.

use std::io::{self, Write};

use neff::{Archive, Kind, Package};
use serde_json::json;

use super::{PackageOpt, fault, limits};
use crate::cmd::Status;
use crate::input::Input;
use crate::output::OutputOpt;
use crate::report::{Context, Format, Result};

/// List the members of a package: size, what each is, name
///
/// What a member is says the manifest that names it. When the manifests of a package are broken, the members are listed
/// without, and the fault follows.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  $ bir neff ls model.neff
  $ bir neff ls --kind stream --kind constant model.neff")]
pub(super) struct Opts {
    #[command(flatten)]
    package: PackageOpt,
    #[command(flatten)]
    output: OutputOpt,
    /// Only members of this kind, such as `stream` or `constant`; may be given again
    #[arg(long, value_name = "KIND", value_parser = kind)]
    kind: Vec<Kind>,
}

fn kind(text: &str) -> Result<Kind, String> {
    let found = Kind::ALL.iter().find(|kind| kind.name() == text).copied();
    found.ok_or_else(|| {
        let names: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
        format!("expected one of {}", names.join(", "))
    })
}

impl Opts {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let input = self.package.open(context)?;
        let container = self.package.container(&input)?;
        let package = match Package::load(&container, &limits(), false) {
            Ok(package) => package,
            Err(error) => {
                if self.kind.is_empty() {
                    self.bare(&input, &container, context)?;
                }
                return Err(fault(&input.name, &error));
            }
        };
        context.findings(&input.name, &package.findings);
        let wanted = |kind| self.kind.is_empty() || self.kind.contains(&kind);
        self.output.create()?.write_as(context, |sink| {
            for member in package.members.iter().filter(|member| wanted(member.kind)) {
                match context.format {
                    Format::Text => {
                        writeln!(sink, "{:>12}  {:18} {}", member.size, member.kind.name(), member.name)?;
                    }
                    Format::Json => {
                        let mut line =
                            json!({ "name": member.name, "size": member.size, "kind": member.kind.name() });
                        if let Some(graph) = member.graph {
                            line["graph"] = json!(package.graphs[graph].name);
                        }
                        if let Some(engine) = member.engine {
                            line["engine"] = json!(engine.key());
                        }
                        writeln!(sink, "{line}")?;
                    }
                }
            }
            Ok(())
        })?;
        Ok(Status::Clean)
    }

    /// Lists what the archive says, as far as it goes.
    fn bare(&self, input: &Input, container: &neff::Container<'_>, context: &Context) -> Result<()> {
        let limits = limits();
        let mut archive =
            Archive::new(container.payload, &limits).map_err(|error| fault(&input.name, &error))?;
        self.output.create()?.write_as(context, |sink| {
            while let Ok(Some(entry)) = archive.next() {
                line(sink, context, &entry)?;
            }
            Ok(())
        })
    }
}

fn line(sink: &mut dyn Write, context: &Context, entry: &neff::Entry) -> io::Result<()> {
    match context.format {
        Format::Text => writeln!(sink, "{:>12}  {:18} {}", entry.size, "?", entry.name),
        Format::Json => writeln!(sink, "{}", json!({ "name": entry.name, "size": entry.size })),
    }
}
