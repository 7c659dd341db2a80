//! What is in a register when somebody waits for as much: known where one instruction alone ever writes it, a constant.

use bir::enums::EngineType;
use bir::ids::{BlockId, InstId, RegId};
use bir::{Argument, ImmNumber, Module, Op};
use hashbrown::HashMap;

/// The registers that are written once, as constants.
pub(super) struct Constants {
    of: HashMap<RegId, Constant>,
    /// The block that every run begins with.
    first: Option<BlockId>,
}

#[derive(Clone, Copy)]
struct Constant {
    value: i64,
    writer: InstId,
}

impl Constants {
    /// `first`: the block that every run begins with.
    pub(super) fn new(module: &Module, first: Option<BlockId>) -> Constants {
        let mut of: HashMap<RegId, Option<Constant>> = HashMap::new();
        for writer in module.insts() {
            let inst = &module[writer];
            let value = match (&inst.op, &inst.ins[..]) {
                (Op::RegisterMove, [Argument::ImmValue(number)]) => match number.value {
                    // Counts have 32 bits with a sign. spec: ordering 1.4
                    Some(ImmNumber::Unsigned(value)) => i32::try_from(value).ok().map(i64::from),
                    Some(ImmNumber::Signed(value)) => i32::try_from(value).ok().map(i64::from),
                    _ => None,
                },
                _ => None,
            };
            // A loop moves its own.
            if let Op::Loop(op) = &inst.op {
                of.extend(op.registers.iter().filter_map(|register| Some((register.id()?, None))));
            }
            for register in inst.outs.iter().filter_map(|out| out.register()?.id()) {
                let constant = value.map(|value| Constant { value, writer });
                of.entry(register).and_modify(|known| *known = None).or_insert(constant);
            }
        }
        let of = of.into_iter().filter_map(|(register, constant)| Some((register, constant?)));
        Constants { of: of.collect(), first }
    }

    /// What a register holds when an instruction starts. Each engine has registers of its own, so the writer must run
    /// on the same one, before, and in every run.
    pub(super) fn at(&self, module: &Module, register: RegId, reader: InstId) -> Option<i64> {
        let Constant { value, writer } = *self.of.get(&register)?;
        let (from, to) = (&module[writer], &module[reader]);
        let is_same = from.engine == to.engine || from.engine == EngineType::ALL;
        let is_before = if from.block == to.block {
            let place = |inst| module[from.block].instructions.iter().position(|of| *of == inst);
            place(writer) < place(reader)
        } else {
            Some(from.block) == self.first
        };
        (is_same && is_before).then_some(value)
    }
}
