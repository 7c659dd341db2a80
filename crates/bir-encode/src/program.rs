//! Streams: the walk over a module, clones of instructions on all engines, and targets of branches.

use std::collections::BTreeMap;

use bir::enums::EngineType;
use bir::ids::{BlockId, FuncId, InstId};
use bir::{Module, Op};
use hashbrown::HashMap;
use tpb_isa::build::prologue;
use tpb_isa::{Body, Engine, Generation, WORD_BYTES, Word, decode};

use crate::context::{Context, Inst};
use crate::error::{EncodeError, Reason, Result, invalid};
use crate::ops::dma::Instances;
use crate::ops::{self, Place};
use crate::sync::{self, Plan};
use crate::{NoEncoder, Options, generation};

/// The instruction stream of an engine.
#[derive(Clone, Debug)]
pub struct Stream {
    /// The engine.
    pub engine: Engine,
    /// Its words.
    pub words: Vec<Word>,
    /// The instruction of each word; `None` for the words that open a stream.
    pub owners: Vec<Option<InstId>>,
}

impl Stream {
    fn new(engine: Engine) -> Stream {
        Stream { engine, words: Vec::new(), owners: Vec::new() }
    }

    /// The words as bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.words.len() * WORD_BYTES);
        self.words.iter().for_each(|word| bytes.extend_from_slice(&word.0));
        bytes
    }
}

/// The streams of a module.
#[derive(Clone, Debug)]
pub struct Program {
    /// The generation of the words.
    pub generation: Generation,
    /// One for each engine, in the order of [`Engine::ALL`].
    pub streams: Vec<Stream>,
    /// What could not be encoded, in document order.
    pub errors: Vec<EncodeError>,
}

impl Program {
    /// The stream of an engine.
    pub fn stream(&self, engine: Engine) -> &Stream {
        &self.streams[engine as usize]
    }
}

/// Which opcodes a module needs.
#[derive(Clone, Debug)]
pub struct Collected {
    /// The generation.
    pub generation: Generation,
    /// Number of words with each opcode byte, by engine in the order of [`Engine::ALL`].
    pub opcodes: Vec<BTreeMap<u8, u64>>,
    /// What could not be chosen, in document order.
    pub errors: Vec<EncodeError>,
}

/// Makes the words of a module: of `main` first, then of the other functions in document order.
///
/// # Errors
/// When the target has no encoder. What is wrong with instructions is in [`Program::errors`].
pub fn encode(module: &Module, options: &Options) -> std::result::Result<Program, NoEncoder> {
    let generation = target(module, options)?;
    let context = Context::new(module, generation, options);
    let mut walk = Walk::new(&context);
    if options.prologue {
        for stream in &mut walk.program.streams {
            stream.words.extend(prologue());
            stream.owners.resize(stream.words.len(), None);
        }
    }
    walk.module();
    walk.resolve();
    Ok(walk.program)
}

/// Says which opcodes the words of a module have, without making more of them than it takes.
///
/// # Errors
/// When the target has no encoder.
pub fn collect(module: &Module, options: &Options) -> std::result::Result<Collected, NoEncoder> {
    let generation = target(module, options)?;
    let context = Context::new(module, generation, options);
    let mut walk = Walk::new(&context);
    walk.collected = Some(vec![BTreeMap::new(); Engine::ALL.len()]);
    if options.prologue {
        let opcodes = walk.collected.iter_mut().flatten();
        opcodes.for_each(|opcodes| opcodes.extend(prologue().map(|word| (word.opcode(), 1))));
    }
    walk.module();
    let opcodes = walk.collected.unwrap_or_default();
    Ok(Collected { generation, opcodes, errors: walk.program.errors })
}

fn target(module: &Module, options: &Options) -> std::result::Result<Generation, NoEncoder> {
    match options.generation {
        Some(generation) if crate::operand::is_encodable(generation) => Ok(generation),
        Some(generation) => Err(NoEncoder(generation.name().to_owned())),
        None => generation(module),
    }
}

/// The value of a branch to the word with this index of its stream: the index itself. Whether it is rather counted from
/// the branch is settled by no captured stream yet. Confidence U, spec: isa-control-dma 4.5
pub fn branch_target(word: usize) -> u64 {
    word as u64
}

struct Walk<'c> {
    context: &'c Context<'c>,
    program: Program,
    /// Opcodes, when no words are wanted.
    collected: Option<Vec<BTreeMap<u8, u64>>>,
    /// Engines that have an instruction of their own.
    used: Vec<Engine>,
    instances: Instances,
    /// The Matmult whose stationary tensor is loaded.
    loaded: Option<InstId>,
    /// Index of the first word of each block in each stream.
    starts: HashMap<(BlockId, Engine), usize>,
    /// Branch words and the blocks they go to.
    branches: Vec<(Engine, usize, BlockId)>,
}

