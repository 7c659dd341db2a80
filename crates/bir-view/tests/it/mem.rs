//! Use of the memories: what is live, what does not fit, and how it looks.

use bir::builder::{Builder, NewTensor};
use bir::enums::{ArchLevel, Dtype, EngineType};
use bir::ops::TensorCopy;
use bir::{AliasEdge, Module};
use bir_view::Paint;
use bir_view::find::find_insts;
use bir_view::mem::{mem, svg};

use crate::{golden, read};

#[test]
fn loops_keep_alive_what_they_find_filled() {
    let mem = mem(&read("tests/data/program.json"), None);
    let live = |name: &str| mem.locations.iter().find(|location| location.name == name).unwrap().live;
    // The weights are a constant: they are there all the time.
    assert_eq!(live("w"), Some([0, 12]));
    // Each iteration of both loops adds to what it finds.
    assert_eq!(live("acc"), Some([0, 4]));
    // Filled in the outer loop, read in the inner one.
    assert_eq!(live("t.0"), Some([1, 4]));
}

/// Three tensors of 100 KiB in a partition, all live at once: trn2 has 208 KiB.
fn too_much() -> Module {
    let mut module = Module::new(ArchLevel::Gen3);
    let mut b = Builder::new(&mut module, "main");
    let tensors = ["a", "b", "c"].map(|name| b.tensor(NewTensor::sb(name, [128, 100 << 10], Dtype::Uint8)));
    for (name, from, to) in [("one", 0, 1), ("two", 1, 2), ("three", 0, 2)] {
        b.inst(name, EngineType::DVE, TensorCopy::default()).input(tensors[from]).output(tensors[to]);
    }
    module
}

#[test]
fn what_does_not_fit_is_said_with_the_culprits() {
    let mut module = too_much();
    for loc in module.loc_ids() {
        module[loc].allocated = false;
        module[loc].present.set(bir::records::MemoryLocation::ALLOCATED);
    }
    let found = mem(&module, None);
    let space = &found.spaces[0];
    let over = space.over.as_ref().unwrap();
    assert_eq!((space.unplaced, space.peak.bytes), (3, 300 << 10));
    assert_eq!(over.by, (300 << 10) - space.bytes.unwrap());
    let culprits: Vec<&str> = over.culprits.iter().map(|culprit| &*culprit.location).collect();
    assert_eq!(culprits.len(), 3);
    assert_eq!(space.peak.at.as_ref().unwrap().instruction, "two");
    assert!(found.text(10, Paint::PLAIN).contains("too much by 92.0 KiB"));
}

/// Placed on top of each other: they share bytes while both are live, and the bytes count once.
#[test]
fn sharing_is_seen() {
    let mut module = too_much();
    module.loc_ids().for_each(|loc| module[loc].allocated = true);
    let space = &mem(&module, None).spaces[0];
    let pairs: Vec<(&str, &str)> = space.shared.iter().map(|pair| (&*pair.first, &*pair.second)).collect();
    assert_eq!(pairs, [("b", "a"), ("a", "c")], "b ends where c begins");
    assert_eq!((space.peak.bytes, space.over.is_none()), (100 << 10, true));
}

#[test]
fn aliases_are_one_class_and_no_sharing() {
    let mut module = Module::new(ArchLevel::Gen3);
    let mut b = Builder::new(&mut module, "main");
    let tensors = ["a", "b"].map(|name| b.tensor(NewTensor::dram(name, [4, 4], Dtype::Float32).at(64)));
    b.inst("one", EngineType::SP, bir::ops::DMACopy::default()).input(tensors[0]).output(tensors[1]);
    b.inst("two", EngineType::SP, bir::ops::DMACopy::default()).input(tensors[1]).output(tensors[0]);
    let locs: Vec<_> = module.loc_ids().collect();
    assert_eq!(mem(&module, None).spaces[2].shared.len(), 1);
    module[locs[0]].alias.push(AliasEdge { to: locs[1], kind: 3 });
    module[locs[1]].alias.push(AliasEdge { to: locs[0], kind: 3 });
    let found = mem(&module, None);
    assert_eq!(found.aliases.len(), 1);
    assert_eq!((found.aliases[0].len(), found.spaces[2].shared.len()), (2, 0));
}

#[test]
fn the_text() {
    let module = bir::sample::matmul_softmax(&Default::default());
    golden("mem.txt", &mem(&module, None).text(10, Paint::PLAIN));
    let at = find_insts(&module, "mm1_0_0")[0];
    golden("mem-at.txt", &mem(&module, Some(at)).text(10, Paint::PLAIN));
    let unicode = Paint { color: false, unicode: true };
    assert!(mem(&module, None).text(10, unicode).contains('█'));
}

/// Well-formed, with names of any kind in it.
#[test]
fn the_picture() {
    let mut module = bir::sample::matmul_softmax(&Default::default());
    let odd = module.names.intern("a<b>&\"c\" \u{1}");
    let loc = module.loc_ids().nth(4).unwrap();
    module[loc].name = odd;
    let picture = svg(&mem(&module, None));
    assert!(picture.starts_with("<svg ") && picture.trim_end().ends_with("</svg>"));
    assert!(picture.contains("a&lt;b&gt;&amp;&quot;c&quot; ?") && !picture.contains('\u{1}'));
    assert_eq!(picture.matches("<title>").count(), picture.matches("</title>").count());
    assert!(!picture.contains("NaN") && !picture.contains("inf"));
}

#[test]
fn nothing_is_no_fault() {
    for module in [Module::new(ArchLevel::Gen3), Module::default(), bir::sample::pre_lowering()] {
        let found = mem(&module, None);
        assert!(!found.text(0, Paint::PLAIN).is_empty() && svg(&found).contains("</svg>"));
    }
}
