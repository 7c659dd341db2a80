//! Nodes and edges from a module.

use std::collections::BTreeMap;

use bir::edges::EdgeKind;
use bir::enums::{EngineType, InstructionType};
use bir::ids::{BlockId, Id, InstId};
use bir::record::FieldValue;
use bir::{Holder, Module, Op, OpenEnum};
use hashbrown::HashMap;

use super::{Graph, GraphKind, Link, LinkKind, Neighbourhood, Node};
use crate::program::Program;
use crate::semaphores;

/// An edge between instructions.
#[derive(Clone, Copy)]
struct Edge {
    from: InstId,
    to: InstId,
    kind: LinkKind,
}

/// All edges between instructions.
fn inst_edges(program: &Program<'_>) -> Vec<Edge> {
    let module = program.module;
    let mut edges = Vec::new();
    for inst in module.insts() {
        let instruction = &module[inst];
        for edge in instruction.dependencies.iter() {
            let kind = match edge.kind() {
                EdgeKind::FLOW => LinkKind::Flow,
                EdgeKind::ANTI => LinkKind::Anti,
                EdgeKind::OUTPUT => LinkKind::Output,
                _ => LinkKind::Ordered,
            };
            edges.push(Edge { from: edge.target(), to: inst, kind });
        }
        for edge in instruction.loop_carried_dependencies.iter() {
            edges.push(Edge { from: edge.target(), to: inst, kind: LinkKind::LoopCarried });
        }
        if let Op::DMATrigger(op) = &instruction.op {
            let started = op.dma_blocks.iter().filter_map(|block| block.id());
            edges.extend(started.map(|block| Edge { from: inst, to: block, kind: LinkKind::Starts }));
        }
    }
    let mut blocks: Vec<BlockId> = program.order.iter().map(|inst| module[*inst].block).collect();
    blocks.sort_unstable();
    blocks.dedup();
    for block in blocks {
        let events = semaphores::events(module, block, &|_| true);
        let mut waits = Vec::new();
        for list in events.values() {
            for (event, binding) in list.iter().zip(semaphores::bindings(module, list)) {
                if let Some(binding) = binding {
                    let producer = &list[binding.event];
                    waits.push((event.index, producer.index, producer.inst, event.inst));
                }
            }
        }
        waits.sort_unstable();
        edges.extend(waits.into_iter().map(|(.., from, to)| Edge { from, to, kind: LinkKind::Wait }));
    }
    edges
}

pub(super) fn deps(module: &Module, around: Option<&Neighbourhood>) -> Graph {
    let program = Program::of(module);
    let edges = inst_edges(&program);
    // Descriptors stand for themselves nowhere: their DMABlock does.
    let is_descriptor = |inst: InstId| match module[module[inst].block].holder {
        Holder::Inst(owner) => matches!(module[owner].op, Op::DMABlock(_)),
        _ => false,
    };
    let kept: Option<Vec<bool>> = around.map(|around| near(module, &edges, around));
    let shown = |inst: InstId| !is_descriptor(inst) && kept.as_ref().is_none_or(|kept| kept[inst.index()]);
    let mut index: HashMap<InstId, usize> = HashMap::new();
    let mut nodes = Vec::new();
    for inst in module.insts().filter(|inst| shown(*inst)) {
        let name = program.names().name(module, inst);
        let instruction = &module[inst];
        let mut label = vec![name.clone(), instruction.opcode().text(&module.names).to_owned()];
        if let Some(debug) = &instruction.debug {
            let line = debug.lineno.map(|line| format!("line {line}"));
            let operation = debug.op_name.map(|sym| module.str(sym).to_owned());
            let source: Vec<String> = line.into_iter().chain(operation).collect();
            if !source.is_empty() {
                label.push(source.join(" "));
            }
        }
        index.insert(inst, nodes.len());
        nodes.push(Node {
            name,
            label,
            cluster: Some(instruction.engine.text(&module.names).to_owned()),
            marked: around.is_some_and(|around| around.insts.contains(&inst)),
        });
    }
    let link = |edge: &Edge| {
        let (from, to) = (*index.get(&edge.from)?, *index.get(&edge.to)?);
        Some(Link { from, to, kind: edge.kind, label: None, count: 1 })
    };
    Graph { kind: GraphKind::Deps, edges: edges.iter().filter_map(link).collect(), nodes }
}

