//! An instruction on its way: what an operator's fields become, before it has a name and a place.

use bir::enums::EngineType;
use bir::op_info::OpInfo;
use bir::{Argument, Op};

/// An instruction without name and place.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) op: Op,
    pub(crate) engine: EngineType,
    pub(crate) ins: Vec<Argument>,
    pub(crate) indices: Vec<Argument>,
    pub(crate) outs: Vec<Argument>,
    /// Whether the name of the statement is its name; collectives get a generated one.
    pub(crate) named: bool,
}

impl Draft {
    /// An instruction on the engine that its op has when nothing is said.
    pub(crate) fn new(op: impl Into<Op>) -> Draft {
        let op = op.into();
        let engine = usual_engine(&op);
        Draft { op, engine, ins: Vec::new(), indices: Vec::new(), outs: Vec::new(), named: true }
    }

    pub(crate) fn on(self, engine: EngineType) -> Draft {
        Draft { engine, ..self }
    }

    pub(crate) fn input(mut self, argument: Argument) -> Draft {
        self.ins.push(argument);
        self
    }

    pub(crate) fn inputs(mut self, arguments: impl IntoIterator<Item = Argument>) -> Draft {
        self.ins.extend(arguments);
        self
    }

    pub(crate) fn output(mut self, argument: Argument) -> Draft {
        self.outs.push(argument);
        self
    }

    pub(crate) fn outputs(mut self, arguments: impl IntoIterator<Item = Argument>) -> Draft {
        self.outs.extend(arguments);
        self
    }

    pub(crate) fn index(mut self, arguments: Vec<Argument>) -> Draft {
        self.indices = arguments;
        self
    }
}

/// The engine of an op whose record names none: the only one that the verifier takes, else the default if the
/// verifier takes it.
fn usual_engine(op: &Op) -> EngineType {
    let Some(info) = OpInfo::of(op.opcode()) else { return EngineType::Unassigned };
    let default = info.default_engine.map_or(EngineType::Unassigned, |known| known.value);
    match info.engines.map(|known| known.value) {
        Some([only]) => *only,
        Some(engines) if !engines.contains(&default) => EngineType::Unassigned,
        _ => default,
    }
}
