//! Dependency edges: insertion-ordered sets of (target, kind), four bytes an edge. spec: bir-json 7.2

use std::fmt;

use hashbrown::{HashMap, HashSet};
use smallvec::SmallVec;

use crate::generated::enums::EDGE_KINDS;
use crate::ids::{ExprId, Id, InstId, Ref};
use crate::names::Sym;
use crate::value::Value;

/// Kind of a dependency, a 3-bit number. Numbers 5 to 7 have no name and are carried as they are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EdgeKind(u8);

impl EdgeKind {
    /// Not a dependency.
    pub const INVALID: EdgeKind = EdgeKind(0);
    /// Order without data.
    pub const ORDERED: EdgeKind = EdgeKind(1);
    /// Write after read.
    pub const ANTI: EdgeKind = EdgeKind(2);
    /// Write after write.
    pub const OUTPUT: EdgeKind = EdgeKind(3);
    /// Read after write.
    pub const FLOW: EdgeKind = EdgeKind(4);

    /// The kind of a number, when it fits 3 bits.
    pub fn new(number: u64) -> Option<EdgeKind> {
        (number < 8).then_some(EdgeKind(number as u8))
    }

    /// The number.
    pub fn number(self) -> u8 {
        self.0
    }

    /// The kind of a name.
    pub fn parse(name: &str) -> Option<EdgeKind> {
        EDGE_KINDS.iter().position(|n| *n == name).map(|number| EdgeKind(number as u8))
    }

    /// The name, when the number has one.
    pub fn name(self) -> Option<&'static str> {
        EDGE_KINDS.get(usize::from(self.0)).copied()
    }
}

impl fmt::Debug for EdgeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "EdgeKind({})", self.0),
        }
    }
}

/// A dependency on an instruction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edge(u32);

impl Edge {
    /// Largest number of instructions (and names) an edge can point to.
    pub const MAX_TARGETS: usize = 1 << 29;

    /// An edge to an instruction.
    ///
    /// # Panics
    /// When the target's index does not fit 29 bits.
    pub fn new(target: InstId, kind: EdgeKind) -> Edge {
        assert!(target.index() < Self::MAX_TARGETS, "edges hold 29-bit targets");
        Edge((target.index() as u32) << 3 | u32::from(kind.0))
    }

    /// The instruction that comes first.
    pub fn target(self) -> InstId {
        InstId::new((self.0 >> 3) as usize)
    }

    /// Why it does.
    pub fn kind(self) -> EdgeKind {
        EdgeKind((self.0 & 7) as u8)
    }
}

impl fmt::Debug for Edge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({:?}, {:?})", self.target(), self.kind())
    }
}

/// A set of edges that keeps the order of insertion.
///
/// Two edges are the same when target, kind and extra elements are. Extra elements (the distance of a
/// loop-carried edge) are rare and lie beside the list.
#[derive(Clone, Default)]
pub struct EdgeSet {
    list: SmallVec<[Edge; 4]>,
    side: Option<Box<Side>>,
}

#[derive(Clone, Default)]
struct Side {
    /// Extra elements by position in the list, ascending.
    extras: Vec<(u32, Box<[Value]>)>,
    /// The edges without extra elements; only kept for long lists.
    plain: HashSet<Edge>,
    /// Positions of the edges with extra elements, by edge and text of the elements.
    extended: HashMap<Edge, HashSet<String>>,
}

/// From this length on membership is answered by an index.
const INDEXED: usize = 16;

impl EdgeSet {
    /// Adds an edge without extra elements; false when it is there already.
    pub fn insert(&mut self, edge: Edge) -> bool {
        self.insert_with(edge, &[])
    }

    /// Adds an edge with extra elements; false when the same edge with the same elements is there already.
    pub fn insert_with(&mut self, edge: Edge, extras: &[Value]) -> bool {
        if !extras.is_empty() {
            let side = self.side.get_or_insert_default();
            // Rare: the text of the elements is a good enough key.
            if !side.extended.entry(edge).or_default().insert(format!("{extras:?}")) {
                return false;
            }
            side.extras.push((self.list.len() as u32, extras.into()));
        } else if self.contains_plain(edge) {
            return false;
        } else if self.list.len() >= INDEXED {
            let plain: Vec<Edge> = match &self.side {
                Some(side) if !side.plain.is_empty() => vec![edge],
                _ => self.plain().chain([edge]).collect(),
            };
            self.side.get_or_insert_default().plain.extend(plain);
        }
        self.list.push(edge);
        true
    }

