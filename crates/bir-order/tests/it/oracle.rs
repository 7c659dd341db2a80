//! Random small programs against brute force: byte sets, and a machine that is run with each operation held for ever.
//!
//! `BIR_ORDER_PROGRAMS` sets how many programs of each flavour are tried.

use std::collections::{BTreeMap, BTreeSet};

use bir_order::{Options, Repair, Tag, check};

use crate::model::{Do, Flavour, Spec, SpecOp, Step, Tile, random, smaller};

type Classes = BTreeMap<(String, usize, usize), String>;

/// What brute force says of every conflict of a program without a loop.
fn brute(spec: &Spec) -> Classes {
    let (plain, queue) = (spec.before(false), spec.before(true));
    let reached = spec.reachable(None, false);
    let mut classes = Classes::new();
    for (kind, first, second) in spec.conflicts() {
        if !reached[first] || !reached[second] {
            continue;
        }
        let class = if plain[first][second] || plain[second][first] {
            "OK"
        } else if queue[first][second] || queue[second][first] {
            "QUEUE-ORDER-ONLY"
        } else {
            "UNSYNC"
        };
        classes.insert((kind.to_owned(), first, second), class.to_owned());
    }
    classes
}

fn differences(what: &str, expected: &Classes, got: &Classes) -> Vec<String> {
    let keys: BTreeSet<_> = expected.keys().chain(got.keys()).collect();
    let differing = keys.into_iter().filter(|key| expected.get(*key) != got.get(*key));
    differing
        .map(|key| format!("{what} {key:?}: brute force {:?}, check {:?}", expected.get(key), got.get(key)))
        .collect()
}

/// Takes what is expected for what was found to be worse.
fn forgive(expected: &Classes, found: &mut Classes) {
    let weight = |tag: &str| ["OK", "QUEUE-ORDER-ONLY"].iter().position(|of| *of == tag).unwrap_or(2);
    for (key, tag) in found {
        match expected.get(key) {
            Some(wanted) if weight(wanted) < weight(tag) => *tag = wanted.clone(),
            _ => {}
        }
    }
}

