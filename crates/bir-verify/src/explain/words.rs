//! Why the hardware wants what a rule wants, and how to fix a violation, in words.

use crate::rule::RuleInfo;

/// What a family of rules is about, why there are such rules, and what helps in general.
struct Family {
    name: &'static str,
    about: &'static str,
    why: &'static str,
    fix: &'static str,
}

const fn family(name: &'static str, about: &'static str, why: &'static str, fix: &'static str) -> Family {
    Family { name, about, why, fix }
}

#[rustfmt::skip]
const FAMILIES: &[Family] = &[
    family("ACT", "the Activation engine",
        "The Activation engine computes function(scale * x + bias) in one pass: scale, bias and alpha travel with the instruction, as a 32-bit value or as one value for each partition.",
        "Give the scalar operands in a form that the target takes: float32 immediates, or a tile with one element per partition."),
    family("ALLOC", "places in memory",
        "SB and PSUM are addressed by partition and by byte within the partition; nothing stops an access that leaves them, and two tensors in one place overwrite each other.",
        "Move the location, make it smaller, or let the allocator place it (allocated: false)."),
    family("AP", "access patterns",
        "An operand is a start address and a list of [step, count], which the engine's address generators walk. What they can hold is fixed: a few dimensions, 16-bit steps and counts, and rows that end within their partition.",
        "Change the pattern, split the instruction, or copy the data into a simpler layout first."),
    family("ARCH", "architectures",
        "Each generation has its own instruction set; a word that it does not have is refused by the loader or does something else.",
        "Compile for the target, or use ops that it has."),
    family("CB", "core barriers",
        "A core barrier joins two cores through shared memory and a pair of semaphores.",
        "Let both cores have the barrier, on the same engine, with the same id and name."),
    family("CF", "control flow",
        "Every engine follows the branches of the program with a sequencer of its own. They stay together only if all have the same branches, and only shapes that the compiler can expand are accepted.",
        "Bring loops and branches into the accepted form: one entry and one exit, a terminator at the end of each block, bounds in registers."),
    family("COL", "collectives",
        "A collective is a set of DMAs that the runtime prepares for all ranks at once; sizes, groups and memories have to agree before anything runs.",
        "Stage operands in internal tensors, and let sizes and groups fit the kind of collective."),
    family("DEP", "dependencies",
        "Dependencies become semaphore waits: a missing one is a race, a needless one costs time, and a cycle never ends.",
        "Let each dependency name an earlier instruction with which data are shared."),
    family("DMA", "transfers",
        "A transfer is a list of descriptors that DMA engines process on their own. Who generates the descriptors (the compiler, software on the device, or hardware) decides what forms they can have.",
        "Use a form that the way of generating descriptors allows, or static descriptors."),
    family("DOC", "the document",
        "The document is read by the backend before anything else is checked; what does not have the type of its key stops it without saying where.",
        "Correct the document, or the producer that wrote it."),
    family("DVE", "the vector engine",
        "The vector engine streams its operands partition by partition; its operators, types and counts are those that its data path has.",
        "Use the types and counts of the rule, or another op."),
    family("ENG", "engines",
        "Each engine has its own instruction set: an op in the stream of an engine that does not have it is an illegal instruction.",
        "Assign the op to one of its engines, or leave it Unassigned and let the compiler choose."),
    family("FP8", "8-bit floats",
        "Two families of 8-bit floats share encodings but not values; a module cannot switch between them.",
        "Use types of one family in the whole module."),
    family("IND", "index operands",
        "With an index operand the address of each row comes from memory. Hardware can only check what is declared: the number of rows, and where indices lie.",
        "Declare the rows that there are, and place indices as the rule says."),
    family("KRN", "kernels and custom ops",
        "A kernel is compiled on its own and gets fixed scratch memory and interfaces, which have to exist on the target.",
        "Fit the scratch shapes and the interface to the target."),
    family("LNC", "modules of several cores",
        "Cores of one program meet at barriers and share tensors. That works by position, name and address, so all modules must have been made from one split.",
        "Compile all cores together again from one source; do not mix modules of different builds."),
    family("MEM", "memories of operands",
        "Engines reach SB and PSUM, DMA reaches all memories, and the Pool engine cannot reach PSUM.",
        "Copy the operand to a memory that the op reaches."),
    family("MM", "matrix multiplication",
        "The PE array has 128 rows by 128 columns: the contracted dimension lies on partitions, the stationary operand fills the array, and the moving one streams through into a PSUM bank of 2 KiB.",
        "Split the product into tiles that fit, in types that the array multiplies."),
    family("MOD", "the module",
        "Limits and conventions of the module as a whole.",
        "Bring the module into the form that the rule asks for."),
    family("MX", "matrix multiplication with block scales",
        "Block-scaled types carry one scale for 32 values; the array reads data and scales at fixed places relative to each other.",
        "Place data and scales as the rule says, and keep their ratio."),
    family("OPR", "operands of ops",
        "Every place of an operand list has one meaning for the engine; what is missing there, or of another kind, cannot be encoded.",
        "Give the operands that the op has, in their order."),
    family("PART", "partitions",
        "SB and PSUM are read through four groups of 32 partitions. An access is a run of neighbouring partitions that starts at the boundary of a group that is large enough.",
        "Start at partition 0, 32, 64 or 96 as the count allows; a DMA may start and step anywhere."),
    family("POOL", "GpSimd ops",
        "GpSimd ops are programs for eight small cores with 16 partitions each; they reach SB only and work in pieces.",
        "Use counts that are multiples of 16 partitions, the types of the rule, and operands in SB."),
    family("PSUM", "accumulation",
        "PSUM accumulates: a matmul adds to what is there unless it is the first of its group, and cells are 4 bytes wide.",
        "Start each group with the start flag, keep a group in one bank and one type."),
    family("QMX", "quantisation to block-scaled types",
        "Quantisation finds one scale for each block of 32 values, so blocks have to be contiguous and complete.",
        "Let the innermost dimension be contiguous, with whole blocks on 32, 64, 96 or 128 partitions."),
    family("REG", "registers",
        "Registers belong to the sequencer of an engine; their ops take registers and immediates of one width.",
        "Use one width, and a register result."),
    family("RNG", "random numbers",
        "The generator's state lives in the engine and has a fixed number of words.",
        "Give the state in the shape of the engine."),
    family("SB2SB", "transfers between the SBs of two cores",
        "The Pool engines of a core pair exchange small tiles directly.",
        "Keep both sides equal in type and size, in SB, and below the limit."),
    family("SYNC", "semaphores and events",
        "Engines are ordered by semaphores only. A word has room for one wait and one update; ids are 8 bits wide.",
        "Use ids in range, and EventSemaphore instructions for further waits."),
    family("WIP", "writing where one reads",
        "An engine reads ahead of what it writes; where the output lies on the input, results may be read as inputs.",
        "Write elsewhere, or over exactly the pattern that is read."),
    family("WIRE", "encoded words",
        "A word is 64 bytes of fixed fields; the device refuses or misreads what does not fit.",
        "Encode with a tool that knows the target."),
];

