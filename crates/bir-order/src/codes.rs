//! What each code means, for `bir explain` (spec: ordering 15).

use bir::diag::Severity;

/// A code in words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CodeInfo {
    /// `ORD001` to `ORD027`.
    pub code: &'static str,
    /// Severity, unless options change it.
    pub severity: Severity,
    /// A few words.
    pub title: &'static str,
    /// What it means.
    pub what: &'static str,
    /// Why it matters.
    pub why: &'static str,
    /// What to do.
    pub remedy: &'static str,
    /// A program that has it, engines first.
    pub example: &'static str,
}

/// All codes, in order.
pub fn codes() -> &'static [CodeInfo] {
    &CODES
}

const fn code(
    code: &'static str,
    severity: Severity,
    title: &'static str,
    what: &'static str,
    why: &'static str,
    remedy: &'static str,
    example: &'static str,
) -> CodeInfo {
    CodeInfo { code, severity, title, what, why, remedy, example }
}

use Severity::{Error, Note, Warning};

static CODES: [CodeInfo; 27] = [
    code(
        "ORD001",
        Error,
        "unordered accesses to the same bytes",
        "Two accesses touch the same bytes, at least one writes, and neither is surely complete before the other starts.",
        "The result depends on which engine or DMA is faster. A simulator runs one order and is right; the device may run the other.",
        "Let the later one wait for a semaphore that the earlier one updates when it is complete; the finding names the cheapest wait.",
        "DVE a writes x; Pool b reads x and waits for nothing",
    ),
    code(
        "ORD002",
        Warning,
        "ordered by a queue's completion order only",
        "The later access waits for another DMA of the same queue, issued after the one it needs. That the one it needs is complete too follows only if DMAs of a queue complete in the order of their issue.",
        "That order is an assumption, not a guarantee: compiled code never relies on it.",
        "Wait for the semaphore of the DMA itself, or pass --assume-queue-order if you rely on the order.",
        "SP d loads x on queue q, SP e loads y on queue q; Pool r reads x and waits for e",
    ),
    code(
        "ORD003",
        Warning,
        "could not be decided",
        "Two unordered accesses may touch the same bytes: an address is in a register, an index or a loop axis, an alias is only possible, a count is not known, or a pattern is too irregular.",
        "If they do meet, it is an ORD001.",
        "Order them all the same, or make the address static.",
        "SP d writes buf at a register's address; SP e reads buf",
    ),
    code(
        "ORD004",
        Error,
        "wait can pass before its producer is complete",
        "By arithmetic the count that is waited for can be reached without the instruction that the wait names.",
        "The wait orders nothing against its producer, whatever its `from` says.",
        "Wait for the count that the producer brings, or reset the semaphore before it.",
        "DVE a and DVE c both add 1 to semaphore 7; Pool b waits for c at 7 >= 1",
    ),
    code(
        "ORD005",
        Warning,
        "wait for more than its producer gives",
        "The count is higher than the one that the named producer brings; a later update meets it.",
        "The waiter stands longer than it needs to, or for ever if the later update goes away.",
        "Wait for the producer's own count.",
        "DVE a adds 1 to semaphore 7, DVE c another; Pool b waits for a at 7 >= 2",
    ),
    code(
        "ORD006",
        Error,
        "wait for a semaphore that nothing updates",
        "No instruction and no DMA adds to the semaphore.",
        "The waiter stands for ever.",
        "Let the producer update the semaphore, or drop the wait.",
        "Pool b waits for semaphore 7 >= 1; nobody updates 7",
    ),
    code(
        "ORD007",
        Error,
        "producer only comes later",
        "The instruction that the wait names stands after it, and no earlier iteration of a loop has run it.",
        "The wait stands for ever, or passes by an unrelated update.",
        "Move the producer, or wait for another instruction.",
        "Pool b waits for p at 4 >= 1; DVE p stands after a barrier behind b",
    ),
    code(
        "ORD008",
        Error,
        "fixed wait on a count that grows in a loop",
        "The body of a loop updates a semaphore and waits for a fixed count, but never resets the semaphore.",
        "From the second iteration on the count is high enough at once: nothing is waited for.",
        "Reset the semaphore at the end of the body.",
        "loop: DVE p adds 1 to 4; Pool c waits for p at 4 >= 1; no reset of 4",
    ),
    code(
        "ORD009",
        Error,
        "wait holds in the first iteration only",
        "In the first iteration the count names the producer; in later ones it is met by something else.",
        "Later iterations run in no fixed order.",
        "Make the count at the start of the body the same in every iteration.",
        "before the loop 4 is at 1; the body adds 2, waits for 3, and resets to 0 at its end",
    ),
    code(
        "ORD010",
        Error,
        "unordered value from an iteration to a later one",
        "An iteration writes bytes that a later one reads, and nothing orders the two.",
        "The later iteration may read what was there before.",
        "Let the reader wait for the writer's semaphore inside the iteration, or wait for it at the end of the body.",
        "loop: PE mm reads x; SP refill loads x for the next iteration and nobody waits for it",
    ),
    code(
        "ORD011",
        Warning,
        "value from an iteration to the next, ordered by the back edge only",
        "What is written late in an iteration is read in the next, and only the waits and barriers that end the iteration are between them.",
        "This was the cause of device failures: the end of an iteration is the first thing that later passes take apart or overlap.",
        "Let the reader wait for the writer itself, on its own engine.",
        "loop: PE mm reads x; SP refill loads x; the end of the body waits for refill on Pool",
    ),
    code(
        "ORD012",
        Warning,
        "value from an iteration to a later one, ordered by a queue only",
        "As ORD010, but a later DMA of the same queue is waited for.",
        "That DMAs of a queue complete in the order of their issue is an assumption.",
        "Wait for the DMA itself.",
        "loop: SP refill, SP other on one queue; the end of the body waits for other",
    ),
    code(
        "ORD013",
        Error,
        "bytes reused in a later iteration without order",
        "An iteration reads or writes bytes that a later one overwrites, and nothing orders the two.",
        "The later iteration may overwrite what the earlier one still needs.",
        "Let the writer wait for the last user of the iteration before.",
        "loop: SP d loads x; PE mm reads x; d of the next iteration waits for nothing",
    ),
    code(
        "ORD014",
        Error,
        "deadlock",
        "The heads of all streams that are left wait for counts that can never be reached: always, or when some are faster than others.",
        "The device hangs until a timeout.",
        "Check the counts of the waits that are named, and who should bring them.",
        "DVE a waits for Pool b, and Pool b for DVE a",
    ),
    code(
        "ORD015",
        Error,
        "library instruction in place",
        "An output of a library instruction lies over one of its inputs.",
        "The instruction runs in pieces that read the inputs again after part of the output is written.",
        "Give the output bytes of its own.",
        "Pool g: Gather from x to x",
    ),
    code(
        "ORD016",
        Warning,
        "DMA over stepped partitions",
        "A DMA touches partitions that are not contiguous.",
        "It is legal, but such transfers were found unordered in compiled code.",
        "Have a look at what orders it, or split the transfer.",
        "SP d copies partitions 0, 2, 4 and 6",
    ),
    code(
        "ORD017",
        Error,
        "event or semaphore used against its protocol",
        "An event is set that can be set already, a number is above 255, or an increment or decrement has a value other than 1.",
        "The hardware reports an error, or a signal is lost.",
        "Let the waiter clear the event before it is set again.",
        "DVE a sets event 3; DVE b sets event 3; nobody waits between",
    ),
    code(
        "ORD018",
        Error,
        "reset in no order with an update or wait",
        "A semaphore is reset or written while an update or a wait of it can fall on either side.",
        "Counts are then off by that update: a later wait passes early or never.",
        "Wait for the update before the reset.",
        "SP d adds 16 to 3 when it is complete; an ALL reset of 3 does not wait for d",
    ),
    code(
        "ORD019",
        Warning,
        "wait is met by another than it names",
        "The count that is waited for comes from another instruction than `from` names, or `from` names nothing. The named one is complete all the same.",
        "The order holds by accident, and debugging aids tell the wrong story.",
        "Correct `from`, or wait for what it names.",
        "Pool b waits for a at 7 >= 1, but c updates 7 and a does not",
    ),
    code(
        "ORD020",
        Error,
        "no core barrier between accesses of two cores",
        "Two cores touch the same bytes of shared memory, one writes, and no core barrier or remote update orders them.",
        "The cores run at their own pace.",
        "Put a core barrier between them on both cores.",
        "core 0 writes y; core 1 reads y; no CoreBarrier",
    ),
    code(
        "ORD021",
        Note,
        "order that cannot be decided",
        "A reset names no semaphores, so no count after it is known; a wait is for a value that is only known at run time; a loop makes a count smaller that it waits for; an instruction of all engines counts once for each; who is faster decides a count, and there are too many orders to try; or waits hang on each other further than was followed.",
        "Pairs that only such counts could order are reported as ORD003, and whether everything runs to its end is open.",
        "Name the semaphores in sema_group; let waits order everything that takes from a semaphore or sets an event.",
        "GroupResetSemaphores without sema_group",
    ),
    code(
        "ORD022",
        Error,
        "accumulation group in the wrong state",
        "A matmul accumulates where no group was started, or another engine reads before the group is stopped.",
        "The sum has old contents in it, or is not complete.",
        "Start the group with flag 1, end it with flag 2, and let readers wait for the last matmul.",
        "PE mm0 starts, PE mm1 stops; DVE r waits for mm0",
    ),
    code(
        "ORD023",
        Error,
        "engines of one block branch to different blocks",
        "Every engine has its own branch at the end of a block; they do not name the same targets.",
        "The engines part ways, and the next barrier never completes.",
        "Give all branches of the block the same targets.",
        "PE branches to Block2, SP to Block3",
    ),
    code(
        "ORD024",
        Note,
        "unordered writes of the same value",
        "Engines save one register to one place without order.",
        "Harmless as long as the register has one value.",
        "Nothing.",
        "DVE and Pool save r0 to one slot",
    ),
    code(
        "ORD025",
        Note,
        "dependency is not listed",
        "A pair across iterations was found that the instruction's loop_carried_dependencies do not list.",
        "Passes that trust the list will not keep the order.",
        "List the dependency where the order matters.",
        "refill writes x, mm reads it an iteration later; mm lists nothing",
    ),
    code(
        "ORD026",
        Note,
        "ordered by program order only",
        "Two instructions of one engine touch the same bytes, and no semaphore is between them. Reported with --strict.",
        "The compiler covers such pairs with waits on DVE and Activation: it does not take it for granted that one is complete before the next starts.",
        "Wait for the engine's own semaphore.",
        "DVE a writes x; DVE b reads x right after it",
    ),
    code(
        "ORD027",
        Warning,
        "transfers of one semaphore in flight together",
        "Two DMAs that update one semaphore can be in flight at the same time, and a wait means one of them.",
        "The count can be reached by the other one, or by a mixture of both: parts of a DMA add to it one by one.",
        "Start the second only after a wait for the first, or use another semaphore.",
        "SP d and SP e both add 16 to 3; Pool r waits for 3 >= 16",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_numbered_in_order() {
        for (at, info) in codes().iter().enumerate() {
            assert_eq!(info.code, format!("ORD{:03}", at + 1));
        }
    }
}
