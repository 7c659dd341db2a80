//! Members into a folder, and nowhere else.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::archive::Archive;
use crate::container::Container;
use crate::error::Error;
use crate::limits::Limits;

/// What was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Extracted {
    /// Files.
    pub files: u64,
    /// Bytes in them.
    pub bytes: u64,
}

/// Writes members into `folder`, which is made when it is not there. `wanted` says which; with `force` files that are
/// there already are replaced.
///
/// The whole payload is read before the first file is written, so a damaged package leaves nothing behind.
///
/// # Errors
/// When the payload is damaged or holds what a package must not, when a file is there already, when a link in `folder`
/// would lead out of it, or the system refuses.
pub fn extract(
    container: &Container<'_>,
    folder: &Path,
    force: bool,
    limits: &Limits,
    wanted: impl Fn(&str) -> bool,
) -> Result<Extracted, Error> {
    let mut names = std::collections::HashSet::new();
    let mut archive = Archive::new(container.payload, limits)?;
    while let Some(entry) = archive.next()? {
        if wanted(&entry.name) {
            let path = folder.join(&entry.name);
            if !force && fs::symlink_metadata(&path).is_ok() {
                return Err(exists(&path));
            }
        }
        if !names.insert(entry.name.clone()) {
            return Err(Error::Duplicate(entry.name));
        }
    }
    archive.finish()?;

    fs::create_dir_all(folder).map_err(|error| Error::io("create", folder, error))?;
    let mut done = Extracted::default();
    let mut archive = Archive::new(container.payload, limits)?;
    while let Some(entry) = archive.next()? {
        if !wanted(&entry.name) {
            continue;
        }
        let path = place(folder, &entry.name)?;
        // A link in its place is taken away, not followed.
        if fs::symlink_metadata(&path).is_ok() {
            if !force {
                return Err(exists(&path));
            }
            fs::remove_file(&path).map_err(|error| Error::io("replace", &path, error))?;
        }
        let fault = |error| Error::io("write", &path, error);
        let mut file = fs::File::create_new(&path).map_err(fault)?;
        archive.copy(|bytes| file.write_all(bytes).map_err(fault))?;
        done.files += 1;
        done.bytes += entry.size;
    }
    Ok(done)
}

fn exists(path: &Path) -> Error {
    Error::io("write", path, std::io::Error::new(std::io::ErrorKind::AlreadyExists, "it is there already"))
}

/// Makes the folders of a member, none of which may be a link.
fn place(folder: &Path, name: &str) -> Result<PathBuf, Error> {
    let mut path = folder.to_path_buf();
    let mut parts = name.split('/').peekable();
    while let Some(part) = parts.next() {
        path.push(part);
        if parts.peek().is_none() {
            break;
        }
        match fs::symlink_metadata(&path) {
            Ok(facts) if facts.is_dir() => {}
            Ok(_) => {
                let reason = std::io::Error::new(std::io::ErrorKind::AlreadyExists, "it is no folder");
                return Err(Error::io("write into", &path, reason));
            }
            Err(_) => fs::create_dir(&path).map_err(|error| Error::io("create", &path, error))?,
        }
    }
    Ok(path)
}
