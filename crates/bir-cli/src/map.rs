//! Files as memory: a dump of gigabytes is read where the system caches it, without a copy.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::ops::Deref;

use memmap2::Mmap;

/// A file that is mapped for reading.
pub(crate) struct MappedFile(Mmap);

impl Deref for MappedFile {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// Maps a file for reading.
pub(crate) fn map(file: &File) -> io::Result<MappedFile> {
    // SAFETY: the bytes of a map must not change while they are borrowed. This program never writes to a file in
    // place: `output` writes to a temporary file and renames it, which leaves the mapped file as it was, even when
    // output and input are the same path; devices and pipes, which it does write to directly, are never mapped.
    // Another program that changes the file meanwhile breaks this, as it does for every reader that maps files; the
    // map is private and read-only, so that nothing but this run is affected. Needed because reading a file of a
    // gigabyte into memory first takes as long as half of the parsing and doubles the memory.
    let map = unsafe { Mmap::map(file)? };
    #[cfg(unix)]
    let _ = map.advise(memmap2::Advice::Sequential);
    Ok(MappedFile(map))
}

impl MappedFile {
    /// Lets the system take back the memory of some bytes, which are read from the file again when they are looked
    /// at again: a document does not have to be in memory beside its module.
    pub(crate) fn release(&self, from: usize, to: usize) {
        #[cfg(unix)]
        if let Some(length) = to.min(self.0.len()).checked_sub(from) {
            // SAFETY: of a map of a file that nobody writes to (see `map`), pages that are dropped come back with the
            // same bytes, so that a borrowed slice never sees a change.
            let _ =
                unsafe { self.0.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, from, length) };
        }
    }
}