/// Words of single rules, where those of the family are not enough: why, and how to fix it. Either may be empty.
#[rustfmt::skip]
const RULES: &[(&str, &str, &str)] = &[
    ("ACT-02", "The first generation with this engine takes the bias from memory for nearly all functions.", "Fill a tile of one element per partition with Memset and give that as bias, or fold the constant into the input."),
    ("ACT-04", "Copy passes its input through without scale and bias.", "Use Identity where the bias has to count."),
    ("ALLOC-01", "", "Lower the address so that addr + bytes stays within the partition, use fewer partitions, or place it in DRAM."),
    ("ALLOC-04", "A tile that starts between quadrants cannot be accessed as a whole.", "Start it at partition 0, 32, 64 or 96, as its partition count allows."),
    ("ALLOC-05", "", "Give the tensors disjoint places, or use the second one only after the last use of the first."),
    ("ALLOC-06", "All operands of an instruction are in SB at the same time, whatever the allocator does.", "Split the instruction into tiles, or keep one operand in PSUM or DRAM."),
    ("AP-01", "Whatever lies behind the location is read or overwritten.", "Shorten the pattern or move the offset; both count elements of the operand's type, not bytes."),
    ("AP-02", "Elementwise ops take one element of each input for each element of the output.", "Repeat elements with a step of 0 where a broadcast is meant."),
    ("AP-05", "A pattern that leaves its row continues in the same partition, in bytes of another tensor, and not in the next row.", "End the pattern at the row, or give the location longer rows."),
    ("AP-06", "Steps are signed 16-bit numbers of elements in the word; the step of the partition pair is not encoded.", "Copy the elements together first, or view them as a wider type."),
    ("AP-07", "Words have 1 to 4 free dimensions, depending on the op and the operand.", "Merge dimensions, split the instruction over the outermost one, or copy into a simpler layout."),
    ("ARCH-01", "", "Compile for a newer target, or express the op with those that this one has."),
    ("CF-08", "An engine that has branched does not come back for the rest of the block.", "Move the instruction in front of the first terminator."),
    ("CF-21", "", "Give each loop one back edge and one exit; test several conditions in one block."),
    ("COL-01", "Input tensors of a module belong to the caller, and other ranks cannot reach them.", "Copy the tensor to an internal one with a DMA and let the collective read that."),
    ("COL-02", "Output tensors of a module belong to the caller, and other ranks cannot reach them.", "Let the collective write an internal tensor and copy it out."),
    ("DEP-01", "Each dependency between engines becomes a semaphore wait.", "Drop the dependency if nothing else needs the order."),
    ("DMA-08", "Compiled programs were found that do not order such transfers completely.", "Check the order of this transfer with `bir order`."),
    ("DOC-01", "null stands for absent only where a key names another object. The backend's JSON library throws at the first other one.", "Leave the key out, or write a value of its type."),
    ("DVE-01", "A search looks for eight values at once and keeps at most 16384 elements per partition.", "Search in pieces, or pad the data to 8 elements."),
    ("DVE-02", "The engine has one read port to PSUM.", "Copy one of the inputs to SB first."),
    ("IND-03", "The device compares indices with the declared number of rows, not with the tensor.", "Set indirect_dim_max_index to the number of rows of the tensor."),
    ("LNC-15", "Barriers of the cores are matched by position and name.", "Let each call of the kernel make new names on every core, in the same order."),
    ("MM-03", "128 partitions is the height of the array, 128 stationary columns its width, and 512 float32 results fill one PSUM bank.", "Split the moving operand into tiles of 512 columns and the contraction into 128 partitions."),
    ("MM-06", "The array has multipliers for these types only, and 32-bit operands take another path through it.", "Convert the operands first; accumulate in float32."),
    ("MOD-03", "On-chip memory holds whatever the last program left.", "Fill the tile with Memset or a DMA before it is read."),
    ("MOD-08", "Unrolled programs of this size exceed what the compiler and the instruction memory are made for.", "Keep loops dynamic, make tiles larger, or split the kernel."),
    ("MOD-09", "", "Drop the tensor, or give it a size."),
    ("PART-04", "", "Move the tile so that it starts at 0, 32, 64 or 96 as its count allows, or split the access at these boundaries. In a loop, step by whole quadrants."),
    ("PART-08", "An access is a run of neighbouring partitions: only its start and count are encoded.", "Use every partition, or move the rows together with a DMA."),
    ("PART-10", "Both inputs are read in step through one partition counter.", "Copy one input to the partitions of the other, or leave one of them in PSUM."),
    ("PSUM-03", "Without the start flag a matmul adds to what is in the bank: leftovers of an earlier group.", "Set the start bit (1) in accumulation_flag of the first matmul, the stop bit (2) in that of the last."),
    ("SYNC-05", "A word has room for that many.", "Put EventSemaphore instructions in front: they hold two waits each."),
];