/// Which instructions are near some others.
fn near(module: &Module, edges: &[Edge], around: &Neighbourhood) -> Vec<bool> {
    let count = module.inst_ids().len();
    // Edges by both of their ends, one after the other.
    let mut starts = vec![0usize; count + 1];
    let ends = |edge: &Edge| [(edge.from, edge.to), (edge.to, edge.from)];
    edges.iter().flat_map(ends).for_each(|(from, _)| starts[from.index() + 1] += 1);
    for at in 0..count {
        starts[at + 1] += starts[at];
    }
    let mut fill = starts.clone();
    let mut others = vec![InstId::new(0); starts[count]];
    for (from, to) in edges.iter().flat_map(ends) {
        others[fill[from.index()]] = to;
        fill[from.index()] += 1;
    }
    let mut kept = vec![false; count];
    let mut border: Vec<InstId> = around.insts.clone();
    border.iter().for_each(|inst| kept[inst.index()] = true);
    for _ in 0..around.depth {
        let mut next = Vec::new();
        for inst in border {
            for other in &others[starts[inst.index()]..starts[inst.index() + 1]] {
                if !std::mem::replace(&mut kept[other.index()], true) {
                    next.push(*other);
                }
            }
        }
        if next.is_empty() {
            break;
        }
        border = next;
    }
    kept
}

pub(super) fn blocks(module: &Module) -> Graph {
    let program = Program::of(module);
    let mut all: Vec<BlockId> = Vec::new();
    for function in module.functions() {
        let mut stack: Vec<BlockId> = module[function].blocks.iter().rev().copied().collect();
        while let Some(block) = stack.pop() {
            all.push(block);
            let insts = module[block].instructions.iter().rev();
            stack.extend(insts.flat_map(|inst| module[*inst].body().iter().rev()));
        }
    }
    let index: HashMap<BlockId, usize> = all.iter().enumerate().map(|(at, block)| (*block, at)).collect();
    let mut edges = Vec::new();
    let mut nodes = Vec::with_capacity(all.len());
    for (at, block) in all.iter().enumerate() {
        nodes.push(block_node(&program, *block));
        let insts = &module[*block].instructions;
        let mut ends = false;
        let mut branches: Vec<(usize, LinkKind)> = Vec::new();
        for inst in insts {
            let op = &module[inst].op;
            let targets = match op {
                Op::CompareAndBranch(branch) => {
                    [(branch.on_true, LinkKind::Branch), (branch.on_false, LinkKind::Else)]
                }
                Op::UnconditionalBranch(branch) => {
                    [(branch.target, LinkKind::Branch), (None, LinkKind::Else)]
                }
                _ => [(None, LinkKind::Branch), (None, LinkKind::Else)],
            };
            let branch = matches!(op, Op::CompareAndBranch(_) | Op::UnconditionalBranch(_));
            ends |= branch || matches!(op.opcode(), InstructionType::Return | InstructionType::Exit);
            for (target, kind) in targets {
                let target = target.and_then(|target| target.id()).and_then(|target| index.get(&target));
                branches.extend(target.map(|target| (*target, kind)));
            }
            let body = module[inst].body();
            if let (Some(first), Some(last)) = (body.first(), body.last()) {
                let label = Some(program.names().name(module, inst));
                edges.push(Link { from: at, to: index[first], kind: LinkKind::Body, label, count: 1 });
                let kind = LinkKind::LoopCarried;
                edges.push(Link { from: index[last], to: index[first], kind, label: None, count: 1 });
            }
        }
        // Every engine has a branch of its own with the same targets. spec: ordering 4
        branches.sort_unstable();
        branches.dedup();
        edges.extend(branches.into_iter().map(|(to, kind)| Link {
            from: at,
            to,
            kind,
            label: None,
            count: 1,
        }));
        if !ends && let Some(next) = following(module, *block) {
            edges.push(Link { from: at, to: index[&next], kind: LinkKind::Next, label: None, count: 1 });
        }
    }
    Graph { kind: GraphKind::Blocks, nodes, edges }
}

