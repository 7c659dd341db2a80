//! The backend IR: module, functions, blocks, instructions, operands, storage and their geometry.

pub mod access;
mod argument;
pub mod builder;
mod condition;
mod conf;
pub mod edges;
pub mod expr;
mod generated;
pub mod geometry;
pub mod ids;
mod inst;
pub mod links;
mod module;
mod names;
pub mod op_info;
mod open_enum;
pub mod operands;
pub mod record;
mod same;
pub mod sample;
mod storage;
pub mod target;
mod value;
pub mod visit;

pub use argument::{Argument, ImmNumber};
pub use condition::Condition;
pub use conf::{Conf, Known};
pub use generated::{enums, ops, records};
pub use inst::{DebugInfo, Instruction, OperandList, Rare};
pub use module::{CallBinding, EmptyHolder, Holder, Insts, Module, NameOf, NkiFunctions};
pub use names::{Names, Sym};
pub use open_enum::OpenEnum;
pub use ops::Op;
pub use same::{Difference, same};
pub use storage::{AliasEdge, Storage};
pub use value::{Extra, Members, Value};
