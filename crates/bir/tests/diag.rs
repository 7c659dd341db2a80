//! Diagnostics and the names that tell objects apart.

use bir::diag::{Diagnostic, DisplayNames, NamedPlace, Place, Severity};
use bir::enums::{ArchLevel, EngineType, InstructionType, MemoryType};
use bir::ids::{BlockId, FuncId, InstId, LocId, Ref};
use bir::ops::{DMABlock, Loop};
use bir::record::OwnedList;
use bir::records::{Block, Function, MemoryLocation, MemoryLocationSet, PhysicalAp, Queue};
use bir::{Argument, Conf, Holder, Instruction, Module, Op, OperandList, Storage, Sym};

struct Built {
    module: Module,
}

impl Built {
    fn new() -> Built {
        Built { module: Module::new(ArchLevel::Gen3) }
    }

    fn name(&mut self, name: &str) -> Sym {
        self.module.names.intern(name)
    }

    fn function(&mut self, name: &str) -> FuncId {
        let name = self.name(name);
        let func = self.module.add_func(Function { name, ..Default::default() });
        self.module.root.functions.push(func);
        func
    }

    fn block(&mut self, holder: Holder, name: &str) -> BlockId {
        let name = self.name(name);
        let block = self.module.add_block(Block { name, holder, ..Default::default() });
        match holder {
            Holder::Function(func) => self.module[func].blocks.push(block),
            Holder::Queue(queue) => self.module[queue].blocks.push(block),
            Holder::Inst(inst) => self.module[inst].body_mut().unwrap().push(block),
        }
        block
    }

    fn inst(&mut self, block: BlockId, name: &str, op: Op) -> InstId {
        let name = self.name(name);
        let mut inst = Instruction::new(name, block, op);
        inst.engine = EngineType::DVE;
        let inst = self.module.add_inst(inst);
        self.module[block].instructions.push(inst);
        inst
    }

