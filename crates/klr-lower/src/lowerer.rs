//! Walks a kernel and makes the module.

use std::collections::{BTreeSet, HashMap};

use bir::builder::{Builder, Tensor};
use bir::edges::EdgeKind;
use bir::enums::{Dtype, EngineType, MemsetMode, TensorKind};
use bir::ids::{BlockId, FuncId, InstId, RegId};
use bir::ops::Memset;
use bir::records::Register;
use bir::{DebugInfo, Instruction, Members, Module, Shared, Value};
use klr::info::operator_name;
use klr::ir::{Block, Operator, Pos, Stmt};

use crate::draft::Draft;
use crate::error::{Error, Problem, ProblemKind, Statement};
use crate::mapping;
use crate::operand::corner;
use crate::tensors::Tensors;
use crate::{Lowered, Note, NoteKind, Options, Source};

/// Prefix of the names that the 2.24 backend gives to the zeros it adds.
const ZERO_BIAS: &str = "COMPILER-GENERATED-zero_bias_act_0";

/// Partitions of the tensors that the lowering adds.
const PARTITIONS: u64 = 128;

pub(crate) struct Lowerer<'a> {
    source: Source<'a>,
    keep_going: bool,
    pub(crate) module: Module,
    function: FuncId,
    /// Blocks by label.
    pub(crate) labels: HashMap<&'a str, BlockId>,
    pub(crate) registers: HashMap<&'a str, RegId>,
    pub(crate) tensors: Tensors<'a>,
    /// Instructions by the name of their statement, for edges.
    named: HashMap<&'a str, InstId>,
    /// Zeros for activations without a bias.
    zeros: Option<Tensor>,
    /// Identity matrices by type.
    identities: HashMap<Dtype, Tensor>,
    /// Core barriers so far.
    pub(crate) barriers: u32,
    /// Names given so far.
    generated: usize,
    /// Path of the statement at hand.
    path: String,
    problems: Vec<Problem>,
    notes: Vec<Note>,
    /// Operators with choices that were noted.
    chosen: BTreeSet<u8>,
}

impl<'a> Lowerer<'a> {
    pub(crate) fn new(source: &Source<'a>, options: &Options) -> Self {
        let mut module = Module::new(options.target);
        if let Some(core) = source.core {
            module.root.attributes.insert("neuron_core_id", Value::Uint(core as u64));
        }
        // A function is never without a block, not even if the kernel is.
        let first = source.body.first().map_or("entry", |block| block.label);
        let function = module.new_function(source.name);
        let entry = module.new_block(bir::Holder::Function(function), first);
        let constants =
            source.shared_constants.iter().map(|constant| (constant.name, constant.file_name)).collect();
        Lowerer {
            source: *source,
            keep_going: options.keep_going,
            module,
            function,
            labels: source.body.first().map(|block| (block.label, entry)).into_iter().collect(),
            registers: HashMap::new(),
            tensors: Tensors::new(entry, constants),
            named: HashMap::new(),
            zeros: None,
            identities: HashMap::new(),
            barriers: 0,
            generated: 0,
            path: String::new(),
            problems: Vec::new(),
            notes: Vec::new(),
            chosen: BTreeSet::new(),
        }
    }

    pub(crate) fn run(mut self) -> Result<Lowered, Error> {
        self.walk();
        if self.problems.is_empty() {
            Ok(Lowered { module: self.module, notes: self.notes })
        } else {
            Err(Error::Problems(self.problems))
        }
    }

    /// Whether to go on after what was found.
    fn goes_on(&self) -> bool {
        self.keep_going || self.problems.is_empty()
    }

    fn walk(&mut self) {
        let source = self.source;
        self.interface();
        self.make_blocks();
        self.make_registers();
        if self.uses_zeros() {
            self.make_zeros();
        }
        for (index, block) in source.body.iter().enumerate() {
            if !self.goes_on() {
                return;
            }
            self.block(index, block);
        }
        self.resume();
        if self.goes_on() {
            self.edges();
        }
        if self.goes_on() {
            crate::flow::accumulation_groups(&mut self.module, self.function);
        }
    }

