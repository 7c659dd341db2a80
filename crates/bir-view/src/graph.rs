//! Graphs of a module: what depends on what, which block follows which, what the engines exchange.
//!
//! A [`Graph`] is data; [`Graph::dot`] writes it in the language of Graphviz.

mod build;
mod dot;

use bir::Module;
use bir::ids::InstId;
use serde::Serialize;

/// What the nodes of a graph are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GraphKind {
    /// Instructions, with their dependencies and the waits that count-based binding finds.
    Deps,
    /// Blocks, with branches, fall-through and nested bodies.
    Blocks,
    /// Engines and queues, with the dependencies and waits between them.
    Engines,
}

/// A part of a graph of dependencies: all nodes within so many edges of some instructions.
#[derive(Clone, Debug)]
pub struct Neighbourhood {
    /// The instructions.
    pub insts: Vec<InstId>,
    /// Edges away, in either direction.
    pub depth: usize,
}

/// A graph.
#[derive(Clone, Debug, Serialize)]
pub struct Graph {
    /// What its nodes are.
    pub kind: GraphKind,
    /// The nodes.
    pub nodes: Vec<Node>,
    /// The edges.
    pub edges: Vec<Link>,
}

/// A node.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Node {
    /// Name that tells it apart.
    pub name: String,
    /// Lines of text in it.
    pub label: Vec<String>,
    /// The cluster it is drawn in: an engine, or a function.
    pub cluster: Option<String>,
    /// Whether it was asked for.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub marked: bool,
}

/// An edge.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Link {
    /// Index of the node that comes first.
    pub from: usize,
    /// Index of the node that comes after.
    pub to: usize,
    /// Why.
    pub kind: LinkKind,
    /// What is written beside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// How many such edges it stands for.
    pub count: u64,
}

/// Kinds of edges.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkKind {
    /// Read after write.
    Flow,
    /// Write after read.
    Anti,
    /// Write after write.
    Output,
    /// Order without data, or a kind without a name.
    Ordered,
    /// On an earlier iteration of a loop, of any kind.
    LoopCarried,
    /// A wait for a semaphore or an event.
    Wait,
    /// A DMATrigger starts a DMABlock.
    Starts,
    /// The next block.
    Next,
    /// A branch that is taken when its condition holds, or always.
    Branch,
    /// A branch that is taken when its condition does not hold.
    Else,
    /// Into the body of a loop.
    Body,
}

/// Makes a graph of a module. `around` cuts it down to a neighbourhood; only graphs of dependencies have one.
///
/// ```
/// use bir_view::graph::{GraphKind, graph};
/// let module = bir::sample::matmul_softmax(&Default::default());
/// let engines = graph(&module, GraphKind::Engines, None);
/// assert!(engines.nodes.iter().any(|node| node.name == "PE"));
/// assert!(engines.dot().starts_with("digraph engines {"));
/// ```
pub fn graph(module: &Module, kind: GraphKind, around: Option<&Neighbourhood>) -> Graph {
    match kind {
        GraphKind::Deps => build::deps(module, around),
        GraphKind::Blocks => build::blocks(module),
        GraphKind::Engines => build::engines(module),
    }
}
