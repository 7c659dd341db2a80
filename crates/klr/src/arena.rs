//! Where decoded lists and boxed records live.

use crate::node::Failed;

/// Memory for one or several decoded values; they live as long as it does and are freed with it.
///
/// Values hold their lists as `&[T]` and their records in unions as `&T`. Values made by hand need no arena: any
/// slice or reference will do.
#[derive(Debug, Default)]
pub struct Arena {
    bump: bumpalo::Bump,
}

impl Arena {
    /// An empty arena.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Moves a value into the arena.
    #[inline]
    pub fn alloc<T: Copy>(&self, value: T) -> &T {
        self.bump.alloc(value)
    }

    /// Copies a text into the arena.
    pub fn text(&self, text: &str) -> &str {
        self.bump.alloc_str(text)
    }

    /// Makes a list in the arena from its elements.
    #[inline]
    pub(crate) fn slice<T: Copy>(
        &self,
        count: usize,
        element: impl FnMut(usize) -> Result<T, Failed>,
    ) -> Result<&[T], Failed> {
        self.bump.alloc_slice_try_fill_with(count, element).map(|slice| &*slice)
    }

    /// Copies a list into the arena.
    pub fn list<T: Copy>(&self, list: &[T]) -> &[T] {
        self.bump.alloc_slice_copy(list)
    }

    /// Bytes taken from the system so far.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bump.allocated_bytes()
    }
}
