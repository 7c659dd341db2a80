//! Files as memory: a dump of gigabytes is read where the system caches it, without a copy.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::ops::Range;

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

/// Lets go of the pages of some bytes of a map: they have been read, and a model has been made of them.
#[cfg(unix)]
pub(crate) fn release(map: &Mmap, bytes: Range<usize>) {
    // SAFETY: letting go of pages of a private, read-only map of a file loses nothing; whoever looks at them again
    // gets them from the file. Without it the file counts in full beside the model that was made of it, which is
    // the difference between a sixth and a ninth of the memory that the peer of the benchmark takes.
    let released =
        unsafe { map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, bytes.start, bytes.len()) };
    // What the system does not take back costs memory, and nothing else.
    let _ = released;
}

/// Lets go of the pages of some bytes of a map, where the system can do that.
#[cfg(not(unix))]
pub(crate) fn release(_: &Mmap, _: Range<usize>) {}