    /// Inputs, outputs and shared buffers, in this order.
    fn interface(&mut self) {
        let source = self.source;
        // An output may be an input as well: then it keeps its first kind.
        let lists = [
            ("inputs", source.inputs, TensorKind::ExternalInput, false),
            ("outputs", source.outputs, TensorKind::ExternalOutput, false),
            ("sharedBuffers", source.shared_buffers, TensorKind::Internal, true),
        ];
        for (name, list, kind, shared) in lists {
            for (index, tensor) in list.iter().enumerate() {
                if let Err(problem) = self.tensors.interface(&mut self.module, tensor, kind, shared) {
                    let kernel = source.path.rsplit_once('.').map_or("", |(kernel, _)| kernel);
                    self.problem(problem, format!("{kernel}.{name}[{index}]"));
                }
            }
        }
    }

    fn make_blocks(&mut self) {
        let holder = bir::Holder::Function(self.function);
        for (index, block) in self.source.body.iter().enumerate().skip(1) {
            let id = self.module.new_block(holder, block.label);
            if self.labels.insert(block.label, id).is_some() {
                let label = block.label.to_string();
                self.problem(
                    ProblemKind::DuplicateLabel { label },
                    format!("{}[{index}].label", self.source.path),
                );
            }
        }
    }

    /// A register for each that is written somewhere in the body: a loop may read it before.
    fn make_registers(&mut self) {
        let statements = self.source.body.iter().flat_map(|block| block.body);
        for name in statements.filter_map(|Stmt::Oper { op, .. }| written_register(op)) {
            if !self.registers.contains_key(name) {
                let register = Register {
                    name: self.module.names.intern(name),
                    register_engine: Some(EngineType::ALL),
                    ..Register::default()
                };
                let id = self.module.new_register(self.function, register);
                self.registers.insert(name, id);
            }
        }
    }

    fn uses_zeros(&self) -> bool {
        let mut statements = self.source.body.iter().flat_map(|block| block.body);
        statements.any(|Stmt::Oper { op, .. }| {
            matches!(op, Operator::NcActivate(op) | Operator::ActivationReduce(op) if op.bias.is_none())
        })
    }

    /// The zeros that all activations without a bias share, set at the start of the kernel.
    fn make_zeros(&mut self) {
        let zeros =
            self.tensors.generated(&mut self.module, ZERO_BIAS, [PARTITIONS, 1], Dtype::Float32, None);
        let set = Memset { mode: MemsetMode::Const, ..Memset::default() };
        let draft = Draft::new(set).output(corner(zeros, 1, PARTITIONS as i64, 1, Dtype::Float32));
        let entry = self.module.blocks_of(bir::Holder::Function(self.function))[0];
        let name = format!("{ZERO_BIAS}_memset");
        self.push(entry, &name, draft, None);
        self.zeros = Some(zeros);
    }

    /// A bias of zero on the partitions of a destination.
    pub(crate) fn zero_bias(&self, partitions: i64) -> bir::Argument {
        let zeros = self.zeros.expect("they are made before the statements");
        corner(zeros, 1, partitions, 1, Dtype::Float32)
    }

    /// The identity matrix of a type, with so many rows and columns.
    pub(crate) fn identity(&mut self, dtype: Dtype, size: i64) -> bir::Argument {
        let (module, tensors) = (&mut self.module, &mut self.tensors);
        let identity = *self.identities.entry(dtype).or_insert_with(|| {
            let name = format!("COMPILER-GENERATED-identity_{}", dtype_name(dtype));
            let class = bir::enums::TensorClass::IdentityWeightTensor;
            tensors.generated(module, &name, [PARTITIONS, PARTITIONS], dtype, Some(class))
        });
        corner(identity, PARTITIONS as i64, size, size, dtype)
    }