/// Everything in which the check differs from brute force.
fn disagreements(spec: &Spec) -> Vec<String> {
    let program = spec.program();
    let outcome = check(&program, &Options { all: true, redundant: true, ..Options::default() });
    let has = |code: &str| outcome.findings.iter().any(|finding| finding.code == code);
    // Whether everything comes to its end, and no event is set twice, in all orders.
    if spec.body.is_none() && !spec.is_monotone() && !has("ORD018") {
        let every = spec.every();
        let (hangs, twice) = (has("ORD014"), has("ORD017"));
        let is_right = (hangs || twice) == (every.hangs || !every.twice.is_empty())
            && (!twice || !every.twice.is_empty())
            && (!hangs || every.hangs || !every.twice.is_empty());
        if !is_right || has("ORD021") {
            let (must, sets) = (every.hangs, every.twice);
            return vec![format!("hangs: brute force {must} {sets:?}, check {hangs} {twice}")];
        }
        // A lost signal is an error of its own, and what follows is a guess.
        if !every.twice.is_empty() {
            return Vec::new();
        }
    }
    // An update that falls on either side of a reset is an error of its own, and counts are then a guess.
    if has("ORD018") {
        return Vec::new();
    }
    // Where counts also shrink, whether it comes to a deadlock can depend on who is faster.
    if !spec.is_monotone() && has("ORD014") {
        return Vec::new();
    }
    let mut problems = Vec::new();
    let (flat, origin) = spec.unrolled(1);
    let expected = brute(&flat);
    let mut got = Classes::new();
    for pair in &outcome.pairs {
        let tag = pair.tag.map_or("MAY", Tag::name).to_owned();
        got.insert((pair.kind.name().to_owned(), pair.first.op.index(), pair.second.op.index()), tag);
    }
    let _ = origin;
    // The check may be too careful, never careless, where who is faster decides what a count means: when several
    // streams take one count (of the orders that are possible then, some come to a stop), and when one takes away
    // from what others wait for.
    let forgives = spec.may_hang() || spec.is_contested() || spec.subtracts();
    let forgives = forgives && !spec.is_monotone();
    if forgives {
        forgive(&expected, &mut got);
    }
    problems.extend(differences("pair", &expected, &got));
    // The findings are the unordered ones, and no others.
    let mut told = Classes::new();
    for finding in outcome.findings.iter().filter(|f| f.carried.is_none()) {
        let (Some(kind), Some(second)) = (finding.kind, finding.second) else { continue };
        let tag = match finding.code {
            "ORD001" => "UNSYNC",
            "ORD002" => "QUEUE-ORDER-ONLY",
            code => code,
        };
        let key = (kind.name().to_owned(), finding.first.op.index(), second.op.index());
        if spec.body.is_none() || expected.contains_key(&key) {
            told.insert(key, tag.to_owned());
        }
    }
    let unordered: Classes =
        expected.iter().filter(|(_, tag)| *tag != "OK").map(|(k, t)| (k.clone(), t.clone())).collect();
    if forgives {
        forgive(&expected, &mut told);
        told.retain(|_, tag| tag != "OK");
    }
    // Behind a loop, what later iterations leave unordered is told as well.
    if spec.body.is_none() {
        problems.extend(differences("finding", &unordered, &told));
    } else {
        problems.extend(loop_differences(spec, &unordered, &outcome));
    }
    if spec.body.is_none() {
        problems.extend(redundant(spec, &outcome));
        problems.extend(repairs(spec, &outcome));
    }
    let deadlock = flat.reachable(None, false).contains(&false);
    if spec.body.is_none() && spec.is_monotone() && deadlock != has("ORD014") {
        problems.push(format!("deadlock: brute force {deadlock}"));
    }
    problems
}

/// Waits that are proposed, where counts only grow: they must order the pair, and stop nothing.
fn repairs(spec: &Spec, outcome: &bir_order::Outcome) -> Vec<String> {
    let mut problems = Vec::new();
    let stops = |spec: &Spec| spec.reachable(None, false).contains(&false);
    if !spec.is_monotone() || stops(spec) {
        return problems;
    }
    for finding in outcome.findings.iter().filter(|finding| finding.code == "ORD001") {
        let (Some(second), Some(Repair::Wait { waiter, counter, value, .. })) =
            (finding.second, &finding.repair)
        else {
            continue;
        };
        let (first, second) = (finding.first.op.index(), second.op.index());
        let mut repaired = spec.clone();
        repaired.ops[waiter.op.index()].waits.push((counter.0, Some(*value)));
        let orders = waiter.op.index() == second && repaired.before(false)[first][second];
        if !orders || stops(&repaired) {
            problems.push(format!("{first} and {second} are not repaired by {:?}", finding.repair));
        }
    }
    problems
}

/// Pairs of the body in three iterations.
fn loop_differences(spec: &Spec, in_first: &Classes, outcome: &bir_order::Outcome) -> Vec<String> {
    let (flat, origin) = spec.unrolled(3);
    let stuck = |flat: &Spec| flat.reachable(None, false).contains(&false);
    if stuck(&flat) || stuck(&spec.unrolled(1).0) {
        return Vec::new();
    }
    let (start, end) = spec.body.unwrap();
    let mut expected = Classes::new();
    for ((kind, a, b), class) in brute(&flat) {
        let ((one, i), (other, j)) = (origin[a], origin[b]);
        if class == "OK" || !(start..end).contains(&one) || !(start..end).contains(&other) {
            continue;
        }
        let key = (kind.clone(), one, other);
        if i == j && i == 0 && in_first.get(&key) == Some(&class) {
            continue;
        }
        let key = (format!("{kind} {}", j - i), one, other);
        let worst = expected.get(&key).is_some_and(|before| before == "UNSYNC");
        if !worst {
            expected.insert(key, class);
        }
    }
    let mut got = Classes::new();
    for finding in &outcome.findings {
        let (Some(kind), Some(second), Some(carried)) = (finding.kind, finding.second, finding.carried)
        else {
            continue;
        };
        if carried.tag != Tag::BackEdgeOnly {
            let key = (
                format!("{} {}", kind.name(), carried.distance),
                finding.first.op.index(),
                second.op.index(),
            );
            got.insert(key, carried.tag.name().to_owned());
        }
    }
    differences("loop", &expected, &got)
}