    fn location(&mut self, function: FuncId, name: &str) -> LocId {
        let set_name = self.name(&format!("{name}_set"));
        let set = self.module.add_set(MemoryLocationSet { name: set_name, function, ..Default::default() });
        self.module[function].allocations.push(Storage::Set(set));
        let name = self.name(name);
        let r#type = MemoryType::SB;
        let loc = self.module.add_loc(MemoryLocation { name, set, r#type, ..Default::default() });
        self.module[set].memorylocations.push(loc);
        loc
    }

    fn named(&self, place: Place) -> NamedPlace {
        place.named(&self.module, &DisplayNames::of(&self.module))
    }

    fn text(&self, place: Place) -> String {
        self.named(place).to_string()
    }
}

fn copy() -> Op {
    Op::new(InstructionType::TensorCopy)
}

#[test]
fn later_objects_of_one_name_are_numbered_in_document_order() {
    let mut built = Built::new();
    let (first, second) = (built.function("f"), built.function("g"));
    let late = built.block(Holder::Function(second), "b");
    let early = built.block(Holder::Function(first), "b");
    // In the arena the second function's instructions come first; in the document they come last.
    let in_late = [0, 1].map(|_| built.inst(late, "i", copy()));
    let in_early = built.inst(early, "i", copy());
    let other = built.inst(early, "j", copy());
    let unnamed = [0, 1].map(|_| built.inst(early, "", copy()));
    let names = DisplayNames::of(&built.module);
    let name = |id| names.name(&built.module, id);
    assert_eq!(
        (name(in_early), name(in_late[0]), name(in_late[1])),
        ("i".into(), "i@2".into(), "i@3".into())
    );
    assert_eq!((name(other), name(unnamed[1])), ("j".into(), String::new()));
    assert_eq!(
        (names.name(&built.module, early), names.name(&built.module, late)),
        ("b".into(), "b@2".into())
    );
    assert_eq!((names.index(in_late[1]), names.index(unnamed[1])), (Some(1), Some(3)));
    assert_eq!(built.text(Place::of(unnamed[1])), "f/b/#3 TensorCopy@DVE");
    // What stands in no block has neither number nor index.
    let loose = Instruction::new(built.name("i"), early, copy());
    let loose = built.module.add_inst(loose);
    let names = DisplayNames::of(&built.module);
    assert_eq!((names.name(&built.module, loose), names.index(loose)), ("i".into(), None));
}

#[test]
fn nested_blocks_say_what_they_stand_in() {
    let mut built = Built::new();
    let main = built.function("main");
    let entry = built.block(Holder::Function(main), "entry");
    let outer = built.inst(entry, "l", Op::Loop(Box::<Loop>::default()));
    let body = built.block(Holder::Inst(outer), "body");
    let inner = built.inst(body, "", Op::Loop(Box::<Loop>::default()));
    let innermost = built.block(Holder::Inst(inner), "innermost");
    let inst = built.inst(innermost, "i", copy());
    let place = built.named(Place::operand(inst, OperandList::Outs, 0));
    assert_eq!(place.to_string(), "main/entry/l/body/#0/innermost/i#0 TensorCopy@DVE outs[0]");
    assert_eq!((place.function.as_deref(), place.block.as_deref()), (Some("main"), Some("innermost")));
    // The body of an instruction comes before what follows the instruction.
    let after = built.inst(entry, "i", copy());
    let names = DisplayNames::of(&built.module);
    assert_eq!(names.name(&built.module, after), "i@2");
}

#[test]
fn places_of_queues_and_transfers() {
    let mut built = Built::new();
    let main = built.function("main");
    let entry = built.block(Holder::Function(main), "entry");
    let trigger = built.inst(entry, "t", Op::new(InstructionType::DMATrigger));
    let name = built.name("q");
    let queue = built.module.add_queue(Queue { name, ..Default::default() });
    built.module.root.queues.push(queue);
    let instance = built.block(Holder::Queue(queue), "q0");
    let block = DMABlock { blocks: OwnedList(Vec::new()), ..Default::default() };
    let block = built.inst(instance, "d", Op::DMABlock(Box::new(block)));
    let place = built.named(Place::of(block).started_by(trigger).on_core(1));
    assert_eq!(place.to_string(), "core 1: q/q0/d#0 DMABlock@DVE");
    assert_eq!((place.trigger.as_deref(), place.function, place.module), (Some("t"), None, Some(1)));
    assert_eq!(built.text(Place::of(queue)), "q");
}

#[test]
fn the_location_of_an_operand_is_named() {
    let mut built = Built::new();
    let main = built.function("main");
    let entry = built.block(Holder::Function(main), "entry");
    let inst = built.inst(entry, "i", copy());
    let [x, again] = [0, 1].map(|_| built.location(main, "x"));
    let gone = built.name("gone");
    let to = |memref: Ref<LocId>| Argument::from(PhysicalAp { memref: Some(memref), ..Default::default() });
    built.module[inst].ins = vec![to(x.into()), to(again.into()), to(Ref::named(gone))].into();
    let location = |index| built.named(Place::operand(inst, OperandList::Ins, index)).location;
    let names: Vec<_> = (0..4).map(location).collect();
    assert_eq!(names, [Some("x".into()), Some("x@2".into()), Some("gone".into()), None]);
    let set = built.module[again].set;
    assert_eq!(built.text(Place::storage(again)), "main x@2");
    assert_eq!(built.text(Place::of(inst).about(set)), "main/entry/i#0 TensorCopy@DVE x_set@2");
    assert_eq!(built.text(Place::module()), "");
}

#[test]
fn repeats_are_folded() {
    let finding = |code: &'static str, message: &str| Diagnostic::warning(code, Place::module(), message);
    let mut all = vec![finding("A", "x"), finding("B", "x"), finding("A", "x"), finding("A", "y")];
    all[2].count = 3;
    Diagnostic::fold_repeats(&mut all);
    let counts: Vec<_> = all.iter().map(|d| (&*d.code, &*d.message, d.count)).collect();
    assert_eq!(counts, [("A", "x", 4), ("B", "x", 1), ("A", "y", 1)]);
    let text = all[0].report(&Module::default(), &DisplayNames::default()).to_string();
    assert_eq!(text, "warning[A] x (4 times)");
}

#[test]
fn uncertain_rules_warn() {
    assert_eq!(Severity::of_rule(Conf::Strong, false), Severity::Error);
    assert_eq!(Severity::of_rule(Conf::Inferred, false), Severity::Warning);
    assert_eq!(Severity::of_rule(Conf::Inferred, true), Severity::Error);
    assert!(Severity::Note < Severity::Warning && Severity::Warning < Severity::Error);
}

#[cfg(feature = "serde")]
#[test]
fn json_has_the_keys_of_the_program() {
    let mut built = Built::new();
    let main = built.function("main");
    let entry = built.block(Holder::Function(main), "entry");
    let inst = built.inst(entry, "i", copy());
    let names = DisplayNames::of(&built.module);
    let full = Diagnostic::error("PART-04", Place::operand(inst, OperandList::Ins, 0), "starts at 33")
        .vendor("", "Invalid access")
        .remark("of 2 partitions")
        .related("first", Place::of(inst));
    let mut report = full.report(&built.module, &names);
    report.place.line = Some(7);
    let expected = serde_json::json!({
        "function": "main", "block": "entry", "instruction": "i", "index": 0, "opcode": "TensorCopy", "engine": "DVE",
        "operand": {"role": "ins", "index": 0}, "line": 7, "code": "PART-04", "severity": "error",
        "message": "starts at 33", "vendor_text": "Invalid access", "notes": ["of 2 partitions"], "count": 1,
        "related": [{"label": "first", "function": "main", "block": "entry", "instruction": "i", "index": 0,
            "opcode": "TensorCopy", "engine": "DVE"}],
    });
    assert_eq!(serde_json::to_value(&report).unwrap(), expected);
    let short = Diagnostic::note("N", Place::module(), "m").report(&built.module, &names);
    let text = serde_json::to_string(&short).unwrap();
    assert_eq!(text, r#"{"code":"N","severity":"note","message":"m","count":1}"#);
}