    fn block(&mut self, index: usize, block: &'a Block<'a>) {
        let id = self.labels[block.label];
        let path = format!("{}[{index}]", self.source.path);
        if block.no_reorder && !block.body.last().is_some_and(is_jump) {
            let label = block.label.to_string();
            self.problem(ProblemKind::NoReorder { label }, path.clone());
        }
        let before = self.module[id].instructions.len();
        for (at, statement) in block.body.iter().enumerate() {
            if !self.goes_on() {
                return;
            }
            self.statement(id, block.label, at, statement, format!("{path}.body[{at}]"));
        }
        if block.no_reorder {
            self.keep_order(id, before);
        }
    }

    fn statement(
        &mut self,
        block: BlockId,
        label: &str,
        index: usize,
        statement: &'a Stmt<'a>,
        path: String,
    ) {
        let Stmt::Oper { op, name, pos } = statement;
        self.path = path;
        let drafts = match self.operator(op) {
            Ok(drafts) => drafts,
            Err(kind) => {
                let statement = Statement {
                    operator: operator_name(op),
                    kind: op.kind(),
                    block: label.to_string(),
                    index,
                    name: name.map(str::to_string),
                    source: source_line(pos),
                };
                let path = std::mem::take(&mut self.path);
                self.problems.push(Problem { kind, statement: Some(statement), path });
                return;
            }
        };
        if let Some(choice) = mapping::of(op).choice
            && mapping::shows(op)
            && self.chosen.insert(op.kind())
        {
            self.add_note(NoteKind::Choice, format!("{}: {choice}", operator_name(op)));
        }
        let debug = self.debug(op, pos);
        for (at, draft) in drafts.into_iter().enumerate() {
            let name = name.filter(|_| draft.named);
            let given = match (name, at) {
                (Some(name), 0) => name.to_string(),
                (Some(name), at) => format!("{name}-{at}"),
                (None, _) => self.new_name(),
            };
            let id = self.push(block, &given, draft, debug.clone());
            if let Some(name) = name {
                // An edge to a statement of two instructions means the last.
                self.named.insert(name, id);
            }
        }
    }

    fn new_name(&mut self) -> String {
        self.generated += 1;
        format!("I-{}", self.generated - 1)
    }

    fn push(&mut self, block: BlockId, name: &str, draft: Draft, debug: Option<Shared<DebugInfo>>) -> InstId {
        let name = self.module.names.intern(name);
        let mut inst = Instruction::new(name, block, draft.op);
        (inst.engine, inst.debug) = (draft.engine, debug);
        inst.ins.extend(draft.ins);
        inst.outs.extend(draft.outs);
        if !draft.indices.is_empty() {
            inst.rare_mut().indirection_ins.extend(draft.indices);
        }
        self.module.push_inst(block, inst)
    }

    /// Line and file of the source; the operation is the operator.
    fn debug(&mut self, op: &Operator<'_>, pos: &Pos<'_>) -> Option<Shared<DebugInfo>> {
        let line = i64::try_from(pos.line).ok().filter(|line| *line > 0);
        if line.is_none() && pos.filename.is_none() {
            return None;
        }
        let op_name = self.module.names.intern(operator_name(op));
        let mut debug = DebugInfo::new(line, Some(op_name));
        if let Some(file) = pos.filename {
            let mut rest = Members::new();
            rest.insert("filename", Value::from(file));
            debug.rest = Value::Object(rest);
        }
        Some(debug.into())
    }

    /// The instructions of a block that must stay in order each come after the one before. Branches have no
    /// dependencies (spec: verify, CF-25).
    fn keep_order(&mut self, block: BlockId, from: usize) {
        let list: Vec<InstId> = self.module[block].instructions.iter().skip(from).copied().collect();
        for pair in list.windows(2) {
            let is_branch = |id: InstId| {
                matches!(self.module[id].op, bir::Op::CompareAndBranch(_) | bir::Op::UnconditionalBranch(_))
            };
            if !is_branch(pair[0]) && !is_branch(pair[1]) {
                self.module.depend(pair[1], pair[0], EdgeKind::ORDERED).expect("they are two instructions");
            }
        }
    }

