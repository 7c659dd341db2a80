//! From BIR modules to programs, and from findings back to instructions (spec: ordering 1 to 7).

mod fill;
mod say;

use bir::diag::Severity;
use bir::geometry::{Footprint, Footprints, Space, Unknown, transfers};
use bir::ids::{FuncId, InstId, LocId, RegId};
use bir::operands::Access;
use bir::{Instruction, Module, OperandList};

use crate::check::{Options, Outcome, Verdict, check};
use crate::finding::Party;
use crate::program::{Effect, GroupPart, Program, SpaceId};

pub use say::{Line, Said, Told};

/// A program filled from modules, with the way back.
pub struct BirProgram<'m> {
    /// The program.
    pub program: Program,
    modules: Vec<&'m Module>,
    footprints: Vec<Footprints<'m>>,
    /// The instruction of every operation, and the first operation of every core.
    ops: Vec<InstId>,
    starts: Vec<u32>,
    /// The DMABlock of every transfer, or the instruction that is its own transfer.
    transfers: Vec<InstId>,
    spaces: Vec<(u16, Space)>,
    /// Core, what it is, number.
    counters: Vec<(u16, Bank, u32)>,
    blocks: Vec<(u16, bir::ids::BlockId)>,
    local: Vec<Local>,
    accumulates: bool,
}

/// What a counter is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Bank {
    Semaphore,
    Event,
    /// Where cores meet.
    Barrier,
}

/// A finding about one instruction alone.
#[derive(Clone, Debug)]
struct Local {
    code: &'static str,
    severity: Severity,
    party: Party,
    other: Option<crate::program::OpId>,
    detail: String,
}

/// Why a program cannot be filled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FillError {
    /// More modules than there can be cores.
    TooManyCores,
    /// Calls are nested too deep, or around in a circle.
    Recursion(FuncId),
    /// With its calls written out the program would have so many instructions.
    TooLong(u64),
}

impl std::fmt::Display for FillError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FillError::TooManyCores => {
                f.write_str("more modules than this check can take as the cores of one program (5)")
            }
            FillError::Recursion(_) => f.write_str("calls go around in a circle, or more than 16 deep"),
            FillError::TooLong(size) => write!(
                f,
                "with its calls written out the program has {size} instructions, more than a million and than four times what stands in it"
            ),
        }
    }
}

impl std::error::Error for FillError {}

/// Most modules of one program.
pub const MAX_CORES: usize = 5;

/// A program and what the check has found in it.
pub struct Checked<'m> {
    /// The program.
    pub program: BirProgram<'m>,
    /// What was found.
    pub outcome: Outcome,
}

/// Checks modules: one, or those of all cores of one program, in the order of the cores. Functions that nothing
/// calls are programs of their own, the main one first.
///
/// # Errors
/// When calls go around in a circle, or when there are more modules than cores.
pub fn check_modules<'m>(modules: &[&'m Module], options: &Options) -> Result<Vec<Checked<'m>>, FillError> {
    let roots = if modules.len() == 1 { fill::roots(modules[0]) } else { vec![None] };
    let mut all = Vec::new();
    // What the lists of dependencies lack is said of every pair.
    let lists = modules.iter().any(|module| lists_carried(module));
    let max_told = if lists { usize::MAX } else { options.max_told };
    let options = Options { max_told, ..*options };
    for root in roots {
        let mut program = BirProgram::new(modules, root)?;
        let outcome = check(&program.program, &options);
        program.unlisted(&outcome);
        all.push(Checked { program, outcome });
    }
    Ok(all)
}

impl Checked<'_> {
    /// The verdict, with the findings about single instructions.
    pub fn verdict(&self) -> Verdict {
        let local = |severity| self.program.local.iter().any(|local| local.severity == severity);
        let undecided = self.program.local.iter().any(|local| matches!(local.code, "ORD003" | "ORD021"));
        match self.outcome.verdict() {
            _ if local(Severity::Error) => Verdict::Findings,
            Verdict::Clean if undecided => Verdict::Undecided,
            verdict => verdict,
        }
    }
}

