//! What tests of the workspace share with the developer commands: the generator of modules.

pub mod gen_module;