/// A redundant wait may be left out: nothing changes.
fn redundant(spec: &Spec, outcome: &bir_order::Outcome) -> Vec<String> {
    let before = spec.before(false);
    let mut problems = Vec::new();
    for wait in &outcome.redundant {
        let mut less = spec.clone();
        less.ops[wait.op.index()].waits.remove(wait.wait as usize);
        if less.before(false) != before {
            problems.push(format!("wait {} of op {} is not redundant", wait.wait, wait.op.index()));
        }
    }
    problems
}

/// The smallest program that still has differences, and its operations in words.
fn shrunk(spec: Spec, differences: fn(&Spec) -> Vec<String>) -> (Spec, Vec<String>) {
    let mut least = spec;
    while let Some(less) = smaller(&least).into_iter().find(|less| !differences(less).is_empty()) {
        least = less;
    }
    let ops = least.ops.iter().enumerate().map(|(at, op)| format!("{at}: {op:?}")).collect();
    (least, ops)
}

fn run(flavour: Flavour, default: u64) {
    let count = std::env::var("BIR_ORDER_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(default);
    let first = std::env::var("BIR_ORDER_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    for seed in first..first + count {
        let spec = random(seed, flavour);
        if disagreements(&spec).is_empty() {
            continue;
        }
        let (least, ops) = shrunk(spec, disagreements);
        panic!(
            "{flavour:?} program {seed}: {}\nstreams {} body {:?}\n{}",
            disagreements(&least).join("\n"),
            least.streams,
            least.body,
            ops.join("\n")
        );
    }
}

/// Pairs of a loop that runs a known number of times, with accesses that move: the whole of it against brute force.
fn moving_differences(spec: &Spec) -> Vec<String> {
    let (start, end) = spec.body.unwrap();
    let trips = spec.trips.unwrap();
    let (flat, origin) = spec.unrolled(trips as usize);
    let stuck = |flat: &Spec| flat.reachable(None, false).contains(&false);
    let outcome = check(&spec.program(), &Options { all: true, ..Options::default() });
    if stuck(&flat) {
        let is_told = outcome.findings.iter().any(|finding| finding.code == "ORD014");
        return if is_told { Vec::new() } else { vec!["no deadlock".to_owned()] };
    }
    if outcome.findings.iter().any(|f| matches!(f.code, "ORD018")) {
        return Vec::new();
    }
    let inside = |op: usize| (start..end).contains(&op);
    let moves = |op: usize| inside(op) && spec.ops[op].accesses.iter().all(|(tile, _)| tile.moves.is_some());
    // Further than two iterations only what moves is followed.
    let far = |one: usize, other: usize, distance: usize| distance > 2 && !(moves(one) && moves(other));
    let mut expected = BTreeSet::new();
    let weight = |tag: &str| ["OK", "QUEUE-ORDER-ONLY", "UNSYNC"].iter().position(|of| *of == tag);
    let mut classes = Classes::new();
    for ((kind, a, b), class) in brute(&flat) {
        let ((one, i), (other, j)) = (origin[a], origin[b]);
        let distance = if inside(one) && inside(other) { j - i } else { 0 };
        if distance == 0 {
            let worst = classes.entry((kind.clone(), one, other)).or_insert_with(|| class.clone());
            if weight(worst) < weight(&class) {
                worst.clone_from(&class);
            }
        }
        if class == "UNSYNC" && !far(one, other, distance) {
            expected.insert((kind, one, other, distance));
        }
    }
    let mut got = BTreeSet::new();
    let mut problems = Vec::new();
    for finding in outcome.findings.iter().filter(|finding| finding.kind.is_some()) {
        let (first, second) = (finding.first.op.index(), finding.second.unwrap().op.index());
        let distance = finding.carried.map_or(0, |carried| carried.distance as usize);
        match finding.code {
            "ORD001" | "ORD010" | "ORD013" if !far(first, second, distance) => {
                got.insert((finding.kind.unwrap().name().to_owned(), first, second, distance));
            }
            "ORD003" => problems.push(format!("not decided: {first} {second}")),
            "ORD014" => problems.push("false deadlock".to_owned()),
            _ => {}
        }
    }
    for one in expected.difference(&got) {
        problems.push(format!("missed {one:?}"));
    }
    problems.extend(got.difference(&expected).map(|one| format!("false {one:?}")));
    // All pairs are classed as the iterations leave them.
    let classed = outcome.pairs.iter().map(|pair| {
        let tag = pair.tag.map_or("MAY", Tag::name).to_owned();
        ((pair.kind.name().to_owned(), pair.first.op.index(), pair.second.op.index()), tag)
    });
    problems.extend(differences("class", &classes, &classed.collect()));
    problems
}

/// A loop whose accesses move.
fn moving(seed: u64) -> Spec {
    let mut spec = random(seed, Flavour::Loop);
    let mut rng = crate::model::Rng::new(seed ^ 0x5eed);
    let trips = 2 + rng.below(6) as u32;
    spec.trips = Some(trips);
    let (start, end) = spec.body.unwrap();
    for op in &mut spec.ops[start..end] {
        for (tile, _) in &mut op.accesses {
            if rng.chance(40) {
                continue;
            }
            let step = [1, 2, 3, 4, 8, -3][rng.below(6) as usize];
            tile.moves = Some((step, if rng.chance(50) { 8 } else { 1 + rng.below(4) as u32 }));
        }
    }
    spec
}

#[test]
fn loops_with_accesses_that_move() {
    let count: u64 = std::env::var("BIR_ORDER_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(300);
    let first = std::env::var("BIR_ORDER_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    for seed in first..first + count {
        let spec = moving(seed);
        if moving_differences(&spec).is_empty() {
            continue;
        }
        let (least, ops) = shrunk(spec, moving_differences);
        panic!(
            "program {seed}: {}\nstreams {} body {:?} trips {:?}\n{}",
            moving_differences(&least).join("\n"),
            least.streams,
            least.body,
            least.trips,
            ops.join("\n")
        );
    }
}

#[test]
fn programs_of_growing_counts() {
    run(Flavour::Plain, 600);
}

#[test]
fn programs_of_all_modes() {
    run(Flavour::Modes, 300);
}

#[test]
fn programs_that_fight_for_counts() {
    run(Flavour::Fight, 500);
}

#[test]
fn programs_with_loops() {
    run(Flavour::Loop, 300);
}

/// An op without accesses.
fn op(stream: Option<usize>, what: Do, waits: &[(u32, Option<i64>)], updates: &[(u32, Step)]) -> SpecOp {
    SpecOp { stream, what, waits: waits.to_vec(), updates: updates.to_vec(), accesses: Vec::new() }
}

/// Writes one tile.
fn writing(mut op: SpecOp) -> SpecOp {
    op.accesses.push((Tile { mask: 1, base: 0, dims: Vec::new(), width: 4, moves: None }, true));
    op
}

fn agrees(streams: usize, counters: u32, ops: Vec<SpecOp>) {
    let spec = Spec { streams, counters, ops, body: None, trips: None };
    assert_eq!(disagreements(&spec), Vec::<String>::new());
}

/// Programs in which brute force once knew better, made as small as they could be.
#[test]
fn programs_that_were_wrong_once() {
    use Do::{Dma, Reset, Work};
    // Either of two may take the event first: none justifies that the other one did.
    let takers = vec![
        op(Some(3), Work, &[], &[(1, Step::Set)]),
        op(Some(0), Dma, &[(1, None)], &[(0, Step::Add(16))]),
        writing(op(Some(1), Work, &[], &[(0, Step::Add(1))])),
        op(Some(3), Work, &[(0, Some(17))], &[(1, Step::Set)]),
        writing(op(Some(2), Dma, &[(1, None)], &[])),
    ];
    agrees(4, 2, takers);
    // A wait may pass before a reset that only its own meaning puts before it.
    let reset = vec![
        op(Some(0), Work, &[], &[(0, Step::Add(2))]),
        writing(op(Some(1), Dma, &[(0, Some(2))], &[])),
        op(Some(0), Reset(0), &[], &[]),
        writing(op(Some(0), Dma, &[], &[(0, Step::Add(16))])),
    ];
    agrees(2, 1, reset);
    // A transfer sets the count when it is complete, which may be after the reset.
    let late = vec![
        op(Some(1), Dma, &[], &[(0, Step::Write(2))]),
        op(None, Reset(0), &[], &[]),
        writing(op(Some(0), Work, &[], &[(0, Step::Add(1))])),
        writing(op(Some(1), Dma, &[(0, Some(1))], &[])),
    ];
    agrees(2, 1, late);
    // What is taken away leaves less than the wait before it found.
    let less = vec![
        op(Some(1), Dma, &[], &[(0, Step::Add(16))]),
        op(Some(0), Work, &[(0, Some(16))], &[(0, Step::Add(-1)), (1, Step::Set)]),
        op(Some(0), Work, &[], &[(0, Step::Add(1))]),
        op(Some(1), Work, &[(0, Some(16)), (1, None)], &[]),
    ];
    agrees(2, 2, less);
    // A wait that makes clear which set another one takes is not redundant.
    let leaning = vec![
        op(Some(0), Work, &[], &[(1, Step::Set)]),
        op(Some(0), Work, &[(1, None)], &[]),
        op(Some(0), Work, &[], &[(0, Step::Add(1))]),
        op(Some(0), Work, &[], &[(1, Step::Set)]),
        op(Some(1), Dma, &[(0, Some(1)), (1, None)], &[]),
    ];
    agrees(2, 2, leaning); // A transfer comes after the operation that starts it, and so does what any of its counts lets go on.
    let started = vec![
        writing(op(Some(0), Work, &[], &[])),
        writing(op(Some(1), Dma, &[], &[(1, Step::Add(16))])),
        op(Some(0), Work, &[(1, Some(1))], &[]),
        op(Some(0), Work, &[], &[(0, Step::Add(1))]),
        op(Some(1), Work, &[], &[(1, Step::Add(2))]),
    ];
    agrees(2, 2, started);
}

fn codes(spec: &Spec) -> BTreeSet<&'static str> {
    let outcome = check(&spec.program(), &Options::default());
    outcome.findings.iter().map(|finding| finding.code).collect()
}

/// Programs that one order brings to their end and another one does not.
#[test]
fn what_depends_on_who_is_faster() {
    use Do::{Barrier, Work};
    let expect = |streams, counters, ops: Vec<SpecOp>, code: Option<&'static str>| {
        agrees(streams, counters, ops.clone());
        assert_eq!(
            codes(&Spec { streams, counters, ops, body: None, trips: None }),
            code.into_iter().collect()
        );
    };
    // Either takes the event; only one of them sets it again.
    let takers = vec![
        op(Some(0), Work, &[], &[(0, Step::Set)]),
        op(None, Barrier, &[], &[]),
        op(Some(0), Work, &[(0, None)], &[(0, Step::Set)]),
        op(Some(1), Work, &[(0, None)], &[]),
    ];
    expect(2, 1, takers, Some("ORD014"));
    // The other one waits for the taker.
    let turns = vec![
        op(Some(0), Work, &[], &[(0, Step::Set)]),
        op(Some(0), Work, &[(0, None)], &[(0, Step::Set), (1, Step::Add(1))]),
        op(Some(1), Work, &[(1, Some(1)), (0, None)], &[]),
    ];
    expect(2, 2, turns, None);
    // What sets the event and what takes it are on one stream, and another one sets it too.
    let setters = vec![
        op(Some(0), Work, &[], &[(0, Step::Set)]),
        op(Some(0), Work, &[(0, None)], &[]),
        op(Some(1), Work, &[], &[(0, Step::Set)]),
    ];
    expect(2, 1, setters, Some("ORD017"));
    // What is taken away may be gone before the other one looks.
    let taken = vec![
        op(Some(0), Work, &[], &[(0, Step::Add(3))]),
        op(None, Barrier, &[], &[]),
        op(Some(0), Work, &[(0, Some(3))], &[(0, Step::Add(-2))]),
        op(Some(1), Work, &[(0, Some(1))], &[(0, Step::Add(-1))]),
        op(Some(1), Work, &[(0, Some(1))], &[]),
    ];
    expect(2, 1, taken, Some("ORD014"));
    // 32 bits with a sign: the count goes around, and what comes then is less than nothing.
    let around = vec![
        op(Some(0), Work, &[], &[(0, Step::Add(i64::from(i32::MAX)))]),
        op(Some(0), Work, &[], &[(0, Step::Add(2))]),
        op(None, Barrier, &[], &[]),
        op(Some(1), Work, &[(0, Some(1))], &[]),
    ];
    assert_eq!(
        codes(&Spec { streams: 2, counters: 1, ops: around, body: None, trips: None }),
        BTreeSet::from(["ORD014"])
    );
}