fn of_family(name: &str) -> Option<&'static Family> {
    FAMILIES.iter().find(|family| family.name == name)
}

/// What a family is about.
pub(super) fn about(name: &str) -> &'static str {
    of_family(name).map_or("", |family| family.about)
}

fn of_rule(info: &RuleInfo) -> Option<&'static (&'static str, &'static str, &'static str)> {
    RULES.iter().find(|(id, ..)| *id == info.id)
}

/// Why there is such a rule.
pub(super) fn why(info: &RuleInfo) -> String {
    let general = of_family(info.family()).map_or("", |family| family.why);
    match of_rule(info) {
        Some((_, why, _)) if !why.is_empty() => (*why).to_owned(),
        _ => general.to_owned(),
    }
}

/// What to do about a violation.
pub(super) fn fix(info: &RuleInfo) -> String {
    let general = of_family(info.family()).map_or("", |family| family.fix);
    match of_rule(info) {
        Some((.., fix)) if !fix.is_empty() => (*fix).to_owned(),
        _ => general.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::RuleId;

    #[test]
    fn every_rule_says_why_and_what_to_do() {
        for rule in RuleId::all() {
            let info = rule.info();
            assert!(!about(info.family()).is_empty(), "{}", info.id);
            assert!(!why(info).is_empty() && !fix(info).is_empty(), "{}", info.id);
        }
        for (id, ..) in RULES {
            assert!(RuleId::parse(id).is_some(), "{id}");
        }
    }
}
