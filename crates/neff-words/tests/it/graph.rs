//! The graph of the sample's dependencies, and of one without debug members.

use bir_view::graph::{Graph, LinkKind};
use neff::pack::{Options, to_bytes};
use neff::{Container, Header, Limits, Package, sample};
use neff_words::graph::{Around, deps};
use neff_words::{Program, generation};

fn graph(file: &[u8], around: Option<Around<'_>>) -> Graph {
    let container = Container::open(file).unwrap();
    let limits = Limits::default();
    let package = Package::load(&container, &limits, true).unwrap();
    let program = Program::load(&container, &package, &limits, true).unwrap();
    deps(&package, &program, generation(&package).unwrap(), around)
}

/// Edges by the names of their ends.
fn edges(graph: &Graph) -> Vec<(&str, &str, LinkKind)> {
    let name = |node: usize| &*graph.nodes[node].name;
    graph.edges.iter().map(|link| (name(link.from), name(link.to), link.kind)).collect()
}

#[test]
fn dependencies_and_waits_are_those_of_the_package() {
    let graph = graph(&sample::package(1), None);
    let edges = edges(&graph);
    for expected in [
        ("load_x", "transpose_x0", LinkKind::Flow),
        ("copy_product", "store", LinkKind::Flow),
        ("copy_product", "store", LinkKind::Wait),
        ("copy_x", "product0", LinkKind::Wait),
    ] {
        assert!(edges.contains(&expected), "{expected:?} is not in {edges:?}");
    }
    // Every instruction once, with its engine, what its words are, and its line.
    let store = graph.nodes.iter().find(|node| node.name == "store").unwrap();
    assert_eq!(store.cluster.as_deref(), Some("Pool"));
    assert_eq!(store.label, ["store", "PSEUDO_DMA_DIRECT2D", "models/product.py:13"]);
    let product = graph.nodes.iter().find(|node| node.name == "product0").unwrap();
    assert!(product.label[1].starts_with("Ldweights, Matmul"), "{:?}", product.label);
    let dot = graph.dot();
    assert!(dot.starts_with("digraph deps {") && dot.contains("load_x"), "{dot}");
}

#[test]
fn cores_are_told_apart() {
    let graph = graph(&sample::package(2), None);
    let mut names: Vec<&str> = graph.nodes.iter().map(|node| &*node.name).collect();
    assert!(names.contains(&"sg00/load_x") && names.contains(&"sg01/load_x"), "{names:?}");
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "names differ");
    // No edge leads from one core to the other.
    let core = |node: usize| graph.nodes[node].cluster.as_deref().unwrap().split('/').next();
    assert!(graph.edges.iter().all(|link| core(link.from) == core(link.to)));
}

#[test]
fn a_neighbourhood_is_near_what_was_asked_for() {
    let file = sample::package(1);
    let all = graph(&file, None);
    let near = |name, depth| graph(&file, Some(Around { name, depth }));
    let only = near("store", 0);
    assert_eq!((only.nodes.len(), only.edges.len()), (1, 0));
    assert!(only.nodes[0].marked);
    let one = near("store", 1);
    assert!(one.nodes.iter().any(|node| node.name == "copy_product"));
    assert!(one.nodes.len() < all.nodes.len());
    assert_eq!(one.nodes.iter().filter(|node| node.marked).count(), 1);
    assert_eq!(edges(&near("*", 0)), edges(&all));
    // A word stands for its instruction.
    assert_eq!(near("sg00/Pool#5", 0).nodes, only.nodes);
    for nothing in ["nothing", "sg00/Pool#5000", "sg07/Pool#5", "#"] {
        assert!(near(nothing, 1).nodes.is_empty(), "{nothing}");
    }
}

#[test]
fn without_debug_members_words_are_the_nodes() {
    let mut members = sample::members(1);
    members.retain(|source| !source.name.contains("debug_info"));
    let file =
        to_bytes(Header { feature_bits: 0x209800, ..Header::default() }, &members, &Options::default());
    let graph = graph(&file.unwrap(), None);
    assert!(!graph.edges.is_empty());
    assert!(graph.edges.iter().all(|link| link.kind == LinkKind::Wait));
    let store = graph.nodes.iter().find(|node| node.name == "sg00/Pool#5").expect("the store waits");
    assert_eq!(store.label, ["sg00/Pool#5", "PSEUDO_DMA_DIRECT2D"]);
}
