//! Open enums: a name that the table does not have is carried, printed and written back, never lost.

use std::fmt::Debug;
use std::hash::Hash;

use crate::names::{Names, Sym};

/// An enum of the tables whose values are spelled by name in documents.
pub trait OpenEnum: Copy + Eq + Hash + Debug + 'static {
    /// Name of the enum in the tables.
    const ENUM: &'static str;
    /// All values of the table, in order of their in-memory numbers.
    const ALL: &'static [Self];
    /// Names that only older documents have. They are carried as `Other`.
    const LEGACY: &'static [&'static str];
    /// Whether readers accept the in-memory number in place of the name.
    const READ_ORDINAL: bool;

    /// The value of a name of the table, or of a spelling that is accepted on reading.
    fn parse(name: &str) -> Option<Self>;
    /// A name that the table does not have.
    fn other(name: Sym) -> Self;
    /// The name of a value of the table; the symbol otherwise.
    fn name(self) -> Result<&'static str, Sym>;
    /// The in-memory number. Not stable across compiler releases; `None` for other names.
    fn ordinal(self) -> Option<u32>;

    /// The spelling, whether the table has it or not.
    fn text(self, names: &Names) -> &str {
        match self.name() {
            Ok(name) => name,
            Err(sym) => names.str(sym),
        }
    }

    /// Whether the table has the name.
    fn is_known(self) -> bool {
        self.name().is_ok()
    }

    /// The value of a name, carried as `Other` when the table does not have it.
    fn parse_or_other(name: &str, names: &mut Names) -> Self {
        Self::parse(name).unwrap_or_else(|| Self::other(names.intern(name)))
    }

    /// The value of an in-memory number.
    fn from_ordinal(ordinal: u64) -> Option<Self> {
        Self::ALL.iter().copied().find(|v| v.ordinal().map(u64::from) == Some(ordinal))
    }
}

macro_rules! open_enum {
    (
        $(#[$doc:meta])*
        $name:ident { $($(#[$vdoc:meta])* $variant:ident = $ordinal:literal, $text:literal $bytes:literal;)* }
        aliases { $($alias:literal => $target:ident),* }
        legacy { $($legacy:literal),* }
        read_ordinal $read_ordinal:literal
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum $name {
            $($(#[$vdoc])* $variant,)*
            /// A name that the table does not have.
            Other(Sym),
        }

        impl $crate::open_enum::OpenEnum for $name {
            const ENUM: &'static str = stringify!($name);
            const ALL: &'static [Self] = &[$($name::$variant),*];
            const LEGACY: &'static [&'static str] = &[$($legacy),*];
            const READ_ORDINAL: bool = $read_ordinal;

            fn parse(name: &str) -> Option<Self> {
                // Written as a match on bytes, which becomes a decision tree rather than a list of comparisons.
                Some(match name.as_bytes() {
                    $($bytes => $name::$variant,)*
                    $($alias => $name::$target,)*
                    _ => return None,
                })
            }

            fn other(name: Sym) -> Self {
                $name::Other(name)
            }

            fn name(self) -> Result<&'static str, Sym> {
                match self {
                    $($name::$variant => Ok($text),)*
                    $name::Other(name) => Err(name),
                }
            }

            fn ordinal(self) -> Option<u32> {
                match self {
                    $($name::$variant => Some($ordinal),)*
                    $name::Other(_) => None,
                }
            }
        }

        impl $crate::record::FieldType for $name {
            $crate::record::same_when_equal!();
            fn as_field(&self) -> $crate::record::FieldValue<'_> {
                match $crate::open_enum::OpenEnum::name(*self) {
                    Ok(name) => $crate::record::FieldValue::Name(name),
                    Err(other) => $crate::record::FieldValue::Text(other),
                }
            }
            #[inline]
            fn renumber(&mut self, to: &mut $crate::part::Renumbering) {
                if let $name::Other(name) = self {
                    *name = to.name(*name);
                }
            }
        }
    };
}
pub(crate) use open_enum;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generated::enums::{Dtype, InstSyncType, InstructionType};

    #[test]
    fn names_parse_and_print() {
        for dtype in Dtype::ALL {
            assert_eq!(Dtype::parse(dtype.name().unwrap()), Some(*dtype));
            assert_eq!(Dtype::from_ordinal(dtype.ordinal().unwrap().into()), Some(*dtype));
        }
        assert_eq!(InstructionType::ALL.len(), 110);
        assert_eq!(InstSyncType::parse("DMAType"), Some(InstSyncType::Dma));
        assert_eq!(size_of::<Option<Dtype>>(), 8);
    }

    #[test]
    fn an_unknown_name_is_carried() {
        let mut names = Names::new();
        let dtype = Dtype::parse_or_other("float6", &mut names);
        assert!(!dtype.is_known());
        assert_eq!(dtype.text(&names), "float6");
        assert_eq!(dtype.size_bytes(), None);
    }
}