/// The block behind one in its list.
fn following(module: &Module, block: BlockId) -> Option<BlockId> {
    let blocks = module.blocks_of(module[block].holder);
    let at = blocks.iter().position(|other| *other == block)?;
    blocks.get(at + 1).copied()
}

fn block_node(program: &Program<'_>, block: BlockId) -> Node {
    let module = program.module;
    let insts = &module[block].instructions;
    let mut engines: BTreeMap<String, usize> = BTreeMap::new();
    for inst in insts {
        *engines.entry(module[inst].engine.text(&module.names).to_owned()).or_default() += 1;
    }
    let plural = if insts.len() == 1 { "" } else { "s" };
    let name = program.names().name(module, block);
    let mut label = vec![name.clone(), format!("{} instruction{plural}", insts.len())];
    let each: Vec<String> = engines.iter().map(|(engine, count)| format!("{engine} {count}")).collect();
    if !each.is_empty() {
        label.push(each.join(", "));
    }
    Node { name, label, cluster: Some(program.holder(block)), marked: false }
}

pub(super) fn engines(module: &Module) -> Graph {
    let program = Program::of(module);
    let mut index: BTreeMap<String, usize> = BTreeMap::new();
    let mut counts: HashMap<String, u64> = HashMap::new();
    let insts: Vec<InstId> = module.insts().collect();
    for inst in &insts {
        *counts.entry(lane(&program, *inst)).or_default() += 1;
    }
    let mut names: Vec<&String> = counts.keys().collect();
    names.sort();
    let mut nodes = Vec::new();
    for name in names {
        index.insert(name.clone(), nodes.len());
        let count = counts[name];
        let plural = if count == 1 { "" } else { "s" };
        let queue = module.queues().any(|queue| module.str(module[queue].name) == name);
        nodes.push(Node {
            name: name.clone(),
            label: vec![name.clone(), format!("{count} instruction{plural}")],
            cluster: Some(if queue { "queues" } else { "engines" }.to_owned()),
            marked: false,
        });
    }
    let mut sums: BTreeMap<(usize, usize, LinkKind), u64> = BTreeMap::new();
    for edge in inst_edges(&program) {
        let (from, to) = (index[&lane(&program, edge.from)], index[&lane(&program, edge.to)]);
        if from != to {
            *sums.entry((from, to, edge.kind)).or_default() += 1;
        }
    }
    let link = |((from, to, kind), count): ((usize, usize, LinkKind), u64)| Link {
        from,
        to,
        kind,
        label: Some(count.to_string()),
        count,
    };
    Graph { kind: GraphKind::Engines, nodes, edges: sums.into_iter().map(link).collect() }
}

/// The engine or queue that an instruction belongs to. A DMA on a queue completes there, but an engine issues it.
fn lane(program: &Program<'_>, inst: InstId) -> String {
    let module = program.module;
    if let Holder::Queue(queue) = module.outermost(inst) {
        return module.str(module[queue].name).to_owned();
    }
    let instruction = &module[inst];
    if instruction.engine == EngineType::DMA
        && let Some(fields) = instruction.op.fields()
        && let Some(at) = fields.specs().iter().position(|spec| spec.key == "queue")
        && let FieldValue::Queue(queue) = fields.field(at)
    {
        return module.str(module.ref_name(queue)).to_owned();
    }
    instruction.engine.text(&module.names).to_owned()
}
