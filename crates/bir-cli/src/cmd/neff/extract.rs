//! `bir neff extract`: members into a folder.

use std::path::PathBuf;

use super::{PackageOpt, fault, limits};
use crate::cmd::Status;
use crate::report::{Context, Fault, Result};

/// Write the members of a package into a folder
///
/// Nothing is written outside of the folder: names that lead out of it are errors, and links in it are not followed.
/// Nothing is written at all when the package is damaged.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  $ bir neff extract model.neff -C model
  $ bir neff extract model.neff -C model sg00/PE.bin")]
pub(super) struct Opts {
    #[command(flatten)]
    package: PackageOpt,
    /// Only these members, or all below these folders
    #[arg(value_name = "MEMBER")]
    members: Vec<String>,
    /// Folder to write into, which is made when it is not there; the package's name without extension by default
    #[arg(short = 'C', long = "directory", value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Replace files that are there already
    #[arg(long)]
    force: bool,
}

impl Opts {
    pub(super) fn run(&self, context: &Context) -> Result<Status> {
        let input = self.package.open(context)?;
        let container = self.package.container(&input)?;
        let folder = match (&self.folder, &self.package.input) {
            (Some(folder), _) => folder.clone(),
            (None, Some(path)) if path.extension().is_some() && path.file_stem().is_some() => {
                PathBuf::from(path.file_stem().unwrap_or_default())
            }
            _ => return Err(Fault::new("no folder to write into; give one with `-C DIR`")),
        };
        let mut found = vec![false; self.members.len()];
        let matches = |name: &str, member: &str| {
            let member = member.strip_prefix("./").unwrap_or(member).trim_end_matches('/');
            name == member || name.strip_prefix(member).is_some_and(|rest| rest.starts_with('/'))
        };
        let wanted =
            |name: &str| self.members.is_empty() || self.members.iter().any(|member| matches(name, member));
        let limits = limits();
        if !self.members.is_empty() {
            let mut archive = container.archive(&limits).map_err(|error| fault(&input.name, &error))?;
            while let Some(entry) = archive.next().map_err(|error| fault(&input.name, &error))? {
                for (at, member) in self.members.iter().enumerate() {
                    found[at] |= matches(&entry.name, member);
                }
            }
            if let Some(at) = found.iter().position(|found| !found) {
                return Err(Fault::new(format!("{}: no member {:?}", input.name, self.members[at])));
            }
        }
        let done = neff::extract(&container, &folder, self.force, &limits, wanted).map_err(|error| {
            let exists = matches!(&error, neff::Error::Io { error, .. }
                if error.kind() == std::io::ErrorKind::AlreadyExists);
            let fault = fault(&input.name, &error);
            if exists && !self.force { fault.note("`--force` replaces files") } else { fault }
        })?;
        context.hint(&format!("{} files, {} bytes in {}", done.files, done.bytes, folder.display()));
        Ok(Status::Clean)
    }
}
