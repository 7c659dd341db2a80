//! Which functions call which, and how long a program is with its calls written out.

use bir::ids::{BlockId, FuncId, Ref};
use bir::{Module, Op};
use hashbrown::{HashMap, HashSet};

use super::{FillError, MAX_CALLS};

/// Most operations of a program with its calls written out, in multiples of the modules'; so many are always taken.
const MAX_GROWTH: u64 = 4;
const MIN_OPS: u64 = 1 << 20;

/// Refuses a program that its calls make too long, before any of it is made.
pub(super) fn fit(modules: &[&Module], root: Option<FuncId>) -> Result<(), FillError> {
    let roots = modules.iter().map(|module| root.or(module.main()).map_or(Ok(0), |func| size(module, func)));
    let size = roots.sum::<Result<u64, FillError>>()?;
    let own: usize = modules.iter().map(|module| module.inst_ids().len()).sum();
    if size > (own as u64 * MAX_GROWTH).max(MIN_OPS) { Err(FillError::TooLong(size)) } else { Ok(()) }
}

/// The functions of a module that nothing calls, the main one first.
pub(in super::super) fn roots(module: &Module) -> Vec<Option<FuncId>> {
    let called: HashSet<FuncId> = module
        .insts()
        .filter_map(|inst| match &module[inst].op {
            Op::Call(call) => call.target.and_then(Ref::id),
            _ => None,
        })
        .collect();
    let main = module.main();
    let others = module.functions().filter(|func| Some(*func) != main && !called.contains(func));
    std::iter::once(main).chain(others.map(Some)).filter(Option::is_some).collect()
}

/// How many operations a function has with all it calls, before any is made.
fn size(module: &Module, root: FuncId) -> Result<u64, FillError> {
    fn of(
        module: &Module,
        func: FuncId,
        depth: usize,
        known: &mut HashMap<FuncId, (u64, usize)>,
    ) -> Result<(u64, usize), FillError> {
        if depth > MAX_CALLS {
            return Err(FillError::Recursion(func));
        }
        if let Some(found) = known.get(&func) {
            let deeper = depth + found.1 > MAX_CALLS;
            return if deeper { Err(FillError::Recursion(func)) } else { Ok(*found) };
        }
        let (mut size, mut levels) = (0u64, 0);
        let mut open: Vec<BlockId> = module[func].blocks.to_vec();
        while let Some(block) = open.pop() {
            for &inst in module[block].instructions.iter() {
                size = size.saturating_add(1);
                let inst = &module[inst];
                if !matches!(inst.op, Op::DMABlock(_)) {
                    open.extend(inst.body().iter().copied());
                }
                if let Op::Call(call) = &inst.op
                    && let Some(callee) = call.target.and_then(Ref::id)
                {
                    let (more, below) = of(module, callee, depth + 1, known)?;
                    size = size.saturating_add(more);
                    levels = levels.max(below + 1);
                }
            }
        }
        known.insert(func, (size, levels));
        Ok((size, levels))
    }
    Ok(of(module, root, 0, &mut HashMap::new())?.0)
}
