//! One fault of a document is told once, by the rule that knows most about it.

use bir::diag::{Diagnostic, Severity};
use bir_json::{ReadOptions, Unresolved};
use bir_verify::{Options, verify_loaded};
use serde_json::{Value, json};

/// What is found in the sample after a change to its first instruction of an op, notes aside.
fn found(op: &str, change: impl Fn(&mut Value)) -> Vec<Diagnostic> {
    let module = bir::sample::matmul_softmax(&bir::sample::Tiles::default());
    let text = bir_json::to_string(&module, &Default::default());
    let mut document: Value = serde_json::from_str(&text).unwrap();
    // One of them switches the check of engines off.
    document["functions"][0]["attributes"] = json!([]);
    let blocks = document["functions"][0]["blocks"].as_array_mut().unwrap();
    let mut all = blocks.iter_mut().flat_map(|block| block["instructions"].as_array_mut().unwrap());
    change(all.find(|inst| inst["opcode"] == op).unwrap());
    let options = ReadOptions { unresolved: Unresolved::Keep, ..ReadOptions::default() };
    let text = serde_json::to_vec(&document).unwrap();
    let loaded = bir_json::read(&text, &options).unwrap();
    let outcome = verify_loaded(&loaded, &Options::default());
    outcome.findings.into_iter().filter(|finding| finding.severity > Severity::Note).collect()
}

fn only(op: &str, change: impl Fn(&mut Value)) -> Diagnostic {
    let mut found = found(op, change);
    assert_eq!(found.len(), 1, "{found:#?}");
    found.remove(0)
}

fn depend(inst: &mut Value, on: &Value) {
    let edge = json!([on, "Flow"]);
    match inst["dependencies"].as_array_mut() {
        Some(edges) => edges.push(edge),
        None => inst["dependencies"] = json!([edge]),
    }
}

/// Code of the rule, code and wording of the vendor.
fn summary(finding: &Diagnostic) -> (&str, &str, &str) {
    let vendor = finding.vendor.as_ref().map(|vendor| (&*vendor.code, &*vendor.text));
    let (code, text) = vendor.unwrap_or_default();
    (&finding.code, code, text)
}

#[test]
fn names_that_nothing_has() {
    let missing = only("Matmult", |inst| depend(inst, &"gone".into()));
    assert_eq!(summary(&missing), ("MOD-06", "BIR014", "Instruction with name gone not found"));

    let itself = only("Matmult", |inst| depend(inst, &inst["name"].clone()));
    assert_eq!(summary(&itself), ("MOD-06", "", "this != former"));
    assert!(itself.message.starts_with("depends on itself"), "{}", itself.message);

    let queue = only("DMACopy", |inst| inst["queue"] = "qGone".into());
    assert_eq!(summary(&queue), ("DMA-01", "LNK022", "Queue qGone does not exist"));
    // Without the queue its blocks are not found either.
    let queue = only("DMATrigger", |inst| inst["queue"] = "qGone".into());
    assert_eq!(queue.code, "DMA-01");

    let location = only("Activation", |inst| inst["ins"][0]["memref"] = "x_gone".into());
    assert_eq!(summary(&location), ("MOD-05", "BIR036", "MemoryLocation with name x_gone not found"));
}

#[test]
fn names_that_no_enum_has() {
    let op = only("NoOp", |inst| inst["opcode"] = "NoOpp".into());
    assert_eq!(summary(&op), ("MOD-04", "157", "Unknown Instruction type encountered!"));
    assert_eq!(op.help.as_deref(), Some("did you mean NoOp?"));

    // Nor are others at fault for what it may have done.
    assert_eq!(only("Matmult", |inst| inst["opcode"] = "Matmul".into()).code, "MOD-04");

    let dtype = only("Matmult", |inst| inst["ins"][0]["dtype"] = "bfloat".into());
    assert_eq!(summary(&dtype), ("MOD-04", "BIR023", "Unknown dtype string"));
    assert!(dtype.help.as_deref().unwrap().contains("bfloat16"), "{:?}", dtype.help);

    // What rules would say of an engine that nobody knows says no more than that.
    let engine = only("Activation", |inst| inst["engine"] = "Activate".into());
    assert_eq!(summary(&engine), ("MOD-04", "", ""));
    assert_eq!(engine.help.as_deref(), Some("did you mean Activation?"));
    assert_eq!(only("Matmult", |inst| inst["engine"] = "Qqq".into()).help, None);
}

#[test]
fn general_rules_leave_it_to_those_of_the_op() {
    assert_eq!(only("Matmult", |inst| inst["engine"] = "DVE".into()).code, "MM-01");
    // The engine is what is wrong, not that it cannot reach the operand.
    assert_eq!(only("Matmult", |inst| inst["engine"] = "Pool".into()).code, "MM-01");
    assert_eq!(only("Activation", |inst| inst["engine"] = "DVE".into()).code, "ACT-01");
    // Ops without a rule of their own.
    assert_eq!(only("Reciprocal", |inst| inst["engine"] = "SP".into()).code, "ENG-01");
}

#[test]
fn a_pattern_that_is_wrong_by_itself_is_the_fault() {
    // Where it reads, but only every second partition.
    let stepped = only("Activation", |inst| {
        inst["ins"][0]["ap"] = json!([[512, 64], [1, 512]]);
        inst["outs"][0] = inst["ins"][0].clone();
        inst["outs"][0]["ap"] = json!([[1024, 64], [1, 512]]);
        for list in ["ins", "outs"] {
            inst[list][0].as_object_mut().unwrap().remove("access_shape");
        }
    });
    assert_eq!(stepped.code, "PART-08");
}

#[test]
fn a_rule_about_one_enum_tells_of_its_names() {
    let scope = only("NoOp", |inst| {
        inst["opcode"] = "NKIKernel".into();
        inst["engine"] = "Unassigned".into();
        inst["func"] = "f".into();
        inst["address_rotation_scope_val"] = "Sideways".into();
    });
    assert_eq!(scope.code, "KRN-09", "{scope:?}");
    assert!(scope.message.contains("Sideways"));
}

#[test]
fn an_op_that_another_target_has_is_told_once() {
    use bir::builder::Builder;
    use bir::enums::{ArchLevel, EngineType, InstructionType};
    let found = |arch, engine, op| -> Vec<String> {
        let mut module = bir::Module::new(arch);
        Builder::new(&mut module, "main").plain_inst("i", engine, op);
        let found = bir_verify::verify(&module, &Options::default()).findings;
        let is_arch = |code: &str| matches!(code, "ARCH-01" | "COL-04" | "SB2SB-02");
        found.into_iter().map(|finding| finding.code.into_owned()).filter(|code| is_arch(code)).collect()
    };
    use InstructionType::*;
    assert_eq!(found(ArchLevel::Sunda, EngineType::Pool, CollectiveCompute), ["COL-04"]);
    assert_eq!(found(ArchLevel::Sunda, EngineType::Pool, GPSIMDSB2SB), ["SB2SB-02"]);
    assert_eq!(found(ArchLevel::Sunda, EngineType::DVE, QuantizeMx), ["ARCH-01"]);
}
