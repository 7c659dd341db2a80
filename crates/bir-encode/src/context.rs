//! What encoders share: the module, the generation, numbers of registers, variables and functions, and one instruction
//! with typed access to its keys and operands.

use bir::enums::{Dtype as BirDtype, InstructionType, MemoryType, TensorKind};
use bir::expr::MaybeAffine;
use bir::ids::{InstId, LocId, Ref, RegId};
use bir::{Argument, Instruction, Module, OpenEnum, OperandList, Sym};
use hashbrown::{HashMap, HashSet};
use tpb_isa::Generation;

use crate::Options;
use crate::error::{Reason, Result};
use crate::operand::Operand;

/// The numbers that words use for things that documents name.
pub(crate) struct Context<'m> {
    pub(crate) module: &'m Module,
    pub(crate) generation: Generation,
    pub(crate) options: &'m Options,
    registers: HashMap<RegId, u32>,
    variables: HashMap<LocId, Variable>,
    custom_ops: HashMap<(Option<Sym>, Option<Sym>), usize>,
    groups: Vec<Vec<Vec<u32>>>,
    /// Whether a queue instance is switched to without being armed again.
    pub(crate) no_rearm: bool,
}

/// A location in device memory as DMA words name it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Variable {
    /// Its variable id; 0 is SB and PSUM.
    pub id: u32,
    /// Its entry in the table of addresses that are known at load time: inputs and outputs have one.
    pub table_entry: Option<u32>,
}

impl<'m> Context<'m> {
    pub(crate) fn new(module: &'m Module, generation: Generation, options: &'m Options) -> Context<'m> {
        let mut context = Context {
            module,
            generation,
            options,
            registers: registers(module),
            variables: variables(module),
            custom_ops: HashMap::new(),
            groups: Vec::new(),
            no_rearm: false,
        };
        for id in module.insts() {
            match &module[id].op {
                bir::Op::CustomOp(op) => {
                    let next = context.custom_ops.len();
                    context.custom_ops.entry((op.op_function_name, op.op_lib_file)).or_insert(next);
                }
                bir::Op::GetCurProcessingRankID(op) => {
                    let groups = op.replica_groups.clone().unwrap_or_default();
                    if !context.groups.contains(&groups) {
                        context.groups.push(groups);
                    }
                }
                bir::Op::SwitchQueueInstance(op) => context.no_rearm |= op.no_rearm == true,
                _ => {}
            }
        }
        context
    }

    pub(crate) fn inst(&'m self, id: InstId) -> Inst<'m> {
        Inst { context: self, inst: &self.module[id] }
    }

    /// The number of a register.
    pub(crate) fn register(&self, reg: Ref<RegId>) -> Result<u32> {
        let known = reg.id().and_then(|reg| self.registers.get(&reg));
        known.copied().ok_or_else(|| {
            let name = self.module.str(self.module.ref_name(reg));
            Reason::Invalid(format!("register {name} has no number: nothing declares it")).into()
        })
    }

    /// The variable of a location in device memory.
    pub(crate) fn variable(&self, loc: LocId) -> Variable {
        self.variables.get(&loc).copied().unwrap_or(Variable { id: 0, table_entry: None })
    }

    /// The id of a custom function: they are numbered in document order.
    pub(crate) fn custom_op(&self, function: Option<Sym>, library: Option<Sym>) -> usize {
        self.custom_ops.get(&(function, library)).copied().unwrap_or(0)
    }

    /// The number of a list of replica groups: distinct lists are numbered in document order.
    pub(crate) fn group(&self, groups: &[Vec<u32>]) -> usize {
        self.groups.iter().position(|other| other == groups).unwrap_or(0)
    }
}

/// Registers have no numbers in documents. They get them in document order: first those of no engine or of all, which
/// differ from all others, then those of each engine. A wide one takes several.
fn registers(module: &Module) -> HashMap<RegId, u32> {
    let all: Vec<RegId> = module.functions().flat_map(|function| module.registers_of(function)).collect();
    let own_engine = |reg: RegId| module[reg].register_engine.filter(|engine| engine.is_datapath());
    let mut numbers = HashMap::new();
    let mut shared = 0;
    for reg in all.iter().filter(|reg| own_engine(**reg).is_none()) {
        numbers.insert(*reg, shared);
        shared += module[*reg].register_width.max(1);
    }
    let mut next = HashMap::new();
    for reg in all {
        let Some(engine) = own_engine(reg) else { continue };
        let next = next.entry(engine).or_insert(shared);
        numbers.insert(reg, *next);
        *next = next.saturating_add(module[reg].register_width.max(1));
    }
    numbers
}

