//! Values that many owners have in common, such as the accesses of a buffer that is used again and again.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// A value that may be shared. It reads like the value itself; to change it makes a copy when others have it too.
///
/// ```
/// use bir::Shared;
/// let one = Shared::new(7);
/// let mut other = one.clone();
/// assert_eq!(one.address(), other.address());
/// *other += 1;
/// assert_eq!((*one, *other), (7, 8));
/// ```
#[derive(Default)]
pub struct Shared<T>(Arc<T>);

impl<T> Shared<T> {
    /// A value that nobody shares yet.
    pub fn new(value: T) -> Shared<T> {
        Shared(Arc::new(value))
    }

    /// Whether others have the value too.
    pub fn is_shared(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// Where the value is. Two that are at one place at one time are one value, so what was found out about it need
    /// not be found out again.
    pub fn address(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }
}

impl<T> From<T> for Shared<T> {
    fn from(value: T) -> Self {
        Shared::new(value)
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Shared(Arc::clone(&self.0))
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut T {
        Arc::make_mut(&mut self.0)
    }
}

impl<T: PartialEq> PartialEq for Shared<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: fmt::Debug> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
