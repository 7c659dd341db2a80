//! x
pub fn compat(_: &dyn crate::Tree<'_>) -> String { String::new() }
