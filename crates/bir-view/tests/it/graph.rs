//! Graphs: their nodes and edges, and that Graphviz can read them.

use std::io::Write;
use std::process::{Command, Stdio};

use bir::builder::Builder;
use bir::edges::EdgeKind;
use bir::enums::{ArchLevel, EngineType};
use bir::{Module, Op};
use bir_view::find::find_insts;
use bir_view::graph::{Graph, GraphKind, LinkKind, Neighbourhood, graph};

use crate::{golden, read};

fn links(graph: &Graph) -> Vec<(&str, &str, LinkKind)> {
    let name = |at: usize| &*graph.nodes[at].name;
    graph.edges.iter().map(|edge| (name(edge.from), name(edge.to), edge.kind)).collect()
}

#[test]
fn a_neighbourhood() {
    let module = bir::sample::matmul_softmax(&Default::default());
    let near = |depth| {
        let around = Neighbourhood { insts: find_insts(&module, "mm0_1_0"), depth };
        graph(&module, GraphKind::Deps, Some(&around))
    };
    assert_eq!((near(0).nodes.len(), near(0).edges.len()), (1, 0));
    let one = near(1);
    let mut names: Vec<&str> = one.nodes.iter().map(|node| &*node.name).collect();
    names.sort_unstable();
    assert_eq!(names, ["load_w_dma", "load_x0_1", "load_x1_0", "mm0_0_0", "mm0_1_0", "mm0_2_0"]);
    let edges = links(&one);
    assert!(edges.contains(&("load_x0_1", "mm0_1_0", LinkKind::Flow)));
    assert!(edges.contains(&("load_x0_1", "mm0_1_0", LinkKind::Wait)), "a wait binds to its producer");
    assert!(edges.contains(&("mm0_1_0", "load_x1_0", LinkKind::Anti)));
    let all = graph(&module, GraphKind::Deps, None);
    assert_eq!(near(100).nodes.len(), all.nodes.len(), "all of it hangs together");
    assert!(all.nodes.iter().all(|node| node.name != "load_w_dma-desc0"));
    golden("graph.dot", &one.dot());
}

#[test]
fn blocks_follow_each_other() {
    let module = read("tests/data/program.json");
    let graph = graph(&module, GraphKind::Blocks, None);
    let edges = links(&graph);
    for edge in [
        ("Entry", "OuterBody", LinkKind::Body),
        ("OuterBody", "InnerBody", LinkKind::Body),
        ("OuterBody", "OuterBody", LinkKind::LoopCarried),
        ("Entry", "Spin", LinkKind::Branch),
        ("Spin", "Spin", LinkKind::Branch),
        ("Spin", "End", LinkKind::Else),
    ] {
        assert!(edges.contains(&edge), "{edge:?} is not in {edges:?}");
    }
    assert!(!edges.iter().any(|edge| edge.2 == LinkKind::Next));
}

#[test]
fn engines_wait_for_each_other() {
    let module = bir::sample::matmul_softmax(&Default::default());
    let graph = graph(&module, GraphKind::Engines, None);
    let count = |from: &str, to: &str, kind| {
        let of = |at: usize, name: &str| graph.nodes[at].name == name;
        let found =
            graph.edges.iter().filter(|edge| of(edge.from, from) && of(edge.to, to) && edge.kind == kind);
        found.map(|edge| edge.count).sum::<u64>()
    };
    assert_eq!(count("SP", "PE", LinkKind::Flow), 8, "one load for each product");
    assert_eq!(count("SP", "qSPWeights", LinkKind::Starts), 1);
    assert_eq!(count("PE", "PE", LinkKind::Ordered), 0, "an engine is one node");
}

/// Names of any kind, and every kind of edge. Skipped where Graphviz is not installed.
#[test]
fn graphviz_reads_it() {
    let mut module = Module::new(ArchLevel::Gen3);
    let mut b = Builder::new(&mut module, "f \"quoted\" \\n");
    let first = b.inst("a\"b\\", EngineType::PE, Op::NoOp).id();
    b.inst("<b>&amp;\n{x|y}", EngineType::SP, Op::NoOp)
        .after(first, EdgeKind::FLOW)
        .after(first, EdgeKind::ANTI)
        .after_carried(first, EdgeKind::OUTPUT, Some(1));
    let sample = bir::sample::matmul_softmax(&Default::default());
    for module in [&module, &sample, &read("tests/data/program.json"), &Module::new(ArchLevel::Gen3)] {
        for kind in [GraphKind::Deps, GraphKind::Blocks, GraphKind::Engines] {
            let dot = graph(module, kind, None).dot();
            assert_eq!(
                dot.matches('{').count() - dot.matches("{x|y}").count(),
                dot.matches('}').count() - dot.matches("{x|y}").count()
            );
            let child = Command::new("dot")
                .args(["-Tcanon"])
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn();
            let Ok(mut child) = child else {
                println!("skipped: Graphviz is not installed");
                return;
            };
            child.stdin.take().unwrap().write_all(dot.as_bytes()).unwrap();
            let output = child.wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && said.is_empty(), "{said}\n{dot}");
        }
    }
}