impl<'c> Walk<'c> {
    fn new(context: &'c Context<'c>) -> Walk<'c> {
        let streams = Engine::ALL.map(Stream::new).to_vec();
        Walk {
            context,
            program: Program { generation: context.generation, streams, errors: Vec::new() },
            collected: None,
            used: Vec::new(),
            instances: Instances::new(),
            loaded: None,
            starts: HashMap::new(),
            branches: Vec::new(),
        }
    }

    fn module(&mut self) {
        let module = self.context.module;
        let functions: Vec<FuncId> = module.main_first(&module.root.functions, |module, f| module[f].name);
        let engines = functions.iter().flat_map(|f| module.insts_of(bir::Holder::Function(*f)));
        let mut used: Vec<Engine> = engines.filter_map(|inst| engine(module[inst].engine)).collect();
        used.sort_unstable();
        used.dedup();
        self.used = if used.is_empty() { Engine::ALL.to_vec() } else { used };
        for function in functions {
            self.function(function);
        }
    }

    fn function(&mut self, function: FuncId) {
        let module = self.context.module;
        let blocks = &module[function].blocks[..];
        for (at, block) in blocks.iter().enumerate() {
            for stream in &self.program.streams {
                self.starts.insert((*block, stream.engine), stream.words.len());
            }
            // What a branch jumps over is not known to have run.
            self.loaded = None;
            for inst in module[*block].instructions.iter() {
                if let Err(fault) = self.instruction(*inst, blocks.get(at + 1).copied()) {
                    let error = EncodeError { inst: *inst, operand: fault.operand, reason: fault.reason };
                    self.program.errors.push(error);
                }
            }
        }
    }

    fn instruction(&mut self, id: InstId, next: Option<BlockId>) -> Result<()> {
        let inst = self.context.inst(id);
        for engine in self.engines(inst)? {
            if self.collected.is_some() {
                self.count(inst, engine, next)?;
            } else {
                self.words(id, inst, engine, next)?;
            }
        }
        if let Op::SwitchQueueInstance(op) = &inst.inst.op
            && let (Some(queue), Some(instance)) = (op.queue.and_then(|queue| queue.id()), op.instance)
        {
            let module = self.context.module;
            self.instances.insert(queue, module.str(module.ref_name(instance)).to_owned());
        }
        Ok(())
    }

    /// The streams that an instruction is in: one on ALL has a copy on each engine, branches as well, so that loops end
    /// everywhere. spec: isa-control-dma 3.3, ordering 1.7
    fn engines(&self, inst: Inst<'_>) -> Result<Vec<Engine>> {
        if let Some(reason) = crate::error::never(inst.opcode()) {
            return Err(reason.into());
        }
        if let Some(engine) = engine(inst.inst.engine) {
            return Ok(vec![engine]);
        }
        if inst.inst.engine != EngineType::ALL {
            return Err(Reason::NoStream(inst.name(inst.inst.engine)?).into());
        }
        match &inst.inst.op {
            Op::Return | Op::Call(_) => Ok(self.used.clone()),
            _ => Ok(Engine::ALL.to_vec()),
        }
    }

    fn place(&self, inst: Inst<'c>, id: InstId, next: Option<BlockId>) -> Result<Place<'_>> {
        let loaded = self.loaded.filter(|_| self.context.options.reuse_weights);
        let same = loaded.is_some_and(|before| same_weights(self.context.module, before, id));
        let update = match inst.inst.op {
            Op::Load(_) | Op::Save(_) | Op::DMACopy(_) => sync::update_of(inst)?,
            _ => None,
        };
        Ok(Place { next, instances: &self.instances, load_weights: !same, update })
    }

    fn count(&mut self, inst: Inst<'c>, engine: Engine, next: Option<BlockId>) -> Result<()> {
        let place = Place { next, instances: &self.instances, load_weights: true, update: None };
        let mut opcodes = ops::opcodes(inst, &place)?;
        if let Op::InlineASMBytes(op) = &inst.inst.op {
            opcodes = inline(op.asm_bytes.as_deref())?.iter().map(Word::opcode).collect();
        }
        if !matches!(inst.inst.op, Op::EventSemaphore) {
            opcodes.extend(Plan::new(inst)?.carriers.iter().map(Word::opcode));
        }
        let counts = self.collected.iter_mut().flatten().nth(engine as usize);
        let Some(counts) = counts else { return Ok(()) };
        opcodes.into_iter().for_each(|opcode| *counts.entry(opcode).or_default() += 1);
        Ok(())
    }

    fn words(&mut self, id: InstId, inst: Inst<'c>, engine: Engine, next: Option<BlockId>) -> Result<()> {
        let (words, target) = match &inst.inst.op {
            Op::EventSemaphore => (vec![sync::event_semaphore(inst)?], None),
            Op::InlineASMBytes(op) => {
                let plan = Plan::new(inst)?;
                let mut words = inline(op.asm_bytes.as_deref())?;
                patch(&mut words, &plan)?;
                (plan.carriers.into_iter().chain(words).collect(), None)
            }
            _ => self.encoded(id, inst, next)?,
        };
        if matches!(inst.inst.op, Op::Matmult(_)) {
            self.loaded = Some(id);
        } else if engine == Engine::PE && !matches!(inst.inst.op, Op::EventSemaphore | Op::NoOp) {
            self.loaded = None;
        }
        let stream = &mut self.program.streams[engine as usize];
        stream.words.extend(words);
        stream.owners.resize(stream.words.len(), Some(id));
        if let Some(target) = target {
            self.branches.push((engine, stream.words.len() - 1, target));
        }
        Ok(())
    }

    /// The words with their waits and updates, and the target of the last.
    fn encoded(
        &self,
        id: InstId,
        inst: Inst<'c>,
        next: Option<BlockId>,
    ) -> Result<(Vec<Word>, Option<BlockId>)> {
        let is_transfer = matches!(inst.inst.op, Op::Load(_) | Op::Save(_) | Op::DMACopy(_));
        let mut encoded = ops::encode(inst, &self.place(inst, id, next)?)?;
        // The update of a transfer stands in fields of its own.
        let plan = if is_transfer { Plan::waits(inst)? } else { Plan::new(inst)? };
        if encoded.words.is_empty() {
            if plan.wait.is_some() || plan.update.is_some() {
                return invalid("it has a wait or an update, but no word that could carry it");
            }
            return Ok((Vec::new(), None));
        }
        let last = encoded.words.len() - 1;
        if last == 0 {
            encoded.words[0].builder().sync(plan.wait, plan.update)?;
        } else {
            encoded.words[0].builder().sync(plan.wait, None)?;
            if plan.update.is_some() {
                encoded.words[last].builder().sync(None, plan.update)?;
            }
        }
        let mut words = plan.carriers;
        words.extend(encoded.words.into_iter().map(|word| word.finish()));
        Ok((words, encoded.target))
    }

    /// Gives branches their targets, now that all words have their places.
    fn resolve(&mut self) {
        for (engine, at, target) in std::mem::take(&mut self.branches) {
            let stream = &mut self.program.streams[engine as usize];
            let Some(start) = self.starts.get(&(target, engine)) else { continue };
            let mut decoded = decode(&stream.words[at], self.context.generation, None);
            if let Body::CtrlBr(branch) = &mut decoded.body {
                branch.br_immediate = branch_target(*start);
            }
            stream.words[at] = decoded.encode();
        }
    }
}

