//! How much of a hostile file is believed.

/// Bounds that reading stops at, with an error. All are far above what compilers write.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Bytes that the payload may inflate to.
    pub inflated: u64,
    /// Members of the archive.
    pub members: u64,
    /// Bytes of the path of a member.
    pub path: u64,
    /// Bytes of one manifest.
    pub manifest: u64,
    /// Bytes of one debug member.
    pub debug: u64,
    /// Bytes that are held at a time: all manifests, or all members that were asked for.
    pub held: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            inflated: 64 << 30,
            members: 1 << 20,
            path: 4096,
            manifest: 256 << 20,
            debug: 1 << 30,
            held: 4 << 30,
        }
    }
}
