//! Typed 32-bit ids of the arenas of a [`Module`](crate::Module), and references that may not have been resolved.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::num::NonZeroU32;

use crate::names::Sym;

/// An index into one arena of a module.
pub trait Id: Copy + Eq + fmt::Debug {
    /// The id with a dense index from 0.
    fn new(index: usize) -> Self;
    /// Dense index from 0.
    fn index(self) -> usize;
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u32);

        impl Id for $name {
            fn new(index: usize) -> Self {
                $name(u32::try_from(index).expect("arena indexes fit 32 bits"))
            }
            fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }
    )*};
}

ids! {
    /// A function, ordinary or NKI.
    FuncId;
    /// A basic block of a function, of a nested body, or of a queue.
    BlockId;
    /// An instruction.
    InstId;
    /// A memory-location set: a logical tensor.
    SetId;
    /// A memory location: one placement of a set.
    LocId;
    /// A register.
    RegId;
    /// A DMA queue.
    QueueId;
    /// A node of an affine expression.
    ExprId;
}

/// A reference to an object by name: resolved to its id, or the name that no object has.
///
/// Documents refer to objects by name only. The reader resolves what it can; a name that resolves to nothing
/// stays, so that checkers can report it and no text is lost. 32 bits, and `Option<Ref<_>>` is no larger.
pub struct Ref<T> {
    /// Even: id index + 1, shifted left; odd: symbol, shifted left, with the low bit set.
    raw: NonZeroU32,
    kind: PhantomData<T>,
}

/// What a [`Ref`] holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target<T> {
    /// The object.
    Found(T),
    /// A name that no object of the right kind has.
    Missing(Sym),
}

impl<T: Id> Ref<T> {
    /// A reference to an object that exists.
    pub fn to(id: T) -> Ref<T> {
        Ref::pack(id.index() as u64 + 1, 0)
    }

    /// A reference to a name that is not (yet) resolved.
    pub fn named(name: Sym) -> Ref<T> {
        Ref::pack(name.index() as u64, 1)
    }

    fn pack(index: u64, tag: u32) -> Ref<T> {
        assert!(index < 1 << 31, "references hold 31-bit indexes");
        let raw =
            NonZeroU32::new((index as u32) << 1 | tag).expect("ids are offset by one, names are tagged");
        Ref { raw, kind: PhantomData }
    }

    /// Id or name.
    pub fn target(self) -> Target<T> {
        let index = (self.raw.get() >> 1) as usize;
        if self.raw.get() & 1 == 1 {
            Target::Missing(Sym::from_index(index))
        } else {
            Target::Found(T::new(index - 1))
        }
    }

    /// The object, when the name was resolved.
    pub fn id(self) -> Option<T> {
        match self.target() {
            Target::Found(id) => Some(id),
            Target::Missing(_) => None,
        }
    }
}

impl<T: Id> From<T> for Ref<T> {
    fn from(id: T) -> Self {
        Ref::to(id)
    }
}

impl<T> Clone for Ref<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Ref<T> {}
impl<T> PartialEq for Ref<T> {
    fn eq(&self, other: &Self) -> bool {
        self.raw == other.raw
    }
}
impl<T> Eq for Ref<T> {}
impl<T> Hash for Ref<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.raw.hash(state);
    }
}
impl<T: Id> fmt::Debug for Ref<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.target() {
            Target::Found(id) => id.fmt(f),
            Target::Missing(name) => write!(f, "Missing({name:?})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_four_bytes_and_keeps_what_it_holds() {
        assert_eq!(size_of::<Option<Ref<LocId>>>(), 4);
        for i in [0, 1, 77, (1 << 30) - 1] {
            assert_eq!(Ref::to(LocId::new(i)).id(), Some(LocId::new(i)));
            let name = Sym::from_index(i);
            assert_eq!(Ref::<LocId>::named(name).target(), Target::Missing(name));
        }
    }
}
