//! The 1024 bytes in front of the payload (spec: neff 2).

use serde::Serialize;

use crate::error::Error;
use crate::features::feature_names;

/// Size of the header of every known package, in bytes.
pub const HEADER_BYTES: usize = 1024;

/// `header_size` may not be less: the fixed sizes come first.
const MIN_HEADER: u64 = 24;

/// The newest `neff_version_major`.
const MAX_MAJOR: u64 = 2;

/// Feature bits that a loader rejects as too new (spec: neff 2, 0x220).
const TOO_NEW: u64 = 0x7FFF_FFFF_F800_0000;

/// The fields of the header, in file order, under the names of the SDK.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Header {
    /// Form of the container: 1 or 2.
    pub pkg_version: u64,
    /// Where the payload begins, in bytes.
    pub header_size: u64,
    /// Length of the payload with its padding, in bytes.
    pub data_size: u64,
    /// 1, or 2 for packages that need any feature.
    pub neff_version_major: u64,
    /// Informative.
    pub neff_version_minor: u64,
    /// Build of the compiler; empty in newer packages.
    pub neff_build_version: String,
    /// Cores, as `info.json` says.
    pub num_tpb: u32,
    /// Digest of the payload; [`Integrity`](crate::Integrity) reads it.
    pub hash: [u8; 32],
    /// Identity of the package, in text order.
    pub uuid: [u8; 16],
    /// Name given by the compiler.
    pub name: String,
    /// Cores that were asked for.
    pub requested_tpb_count: u32,
    /// Cores of each node.
    pub tpb_per_node: [u8; 64],
    /// What the loader must know; [`Header::features`] names them.
    pub feature_bits: u64,
    /// Physical cores of a logical core: 1 or 2.
    pub lnc_size: u32,
}

impl Default for Header {
    fn default() -> Header {
        Header {
            pkg_version: 2,
            header_size: HEADER_BYTES as u64,
            data_size: 0,
            neff_version_major: 1,
            neff_version_minor: 0,
            neff_build_version: String::new(),
            num_tpb: 1,
            hash: [0; 32],
            uuid: [0; 16],
            name: String::new(),
            requested_tpb_count: 1,
            tpb_per_node: {
                let mut nodes = [0; 64];
                nodes[0] = 1;
                nodes
            },
            feature_bits: 0,
            lnc_size: 1,
        }
    }
}

impl Header {
    /// Reads the header of a file of `size` bytes that begins with `bytes`.
    ///
    /// # Errors
    /// When the file is too short, or a field has a value that a loader rejects.
    pub fn read(bytes: &[u8], size: u64) -> Result<Header, Error> {
        let mut raw = [0; HEADER_BYTES];
        let given = bytes.len().min(HEADER_BYTES);
        raw[..given].copy_from_slice(&bytes[..given]);
        let pkg_version = u64_at(&raw, 0);
        if size < 8 || !matches!(pkg_version, 1 | 2) {
            return Err(if size < 8 { Error::TooShort(size) } else { Error::PackageVersion(pkg_version) });
        }
        if size <= HEADER_BYTES as u64 || given < HEADER_BYTES {
            return Err(Error::TooShort(size));
        }
        let header_size = u64_at(&raw, 8);
        if !(MIN_HEADER..size).contains(&header_size) {
            return Err(Error::HeaderSize(header_size, size));
        }
        // What lies behind a shorter header is payload.
        raw[header_size.min(HEADER_BYTES as u64) as usize..].fill(0);
        let header = Header {
            pkg_version,
            header_size,
            data_size: u64_at(&raw, 0x10),
            neff_version_major: u64_at(&raw, 0x18),
            neff_version_minor: u64_at(&raw, 0x20),
            neff_build_version: text(&raw[0x28..0xA8]),
            num_tpb: u32_at(&raw, 0xA8),
            hash: array(&raw, 0xAC),
            uuid: array(&raw, 0xCC),
            name: text(&raw[0xDC..0x1DC]),
            requested_tpb_count: u32_at(&raw, 0x1DC),
            tpb_per_node: array(&raw, 0x1E0),
            feature_bits: u64_at(&raw, 0x220),
            lnc_size: u32_at(&raw, 0x228),
        };
        let available = size - header_size;
        if header.data_size > available {
            return Err(Error::DataSize { data_size: header.data_size, available });
        }
        if header.data_size == 0 {
            return Err(Error::NoPayload);
        }
        if header.neff_version_major > MAX_MAJOR {
            return Err(Error::MajorVersion(header.neff_version_major));
        }
        if header.neff_version_major == 2 && header.feature_bits & TOO_NEW != 0 {
            return Err(Error::FeatureWindow(header.feature_bits & TOO_NEW));
        }
        Ok(header)
    }

    /// The bytes of the header. Text that is too long for its field is cut.
    pub fn write(&self) -> [u8; HEADER_BYTES] {
        let mut raw = [0; HEADER_BYTES];
        let mut put = |at: usize, bytes: &[u8]| raw[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &self.pkg_version.to_le_bytes());
        put(8, &self.header_size.to_le_bytes());
        put(0x10, &self.data_size.to_le_bytes());
        put(0x18, &self.neff_version_major.to_le_bytes());
        put(0x20, &self.neff_version_minor.to_le_bytes());
        put(0x28, cut(&self.neff_build_version, 128));
        put(0xA8, &self.num_tpb.to_le_bytes());
        put(0xAC, &self.hash);
        put(0xCC, &self.uuid);
        // The loader reads the name up to a NUL.
        put(0xDC, cut(&self.name, 255));
        put(0x1DC, &self.requested_tpb_count.to_le_bytes());
        put(0x1E0, &self.tpb_per_node);
        put(0x220, &self.feature_bits.to_le_bytes());
        put(0x228, &self.lnc_size.to_le_bytes());
        raw
    }

