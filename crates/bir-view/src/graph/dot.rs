//! Graphs in the language of Graphviz.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::{Graph, GraphKind, Link, LinkKind, Node};

/// Fills of clusters, and borders of what is in them: readable with dark text.
const COLORS: [(&str, &str); 8] = [
    ("#e8f1fa", "#2b6cb0"),
    ("#fdf0e0", "#b8651b"),
    ("#e8f6ec", "#2f855a"),
    ("#f6e9f5", "#97337f"),
    ("#fbf6d9", "#8a6d00"),
    ("#e6f6f6", "#1f7a7a"),
    ("#f3f0fb", "#5a45a5"),
    ("#f2f2f2", "#555555"),
];

impl LinkKind {
    /// Colour, style, and word for the legend.
    fn look(self) -> (&'static str, &'static str, &'static str) {
        match self {
            LinkKind::Flow => ("#1f5fa8", "solid", "flow"),
            LinkKind::Anti => ("#b8651b", "solid", "anti"),
            LinkKind::Output => ("#97337f", "solid", "output"),
            LinkKind::Ordered => ("#777777", "solid", "ordered"),
            LinkKind::LoopCarried => ("#2f855a", "dashed", "earlier iteration"),
            LinkKind::Wait => ("#c53030", "dotted", "wait"),
            LinkKind::Starts => ("#222222", "bold", "starts"),
            LinkKind::Next => ("#222222", "solid", "next"),
            LinkKind::Branch => ("#1f5fa8", "solid", "branch"),
            LinkKind::Else => ("#b8651b", "solid", "else"),
            LinkKind::Body => ("#2f855a", "bold", "body"),
        }
    }
}

impl Graph {
    /// The graph as DOT. A legend in its label says what the colours mean.
    pub fn dot(&self) -> String {
        let name = match self.kind {
            GraphKind::Deps => "deps",
            GraphKind::Blocks => "blocks",
            GraphKind::Engines => "engines",
        };
        let mut dot = format!("digraph {name} {{\n");
        let mut kinds: Vec<LinkKind> = self.edges.iter().map(|edge| edge.kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        let legend: Vec<String> = kinds
            .iter()
            .map(|kind| {
                let (color, style, word) = kind.look();
                let style = if style == "solid" { String::new() } else { format!(" ({style})") };
                format!("<font color=\"{color}\">{word}{style}</font>")
            })
            .collect();
        let _ = writeln!(
            dot,
            "  graph [fontname=\"Helvetica\", fontsize=11, labelloc=b, label=<{}>];\n  \
             node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=\"Helvetica\", fontsize=10, margin=\"0.12,0.06\"];\n  \
             edge [fontname=\"Helvetica\", fontsize=9, arrowsize=0.7];",
            if legend.is_empty() { " ".to_owned() } else { legend.join("  ") }
        );
        let mut clusters: BTreeMap<Option<&str>, Vec<usize>> = BTreeMap::new();
        for (at, node) in self.nodes.iter().enumerate() {
            clusters.entry(node.cluster.as_deref()).or_default().push(at);
        }
        for (number, (cluster, nodes)) in clusters.iter().enumerate() {
            let (fill, border) = COLORS[number % COLORS.len()];
            let indent = match cluster {
                Some(name) => {
                    let _ = writeln!(
                        dot,
                        "  subgraph cluster_{number} {{\n    label={}; labelloc=t; style=\"rounded,filled\"; fillcolor=\"{fill}\"; \
                         color=\"{border}\"; fontcolor=\"{border}\";",
                        quoted(name)
                    );
                    "    "
                }
                None => "  ",
            };
            for at in nodes {
                self::node(&mut dot, indent, *at, &self.nodes[*at], border);
            }
            if cluster.is_some() {
                dot.push_str("  }\n");
            }
        }
        self.edges.iter().for_each(|edge| link(&mut dot, edge));
        dot.push_str("}\n");
        dot
    }
}

fn node(dot: &mut String, indent: &str, at: usize, node: &Node, border: &str) {
    let lines: Vec<String> = node.label.iter().map(|line| escaped(line)).collect();
    let marked = if node.marked { ", penwidth=2.5, fillcolor=\"#fff3b0\"" } else { "" };
    let _ = writeln!(dot, "{indent}n{at} [label=\"{}\", color=\"{border}\"{marked}];", lines.join("\\n"));
}

fn link(dot: &mut String, edge: &Link) {
    let (color, style, _) = edge.kind.look();
    let label = edge.label.as_ref().map(|label| format!(", label={}, fontcolor=\"{color}\"", quoted(label)));
    // Thicker for more, within reason.
    let width = if edge.count > 1 {
        format!(", penwidth={:.1}", 1.0 + (edge.count as f64).log10())
    } else {
        String::new()
    };
    let _ = writeln!(
        dot,
        "  n{} -> n{} [color=\"{color}\", style={style}{width}{}];",
        edge.from,
        edge.to,
        label.unwrap_or_default()
    );
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", escaped(text))
}

/// Text between quotes: names never end a string or begin an escape.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
