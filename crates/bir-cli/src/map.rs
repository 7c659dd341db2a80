//! Files as memory: a dump of gigabytes is read where the system caches it, without a copy.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;

use memmap2::Mmap;

/// Maps a file for reading.
pub(crate) fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: the bytes of a map must not change while they are borrowed. This program never writes to a file in
    // place: `output` writes to a temporary file and renames it, which leaves the mapped file as it was, even when
    // output and input are the same path; devices and pipes, which it does write to directly, are never mapped.
    // Another program that changes the file meanwhile breaks this, as it does for every reader that maps files; the
    // map is private and read-only, so that nothing but this run is affected. Needed because reading a file of a
    // gigabyte into memory first takes as long as half of the parsing and doubles the memory.
    let map = unsafe { Mmap::map(file)? };
    #[cfg(unix)]
    let _ = map.advise(memmap2::Advice::Sequential);
    Ok(map)
}