    /// Empty blocks get a branch: the last one to a block after it where the caller goes on, the others to the next.
    fn resume(&mut self) {
        let body = self.source.body;
        if body.len() < 2 && !body.last().is_some_and(|block| block.body.is_empty()) {
            return;
        }
        for (index, block) in body.iter().enumerate() {
            let id = self.labels[block.label];
            if !self.module[id].instructions.is_empty() {
                continue;
            }
            let next = match body.get(index + 1) {
                Some(next) => self.labels[next.label],
                None => {
                    let name = format!("{}-RESUME-Block-compiler-inserted", self.source.name);
                    let resume = self.module.new_block(bir::Holder::Function(self.function), &name);
                    let name = self.new_name();
                    let mut builder = Builder::at(&mut self.module, resume);
                    builder.plain_inst(&name, EngineType::ALL, bir::enums::InstructionType::Return);
                    resume
                }
            };
            let name = self.new_name();
            Builder::at(&mut self.module, id).jump(&name, EngineType::ALL, next);
        }
    }

    /// Orderings by the names of statements. Those of other cores' statements are not of this module.
    fn edges(&mut self) {
        let kernel = self.source.path.rsplit_once(".bodies").map_or("", |(kernel, _)| kernel);
        let elsewhere: BTreeSet<&str> = self.source.bodies.iter().flat_map(|body| names(body)).collect();
        for (index, edge) in self.source.edges.iter().enumerate() {
            for to in edge.to_edges {
                let ends = [edge.from_edge, to].map(|name| (name, self.named.get(name).copied()));
                match ends {
                    [(_, Some(from)), (name, Some(to))] => {
                        if self.module.depend(to, from, EdgeKind::ORDERED).is_err() {
                            let kind = ProblemKind::SelfEdge { name: name.to_string() };
                            self.problem(kind, format!("{kernel}.edges[{index}]"));
                        }
                    }
                    ends => {
                        let unknown =
                            ends.iter().find(|(name, id)| id.is_none() && !elsewhere.contains(name));
                        if let Some((name, _)) = unknown {
                            let kind = ProblemKind::Edge { name: (*name).to_string() };
                            self.problem(kind, format!("{kernel}.edges[{index}]"));
                        }
                    }
                }
            }
        }
    }

    fn problem(&mut self, kind: ProblemKind, path: String) {
        if self.goes_on() {
            self.problems.push(Problem { kind, statement: None, path });
        }
    }

    /// Notes that something in the statement at hand has no place in BIR.
    pub(crate) fn note(&mut self, message: &str) {
        match self.notes.iter_mut().find(|note| note.message == message) {
            Some(note) => note.count += 1,
            None => self.add_note(NoteKind::Loss, message.to_string()),
        }
    }

    fn add_note(&mut self, kind: NoteKind, message: String) {
        self.notes.push(Note { kind, message, count: 1, first: self.path.clone() });
    }

    /// The core whose body this is, where there are several.
    pub(crate) fn core(&self) -> Option<usize> {
        self.source.core
    }
}

fn names<'a>(body: &'a [Block<'a>]) -> impl Iterator<Item = &'a str> {
    body.iter().flat_map(|block| block.body).filter_map(|Stmt::Oper { name, .. }| *name)
}

fn is_jump(statement: &Stmt<'_>) -> bool {
    let Stmt::Oper { op, .. } = statement;
    matches!(op, Operator::CmpBranch(branch) if branch.op == klr::ir::BrCmpOp::Always)
}

fn source_line(pos: &Pos<'_>) -> Option<String> {
    match (pos.filename, pos.line) {
        (None, 0) => None,
        (None, line) => Some(format!("line {line}")),
        (Some(file), line) => Some(format!("{file}:{line}")),
    }
}

fn written_register<'a>(op: &Operator<'a>) -> Option<&'a str> {
    match op {
        Operator::TensorLoad(op) => Some(op.dst),
        Operator::RegisterMove(op) => Some(op.dst),
        Operator::RegisterAluOp(op) => Some(op.dst),
        Operator::RankId(op) => Some(op.dst),
        Operator::CurrentProcessingRankId(op) => Some(op.dst),
        _ => None,
    }
}

fn dtype_name(dtype: Dtype) -> &'static str {
    bir::OpenEnum::name(dtype).unwrap_or("other")
}