/// The stream of an engine that has one.
fn engine(engine: EngineType) -> Option<Engine> {
    Some(match engine {
        EngineType::PE => Engine::PE,
        EngineType::Activation => Engine::Activation,
        EngineType::Pool => Engine::Pool,
        EngineType::DVE => Engine::DVE,
        EngineType::SP => Engine::SP,
        _ => return None,
    })
}

/// Whether two matrix products have the same stationary tensor.
fn same_weights(module: &Module, before: InstId, after: InstId) -> bool {
    match (&module[before].op, &module[after].op) {
        (Op::Matmult(a), Op::Matmult(b)) => {
            let keys = (a.is_transpose, a.perf_mode, a.tile_position, a.tile_size)
                == (b.is_transpose, b.perf_mode, b.tile_position, b.tile_size);
            let weights = (module[before].ins.get(1), module[after].ins.get(1));
            keys && weights.0.is_some() && weights.0 == weights.1
        }
        _ => false,
    }
}

/// The words of InlineASMBytes, verbatim. spec: isa-control-dma 4.8
fn inline(bytes: Option<&[u8]>) -> Result<Vec<Word>> {
    let bytes = bytes.ok_or(Reason::Unset("asm_bytes"))?;
    let (words, rest) = bytes.as_chunks::<WORD_BYTES>();
    if words.is_empty() || !rest.is_empty() {
        return invalid(format!("asm_bytes has {} bytes, which is no positive multiple of 64", bytes.len()));
    }
    Ok(words.iter().map(|word| Word(*word)).collect())
}

/// Puts a wait and an update into words as they are, where these have none.
fn patch(words: &mut [Word], plan: &Plan) -> Result<()> {
    let last = words.len() - 1;
    for (at, wait, update) in [(0, plan.wait, None), (last, None, plan.update)] {
        if wait.is_none() && update.is_none() {
            continue;
        }
        let mut decoded = decode(&words[at], Generation::V3, None);
        let Some(preamble) = &mut decoded.preamble else {
            return invalid(format!("word {at} of asm_bytes has no place for a wait or an update"));
        };
        let both = (preamble.wait().or(wait), preamble.update().or(update));
        if wait.is_some() && preamble.wait().is_some() || update.is_some() && preamble.update().is_some() {
            return invalid(format!("word {at} of asm_bytes has a wait or an update of its own already"));
        }
        preamble.set_sync(both.0, both.1)?;
        words[at] = decoded.encode();
    }
    Ok(())
}
