//! The scalar types of fields: each keeps its bytes exactly, whatever they mean.

use std::fmt;

use crate::word::{Generation, WORD_BYTES};

/// A value that lies at a byte offset of a word. Loading and storing are exact inverses.
pub trait Pack: Copy {
    /// Bytes the value takes in the word.
    const BYTES: usize;

    /// Reads the value at byte `at`.
    fn load(word: &[u8; WORD_BYTES], at: usize) -> Self;

    /// Writes the value at byte `at`. Bits that the value does not own stay as they are.
    fn store(self, word: &mut [u8; WORD_BYTES], at: usize);
}

/// A value of at most 8 bits that shares its byte with others.
pub trait PackBits: Copy {
    /// The value of the bits, which stand lowest in `bits`.
    fn from_bits(bits: u8) -> Self;

    /// The bits of the value, lowest first.
    fn to_bits(self) -> u8;
}

macro_rules! pack_number {
    ($($ty:ty),*) => { $(
        impl Pack for $ty {
            const BYTES: usize = size_of::<$ty>();

            #[inline(always)]
            fn load(word: &[u8; WORD_BYTES], at: usize) -> Self {
                // A chunk of known length is one move; a copy of a slice is a call.
                <$ty>::from_le_bytes(*word[at..].first_chunk().expect("the value lies in the word"))
            }

            #[inline(always)]
            fn store(self, word: &mut [u8; WORD_BYTES], at: usize) {
                *word[at..].first_chunk_mut().expect("the value lies in the word") = self.to_le_bytes();
            }
        }
    )* };
}
pack_number!(u8, u16, u32, u64, i8, i16, i32);

impl<T: Pack, const N: usize> Pack for [T; N] {
    const BYTES: usize = N * T::BYTES;

    #[inline(always)]
    fn load(word: &[u8; WORD_BYTES], at: usize) -> Self {
        let mut values = [T::load(word, at); N];
        for (i, value) in values.iter_mut().enumerate().skip(1) {
            *value = T::load(word, at + i * T::BYTES);
        }
        values
    }

    #[inline(always)]
    fn store(self, word: &mut [u8; WORD_BYTES], at: usize) {
        for (i, value) in self.into_iter().enumerate() {
            value.store(word, at + i * T::BYTES);
        }
    }
}

impl PackBits for bool {
    #[inline(always)]
    fn from_bits(bits: u8) -> Self {
        bits != 0
    }

    #[inline(always)]
    fn to_bits(self) -> u8 {
        self.into()
    }
}

impl PackBits for u8 {
    #[inline(always)]
    fn from_bits(bits: u8) -> Self {
        bits
    }

    #[inline(always)]
    fn to_bits(self) -> u8 {
        self
    }
}

/// Declares a newtype over a number that is packed like the number.
macro_rules! newtype {
    ($($(#[$meta:meta])* $name:ident($inner:ty);)*) => { $(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(transparent)]
        pub struct $name(pub $inner);

        impl Pack for $name {
            const BYTES: usize = <$inner as Pack>::BYTES;

            #[inline(always)]
            fn load(word: &[u8; WORD_BYTES], at: usize) -> Self {
                Self(<$inner as Pack>::load(word, at))
            }

            #[inline(always)]
            fn store(self, word: &mut [u8; WORD_BYTES], at: usize) {
                self.0.store(word, at);
            }
        }
    )* };
}

newtype! {
    /// An IEEE single as its bits, so that two NaN are equal when their bits are and no bit is lost.
    F32(u32);
    /// A register id. The compiler uses 62 registers per engine; 128 and 129 are halves of the instruction address.
    Reg(u8);
    /// A semaphore or event id, 0..=255.
    Sem(u8);
    /// Two element types in one byte: low nibble first.
    DtypePair(u8);
    /// Two immediate sources in one byte: low nibble first.
    ImmSrcPair(u8);
    /// The 4 bytes of a scalar operand. What they are is said by the selector field beside them.
    Imm(u32);
    /// A 4-byte address (spec: isa-bundle.md 2).
    Addr4(u32);
    /// 256 bits, one per semaphore; id `i` is bit `i % 8` of byte `i / 8`.
    Bitset256([u8; 32]);
}

impl PackBits for Reg {
    #[inline(always)]
    fn from_bits(bits: u8) -> Self {
        Reg(bits)
    }

    #[inline(always)]
    fn to_bits(self) -> u8 {
        self.0
    }
}

impl F32 {
    /// The number.
    pub const fn get(self) -> f32 {
        f32::from_bits(self.0)
    }
}

impl From<f32> for F32 {
    fn from(value: f32) -> F32 {
        F32(value.to_bits())
    }
}

impl DtypePair {
    /// Code of the first operand's element type, 0..=15.
    pub const fn first(self) -> u8 {
        self.0 & 15
    }

    /// Code of the second operand's element type, 0..=15.
    pub const fn second(self) -> u8 {
        self.0 >> 4
    }
}

impl Bitset256 {
    /// Whether id `id` is in the set.
    pub const fn contains(&self, id: u8) -> bool {
        self.0[id as usize / 8] >> (id % 8) & 1 != 0
    }

    /// Adds id `id`.
    pub const fn insert(&mut self, id: u8) {
        self.0[id as usize / 8] |= 1 << (id % 8);
    }

    /// The ids of the set, ascending.
    pub fn ids(&self) -> impl Iterator<Item = u8> + '_ {
        (0..=255).filter(|&id| self.contains(id))
    }
}

