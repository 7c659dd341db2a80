//! What is known of the accesses that instructions share: buffers are used again and again, so most operands of a module
//! have stood in such a place of such an instruction before, and many instructions state what others do. What an
//! operand says is worked out once, and where rules had nothing to say they are not asked again.
//!
//! Only that there is nothing to say is kept, so a fault is found at every place where it is. That the answer depends
//! on nothing else is seen to by [`Site`] and [`Stated`], which are all that these rules get of an instruction.

use bir::geometry::LoopAxes;
use bir::ids::InstId;
use bir::{Argument, Instruction, OpenEnum};

use crate::context::Cx;
use crate::view::{Inst, Operand, Site, Stands, Stated};

/// Places of accesses; each access has one.
const ACCESSES: usize = 1 << 12;

/// Places of instructions; each has one.
const INSTRUCTIONS: usize = 1 << 13;

/// Uses of an access that are kept.
const USES: usize = 4;

/// What is known of accesses and of what instructions state. Accesses stay where they are as long as the module is
/// borrowed, and so do their addresses.
#[derive(Debug, Default)]
pub(crate) struct Known<'m> {
    accesses: Vec<Option<Access<'m>>>,
    /// Instructions about what they state the rules say nothing, each with the key that led to its place.
    clean: Vec<Option<(u64, InstId)>>,
}

#[derive(Debug)]
struct Access<'m> {
    address: usize,
    stands: Stands<'m>,
    /// Uses about which the rules of single operands say nothing.
    clean: [Option<Use>; USES],
    /// The one that is forgotten next.
    oldest: u8,
}

/// All that the rules of single operands look at besides the access and the module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Use {
    /// Address of the row of the operand's place, 0 for none.
    slot: usize,
    op: u8,
    engine: u8,
    list: u8,
    index: u8,
    access: u8,
}

impl Use {
    /// Nothing for what does not fit: ops and engines that are not known, and lists that are very long.
    fn of(site: &Site, operand: &Operand<'_>) -> Option<Use> {
        Some(Use {
            slot: operand.slot.map_or(0, |slot| std::ptr::from_ref(slot).addr()),
            op: u8::try_from(site.opcode.ordinal()?).ok()?,
            engine: u8::try_from(site.engine.ordinal()?).ok()?,
            list: operand.list as u8,
            index: u8::try_from(operand.index).ok()?,
            access: operand.access as u8,
        })
    }
}

impl<'m> Known<'m> {
    /// What an argument says.
    pub(crate) fn stands(
        &mut self,
        cx: &Cx<'m>,
        inst: &Instruction,
        axes: &LoopAxes,
        argument: &'m Argument,
    ) -> Stands<'m> {
        let Some(address) = shared(argument) else { return Stands::of(cx, inst, axes, argument) };
        let place = mix(address as u64) as usize % ACCESSES;
        if let Some(Some(known)) = self.accesses.get(place)
            && known.address == address
        {
            return known.stands.clone();
        }
        let Some(stands) = Stands::fixed(cx, argument) else { return Stands::of(cx, inst, axes, argument) };
        if self.accesses.is_empty() {
            self.accesses.resize_with(ACCESSES, || None);
        }
        let clean = [None; USES];
        self.accesses[place] = Some(Access { address, stands: stands.clone(), clean, oldest: 0 });
        stands
    }

    /// Whether the rules of single operands have nothing to say about an operand.
    pub(crate) fn is_clean_operand(&self, site: &Site, operand: &Operand<'_>) -> bool {
        let known = shared(operand.argument).and_then(|address| {
            let known = self.accesses.get(mix(address as u64) as usize % ACCESSES)?.as_ref();
            known.filter(|known| known.address == address)
        });
        known.is_some_and(|known| Use::of(site, operand).is_some_and(|of| known.clean.contains(&Some(of))))
    }

    /// Keeps that these rules, all of them, said nothing about an operand.
    pub(crate) fn keep_clean_operand(&mut self, site: &Site, operand: &Operand<'_>) {
        let (Some(address), Some(of)) = (shared(operand.argument), Use::of(site, operand)) else { return };
        if let Some(Some(known)) = self.accesses.get_mut(mix(address as u64) as usize % ACCESSES)
            && known.address == address
        {
            known.clean[usize::from(known.oldest)] = Some(of);
            known.oldest = (known.oldest + 1) % USES as u8;
        }
    }

    /// Whether the rules have nothing to say about what an instruction states, operands included.
    pub(crate) fn is_clean(&mut self, cx: &Cx<'_>, inst: &Inst<'_>) -> bool {
        let Some(key) = key(inst) else { return false };
        let Some(Some((of, id))) = self.clean.get_mut(key as usize % INSTRUCTIONS) else { return false };
        let is_clean = *of == key && states_same(&cx.module[*id], inst.inst);
        if is_clean {
            // What was seen last is near.
            *id = inst.id;
        }
        is_clean
    }

    /// Keeps that the rules, all of them, said nothing about what an instruction states.
    pub(crate) fn keep_clean(&mut self, inst: &Inst<'_>) {
        let Some(key) = key(inst) else { return };
        if self.clean.is_empty() {
            self.clean.resize(INSTRUCTIONS, None);
        }
        self.clean[key as usize % INSTRUCTIONS] = Some((key, inst.id));
    }
}

/// A key that instructions have in common when they state the same; nothing when one may state different things in
/// different places, or when nothing is known of its operands.
fn key(inst: &Stated<'_>) -> Option<u64> {
    if inst.operands.is_empty() {
        return None;
    }
    let op = u64::from(inst.opcode.ordinal()?);
    inst.operands.iter().try_fold(op, |key, operand| {
        let address = match operand.argument {
            Argument::PhysicalAp(_) if operand.dynamic => return None,
            argument => shared(argument)?,
        };
        Some(mix(key.rotate_left(21) ^ address as u64))
    })
}

/// Whether two instructions state the same, which have operands that are the same wherever they stand.
fn states_same(a: &Instruction, b: &Instruction) -> bool {
    let same = |a: &[Argument], b: &[Argument]| {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| shared(a).is_some_and(|of| shared(b) == Some(of)))
    };
    a.engine == b.engine
        && same(&a.ins, &b.ins)
        && same(&a.outs, &b.outs)
        && same(&a.rare().indirection_ins, &b.rare().indirection_ins)
        && a.op == b.op
}

/// Address of an operand that others share.
fn shared(argument: &Argument) -> Option<usize> {
    match argument {
        Argument::PhysicalAp(access) => access.is_shared().then(|| access.address()),
        Argument::ImmValue(value) => value.is_shared().then(|| value.address()),
        _ => None,
    }
}

/// Blocks of memory start at multiples of 16; the product mixes the rest into the upper bits.
fn mix(address: u64) -> u64 {
    (address >> 4).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 24
}
