//! Short cuts for what nearly all of a large module is: operands and synchronisation in canonical form. Whatever is
//! odd is left to the general readers, so nothing here reports anything: it gives up, and the lexer goes back.

use bir::OpenEnum;
use bir::access::{AccessPattern, ApPair, Shape};
use bir::edges::EdgeKind;
use bir::enums::Dtype;
use bir::record::{Few, Presence};
use bir::records::{PhysicalAp, SyncInfo, SyncUpdate, SyncWait};
use smallvec::SmallVec;

use super::{ReadRecord, Reader};
use crate::lexer::{Lexer, MAX_DEPTH};

impl Reader<'_> {
    /// An operand whose keys say soon that it is a `physical_ap`, as nearly all do: it is read at once. `None`,
    /// with the lexer where it was, when it is of another kind or odd in any way.
    #[inline]
    pub(super) fn physical_access(&mut self) -> Option<PhysicalAp> {
        let (start, depth) = (self.lexer.pos(), self.lexer.depth());
        if let Some(access) = self.canonical_access() {
            return Some(access);
        }
        self.lexer.seek(start);
        self.lexer.set_depth(depth);
        let result = self.physical_access_or_back();
        if result.is_none() {
            self.lexer.seek(start);
            self.lexer.set_depth(depth);
        }
        result
    }

    /// A `physical_ap` with exactly the keys that a writer always puts, in canonical order.
    fn canonical_access(&mut self) -> Option<PhysicalAp> {
        let lexer = &mut self.lexer;
        lexer.enter().ok()?;
        lexer.take_key(b"\"access_shape\"")?;
        let access_shape = plain_shape(lexer)?;
        lexer.take(b',').then_some(())?;
        lexer.take_key(b"\"ap\"")?;
        let ap = plain_pairs(lexer)?;
        lexer.take(b',').then_some(())?;
        lexer.take_key(b"\"dtype\"")?;
        let dtype = Dtype::parse(lexer.take_string()?)?;
        lexer.take(b',').then_some(())?;
        lexer.take_key(b"\"kind\"")?;
        (lexer.take_string()? == "physical_ap" && lexer.take(b',')).then_some(())?;
        lexer.take_key(b"\"memref\"")?;
        let memref = lexer.take_string()?;
        lexer.take(b',').then_some(())?;
        lexer.take_key(b"\"memsetref\"")?;
        let memsetref = lexer.take_string()?;
        lexer.take(b',').then_some(())?;
        lexer.take_key(b"\"offset\"")?;
        lexer.peek();
        let offset = lexer.short_integer()?;
        lexer.take(b'}').then_some(())?;
        lexer.leave();
        let memref = self.intern(memref).ok()?;
        let memsetref = self.intern(memsetref).ok()?;
        Some(PhysicalAp {
            ap: Some(ap),
            offset,
            dtype: Some(dtype),
            memref: Some(self.location_ref(memref)),
            memsetref: Some(self.set_ref(memsetref)),
            access_shape,
            dynamic_ap_info: None,
            memref_owner_func: None,
            present: Presence::NONE,
            extra: bir::Extra::NONE,
        })
    }

    fn physical_access_or_back(&mut self) -> Option<PhysicalAp> {
        let mut access = PhysicalAp { present: Presence::NONE, ..PhysicalAp::default() };
        self.lexer.enter().ok()?;
        let mut seen = 0u32;
        let mut is_physical = false;
        loop {
            let key = self.lexer.plain_key()?;
            let index = PhysicalAp::find(key.as_bytes())?;
            if index != PhysicalAp::TAG {
                if seen >> index & 1 == 1 {
                    return None;
                }
                seen |= 1 << index;
            }
            // Nothing here may report an oddity, since the operand may be read again.
            let first = self.lexer.peek();
            match key {
                "kind" => {
                    is_physical = first == b'"' && self.lexer.plain_string() == Some("physical_ap");
                    if !is_physical {
                        return None;
                    }
                }
                "ap" => access.ap = Some(plain_pairs(&mut self.lexer)?),
                "dtype" if first == b'"' => access.dtype = Some(Dtype::parse(self.lexer.plain_string()?)?),
                "dtype" | "dynamic_ap_info" => return None,
                _ if first == b'n' => return None,
                _ => access.read_field(index, self).ok()?,
            }
            match self.lexer.next_member() {
                Ok(true) => {}
                Ok(false) => break,
                Err(_) => return None,
            }
        }
        self.lexer.leave();
        let complete = const { super::required(PhysicalAp::SPECS) as u32 };
        (is_physical && seen & complete == complete).then_some(access)
    }

    /// Waits and updates with the plain keys in canonical order. `None` leaves the lexer anywhere.
    pub(super) fn canonical_sync(&mut self) -> Option<SyncInfo> {
        let mut sync = SyncInfo { present: Presence::NONE, ..SyncInfo::default() };
        self.lexer.enter().ok()?;
        let mut more = !self.lexer.take(b'}');
        if more && self.lexer.looks_at(b"\"on_update\"") {
            self.lexer.take_key(b"\"on_update\"")?;
            sync.on_update = self.canonical_list(|r| {
                r.lexer.take_key(b"\"id\"")?;
                let id = r.plain_u32()?;
                r.lexer.take(b',').then_some(())?;
                r.lexer.take_key(b"\"update_value\"")?;
                let update_value = r.plain_u32()?;
                Some(SyncUpdate { id: Some(id), update_value: Some(update_value), ..SyncUpdate::default() })
            })?;
            sync.present.set(SyncInfo::ON_UPDATE);
            more = self.lexer.next_member().ok()?;
        }
        if more {
            self.lexer.take_key(b"\"on_wait\"")?;
            sync.on_wait = self.canonical_list(|r| {
                let mut wait = SyncWait::default();
                if r.lexer.looks_at(b"\"from\"") {
                    r.lexer.take_key(b"\"from\"")?;
                    let from = r.lexer.take_string()?;
                    wait.from = Some(r.intern(from).ok()?);
                    r.lexer.take(b',').then_some(())?;
                }
                r.lexer.take_key(b"\"id\"")?;
                wait.id = Some(r.plain_u32()?);
                r.lexer.take(b',').then_some(())?;
                r.lexer.take_key(b"\"wait_value\"")?;
                wait.wait_value = Some(r.plain_u32()?);
                Some(wait)
            })?;
            sync.present.set(SyncInfo::ON_WAIT);
            self.lexer.take(b'}').then_some(())?;
        }
        self.lexer.leave();
        Some(sync)
    }

    /// A list of objects, each with just the members that `members` reads.
    fn canonical_list<T>(&mut self, members: impl Fn(&mut Self) -> Option<T>) -> Option<Few<T>> {
        let mut items = Few::new();
        self.lexer.take(b'[').then_some(())?;
        if !self.lexer.take(b']') {
            loop {
                self.lexer.take(b'{').then_some(())?;
                items.push(members(self)?);
                self.lexer.take(b'}').then_some(())?;
                if self.lexer.take(b']') {
                    break;
                }
                self.lexer.take(b',').then_some(())?;
            }
        }
        items.shrink_to_fit();
        Some(items)
    }

    fn plain_u32(&mut self) -> Option<u32> {
        self.lexer.peek();
        u32::try_from(self.lexer.short_integer()?).ok()
    }
}