impl<'m> BirProgram<'m> {
    /// Fills a program from the main functions of modules, or from one function of one module.
    ///
    /// # Errors
    /// See [`check_modules`].
    pub fn new(modules: &[&'m Module], root: Option<FuncId>) -> Result<BirProgram<'m>, FillError> {
        fill::fill(modules, root)
    }

    /// Pairs across iterations that no loop-carried dependency lists, where there are such lists (ORD025).
    fn unlisted(&mut self, outcome: &Outcome) {
        if !outcome.findings.iter().any(|f| f.carried.is_some_and(|c| c.distance > 0))
            || !self.modules.iter().any(|module| lists_carried(module))
        {
            return;
        }
        let mut said = hashbrown::HashSet::new();
        for finding in &outcome.findings {
            let (Some(carried), Some(second)) = (finding.carried, finding.second) else { continue };
            if carried.distance == 0
                || finding.kind.is_none()
                || !said.insert((finding.first.whole(), second.whole()))
            {
                continue;
            }
            let (core, inst) = self.operation(second);
            let module = self.modules[core as usize];
            let first = [self.operation(finding.first).1, self.instruction(finding.first).1];
            let consumer = [inst, self.instruction(second).1];
            let mut edges = consumer.iter().flat_map(|inst| module[*inst].loop_carried_dependencies.iter());
            if edges.any(|edge| first.contains(&edge.target())) {
                continue;
            }
            let name = module.str(module[first[1]].name);
            let detail = format!("loop_carried_dependencies do not list {name}");
            let party = second.whole();
            self.local.push(Local {
                code: "ORD025",
                severity: Severity::Note,
                party,
                other: Some(finding.first.op),
                detail,
            });
        }
    }

    /// Core and instruction of a party: the DMABlock for a transfer of a trigger.
    pub fn instruction(&self, party: Party) -> (u16, InstId) {
        let (core, inst) = self.operation(party);
        (core, party.transfer.map_or(inst, |transfer| self.transfers[transfer.index()]))
    }

    /// Core and instruction of the operation of a party: the trigger for a transfer.
    pub fn operation(&self, party: Party) -> (u16, InstId) {
        let core = self.starts.partition_point(|start| *start <= party.op.0) - 1;
        (core as u16, self.ops[party.op.index()])
    }

    /// The operations of an instruction: several when it stands in a function that is called several times.
    pub fn parties(&self, core: u16, inst: InstId) -> Vec<Party> {
        let first = self.starts[usize::from(core)];
        let end = self.starts.get(usize::from(core) + 1).map_or(self.ops.len() as u32, |end| *end);
        let ops = (first..end).filter(|op| self.ops[*op as usize] == inst);
        let ops = ops.filter(|op| self.program.first_clone(*op) == *op);
        let mut parties: Vec<Party> = ops.map(|op| self.party_of_op(op)).collect();
        for (at, of) in self.transfers.iter().enumerate() {
            let op = self.program.ops.partition_point(|op| op.transfers <= at as u32) as u32 - 1;
            if *of == inst && (first..end).contains(&op) && self.ops[op as usize] != inst {
                let transfer = Some(crate::program::TransferId(at as u32));
                parties.push(Party { transfer, ..Party::of(op) });
            }
        }
        parties
    }

    /// The operation, or the transfer that it is.
    fn party_of_op(&self, op: u32) -> Party {
        let transfers = self.program.transfers_of(op);
        let own = transfers.clone().find(|at| self.transfers[*at] == self.ops[op as usize]);
        Party { transfer: own.map(|at| crate::program::TransferId(at as u32)), ..Party::of(op) }
    }

    /// A semaphore or event in words.
    pub fn counter_name(&self, counter: crate::program::CounterId) -> String {
        let (core, bank, id) = self.counters[counter.index()];
        let bank = match bank {
            Bank::Semaphore => "semaphore",
            Bank::Event => "event",
            Bank::Barrier => return format!("core barrier {id}"),
        };
        if self.modules.len() > 1 { format!("{bank} {id} of core {core}") } else { format!("{bank} {id}") }
    }

    /// The space, with its core.
    pub fn space(&self, space: SpaceId) -> (u16, Space) {
        self.spaces[space.index()]
    }

    /// The instruction and the operand of an access, with its footprint.
    fn operand(&self, party: Party) -> Option<(InstId, OperandList, usize, Option<LocId>)> {
        let wanted = party.access? as usize;
        let (core, inst) = self.operation(party);
        let module = self.modules[core as usize];
        let footprints = &self.footprints[core as usize];
        let mut found = None;
        let mut at = 0;
        let mut look = |of: InstId| {
            each_access(footprints, &module[of], self.accumulates, &mut |list, index, footprint, _| {
                if at == wanted {
                    found = Some((of, list, index, footprint.location));
                }
                at += 1;
            });
        };
        match party.transfer.map(|transfer| self.transfers[transfer.index()]) {
            Some(block) if block != inst => {
                let of = transfers(module, inst).filter(|(of, _)| *of == block);
                of.for_each(|(_, descriptor)| look(descriptor));
            }
            _ => look(inst),
        }
        found
    }
}

/// Whether a module lists dependencies that loops carry.
fn lists_carried(module: &Module) -> bool {
    module.inst_ids().any(|inst| !module[inst].loop_carried_dependencies.is_empty())
}

/// Calls `each` with the accesses of an instruction to memory.
fn each_access(
    footprints: &Footprints<'_>,
    inst: &Instruction,
    accumulates: bool,
    each: &mut dyn FnMut(OperandList, usize, Footprint, Effect),
) {
    let axes = axes_of(footprints, inst);
    let env: &dyn bir::geometry::Env = axes.as_ref().map_or(&Unknown, |axes| axes);
    each_access_in(footprints, inst, accumulates, env, each);
}

/// The same where this is known of loops around.
fn each_access_in(
    footprints: &Footprints<'_>,
    inst: &Instruction,
    accumulates: bool,
    env: &dyn bir::geometry::Env,
    each: &mut dyn FnMut(OperandList, usize, Footprint, Effect),
) {
    for access in footprints.accesses(inst, env) {
        if matters(&access.footprint) {
            let effect = effect_of(inst, access.access, access.footprint.space, accumulates);
            each(access.list, access.index, access.footprint, effect);
        }
    }
}

/// Whether an access to these bytes is one to memory.
fn matters(footprint: &Footprint) -> bool {
    !matches!(footprint.space, Space::Register(_)) && !footprint.is_empty()
}

/// What an instruction does to bytes of a space that it accesses.
fn effect_of(inst: &Instruction, access: Access, space: Space, accumulates: bool) -> Effect {
    let mut effect = Effect { reads: access.may_read(), writes: access.writes(), group: None };
    if effect.writes && is_matmul(inst) {
        // A module without accumulation flags does not say which matmuls accumulate.
        effect.reads &= accumulates;
        effect.group = if accumulates && space == Space::Psum { group_of(inst) } else { None };
    }
    effect
}

/// Whether an operand may move with the loops around.
fn moves(inst: &Instruction) -> bool {
    inst.operands().any(|(_, _, argument)| match argument {
        bir::Argument::SymbolicAp(_) => true,
        bir::Argument::PhysicalAp(arg) => arg.dynamic_ap_info.is_some(),
        _ => false,
    })
}

fn axes_of(footprints: &Footprints<'_>, inst: &Instruction) -> Option<bir::geometry::LoopAxes> {
    moves(inst).then(|| bir::geometry::LoopAxes::around(footprints.module(), inst.block))
}

fn is_matmul(inst: &Instruction) -> bool {
    matches!(inst.op, bir::Op::Matmult(_) | bir::Op::MatmultSparse(_) | bir::Op::MatmultMx(_))
}

/// The accumulation flags of a matmul. spec: ordering 7
fn flags_of(inst: &Instruction) -> Option<u8> {
    match &inst.op {
        bir::Op::Matmult(op) => op.accumulation_flag.value(),
        bir::Op::MatmultSparse(op) => op.accumulation_flag.value(),
        bir::Op::MatmultMx(op) => op.accumulation_flag.value(),
        _ => None,
    }
}

fn group_of(inst: &Instruction) -> Option<GroupPart> {
    let flags = flags_of(inst)?;
    Some(GroupPart { start: flags & 1 != 0, stop: flags & 2 != 0 })
}

/// The register that a TensorSave saves.
fn saved_register(inst: &Instruction) -> Option<RegId> {
    if !matches!(inst.op, bir::Op::TensorSave) {
        return None;
    }
    inst.ins.iter().find_map(|argument| argument.register()?.id())
}
