//! Generates the rows of the visitor: one method for each op, with the method of its base class.

use std::collections::HashSet;
use std::fmt::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};

use super::model::{Storage, storage};
use super::tables::{Op, Tables, op_snake};
use super::{Output, Spec, header};

pub(crate) fn generate(spec: &Spec) -> Result<Vec<Output>> {
    let tables = Tables::load(spec)?;
    let ops = &tables.ops.op;
    let classes: HashSet<&str> = ops.iter().map(|op| op.parent.as_str()).collect();
    // A base class is visited for ops with other keys too, so its method has no keys to show.
    let is_plain = |op: &Op| classes.contains(&*op.class) || matches!(storage(op), Storage::Unit);
    let (mut plain, mut keyed) = (String::new(), String::new());
    for op in ops {
        let base = match op.parent.as_str() {
            "Instruction" => "visit_inst".to_owned(),
            parent => {
                let base = ops.iter().find(|base| base.class == parent);
                format!(
                    "visit_{}",
                    op_snake(&base.with_context(|| format!("no op has class {parent}"))?.name)
                )
            }
        };
        let doc = if classes.contains(&*op.class) {
            format!("`{}`, and every op of a class derived from {}.", op.name, op.class)
        } else {
            format!("`{}`.", op.name)
        };
        let rows = if is_plain(op) { &mut plain } else { &mut keyed };
        let _ =
            write!(rows, "        /// {doc}\n        visit_{}: {} -> {base};\n", op_snake(&op.name), op.name);
    }
    let text = format!(
        "{}//! The visitor: a row for each op.\n\nuse crate::argument::Argument;\nuse crate::expr::Expr;\nuse crate::ids::*;\n\
         use crate::inst::OperandList;\nuse crate::module::{{Holder, Module}};\nuse crate::ops::Op;\n\
         use crate::storage::Storage;\nuse crate::visit::*;\n\nvisitor! {{\n    plain {{\n{plain}    }}\n    keyed {{\n{keyed}    }}\n}}\n",
        header("opcodes.toml"),
    );
    Ok(vec![Output { path: PathBuf::from("crates/bir/src/generated/visit.rs"), text }])
}
