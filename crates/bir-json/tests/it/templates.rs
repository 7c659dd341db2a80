//! Instructions are read and written by what is alike in those before them: no instruction may mean anything else
//! for the company it is in.
use bir_json::{OddityKind, ReadOptions, Style, Unresolved, WriteOptions};
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::common::read_by_threads;

const KEEP: ReadOptions = ReadOptions { unresolved: Unresolved::Keep, strict: false, threads: 1, piece: 0 };

/// Members that an instruction may have, as text without white space. Some are odd, wrong or do not belong together.
const MEMBERS: &[&[&str]] = &[
    &[
        r#""opcode":"Activation""#,
        r#""opcode":"Load""#,
        r#""opcode":"Memset""#,
        r#""opcode":"NoOp""#,
        r#""opcode":"DMATrigger""#,
        r#""opcode":"DMABlock""#,
        r#""opcode":"Loop""#,
        r#""opcode":"CompareAndBranch""#,
        r#""opcode":"TensorScalar""#,
        r#""opcode":"Strange""#,
        r#""opcode":"EventSemaphore","opcode":"NoOp""#,
    ],
    &[
        r#""engine":"Pool""#,
        r#""engine":"DVE""#,
        r#""engine":"Abacus""#,
        r#""engine":null"#,
        r#""engine":"SP""#,
    ],
    &[r#""engine_id":0"#, r#""engine_id":1"#, r#""engine_id":1.0"#, ""],
    &[r#""name":"a""#, r#""name":"b""#, r#""name":"\u0061""#, r#""name":null"#, ""],
    &[
        r#""ins":[]"#,
        r#""ins":[{"dtype":"float32","kind":"imm_value","value":0.0}]"#,
        r#""ins":[{"dtype":"float32","kind":"imm_value","value":-0.0}]"#,
        r#""ins":[{"kind":"physical_ap","ap":[[1,1]],"offset":0,"dtype":"uint8","memref":"m","memsetref":"s"}]"#,
        "",
    ],
    &[r#""outs":[]"#, r#""outs":[{"dtype":"int32","kind":"imm_value","value":3}]"#, r#""outs":7"#, ""],
    &[r#""alpha":0.0"#, r#""alpha":-0.0"#, r#""alpha":1e3"#, r#""alpha":"nan""#, r#""alpha":"x""#, ""],
    &[r#""constant":0.0"#, r#""constant":-0.0"#, r#""constant":1e3"#, r#""constant":"x""#, ""],
    &[r#""queue":"q""#, r#""queue":"r""#, r#""queue":null"#, "", ""],
    &["", "", r#""dma_blocks":["x","y"]"#, r#""dma_blocks":["z"]"#, r#""dma_blocks":{}"#, ""],
    &[
        "",
        "",
        r#""blocks":[{"instructions":[{"opcode":"NoOp","name":"n"}],"name":"B"}]"#,
        r#""blocks":[{"instructions":[{"opcode":"Save","name":"n"},{"opcode":"NoOp","what":2}],"name":"B"}]"#,
        r#""blocks":[{"instructions":[{"opcode":"DMABlock","name":"n","blocks":[],"dma_trigger":"t"}],"name":"B"}]"#,
        r#""blocks":[]"#,
        r#""blocks":3"#,
        "",
    ],
    &["", "", r#""dma_trigger":"t""#, r#""dma_trigger":"u""#, r#""dma_trigger":null"#, ""],
    &["", "", r#""on_true":"y""#, r#""on_true":"x""#, r#""on_true":null"#, ""],
    &["", r#""dma_trigger_debug_update_semaphore_id":3"#, r#""dma_trigger_debug_update_semaphore_id":4"#, ""],
    &["", r#""axis":{"kind":"LoopAxis","name":"i","lb":0,"ub":4,"stride":1}"#, ""],
    &[r#""debug":{"lineno":3}"#, r#""debug":{"lineno":4,"op_name":"o"}"#, r#""debug":[1]"#, ""],
    &[
        "",
        r#""dependencies":["a"]"#,
        r#""dependencies":[["b","Anti"],["a","Flow"]]"#,
        r#""dependencies":[]"#,
        "",
    ],
    &[r#""sync_info":{"on_update":[{"id":1,"update_value":2}]}"#, r#""sync_info":{}"#, ""],
    &[r#""optin_passes":[]"#, r#""optin_passes":["p"]"#, ""],
    &["", r#""op0":"mult""#, r#""op0":"add""#, r#""op0":{"a":1}"#, ""],
    &[r#""scheduled_end":5"#, r#""scheduled_end":-6"#, ""],
    &["", "", r#""what":1"#, r#""\u0065ngine":"SP""#, ""],
    &["", "", r#""order":[]"#, r#""predicates":[{"a":1}]"#, ""],
];

/// Text of one instruction: which members, in which order, with how much white space. Most members are plain ones,
/// which stand first among the choices: nearly everything else is refused or kept as it is.
fn instruction() -> impl Strategy<Value = String> {
    let member = |choices: &'static [&'static str]| {
        let plain = select(&choices[..2.min(choices.len())]);
        prop_oneof![20 => plain, 1 => select(choices), 3 => Just(*choices.last().expect("there are some"))]
    };
    let members: Vec<_> = MEMBERS.iter().map(|choices| member(choices)).collect();
    let space = select(&["", "", " ", "\n  "][..]);
    (members, prop::option::weighted(0.2, any::<[Index; 2]>()), space).prop_map(|(members, swap, space)| {
        let mut members: Vec<&str> = members.into_iter().filter(|member| !member.is_empty()).collect();
        if let Some(swap) = swap {
            let [a, b] = swap.map(|index| index.index(members.len()));
            members.swap(a, b);
        }
        format!(
            "{{{space}{}{space}}}",
            members.join(&format!(",{space}")).replace("\":", &format!("\":{space}"))
        )
    })
}

/// Reads a module of instructions; gives their texts, compact and indented, and the number of oddities.
fn read(instructions: &[&str]) -> Option<([String; 2], usize)> {
    let list = instructions.join(",");
    let storage = r#"{"memorylocations":[{"name":"m"}],"name":"s"}"#;
    let text = format!(
        r#"{{"functions":[{{"allocations":[{storage}],"blocks":[{{"instructions":[{list}],"name":"last"}}],"name":"main"}}]}}"#
    );
    let loaded = read_by_threads(text.as_bytes(), &KEEP).ok()?;
    // Names may collide or be missing for the company.
    let of_the_text = |kind: &OddityKind| !matches!(kind, OddityKind::NameCollision | OddityKind::Unresolved);
    let odd = OddityKind::ALL.into_iter().filter(of_the_text).map(|kind| loaded.oddities.count(kind)).sum();
    let text = |style| {
        let options = WriteOptions { style, ..WriteOptions::default() };
        let text = bir_json::to_string(&loaded.module, &options);
        let start = text.find("\"instructions\"").expect("it has instructions");
        let text = &text[start..text.find("\"last\"").expect("the block has a name")];
        let text = &text[text.find('[').expect("a list")..=text.rfind(']').expect("a list")];
        text[1..text.len() - 1].trim_ascii().to_owned()
    };
    Some(([text(Style::Compact), text(Style::Indented)], odd))
}

fn together_as_alone(instructions: &[&str]) -> Result<(), TestCaseError> {
    let alone: Option<Vec<_>> = instructions.iter().map(|text| read(&[text])).collect();
    let together = read(instructions);
    let Some(alone) = alone else {
        prop_assert!(together.is_none(), "{instructions:?}");
        return Ok(());
    };
    let Some((texts, oddities)) = together else {
        return Err(TestCaseError::fail(format!("refused only together: {instructions:?}")));
    };
    let separators = [",", ",\n            "];
    for (i, separator) in separators.into_iter().enumerate() {
        let expected: Vec<&str> = alone.iter().map(|(texts, _)| texts[i].as_str()).collect();
        prop_assert_eq!(&texts[i], &expected.join(separator));
    }
    let (_, of_the_module) = read(&[]).expect("a module without instructions");
    let of_each = alone.iter().map(|(_, oddities)| oddities - of_the_module);
    prop_assert_eq!(oddities, of_the_module + of_each.sum::<usize>());
    Ok(())
}

#[test]
fn values_that_are_equal_but_not_the_same() -> Result<(), TestCaseError> {
    let alphas = ["0.0", "-0.0", "0.0", "\"nan\"", "0", "-0.0", "1e-300"];
    let list = alphas.map(|alpha| format!(r#"{{"alpha":{alpha},"name":"a","opcode":"Activation"}}"#));
    together_as_alone(&list.each_ref().map(String::as_str))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn an_instruction_is_the_same_in_any_company(
        texts in prop::collection::vec(instruction(), 1..5),
        picks in prop::collection::vec(any::<Index>(), 1..12),
    ) {
        // Some that are refused alone would hide what the others do.
        let mut good: Vec<&str> = texts.iter().map(String::as_str).filter(|text| read(&[text]).is_some()).collect();
        if good.is_empty() {
            good = texts.iter().map(String::as_str).collect();
        }
        let list: Vec<&str> = picks.iter().map(|pick| good[pick.index(good.len())]).collect();
        together_as_alone(&list)?;
    }

    /// Instructions of one kind that differ in one member.
    #[test]
    fn one_member_makes_the_difference(
        text in instruction(),
        changes in prop::collection::vec((any::<Index>(), any::<Index>()), 1..8),
    ) {
        let mut texts = vec![text.clone()];
        for (which, other) in changes {
            let choices = MEMBERS[which.index(MEMBERS.len())];
            let new = choices[other.index(choices.len())];
            if let Some(old) = choices.iter().find(|old| !old.is_empty() && text.contains(**old))
                && !new.is_empty()
                && new != *old
            {
                texts.push(text.replacen(old, new, 1));
            }
        }
        let twice: Vec<&str> = texts.iter().chain(&texts).map(String::as_str).collect();
        let good: Vec<&str> = twice.iter().copied().filter(|text| read(&[text]).is_some()).collect();
        together_as_alone(if good.is_empty() { &twice } else { &good })?;
    }
}