    fn plain(&self) -> impl Iterator<Item = Edge> + '_ {
        self.iter_with().filter(|(_, extras)| extras.is_empty()).map(|(edge, _)| edge)
    }

    fn contains_plain(&self, edge: Edge) -> bool {
        match &self.side {
            Some(side) if !side.plain.is_empty() => side.plain.contains(&edge),
            Some(_) => self.plain().any(|e| e == edge),
            None => self.list.contains(&edge),
        }
    }

    /// Takes an edge away, with whatever extra elements; all of them when several have equal target and kind.
    pub fn remove(&mut self, edge: Edge) -> bool {
        let kept: Vec<_> = self.iter_with().filter(|(e, _)| *e != edge).collect();
        if kept.len() == self.list.len() {
            return false;
        }
        let mut rest = EdgeSet::default();
        kept.into_iter().for_each(|(e, extras)| {
            rest.insert_with(e, extras);
        });
        *self = rest;
        true
    }

    /// Whether there is an edge of that target and kind, with whatever extra elements.
    pub fn contains(&self, edge: Edge) -> bool {
        self.contains_plain(edge) || self.side.as_ref().is_some_and(|side| side.extended.contains_key(&edge))
    }

    fn contains_with(&self, edge: Edge, extras: &[Value]) -> bool {
        if extras.is_empty() {
            return self.contains_plain(edge);
        }
        let side = self.side.as_ref();
        let texts = side.and_then(|side| side.extended.get(&edge));
        texts.is_some_and(|texts| texts.contains(&format!("{extras:?}")))
    }

    /// Puts another edge in place of each. Different edges must stay different.
    pub(crate) fn map(&mut self, other: impl Fn(Edge) -> Edge) {
        self.list.iter_mut().for_each(|edge| *edge = other(*edge));
        let Some(side) = &mut self.side else { return };
        side.plain = side.plain.drain().map(&other).collect();
        side.extended = side.extended.drain().map(|(edge, texts)| (other(edge), texts)).collect();
    }

    /// Number of edges.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The edges in order of insertion.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Edge> + '_ {
        self.list.iter().copied()
    }

    /// The edges with their extra elements.
    pub fn iter_with(&self) -> impl Iterator<Item = (Edge, &[Value])> + '_ {
        let mut extras = self.side.iter().flat_map(|side| &side.extras).peekable();
        self.list.iter().enumerate().map(move |(i, edge)| {
            let own = extras.next_if(|(position, _)| *position as usize == i);
            (*edge, own.map_or(&[][..], |(_, values)| values))
        })
    }
}

impl PartialEq for EdgeSet {
    /// Compares as sets: order does not matter.
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter_with().all(|(edge, extras)| other.contains_with(edge, extras))
    }
}

impl fmt::Debug for EdgeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter_with()).finish()
    }
}

impl FromIterator<Edge> for EdgeSet {
    fn from_iter<I: IntoIterator<Item = Edge>>(edges: I) -> Self {
        let mut set = EdgeSet::default();
        edges.into_iter().for_each(|edge| {
            set.insert(edge);
        });
        set
    }
}

/// A dependency that holds for some iterations only; present before loops are unrolled.
#[derive(Clone, Debug, PartialEq)]
pub struct UnrollEdge {
    /// The instruction that comes first.
    pub target: Ref<InstId>,
    /// Why it does.
    pub kind: EdgeKind,
    /// Index expressions.
    pub exprs: Vec<ExprId>,
    /// Predicates, opaque.
    pub predicates: Vec<Value>,
    /// Elements past the fourth.
    pub extras: Vec<Value>,
}

/// A dependency whose target name no instruction has.
#[derive(Clone, Debug, PartialEq)]
pub struct MissingEdge {
    /// The name.
    pub name: Sym,
    /// Kind of the edge.
    pub kind: EdgeKind,
    /// Whether it stands among the loop-carried dependencies.
    pub loop_carried: bool,
    /// Its place in that list.
    pub position: usize,
    /// Extra elements.
    pub extras: Vec<Value>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(target: usize, kind: EdgeKind) -> Edge {
        Edge::new(InstId::new(target), kind)
    }

    #[test]
    fn an_edge_packs_target_and_kind() {
        let e = edge(Edge::MAX_TARGETS - 1, EdgeKind::FLOW);
        assert_eq!((e.target().index(), e.kind()), (Edge::MAX_TARGETS - 1, EdgeKind::FLOW));
        assert_eq!(size_of::<Edge>(), 4);
    }

    #[test]
    fn a_set_keeps_order_and_drops_repeats_at_any_length() {
        let mut set = EdgeSet::default();
        for i in 0..100 {
            assert!(set.insert(edge(100 - i, EdgeKind::FLOW)));
            assert!(!set.insert(edge(100 - i, EdgeKind::FLOW)));
            assert!(set.insert(edge(100 - i, EdgeKind::ANTI)));
        }
        assert_eq!(set.len(), 200);
        assert_eq!(set.iter().next(), Some(edge(100, EdgeKind::FLOW)));
        assert!(set.contains(edge(1, EdgeKind::ANTI)) && !set.contains(edge(1, EdgeKind::OUTPUT)));
        assert!(set.remove(edge(100, EdgeKind::FLOW)) && !set.remove(edge(100, EdgeKind::FLOW)));
        assert_eq!(set.iter().next(), Some(edge(100, EdgeKind::ANTI)));
    }

    #[test]
    fn extra_elements_belong_to_an_edge() {
        let mut set = EdgeSet::default();
        assert!(set.insert(edge(1, EdgeKind::FLOW)));
        assert!(set.insert_with(edge(1, EdgeKind::FLOW), &[Value::Uint(2)]));
        assert!(!set.insert_with(edge(1, EdgeKind::FLOW), &[Value::Uint(2)]));
        assert!(set.insert_with(edge(1, EdgeKind::FLOW), &[Value::Uint(3)]));
        let extras: Vec<_> = set.iter_with().map(|(_, x)| x.len()).collect();
        assert_eq!(extras, [0, 1, 1]);
    }
}
