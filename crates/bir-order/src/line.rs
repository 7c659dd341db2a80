//! A finding as one JSON line, whatever a place is: an instruction of a module, or a word of a stream.

use bir::diag::Severity;
use serde::Serialize;

/// A finding with names. Fields are the keys of the JSON lines.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Line<P> {
    /// `ORD001` to `ORD027`.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// `RAW`, `WAR` or `WAW`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<&'static str>,
    /// The first access, the waiter, or what it is about.
    pub first: P,
    /// The other one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub second: Option<P>,
    /// The memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub space: Option<String>,
    /// Partitions, half open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partitions: Option<[u32; 2]>,
    /// Bytes, half open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<[i64; 2]>,
    /// Whether it is sure.
    pub certain: bool,
    /// The wait that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait: Option<WaitLine>,
    /// The first block of the loop.
    #[serde(rename = "loop", skip_serializing_if = "Option::is_none")]
    pub in_loop: Option<String>,
    /// Iterations between the two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance: Option<u32>,
    /// How the pair is ordered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<&'static str>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

/// A wait.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct WaitLine {
    /// Who is said to bring the count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Number of the semaphore or event.
    pub id: u32,
    /// The count that it waits for.
    pub value: i64,
    /// The count that its producer brings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<i64>,
}

impl<P> Line<P> {
    /// A line that says no more than this, and is sure.
    pub fn new(code: &'static str, severity: Severity, first: P, message: String) -> Line<P> {
        Line {
            code,
            severity,
            kind: None,
            first,
            second: None,
            space: None,
            partitions: None,
            bytes: None,
            certain: true,
            wait: None,
            in_loop: None,
            distance: None,
            tag: None,
            message,
            help: None,
        }
    }
}