/// Past the limit the answer is that there is none.
#[test]
fn too_many_orders_to_try_are_undecided() {
    let mut ops = Vec::new();
    for stream in 0..4 {
        for counter in 0..8 {
            ops.push(op(Some(stream), Do::Work, &[], &[(counter, Step::Add(1))]));
            ops.push(op(Some(stream), Do::Work, &[(counter, Some(1))], &[(counter, Step::Add(-1))]));
        }
    }
    let spec = Spec { streams: 4, counters: 8, ops, body: None, trips: None };
    let outcome = check(&spec.program(), &Options::default());
    assert_eq!(codes(&spec), BTreeSet::from(["ORD021"]));
    assert_eq!(outcome.verdict(), bir_order::Verdict::Undecided);
}

/// Program order is not trusted for completion: what an engine waits for of its own orders something, once.
#[test]
fn waits_for_the_own_engine_are_redundant_when_they_are_repeated() {
    let count = &[(0, Step::Add(1))];
    let wait = &[(0, Some(1))];
    let ops = vec![
        op(Some(0), Do::Work, &[], count),
        op(Some(0), Do::Work, wait, &[]),
        op(Some(0), Do::Work, wait, &[]),
        op(Some(0), Do::Work, &[], count),
        op(Some(0), Do::Work, &[(0, Some(2))], &[]),
    ];
    let spec = Spec { streams: 1, counters: 1, ops, body: None, trips: None };
    let outcome = check(&spec.program(), &Options { redundant: true, ..Options::default() });
    let found: Vec<u32> = outcome.redundant.iter().map(|wait| wait.op.0).collect();
    assert_eq!(found, [2]);
}