/// Ids as documents give them; locations without one get the next that is free, in document order. spec: isa-control-dma
/// 6.1: id 0 is SB, inputs and outputs have entries in the address table.
pub(crate) fn variables(module: &Module) -> HashMap<LocId, Variable> {
    let locations: Vec<LocId> = module
        .functions()
        .flat_map(|function| module.locations_of(function))
        .filter(|loc| module[*loc].r#type == MemoryType::DRAM)
        .collect();
    let ids: HashSet<i32> = locations.iter().map(|loc| module[*loc].var_id).collect();
    let entries: HashSet<i32> = locations.iter().map(|loc| module[*loc].table_entry_id).collect();
    let mut free_ids = (1..).filter(|id| !ids.contains(id));
    let mut free_entries = (0..).filter(|entry| !entries.contains(entry));
    let mut variables = HashMap::new();
    for loc in locations {
        let location = &module[loc];
        let id = match location.var_id {
            given @ 0.. => given,
            _ => free_ids.next().unwrap_or(i32::MAX),
        };
        let is_external = matches!(
            module[location.set].kind,
            Some(
                TensorKind::ExternalInput
                    | TensorKind::ExternalInputParameter
                    | TensorKind::ExternalOutput
                    | TensorKind::ExternalOutputParameter
            )
        );
        let entry = match location.table_entry_id {
            given @ 0.. => Some(given),
            _ if is_external => free_entries.next(),
            _ => None,
        };
        let table_entry = entry.map(i32::unsigned_abs);
        variables.insert(loc, Variable { id: id.unsigned_abs(), table_entry });
    }
    variables
}

/// An instruction that is being encoded.
#[derive(Clone, Copy)]
pub(crate) struct Inst<'c> {
    pub(crate) context: &'c Context<'c>,
    pub(crate) inst: &'c Instruction,
}

impl<'c> Inst<'c> {
    pub(crate) fn generation(&self) -> Generation {
        self.context.generation
    }

    pub(crate) fn opcode(&self) -> InstructionType {
        self.inst.opcode()
    }

    pub(crate) fn input(&self, index: usize) -> Result<Operand<'c>> {
        self.operand(OperandList::Ins, index)
    }

    pub(crate) fn output(&self, index: usize) -> Result<Operand<'c>> {
        self.operand(OperandList::Outs, index)
    }

    pub(crate) fn operand(&self, list: OperandList, index: usize) -> Result<Operand<'c>> {
        let operands: &[Argument] = match list {
            OperandList::Ins => &self.inst.ins,
            OperandList::Outs => &self.inst.outs,
            OperandList::IndirectionIns => &self.inst.rare().indirection_ins,
        };
        let argument = operands.get(index).ok_or(Reason::MissingOperand { list, index })?;
        Ok(Operand { inst: *self, list, index, argument })
    }

    /// An operand that may be missing.
    pub(crate) fn optional_input(&self, index: usize) -> Option<Operand<'c>> {
        self.input(index).ok()
    }

    /// The constant of a key.
    pub(crate) fn value<T: Copy>(&self, value: MaybeAffine<T>, key: &'static str) -> Result<T> {
        value.value().ok_or_else(|| Reason::Affine(key).into())
    }

    /// The name of an enum value.
    pub(crate) fn name<E: OpenEnum>(&self, value: E) -> Result<&'static str> {
        value.name().map_err(|name| {
            let name = self.context.module.str(name).to_owned();
            Reason::UnknownName { what: E::ENUM, name }.into()
        })
    }
}

/// Bytes of an element.
pub(crate) fn size_of_dtype(dtype: BirDtype) -> Option<u64> {
    dtype.size_bytes().map(u64::from)
}
