//! Files as memory: a dump of gigabytes is read where the system caches it, without a copy.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;

use memmap2::{Mmap, MmapOptions};

/// Maps a file for reading.
pub(crate) fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: the bytes of a map must not change while they are borrowed. This program never writes to a file in
    // place: `output` writes to a temporary file and renames it, which leaves the mapped file as it was, even when
    // output and input are the same path; devices and pipes, which it does write to directly, are never mapped.
    // Another program that changes the file meanwhile breaks this, as it does for every reader that maps files; the
    // map is private and read-only, so that nothing but this run is affected. Needed because reading a file of a
    // gigabyte into memory first takes as long as half of the parsing and doubles the memory.
    let map = unsafe { MmapOptions::new().map_copy_read_only(file)? };
    #[cfg(unix)]
    let _ = map.advise(memmap2::Advice::Sequential);
    Ok(map)
}

/// Lets go of the pages of a map up to an offset: they have been read, and a model has been made of them.
#[cfg(unix)]
pub(crate) fn release(map: &Mmap, upto: usize) {
    // Always from the start: where the system maps large pages, looking at one byte brings back what was let go before.
    let whole = upto - upto % (1 << 16);
    // SAFETY: letting go of pages of a private, read-only map of a file loses nothing; whoever looks at them again
    // gets them from the file. Without it the file counts in full beside the model that was made of it, which is
    // the difference between a sixth and a ninth of the memory that the peer of the benchmark takes.
    let _ = unsafe { map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, 0, whole) };
}

/// Lets go of the pages of a map up to an offset, where the system can do that.
#[cfg(not(unix))]
pub(crate) fn release(_: &Mmap, _: usize) {}