/// What an [`Addr4`] points at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// A byte of SBUF.
    Sbuf {
        /// Partition, 0..=127.
        partition: u8,
        /// Byte inside the partition, below 256 KiB.
        offset: u32,
    },
    /// A byte of PSUM.
    Psum {
        /// Partition, 0..=127.
        partition: u8,
        /// Bank, 0..=7.
        bank: u8,
        /// Byte inside the bank, 0..=2047.
        offset: u16,
    },
    /// The address is in an address register.
    Register(Reg),
    /// Neither: bits are set that no form has.
    Other(u32),
}

/// A place that does not fit the memory of a generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// The partition does not exist.
    #[error("partition {0} does not exist: there are 128, 0 to 127")]
    Partition(u32),
    /// The byte lies behind the end of the SBUF partition.
    #[error("byte {offset:#x} lies outside the SBUF partition of {limit:#x} bytes ({generation})")]
    SbufOffset {
        /// The byte asked for.
        offset: u32,
        /// Size of a partition.
        limit: u32,
        /// Generation whose size it is.
        generation: Generation,
    },
    /// The PSUM bank does not exist.
    #[error("PSUM bank {0} does not exist: there are 8, 0 to 7")]
    Bank(u32),
    /// The byte lies behind the end of the PSUM bank.
    #[error("byte {0:#x} lies outside the PSUM bank of 0x800 bytes")]
    PsumOffset(u32),
    /// The register cannot be named by an address.
    #[error("address register {0} does not exist: there are 64, 0 to 63")]
    Register(u32),
}

impl Addr4 {
    /// Bit 29: the slot is an index and data pair.
    pub const INDIRECT: u32 = 1 << 29;
    /// Bit 30: steps and counts come from the shape registers.
    pub const SHAPE: u32 = 1 << 30;
    /// Bit 31: bits 0..8 are the number of an address register.
    pub const REGISTER: u32 = 1 << 31;
    /// Bits 0..29: the byte address.
    pub const ADDRESS: u32 = Addr4::INDIRECT - 1;
    /// First byte of PSUM; SBUF ends below it.
    pub const PSUM_BASE: u32 = 1 << 25;
    /// Last byte of PSUM that the partition stride covers.
    pub(crate) const PSUM_LAST: u32 = Addr4::PSUM_BASE + 0x3F_FFFF;

    /// Address of byte `offset` of an SBUF partition.
    ///
    /// # Errors
    /// When the partition or the byte does not exist on `generation`.
    pub fn sbuf(partition: u32, offset: u32, generation: Generation) -> Result<Addr4, PlaceError> {
        if partition > 127 {
            return Err(PlaceError::Partition(partition));
        }
        let limit = generation.partition_bytes();
        if offset >= limit {
            return Err(PlaceError::SbufOffset { offset, limit, generation });
        }
        Ok(Addr4(partition << 18 | offset))
    }

