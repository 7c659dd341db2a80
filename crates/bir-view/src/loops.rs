//! Lowered loops: blocks that a branch leads back to.

use std::cmp::Reverse;

use bir::ids::BlockId;
use bir::{Holder, Module, Op};
use hashbrown::HashMap;

/// Lowered loops: branches to the block itself or an earlier one of the same list. Ranges that cross each other
/// become one. Sorted, outer before inner; each as the indexes of its first and its last block.
pub(crate) fn back_edges(module: &Module, blocks: &[BlockId], holder: Holder) -> Vec<(usize, usize)> {
    let mut positions: Option<HashMap<BlockId, usize>> = None;
    let mut loops: Vec<(usize, usize)> = Vec::new();
    for (last, &block) in blocks.iter().enumerate() {
        for inst in &module[block].instructions {
            let targets = match &module[inst].op {
                Op::CompareAndBranch(branch) => [branch.on_true, branch.on_false],
                Op::UnconditionalBranch(branch) => [branch.target, None],
                _ => continue,
            };
            for target in targets.into_iter().flatten().filter_map(|target| target.id()) {
                if module[target].holder != holder {
                    continue;
                }
                let positions = positions.get_or_insert_with(|| {
                    blocks.iter().enumerate().map(|(at, block)| (*block, at)).collect()
                });
                if let Some(&first) = positions.get(&target)
                    && first <= last
                {
                    loops.push((first, last));
                }
            }
        }
    }
    // Every engine of a block may have a branch of its own.
    loops.sort_by_key(|(first, last)| (*first, Reverse(*last)));
    loops.dedup();
    let mut nested: Vec<(usize, usize)> = Vec::with_capacity(loops.len());
    for (first, last) in loops {
        match nested.iter_mut().rfind(|outer| first <= outer.1) {
            Some(outer) if last > outer.1 => outer.1 = last,
            _ => nested.push((first, last)),
        }
    }
    nested
}
