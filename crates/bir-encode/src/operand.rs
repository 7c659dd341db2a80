//! Where an operand lies and what it walks over, and how that fills a slot (spec: isa-bundle 2, 4).

use bir::access::ApPair;
use bir::enums::{Dtype as BirDtype, MemoryType};
use bir::expr::Expr;
use bir::geometry::{Offsets, Unknown};
use bir::ids::{ExprId, LocId, Target};
use bir::{Argument, OpenEnum, OperandList};
use tpb_isa::{Addr4, Dtype, Generation, Opcode, Place};

use crate::context::{Inst, size_of_dtype};
use crate::error::{On, Reason, Result, invalid};

/// Bytes of a PSUM partition, and of each of its banks.
const PSUM_BYTES: u64 = 8 * PSUM_BANK;
const PSUM_BANK: u64 = 2048;

/// An operand of an instruction.
#[derive(Clone, Copy)]
pub(crate) struct Operand<'c> {
    pub(crate) inst: Inst<'c>,
    pub(crate) list: OperandList,
    pub(crate) index: usize,
    pub(crate) argument: &'c Argument,
}

/// What an access to SB or PSUM walks over.
#[derive(Clone, Debug)]
pub(crate) struct Geometry {
    /// The first element, or the register that holds its address.
    pub(crate) addr: Addr4,
    /// First partition; 0 when the address is in a register.
    pub(crate) partition: u32,
    /// Partitions: the count of the partition pair.
    pub(crate) channels: i64,
    /// The pairs behind the partition pair, outermost first, in elements.
    pub(crate) dims: Vec<ApPair>,
    /// Bytes of an element.
    pub(crate) size: u64,
    /// Index tensor, when it gives the rows.
    pub(crate) index: Option<Index>,
}

/// The index tensor of a tensor-indirect access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Index {
    pub(crate) addr: Addr4,
    pub(crate) count: i64,
}

impl Geometry {
    /// Elements in each partition.
    pub(crate) fn elements(&self) -> i64 {
        self.dims.iter().map(|dim| dim.num).product()
    }

    /// Whether the address is known and no index tensor is used.
    pub(crate) fn is_static(&self) -> bool {
        self.index.is_none() && self.addr.0 & Addr4::REGISTER == 0
    }

    /// The dimensions of more than one element, innermost first, as (step, count); those that form one progression are
    /// made one when there are more than `limit`.
    pub(crate) fn kept(&self, limit: usize) -> Vec<(i64, i64)> {
        let kept: Vec<_> =
            self.dims.iter().rev().filter(|dim| dim.num != 1).map(|dim| (dim.step, dim.num)).collect();
        if kept.len() > limit { merged(&kept) } else { kept }
    }

    /// The access as one progression of (step, count), if it is one.
    pub(crate) fn progression(&self) -> Option<(i64, i64)> {
        match merged(&self.kept(0))[..] {
            [] => Some((1, 1)),
            [one] => Some(one),
            _ => None,
        }
    }

    /// The address `elements` behind the first.
    pub(crate) fn addr_at(&self, elements: i64) -> Addr4 {
        Addr4(self.addr.0.wrapping_add((elements * self.size as i64) as u32))
    }
}

/// Makes neighbours that form one progression one dimension. Innermost first.
pub(crate) fn merged(dims: &[(i64, i64)]) -> Vec<(i64, i64)> {
    let mut out: Vec<(i64, i64)> = Vec::new();
    for &(step, count) in dims {
        match out.last_mut() {
            Some((inner_step, inner_count)) if inner_step.checked_mul(*inner_count) == Some(step) => {
                *inner_count = inner_count.saturating_mul(count);
            }
            _ => out.push((step, count)),
        }
    }
    out
}

impl<'c> Operand<'c> {
    /// The place in its list, for faults.
    pub(crate) fn at(&self) -> (OperandList, usize) {
        (self.list, self.index)
    }

    pub(crate) fn bir_dtype(&self) -> Result<BirDtype> {
        self.argument.dtype().ok_or(Reason::Unset("dtype")).on(self.at())
    }

