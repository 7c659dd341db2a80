//! Views of a BIR module: statistics and text.