/// Counts that all iterations bring together: what waits for them behind the loop does so for all of them.
#[test]
fn counts_of_a_loop_that_runs_so_often() {
    let ops = |all| {
        vec![
            op(Some(0), Do::Work, &[], &[(0, Step::Add(1))]),
            writing(op(Some(1), Do::Work, &[(0, Some(1))], &[(1, Step::Add(1))])),
            writing(op(Some(2), Do::Work, &[(1, Some(all))], &[])),
        ]
    };
    let found =
        |all, trips| codes(&Spec { streams: 3, counters: 2, ops: ops(all), body: Some((1, 2)), trips });
    assert_eq!(found(7, Some(7)), BTreeSet::new());
    assert_eq!(found(6, Some(7)), BTreeSet::from(["ORD001"]));
    assert_eq!(found(8, Some(7)), BTreeSet::from(["ORD014"]));
    // More often than it is followed.
    assert_eq!(found(1_000_000, Some(1_000_000)), BTreeSet::from(["ORD021"]));
    // A loop that may run once.
    assert_eq!(found(7, None), BTreeSet::from(["ORD014"]));
}

/// A buffer of several tiles that is filled for the iterations that follow: only the end of the iteration orders that.
#[test]
fn values_that_move_on_to_the_next_iteration() {
    let tile = |base: i64| Tile { mask: 1, base, dims: Vec::new(), width: 4, moves: Some((4, 64)) };
    let touching = |mut op: SpecOp, base: i64, writes: bool| {
        op.accesses.push((tile(base), writes));
        op
    };
    let found = |filled: i64, rewritten: bool| {
        let mut ops = vec![
            touching(op(Some(1), Do::Work, &[], &[]), 0, false),
            touching(op(Some(0), Do::Dma, &[], &[(0, Step::Add(16))]), filled, true),
            op(Some(1), Do::Work, &[(0, Some(16))], &[]),
            op(None, Do::Barrier, &[], &[]),
            op(None, Do::Reset(0), &[], &[]),
        ];
        if rewritten {
            ops.insert(0, touching(op(Some(1), Do::Work, &[], &[]), 0, true));
        }
        let body = Some((0, ops.len()));
        codes(&Spec { streams: 2, counters: 1, ops, body, trips: Some(6) })
    };
    assert_eq!(found(4, false), BTreeSet::from(["ORD011"]));
    // Two iterations later another end of an iteration lies between.
    assert_eq!(found(8, false), BTreeSet::new());
    assert_eq!(found(4, true), BTreeSet::new());
}

