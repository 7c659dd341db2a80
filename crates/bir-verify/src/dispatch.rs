//! Which checks are called for what: those of functions, of blocks, and of the instructions of each op.

use std::cell::RefCell;

use bir::OpenEnum;
use bir::enums::InstructionType;
use bir::geometry::LoopAxes;
use bir::ids::{BlockId, FuncId};

use crate::context::Cx;
use crate::findings::Findings;
use crate::known::Known;
use crate::rule::OpSet;
use crate::rules::{Check, Needs, Run};
use crate::starts::Starts;
use crate::survey::Seen;
use crate::view::{Inst, Operand, Places, Site, Unit};

/// The checks of functions and blocks, and those of each op.
pub(crate) struct Dispatch {
    of_functions: Vec<fn(&Cx<'_>, FuncId, &mut Findings<'_>)>,
    of_blocks: Vec<fn(&Cx<'_>, &Seen<'_>, &mut Findings<'_>)>,
    /// By ordinal of the op; past the last one for unknown ops.
    by_op: Vec<OfOp>,
}

/// What a thread keeps from block to block: what it knows, and room for where the accesses of a block start.
pub(crate) type Kept<'m> = (Known<'m>, RefCell<Starts>);

/// What is the same for all instructions of an op.
struct OfOp {
    unit: Unit,
    places: Places,
    /// By what instructions have: operands, sync and odd edges, a bit each.
    calls: [Calls; 8],
}

/// What is called for an instruction.
struct Calls {
    all: Vec<OfInst>,
    /// All but those of single operands: for instructions about whose operands nothing is to be said.
    of_insts: Vec<OfInst>,
}

impl Calls {
    fn new(all: Vec<OfInst>) -> Calls {
        let is_of_inst = |call: &OfInst| matches!(call, OfInst::Inst(_));
        Calls { of_insts: all.iter().copied().filter(is_of_inst).collect(), all }
    }

    /// Calls what may have something to say, and keeps about which operands it had not.
    fn call(&self, cx: &Cx<'_>, inst: &Inst<'_>, known: &mut Known<'_>, findings: &mut Findings<'_>) {
        if inst.operands.iter().all(Operand::is_clean) {
            for call in &self.of_insts {
                if let OfInst::Inst(run) = call {
                    run(cx, inst, findings);
                }
            }
            return;
        }
        // A bit for each of the first operands; of what lies beyond nothing is kept.
        let mut said_of = 0u64;
        for call in &self.all {
            match call {
                OfInst::Inst(run) => run(cx, inst, findings),
                OfInst::Operand(run) => {
                    for (at, operand) in inst.operands.iter().enumerate().filter(|(_, of)| !of.is_clean()) {
                        let before = findings.reports();
                        run(cx, inst, operand, findings);
                        if findings.reports() != before {
                            said_of |= 1u64.checked_shl(at as u32).unwrap_or_default();
                        }
                    }
                }
            }
        }
        for (at, operand) in inst.operands.iter().enumerate().take(64) {
            if !operand.is_clean() && said_of >> at & 1 == 0 {
                known.keep_clean_operand(operand.kept);
            }
        }
    }
}

/// What is called for an instruction, or for each of its operands.
#[derive(Clone, Copy)]
enum OfInst {
    Inst(fn(&Cx<'_>, &Inst<'_>, &mut Findings<'_>)),
    Operand(fn(&Cx<'_>, &Site, &Operand<'_>, &mut Findings<'_>)),
}

impl Dispatch {
    pub(crate) fn new(cx: &Cx<'_>, checks: &[&'static Check]) -> Dispatch {
        let of_op = |op: Option<InstructionType>| {
            let concerns = |check: &&'static Check| match op {
                Some(op) => check.concerns(op),
                None => check.ops.is_none() && check.rules.iter().any(|rule| rule.info().ops == OpSet::Any),
            };
            let of_inst = |check: &&Check| match check.run {
                Run::Inst(run) => Some(OfInst::Inst(run)),
                Run::Operand(run) => Some(OfInst::Operand(run)),
                _ => None,
            };
            let may_say = |check: &&'static Check| check.when.is_none_or(|when| when(cx, op));
            let of_op: Vec<&Check> = checks.iter().copied().filter(concerns).filter(may_say).collect();
            let for_those = |bits: usize| {
                let [has_operands, has_sync, has_odd_edges] = [1, 2, 4].map(|bit| bits & bit != 0);
                let has = |check: &&&Check| match check.needs {
                    Needs::Nothing => has_operands || !matches!(check.run, Run::Operand(_)),
                    Needs::Operands => has_operands,
                    Needs::Sync => has_sync,
                    Needs::OddEdges => has_odd_edges,
                };
                Calls::new(of_op.iter().filter(has).filter_map(of_inst).collect())
            };
            OfOp {
                unit: op.map_or(Unit::Other, Unit::of),
                places: Places::of(op),
                calls: std::array::from_fn(for_those),
            }
        };
        let known = bir::op_info::OpInfo::all().iter().map(|info| Some(info.op));
        let of_function = |check: &&Check| if let Run::Function(run) = check.run { Some(run) } else { None };
        let of_block = |check: &&Check| if let Run::Block(run) = check.run { Some(run) } else { None };
        Dispatch {
            of_functions: checks.iter().filter_map(of_function).collect(),
            of_blocks: checks.iter().filter_map(of_block).collect(),
            by_op: known.chain([None]).map(of_op).collect(),
        }
    }

    pub(crate) fn function(&self, cx: &Cx<'_>, function: FuncId, findings: &mut Findings<'_>) {
        self.of_functions.iter().for_each(|run| run(cx, function, findings));
    }

    pub(crate) fn block<'m>(
        &self,
        cx: &Cx<'m>,
        block: BlockId,
        function: Option<FuncId>,
        (known, starts): &mut Kept<'m>,
        findings: &mut Findings<'_>,
    ) {
        let before = findings.take();
        let mut seen = Seen::new(cx, block);
        let axes = LoopAxes::around(cx.module, block);
        starts.borrow_mut().reset(cx.module, block);
        let starts = &*starts;
        let mut operands = Vec::new();
        for id in &cx.module[block].instructions {
            let op = cx.module[id].opcode().ordinal().map_or(usize::MAX, |op| op as usize);
            let of_op = self.by_op.get(op).or(self.by_op.last()).expect("one for unknown ops");
            let inst =
                Inst::new(cx, id, (of_op.unit, &of_op.places), (&axes, starts), function, operands, known);
            cx.notes.see(cx, &inst);
            seen.see(cx, &inst);
            let has = usize::from(!inst.operands.is_empty())
                + 2 * usize::from(inst.inst.sync_info.is_some())
                + 4 * usize::from(inst.has_odd_edges());
            of_op.calls[has].call(cx, &inst, known, findings);
            operands = inst.into_operands();
            operands.clear();
        }
        // These see what the instructions have together, and stand before them.
        let of_insts = findings.take();
        self.of_blocks.iter().for_each(|run| run(cx, &seen, findings));
        findings.put(before, of_insts);
    }
}
