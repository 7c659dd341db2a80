//! Made from the tables in `spec/`.

pub(crate) mod maps;