/// A wait for what only a written count reaches comes after the write.
#[test]
fn waits_for_a_count_that_is_written() {
    let ops = |before, need| {
        vec![
            op(Some(2), Do::Work, &[], &[(0, Step::Add(before))]),
            op(None, Do::Barrier, &[], &[]),
            writing(op(Some(0), Do::Work, &[], &[(0, Step::Write(7))])),
            writing(op(Some(1), Do::Work, &[(0, Some(need))], &[])),
        ]
    };
    agrees(3, 1, ops(6, 7));
    let found = |before, need| {
        codes(&Spec { streams: 3, counters: 1, ops: ops(before, need), body: None, trips: None })
    };
    assert_eq!(found(6, 7), BTreeSet::new());
    assert_eq!(found(7, 7), BTreeSet::from(["ORD001", "ORD018"]));
    assert_eq!(found(6, 6), BTreeSet::from(["ORD001", "ORD018"]));
    assert_eq!(found(6, 8), BTreeSet::from(["ORD014"]));
}

/// A loop that takes more than it brings comes to an end when nothing is left.
#[test]
fn a_loop_that_uses_up_a_count_is_undecided() {
    let ops = vec![
        op(Some(0), Do::Work, &[], &[(0, Step::Add(10))]),
        op(Some(0), Do::Work, &[(0, Some(1))], &[(0, Step::Add(-1))]),
    ];
    let spec = |trips| Spec { streams: 1, counters: 1, ops: ops.clone(), body: Some((1, 2)), trips };
    assert_eq!(codes(&spec(None)), BTreeSet::from(["ORD021"]));
    assert_eq!(codes(&spec(Some(1_000_000))), BTreeSet::from(["ORD021"]));
    // As often as that it is followed to the end.
    assert_eq!(codes(&spec(Some(100))), BTreeSet::from(["ORD014"]));
    assert_eq!(codes(&spec(Some(3))), BTreeSet::new());
}