impl<'a> Lexer<'a> {
    /// A dependency of just a plain name and a kind by name. `None` leaves the lexer anywhere, but no deeper.
    #[inline]
    pub(super) fn canonical_edge(&mut self) -> Option<(&'a str, EdgeKind)> {
        (self.depth() < MAX_DEPTH && self.take(b'[')).then_some(())?;
        let name = self.take_string()?;
        self.take(b',').then_some(())?;
        let kind = match self.take_string()? {
            "Flow" => EdgeKind::FLOW,
            other => EdgeKind::parse(other)?,
        };
        self.take(b']').then_some((name, kind))
    }
}

/// Pairs of short integers. `None` for anything else; the lexer is then anywhere.
#[inline]
fn plain_pairs(lexer: &mut Lexer<'_>) -> Option<AccessPattern> {
    let mut pairs: SmallVec<[ApPair; 6]> = SmallVec::new();
    lexer.take(b'[').then_some(())?;
    loop {
        lexer.take(b'[').then_some(())?;
        let step = plain_integer(lexer)?;
        lexer.take(b',').then_some(())?;
        let num = plain_integer(lexer)?;
        lexer.take(b']').then_some(())?;
        pairs.push(ApPair { step, num });
        if lexer.take(b']') {
            return Some(AccessPattern::new(&pairs));
        }
        lexer.take(b',').then_some(())?;
    }
}

/// Short unsigned integers. `None` for anything else; the lexer is then anywhere.
#[inline]
fn plain_shape(lexer: &mut Lexer<'_>) -> Option<Shape> {
    let mut dims: SmallVec<[u64; 6]> = SmallVec::new();
    lexer.take(b'[').then_some(())?;
    if lexer.take(b']') {
        return Some(Shape::default());
    }
    loop {
        lexer.peek();
        dims.push(lexer.short_integer()?);
        if lexer.take(b']') {
            return Some(Shape::new(&dims));
        }
        lexer.take(b',').then_some(())?;
    }
}

#[inline]
fn plain_integer(lexer: &mut Lexer<'_>) -> Option<i64> {
    // After a minus sign no blank may stand, so nothing is skipped there.
    let negative = lexer.take(b'-');
    let value = lexer.short_integer()? as i64;
    Some(if negative { -value } else { value })
}