    /// Names of the feature bits, from the lowest; `bit_0x..` for bits without one.
    pub fn features(&self) -> Vec<String> {
        feature_names(self.feature_bits)
    }

    /// The uuid as text, `8-4-4-4-12` digits.
    pub fn uuid_text(&self) -> String {
        let digits = hex(&self.uuid);
        [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
    }

    /// [`Header::tpb_per_node`] without the zeros at the end.
    pub fn nodes(&self) -> &[u8] {
        let end = self.tpb_per_node.iter().rposition(|&count| count != 0).map_or(0, |last| last + 1);
        &self.tpb_per_node[..end]
    }
}

impl Serialize for Header {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shown<'a> {
            pkg_version: u64,
            header_size: u64,
            data_size: u64,
            neff_version_major: u64,
            neff_version_minor: u64,
            neff_build_version: &'a str,
            num_tpb: u32,
            hash: String,
            uuid: String,
            name: &'a str,
            requested_tpb_count: u32,
            tpb_per_node: &'a [u8],
            feature_bits: String,
            features: Vec<String>,
            lnc_size: u32,
        }
        Shown {
            pkg_version: self.pkg_version,
            header_size: self.header_size,
            data_size: self.data_size,
            neff_version_major: self.neff_version_major,
            neff_version_minor: self.neff_version_minor,
            neff_build_version: &self.neff_build_version,
            num_tpb: self.num_tpb,
            hash: hex(&self.hash),
            uuid: self.uuid_text(),
            name: &self.name,
            requested_tpb_count: self.requested_tpb_count,
            tpb_per_node: self.nodes(),
            feature_bits: format!("{:#x}", self.feature_bits),
            features: self.features(),
            lnc_size: self.lnc_size,
        }
        .serialize(serializer)
    }
}

/// Hexadecimal digits of bytes.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn array<const N: usize>(raw: &[u8; HEADER_BYTES], at: usize) -> [u8; N] {
    raw[at..at + N].try_into().expect("the header is long enough")
}

fn u64_at(raw: &[u8; HEADER_BYTES], at: usize) -> u64 {
    u64::from_le_bytes(array(raw, at))
}

fn u32_at(raw: &[u8; HEADER_BYTES], at: usize) -> u32 {
    u32::from_le_bytes(array(raw, at))
}

fn text(field: &[u8]) -> String {
    let end = field.iter().position(|&byte| byte == 0).unwrap_or(field.len());
    String::from_utf8_lossy(&field[..end]).into_owned()
}

/// As much of a text as fits, without half a character.
fn cut(text: &str, most: usize) -> &[u8] {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text.as_bytes()[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Header {
        let mut uuid = [0; 16];
        uuid.iter_mut().enumerate().for_each(|(i, byte)| *byte = i as u8 * 17);
        Header {
            data_size: 76,
            neff_version_major: 2,
            neff_version_minor: 7,
            neff_build_version: "1.2%main@abc".into(),
            num_tpb: 3,
            hash: [9; 32],
            uuid,
            name: "a name".into(),
            requested_tpb_count: 4,
            tpb_per_node: [5; 64],
            feature_bits: 0x209C00,
            lnc_size: 2,
            ..Header::default()
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let header = sample();
        assert_eq!(Header::read(&header.write(), 1100).unwrap(), header);
        assert_eq!(header.uuid_text(), "00112233-4455-6677-8899-aabbccddeeff");
        assert_eq!(header.features(), ["vnc", "DVE_perf_mode", "DGE", "DGE_cast", "hardware_DGE"]);
    }

    #[test]
    fn text_longer_than_its_field_is_cut_between_characters() {
        let long = Header { name: format!("{}é", "x".repeat(254)), data_size: 1, ..Header::default() };
        assert_eq!(Header::read(&long.write(), 1100).unwrap().name, "x".repeat(254));
    }

    #[test]
    fn values_that_a_loader_rejects_are_errors() {
        let with = |change: &dyn Fn(&mut Header)| {
            let mut header = sample();
            change(&mut header);
            Header::read(&header.write(), 1100).unwrap_err().to_string()
        };
        assert!(with(&|h| h.pkg_version = 3).contains("pkg_version is 3"));
        assert!(with(&|h| h.header_size = 23).contains("header_size is 23"));
        assert!(with(&|h| h.header_size = 1100).contains("header_size is 1100"));
        assert!(with(&|h| h.header_size = 1 << 60).contains("header_size"));
        assert!(with(&|h| h.data_size = 77).contains("the file is cut"));
        assert!(with(&|h| h.data_size = 1 << 60).contains("the file is cut"));
        assert!(with(&|h| h.data_size = 0).contains("empty"));
        assert!(with(&|h| h.neff_version_major = 3).contains("up to 2 is known"));
        assert!(with(&|h| h.feature_bits = 0x1000_0800).contains("0x10000000"));
        assert!(
            Header::read(&sample().write()[..1000], 1000).unwrap_err().to_string().contains("1000 bytes")
        );
        // Version 1 has no feature window.
        let old = Header { neff_version_major: 1, feature_bits: 1 << 40, ..sample() };
        assert_eq!(Header::read(&old.write(), 1100).unwrap(), old);
    }
}