    /// Address of byte `offset` of a PSUM bank.
    ///
    /// # Errors
    /// When the partition, the bank or the byte does not exist.
    pub fn psum(partition: u32, bank: u32, offset: u32) -> Result<Addr4, PlaceError> {
        match () {
            () if partition > 127 => Err(PlaceError::Partition(partition)),
            () if bank > 7 => Err(PlaceError::Bank(bank)),
            () if offset > 0x7FF => Err(PlaceError::PsumOffset(offset)),
            () => Ok(Addr4(Addr4::PSUM_BASE | partition << 15 | bank << 11 | offset)),
        }
    }

    /// Address of an MX scale: its partition is rounded down to a multiple of 32 (spec: isa-bundle.md 2).
    ///
    /// # Errors
    /// As [`Addr4::sbuf`].
    pub fn mx_scale(partition: u32, offset: u32, generation: Generation) -> Result<Addr4, PlaceError> {
        if partition > 127 {
            return Err(PlaceError::Partition(partition));
        }
        Addr4::sbuf(partition & !31, offset, generation)
    }

    /// An address taken from an address register.
    ///
    /// # Errors
    /// When there is no such register.
    pub fn register(register: u32) -> Result<Addr4, PlaceError> {
        if register < 64 {
            Ok(Addr4(Addr4::REGISTER | register))
        } else {
            Err(PlaceError::Register(register))
        }
    }

    /// This address with the indirect bit set.
    #[must_use]
    pub const fn indirect(self) -> Addr4 {
        Addr4(self.0 | Addr4::INDIRECT)
    }

    /// Whether the slot that begins with this address is an index and data pair: bits 29 and 30 are 1 and 0.
    #[inline(always)]
    pub const fn is_indirect(self) -> bool {
        self.0 & (Addr4::INDIRECT | Addr4::SHAPE) == Addr4::INDIRECT
    }

    /// What bits 0..29 and 31 say.
    pub const fn place(self) -> Place {
        let address = self.0 & Addr4::ADDRESS;
        if self.0 & Addr4::REGISTER != 0 {
            return if address <= 255 { Place::Register(Reg(address as u8)) } else { Place::Other(self.0) };
        }
        if address < Addr4::PSUM_BASE {
            return Place::Sbuf { partition: (address >> 18) as u8, offset: address & 0x3_FFFF };
        }
        if address <= Addr4::PSUM_LAST && address & 0x4000 == 0 {
            return Place::Psum {
                partition: (address >> 15 & 127) as u8,
                bank: (address >> 11 & 7) as u8,
                offset: (address & 0x7FF) as u16,
            };
        }
        Place::Other(self.0)
    }
}

impl fmt::Display for Addr4 {
    /// As in assembly text, for example `SB(p32,0x5000)`, `PS(p0,b2)`, `r5` or `idx:SB(p0,0x100)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::text::addr4_text(*self))
    }
}

macro_rules! byte_array {
    ($($(#[$meta:meta])* $name:ident;)*) => { $(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(transparent)]
        pub struct $name<const N: usize>(pub [u8; N]);

        impl<const N: usize> Default for $name<N> {
            fn default() -> Self {
                $name([0; N])
            }
        }

        impl<const N: usize> Pack for $name<N> {
            const BYTES: usize = N;

            #[inline(always)]
            fn load(word: &[u8; WORD_BYTES], at: usize) -> Self {
                $name(Pack::load(word, at))
            }

            #[inline(always)]
            fn store(self, word: &mut [u8; WORD_BYTES], at: usize) {
                self.0.store(word, at);
            }
        }
    )* };
}

byte_array! {
    /// NUL-terminated ASCII in a field of `N` bytes. The bytes behind the NUL are kept.
    Name;
    /// `N` bytes without a known inner structure.
    Blob;
}

impl<const N: usize> Name<N> {
    /// The bytes in front of the first NUL.
    pub fn bytes(&self) -> &[u8] {
        let end = self.0.iter().position(|&byte| byte == 0).unwrap_or(N);
        &self.0[..end]
    }
}