    /// Whether it has this element type.
    pub(crate) fn is(&self, dtype: BirDtype) -> bool {
        self.argument.dtype() == Some(dtype)
    }

    /// Bytes of an element.
    pub(crate) fn size(&self) -> Result<u64> {
        let dtype = self.bir_dtype()?;
        let name = self.inst.name(dtype).on(self.at())?;
        size_of_dtype(dtype)
            .ok_or_else(|| Reason::UnknownName { what: "element type", name: name.to_owned() })
            .on(self.at())
    }

    /// The byte of its element type in a word.
    pub(crate) fn dtype(&self, opcode: Opcode) -> Result<Dtype> {
        let name = self.inst.name(self.bir_dtype()?).on(self.at())?;
        Dtype::from_bir(name, opcode, self.inst.generation()).on(self.at())
    }

    /// Whether it is an access to memory.
    pub(crate) fn is_tensor(&self) -> bool {
        self.argument.access_pattern().is_some()
    }

    /// The location it names.
    pub(crate) fn location(&self) -> Result<LocId> {
        let module = self.inst.context.module;
        let found = match (self.argument.location(), self.argument.location_set()) {
            (Some(loc), _) => match loc.target() {
                Target::Found(loc) => Some(loc),
                Target::Missing(_) => None,
            },
            (None, Some(set)) => match set.id().map(|set| &module[set].memorylocations[..]) {
                Some([only]) => Some(*only),
                _ => None,
            },
            (None, None) => None,
        };
        found.ok_or_else(|| Reason::Invalid("it names no memory location".to_owned())).on(self.at())
    }

    /// Memory it lies in; `None` for anything but an access to a known location.
    pub(crate) fn memory(&self) -> Option<MemoryType> {
        self.location().ok().map(|loc| self.inst.context.module[loc].r#type)
    }

    /// What it walks over in SB or PSUM.
    pub(crate) fn geometry(&self) -> Result<Geometry> {
        self.geometry_inner().on(self.at())
    }

    fn geometry_inner(&self) -> Result<Geometry> {
        match self.argument {
            Argument::PhysicalAp(_) => self.physical(),
            Argument::RegisterAp(arg) => {
                if arg.reg_ap_offset.is_some() || arg.is_regloc_offset {
                    return invalid(
                        "a register that holds an offset beside the address does not fit the word",
                    );
                }
                let register = arg.regref.ok_or(Reason::Unset("regref"))?;
                let addr = Addr4::register(self.inst.context.register(register)?)?;
                let pairs: Vec<ApPair> = arg.ap.iter().flat_map(|ap| ap.iter()).collect();
                let (first, dims) = split(&pairs)?;
                let size = self.size()?;
                Ok(Geometry { addr, partition: 0, channels: channels(first)?, dims, size, index: None })
            }
            Argument::SymbolicAp(_) => {
                invalid("its place is symbolic; only physical and register patterns can be encoded")
            }
            other => invalid(format!("an access to memory is expected here, not {}", other.kind())),
        }
    }

    fn physical(&self) -> Result<Geometry> {
        let loc = self.location()?;
        let module = self.inst.context.module;
        let location = &module[loc];
        let name = module.str(location.name);
        let memory = match location.r#type {
            MemoryType::SB => "SB",
            MemoryType::PSUM => "PSUM",
            other => {
                let other = other.text(&module.names);
                return invalid(format!("{name} lies in {other}; an engine reaches SB and PSUM only"));
            }
        };
        if !location.is_placed() {
            return invalid(format!("{name} has no address: it is not allocated"));
        }
        let (size, generation) = (self.size()?, self.inst.generation());
        let (pairs, offset, index) = self.pattern()?;
        let (first, dims) = split(&pairs)?;
        let channels = channels(first)?;
        let pitch = location.bytes().unwrap_or(0) / size;
        let pitch = i64::try_from(pitch).ok().filter(|pitch| *pitch > 0);
        let pitch = pitch.ok_or_else(|| {
            Reason::Invalid(format!("{name} has less than one element of this type in a partition"))
        })?;
        if first.step < 0 {
            return invalid(format!("the partition step is {}, but must not be negative", first.step));
        }
        if channels > 1 && first.step != pitch {
            return invalid(format!(
                "the partition step is {} elements, but partitions of {name} are {pitch} apart and a word walks \
                 over neighbours only",
                first.step
            ));
        }
        let partition = i128::from(location.base) + i128::from(offset.div_euclid(pitch));
        let last = partition + i128::from(channels) - 1;
        if partition < 0 || last > 127 {
            return Err(Reason::Partitions { first: partition, last }.into());
        }
        let start = i128::from(location.addr) + i128::from(offset.rem_euclid(pitch)) * i128::from(size);
        let (low, high) = reach(&dims);
        let (first_byte, last_byte) =
            (start + low * i128::from(size), start + high * i128::from(size) + i128::from(size) - 1);
        let (base, limit) = match memory {
            "SB" => (0, u64::from(generation.partition_bytes())),
            _ => (i128::from(location.bank.unsigned_abs()) * i128::from(PSUM_BANK), PSUM_BYTES),
        };
        let (first_byte, last_byte) = (base + first_byte, base + last_byte);
        let is_indirect = index.is_some();
        if !is_indirect && (first_byte < 0 || last_byte >= i128::from(limit))
            || base + start >= i128::from(limit)
        {
            return Err(Reason::PastPartition {
                first: first_byte,
                last: last_byte,
                limit,
                memory,
                generation,
            }
            .into());
        }
        let (partition, start) = (partition as u32, (base + start) as u64);
        let addr = match memory {
            "SB" => Addr4::sbuf(partition, start as u32, generation)?,
            _ => Addr4::psum(partition, (start / PSUM_BANK) as u32, (start % PSUM_BANK) as u32)?,
        };
        Ok(Geometry { addr, partition, channels, dims, size, index })
    }

