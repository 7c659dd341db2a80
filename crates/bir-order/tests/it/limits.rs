//! What comes of programs that are too much to look at: undecided, or cut off, and never a wrong verdict.

use bir_order::{Options, Outcome, Verdict, check};

use crate::model::{Do, Flavour, Spec, SpecOp, Step, Tile, random};

fn op(stream: usize, what: Do, waits: &[(u32, Option<i64>)], updates: &[(u32, Step)]) -> SpecOp {
    SpecOp {
        stream: Some(stream),
        what,
        waits: waits.to_vec(),
        updates: updates.to_vec(),
        accesses: Vec::new(),
    }
}

fn on_tile(mut op: SpecOp, writes: bool) -> SpecOp {
    op.accesses.push((Tile { mask: 1, base: 0, dims: Vec::new(), width: 4, moves: None }, writes));
    op
}

fn checked(streams: usize, counters: u32, ops: Vec<SpecOp>, options: &Options) -> Outcome {
    check(&Spec { streams, counters, ops, body: None, trips: None }.program(), options)
}

fn has(outcome: &Outcome, code: &str) -> bool {
    outcome.findings.iter().any(|finding| finding.code == code)
}

/// No more than the first look at what waits mean.
const ONE_ROUND: Options = Options {
    assume_queue_order: false,
    strict: false,
    all: false,
    redundant: true,
    max_pairs: 1_000_000,
    max_told: usize::MAX,
    max_rounds: 0,
};

#[test]
fn waits_that_are_not_followed_to_the_end_are_undecided() {
    let count = [(0, Step::Add(1))];
    let chain = |need| {
        vec![
            on_tile(op(0, Do::Work, &[], &count), true),
            op(1, Do::Work, &[], &count),
            on_tile(op(2, Do::Work, &[(0, Some(need))], &[]), false),
        ]
    };
    // Both are waited for: the first look sees that, and that it holds.
    let outcome = checked(3, 1, chain(2), &ONE_ROUND);
    assert_eq!(outcome.verdict(), Verdict::Clean);
    // One of them, and it is not known which.
    let outcome = checked(3, 1, chain(1), &Options { max_rounds: 1000, ..ONE_ROUND });
    assert!(has(&outcome, "ORD001") && !has(&outcome, "ORD021"));
    let outcome = checked(3, 1, chain(1), &ONE_ROUND);
    assert!(has(&outcome, "ORD021") && outcome.redundant.is_empty());
}

#[test]
fn what_is_not_followed_to_the_end_is_never_wrong() {
    let mut undecided = 0;
    for flavour in [Flavour::Plain, Flavour::Modes, Flavour::Loop] {
        for seed in 0..400 {
            let program = random(seed, flavour).program();
            let all = check(&program, &Options { redundant: true, ..Options::default() });
            let some = check(&program, &ONE_ROUND);
            if !has(&some, "ORD021") {
                assert_eq!(some.findings, all.findings, "{flavour:?} {seed}");
            }
            undecided += u32::from(some.verdict() == Verdict::Undecided && all.verdict() != some.verdict());
            assert!(
                some.verdict() != Verdict::Clean || all.verdict() == Verdict::Clean,
                "{flavour:?} {seed}"
            );
            for wait in &some.redundant {
                assert!(all.redundant.contains(wait), "{flavour:?} {seed}: {wait:?}");
            }
        }
    }
    assert!(undecided > 0);
}

#[test]
fn races_with_resets_are_cut_off() {
    // Each of so many counts falls on either side of each of as many resets.
    let ops = |count| {
        let pairs = (0..count)
            .flat_map(|_| [op(0, Do::Work, &[], &[(0, Step::Add(1))]), op(1, Do::Reset(0), &[], &[])]);
        pairs.collect::<Vec<SpecOp>>()
    };
    let outcome = checked(2, 1, ops(50), &Options::default());
    assert_eq!(outcome.findings.iter().filter(|finding| finding.code == "ORD018").count(), 2500);
    assert!(!outcome.cut_off);
    let outcome = checked(2, 1, ops(700), &Options::default());
    assert_eq!(outcome.verdict(), Verdict::Findings);
    assert!(outcome.cut_off && outcome.findings.len() <= 100_000, "{}", outcome.findings.len());
}
