//! Generated kernels are legal: nothing worse than a note is found in them, by any number of threads.

use bir::diag::{Diagnostic, DisplayNames, Severity};
use bir_verify::{Options, verify_loaded};
use xtask::gen_module::{Target, module};

#[test]
fn generated_kernels_are_clean() {
    for target in [Target::Trn1, Target::Trn2, Target::Trn3] {
        for (instructions, seed) in [(100, 1), (333, 2), (1000, 3), (2500, 4)] {
            let loaded = bir_json::read(&module(instructions, seed, target), &Default::default()).unwrap();
            let names = DisplayNames::of(&loaded.module);
            let found = |parallel| {
                let options = Options { strict: true, parallel, ..Options::default() };
                verify_loaded(&loaded, &options).findings
            };
            let text = |finding: &Diagnostic| finding.report(&loaded.module, &names).to_string();
            let alone = found(false);
            let loud = alone.iter().find(|finding| finding.severity > Severity::Note);
            assert!(loud.is_none(), "{target:?} {instructions} {seed}: {}", text(loud.unwrap()));
            let texts = |found: &[Diagnostic]| found.iter().map(text).collect::<Vec<_>>();
            assert_eq!(texts(&alone), texts(&found(true)), "{target:?} {instructions} {seed}");
        }
    }
}