    /// The pairs of a physical access, its constant offset in elements, and its index tensor.
    fn pattern(&self) -> Result<(Vec<ApPair>, i64, Option<Index>)> {
        let Argument::PhysicalAp(arg) = self.argument else { return invalid("it is no physical access") };
        let too_far = || Reason::Invalid(format!("its offset {} is out of range", arg.offset));
        let offset = i64::try_from(arg.offset).map_err(|_| too_far())?;
        let Some(info) = arg.dynamic_ap_info.as_deref() else {
            return Ok((arg.ap.iter().flat_map(|ap| ap.iter()).collect(), offset, None));
        };
        let pairs =
            info.actual_ap.as_ref().or(arg.ap.as_ref()).into_iter().flat_map(|ap| ap.iter()).collect();
        // The constant part stands in `c`, in `offset`, or the same in both.
        let mut base = if info.c != 0 { info.c } else { offset };
        let mut index = None;
        for term in &info.aff_expr {
            let expr = term.offset_expr.ok_or(Reason::Unset("offset_expr"))?;
            let exprs = &self.inst.context.module.exprs;
            match (self.index_argument(expr), Offsets::eval(exprs, expr, &Unknown)) {
                (Some(arg_id), _) if index.is_none() => index = Some(self.index_tensor(arg_id)?),
                (None, Some(value)) if value.as_constant().is_some() => {
                    let value =
                        value.as_constant().and_then(|value| value.checked_mul(term.coef.unwrap_or(1)));
                    base = value.and_then(|value| base.checked_add(value)).ok_or_else(too_far)?;
                }
                _ => {
                    return invalid(
                        "its offset depends on a loop or a register; only an index tensor or a register pattern \
                         can be encoded",
                    );
                }
            }
        }
        Ok((pairs, base, index))
    }

    /// The number of the index tensor, when an expression is one.
    pub(crate) fn index_argument(&self, expr: ExprId) -> Option<i64> {
        let exprs = &self.inst.context.module.exprs;
        match exprs.get(expr) {
            Expr::IndirectArg { arg_id } => Some(*arg_id),
            Expr::Affine { terms, c: 0 } => match &terms[..] {
                [term] if term.coeff == 1 => self.index_argument(term.idx),
                _ => None,
            },
            Expr::Sum { terms } => match terms[..] {
                [only] => self.index_argument(only),
                _ => None,
            },
            _ => None,
        }
    }

