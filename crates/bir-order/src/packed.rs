//! Waits, updates and accesses of a program in few bytes: there are millions of them, and memory is what limits which
//! programs can be checked.

use hashbrown::HashMap;

use crate::program::{Access, Change, CounterId, NONE, NameId, Need, Update, Wait};

/// A list whose items are made when they are asked for.
pub(crate) trait List {
    /// What it holds.
    type Item;

    /// An item by its place.
    fn get(&self, at: usize) -> Self::Item;
}

/// A stretch of a list.
pub(crate) struct View<'a, L> {
    list: &'a L,
    start: u32,
    end: u32,
}

impl<'a, L: List> View<'a, L> {
    pub(crate) fn new(list: &'a L, range: std::ops::Range<usize>) -> View<'a, L> {
        View { list, start: range.start as u32, end: range.end as u32 }
    }

    pub(crate) fn len(&self) -> usize {
        (self.end - self.start) as usize
    }

    pub(crate) fn get(&self, at: usize) -> Option<L::Item> {
        (at < self.len()).then(|| self.list.get(self.start as usize + at))
    }

    /// The item at a place that it has.
    pub(crate) fn at(&self, at: usize) -> L::Item {
        self.get(at).expect("a place within the list")
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = L::Item> + 'a + use<'a, L> {
        let list = self.list;
        (self.start as usize..self.end as usize).map(move |at| list.get(at))
    }
}

/// The kind stands above the number of the counter.
const KIND_SHIFT: u32 = 29;
/// Counters have smaller numbers than this.
pub(crate) const MAX_COUNTERS: u32 = 1 << KIND_SHIFT;

const AT_LEAST: u32 = 0;
const EACH: u32 = 1;
const TAKE: u32 = 2;
const UNKNOWN: u32 = 3;
/// The value is the place of the need or change in the list of those whose value is too large.
const LARGE: u32 = 4;

const ADD: u32 = 0;
const WRITE: u32 = 1;
const SET: u32 = 2;

fn split(packed: u32) -> (u32, CounterId) {
    (packed >> KIND_SHIFT, CounterId(packed & (MAX_COUNTERS - 1)))
}

#[derive(Clone, Copy, Debug)]
struct PackedWait {
    counter: u32,
    value: i32,
    from: u32,
}

/// Waits.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waits {
    list: Vec<PackedWait>,
    large: Vec<Need>,
}

impl Waits {
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    pub(crate) fn reserve(&mut self, more: usize) {
        self.list.reserve(more);
    }

    pub(crate) fn push(&mut self, wait: &Wait) {
        let small = |value: i64| i32::try_from(value).ok();
        let packed = match wait.need {
            Need::AtLeast(value) => small(value).map(|value| (AT_LEAST, value)),
            Need::Each(value) => small(value).map(|value| (EACH, value)),
            Need::Take => Some((TAKE, 0)),
            Need::Unknown => Some((UNKNOWN, 0)),
        };
        let (kind, value) = packed.unwrap_or_else(|| {
            self.large.push(wait.need);
            (LARGE, self.large.len() as i32 - 1)
        });
        let from = wait.from.map_or(NONE, |from| from.0);
        self.list.push(PackedWait { counter: wait.counter.0 | kind << KIND_SHIFT, value, from });
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Wait> {
        (0..self.len()).map(|at| self.get(at))
    }

    pub(crate) fn shrink_to_fit(&mut self) {
        self.list.shrink_to_fit();
    }
}

impl List for Waits {
    type Item = Wait;

    fn get(&self, at: usize) -> Wait {
        let packed = self.list[at];
        let (kind, counter) = split(packed.counter);
        let need = match kind {
            AT_LEAST => Need::AtLeast(i64::from(packed.value)),
            EACH => Need::Each(i64::from(packed.value)),
            TAKE => Need::Take,
            UNKNOWN => Need::Unknown,
            _ => self.large[packed.value as usize],
        };
        Wait { counter, need, from: (packed.from != NONE).then_some(NameId(packed.from)) }
    }
}

#[derive(Clone, Copy, Debug)]
struct PackedUpdate {
    counter: u32,
    value: i32,
}

/// Updates.
#[derive(Clone, Debug, Default)]
pub(crate) struct Updates {
    list: Vec<PackedUpdate>,
    large: Vec<Change>,
}

impl Updates {
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    pub(crate) fn reserve(&mut self, more: usize) {
        self.list.reserve(more);
    }

    pub(crate) fn push(&mut self, update: &Update) {
        let small = |value: i64| i32::try_from(value).ok();
        let packed = match update.change {
            Change::Add(value) => small(value).map(|value| (ADD, value)),
            Change::Write(value) => small(value).map(|value| (WRITE, value)),
            Change::Set => Some((SET, 0)),
        };
        let (kind, value) = packed.unwrap_or_else(|| {
            self.large.push(update.change);
            (LARGE, self.large.len() as i32 - 1)
        });
        self.list.push(PackedUpdate { counter: update.counter.0 | kind << KIND_SHIFT, value });
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Update> {
        (0..self.len()).map(|at| self.get(at))
    }

    pub(crate) fn shrink_to_fit(&mut self) {
        self.list.shrink_to_fit();
    }
}

impl List for Updates {
    type Item = Update;

    fn get(&self, at: usize) -> Update {
        let packed = self.list[at];
        let (kind, counter) = split(packed.counter);
        let change = match kind {
            ADD => Change::Add(i64::from(packed.value)),
            WRITE => Change::Write(i64::from(packed.value)),
            SET => Change::Set,
            _ => self.large[packed.value as usize],
        };
        Update { counter, change }
    }
}

/// Accesses: each kind is stored once, buffers are used again and again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Accesses {
    list: Vec<u32>,
    kinds: Vec<Access>,
    numbers: HashMap<Access, u32>,
}

impl Accesses {
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    pub(crate) fn reserve(&mut self, more: usize) {
        self.list.reserve(more);
    }

    pub(crate) fn push(&mut self, access: &Access) {
        let number = *self.numbers.entry(*access).or_insert_with(|| {
            self.kinds.push(*access);
            self.kinds.len() as u32 - 1
        });
        self.list.push(number);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Access> {
        (0..self.len()).map(|at| self.get(at))
    }

    /// Every kind of access once.
    pub(crate) fn kinds(&self) -> &[Access] {
        &self.kinds
    }

    /// Gives back what only adding needs.
    pub(crate) fn finish(&mut self) {
        self.numbers = HashMap::new();
        self.list.shrink_to_fit();
    }
}

impl List for Accesses {
    type Item = Access;

    fn get(&self, at: usize) -> Access {
        self.kinds[self.list[at] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_comes_out_again() {
        let counter = CounterId(7);
        let needs = [0, -1, i64::from(i32::MAX) + 1, i64::MIN].map(Need::AtLeast);
        let mut waits = Waits::default();
        let given: Vec<Wait> = needs
            .into_iter()
            .chain([Need::Each(2), Need::Each(1 << 40), Need::Take, Need::Unknown])
            .map(|need| Wait { counter, need, from: (need == Need::Take).then_some(NameId(3)) })
            .collect();
        given.iter().for_each(|wait| waits.push(wait));
        assert_eq!(waits.iter().collect::<Vec<_>>(), given);

        let mut updates = Updates::default();
        let changes =
            [Change::Add(-3), Change::Add(1 << 33), Change::Write(i64::MAX), Change::Write(5), Change::Set];
        let given = changes.map(|change| Update { counter, change });
        given.iter().for_each(|update| updates.push(update));
        assert_eq!(updates.iter().collect::<Vec<_>>(), given);
    }
}
