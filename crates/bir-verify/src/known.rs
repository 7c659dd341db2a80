//! What is known of the accesses that instructions share: buffers are used again and again, so most operands of a module
//! have stood in such a place of such an instruction before. What an operand says is worked out once, and where the
//! rules of single operands had nothing to say they are not asked again.
//!
//! Only that there is nothing to say is kept, so a fault is found at every place where it is. That the answer depends
//! on nothing else is seen to by [`Site`](crate::view::Site), which is all that these rules get of an instruction.
//! Whole instructions are not kept: to see that two are equal costs more than to ask the rules again.

use std::rc::Rc;

use bir::geometry::LoopAxes;
use bir::{Argument, Instruction};

use crate::context::Cx;
use crate::view::Stands;

/// Accesses that are kept before all are forgotten.
const ACCESSES: usize = 1 << 12;

/// Places of the index of accesses.
const PLACES: usize = 2 * ACCESSES;

/// Uses of an access that are kept.
const USES: usize = 6;

/// What is known of accesses. They stay where they are as long as the module is borrowed,
/// and so do their addresses.
#[derive(Debug, Default)]
pub(crate) struct Known<'m> {
    accesses: Vec<Access<'m>>,
    /// By place, the number of an access, counted from 1. An access is at its place or at one of the next ones.
    index: Vec<u32>,
}

#[derive(Debug)]
struct Access<'m> {
    address: usize,
    stands: Rc<Stands<'m>>,
    /// Uses about which the rules of single operands say nothing.
    clean: [Option<Use>; USES],
    /// The one that is forgotten next.
    oldest: u8,
}

/// All that the rules of single operands look at besides the access and the module: op and engine of the instruction,
/// list and index of the operand, its row in the tables and what is done to it; see [`Operand`](crate::view::Operand).
pub(crate) type Use = std::num::NonZeroU64;

/// An access in its place, for as long as nothing was forgotten.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    address: usize,
    at: usize,
    of: Use,
    /// Whether the rules of single operands are known to have nothing to say about it.
    pub(crate) is_clean: bool,
}

impl<'m> Known<'m> {
    /// What an argument says, and where that is kept if others share it and the use of it has a name.
    pub(crate) fn stands(
        &mut self,
        cx: &Cx<'m>,
        inst: &Instruction,
        axes: &LoopAxes,
        argument: &'m Argument,
        of: Option<Use>,
    ) -> (Rc<Stands<'m>>, Option<Kept>) {
        let Some(address) = address(argument) else {
            return (Rc::new(Stands::of(cx, inst, axes, argument)), None);
        };
        if self.index.is_empty() || self.accesses.len() >= ACCESSES {
            self.accesses.clear();
            self.index.clear();
            self.index.resize(PLACES, 0);
        }
        let mut place = mix(address as u64) as usize % PLACES;
        while let Some(at) = (self.index[place] as usize).checked_sub(1) {
            let known = &self.accesses[at];
            if known.address == address {
                let is_clean = |of| known.clean.contains(&Some(of));
                let kept = of.map(|of| Kept { address, at, of, is_clean: is_clean(of) });
                return (Rc::clone(&known.stands), kept);
            }
            place = (place + 1) % PLACES;
        }
        if !is_shared(argument) {
            return (Rc::new(Stands::of(cx, inst, axes, argument)), None);
        }
        let Some(stands) = Stands::fixed(cx, argument) else {
            return (Rc::new(Stands::of(cx, inst, axes, argument)), None);
        };
        let stands = Rc::new(stands);
        let at = self.accesses.len();
        self.accesses.push(Access { address, stands: Rc::clone(&stands), clean: [None; USES], oldest: 0 });
        self.index[place] = at as u32 + 1;
        (stands, of.map(|of| Kept { address, at, of, is_clean: false }))
    }

    /// Keeps that the rules of single operands, all of them, said nothing about an access in its place.
    pub(crate) fn keep_clean_operand(&mut self, kept: Option<Kept>) {
        let Some(kept) = kept else { return };
        if let Some(access) = self.accesses.get_mut(kept.at)
            && access.address == kept.address
        {
            access.clean[usize::from(access.oldest)] = Some(kept.of);
            access.oldest = (access.oldest + 1) % USES as u8;
        }
    }
}

/// Address of an operand that others may share. Whether they do is not asked here: that stands with the operand, and
/// what is known need not be looked at.
fn address(argument: &Argument) -> Option<usize> {
    match argument {
        Argument::PhysicalAp(access) => Some(access.address()),
        Argument::ImmValue(value) => Some(value.address()),
        _ => None,
    }
}

/// Whether others share an operand.
fn is_shared(argument: &Argument) -> bool {
    match argument {
        Argument::PhysicalAp(access) => access.is_shared(),
        Argument::ImmValue(value) => value.is_shared(),
        _ => false,
    }
}

/// Blocks of memory start at multiples of 16; the product mixes the rest into the upper bits.
fn mix(address: u64) -> u64 {
    (address >> 4).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 24
}