    fn index_tensor(&self, arg_id: i64) -> Result<Index> {
        let at = usize::try_from(arg_id).unwrap_or(usize::MAX);
        let tensor = self.inst.operand(OperandList::IndirectionIns, at)?;
        let geometry = tensor.geometry()?;
        if !geometry.is_static() {
            return Err(Reason::Invalid("an index tensor must have a plain address".to_owned()))
                .on(tensor.at());
        }
        Ok(Index { addr: geometry.addr, count: geometry.elements() })
    }

    /// Checks the address against the element type. spec: isa-bundle 2
    pub(crate) fn check_alignment(&self, geometry: &Geometry, dtype: Dtype) -> Result<()> {
        let align = dtype.alignment(self.inst.generation()).unwrap_or(1);
        if geometry.addr.0 & Addr4::REGISTER == 0 && !geometry.addr.0.is_multiple_of(align) {
            let addr = geometry.addr.to_string();
            return Err(Reason::Alignment { addr, align }).on(self.at());
        }
        Ok(())
    }

    /// The number of the register it is, and whether that is the low half of a wide one.
    pub(crate) fn register(&self) -> Result<(u8, bool)> {
        let Argument::RegisterAccess(arg) = self.argument else {
            return Err(Reason::Invalid(format!(
                "a register is expected here, not {}",
                self.argument.kind()
            )))
            .on(self.at());
        };
        let reg = arg.regref.ok_or(Reason::Unset("regref")).on(self.at())?;
        let number = self.inst.context.register(reg).on(self.at())?;
        let wide = reg.id().is_some_and(|reg| self.inst.context.module[reg].register_width > 1);
        match u8::try_from(number) {
            // spec: isa-control-dma 4
            Ok(number @ 0..62) => Ok((number, wide)),
            _ => {
                let range = Reason::Range { what: "register number", value: number.into(), min: 0, max: 61 };
                Err(range).on(self.at())
            }
        }
    }
}

/// Lowest and highest element of dimensions, relative to the first.
fn reach(dims: &[ApPair]) -> (i128, i128) {
    dims.iter().fold((0, 0), |(low, high), dim| {
        let reach = i128::from(dim.step).saturating_mul(i128::from(dim.num) - 1);
        (low + reach.min(0), high + reach.max(0))
    })
}

/// The partition pair, and the others. Counts are at least 1.
fn split(pairs: &[ApPair]) -> Result<(ApPair, Vec<ApPair>)> {
    let Some((first, dims)) = pairs.split_first() else { return invalid("its access pattern is empty") };
    if dims.len() > 4 {
        return invalid(format!("its access pattern has {} pairs; 1 to 5 can be encoded", pairs.len()));
    }
    if let Some(pair) = pairs.iter().find(|pair| !(1..=0xFFFF).contains(&pair.num)) {
        return Err(Reason::Range {
            what: "a count of its pattern",
            value: pair.num.into(),
            min: 1,
            max: 65535,
        }
        .into());
    }
    Ok((*first, dims.to_vec()))
}

/// Partitions of an access. spec: isa-bundle 8
fn channels(first: ApPair) -> Result<i64> {
    match first.num {
        1..=128 => Ok(first.num),
        value => {
            Err(Reason::Range { what: "number of partitions", value: value.into(), min: 1, max: 128 }.into())
        }
    }
}

/// First partition of an address; 0 for registers.
pub(crate) fn first_partition(addr: Addr4) -> u32 {
    match addr.place() {
        Place::Sbuf { partition, .. } | Place::Psum { partition, .. } => partition.into(),
        Place::Register(_) | Place::Other(_) => 0,
    }
}

/// Whether the generation is one that words are made for.
pub(crate) fn is_encodable(generation: Generation) -> bool {
    Generation::ENCODABLE.contains(&generation)
}
