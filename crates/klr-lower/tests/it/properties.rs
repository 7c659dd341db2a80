//! Whatever the kernel: it is lowered or refused, and what is lowered can be written and read.

use bir_json::{ReadOptions, WriteOptions};
use klr::{Arena, File};
use klr_lower::{Options, lower};
use proptest::prelude::*;

fn cases() -> u32 {
    std::env::var("BIR_PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(200)
}

fn check(file: &File<'_>) {
    let core = Some(0);
    for options in
        [Options { core, ..Options::default() }, Options { core, keep_going: true, ..Options::default() }]
    {
        let Ok(lowered) = lower(file, &options) else { continue };
        assert_eq!(lowered.module.check_links(), []);
        let json = bir_json::to_string(&lowered.module, &WriteOptions::default());
        let again = bir_json::read(json.as_bytes(), &ReadOptions::default()).expect("it reads");
        assert_eq!(bir_json::to_string(&again.module, &WriteOptions::default()), json);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_operator_is_lowered_or_refused(choices in proptest::collection::vec(any::<u8>(), 1..300)) {
        let arena = Arena::new();
        let entry = klr::find_type("Operator").expect("the schema has operators");
        let bytes = klr::encode_tree(klr::made::any(entry, &choices, &arena));
        let read = klr::read(&bytes, &arena, &klr::Options::new().lenient(true));
        prop_assume!(read.is_ok());
        let kit = crate::kit::Kit::new(&arena);
        check(&kit.kernel(&[read.expect("checked").value]));
    }

    #[test]
    fn any_file_is_lowered_or_refused(choices in proptest::collection::vec(any::<u8>(), 1..600)) {
        let arena = Arena::new();
        let entry = klr::find_type("File").expect("there is a container");
        let bytes = klr::encode_tree(klr::made::any(entry, &choices, &arena));
        if let Ok(read) = klr::read::<File<'_>>(&bytes, &arena, &klr::Options::new().lenient(true)) {
            check(&read.value);
        }
    }
}

#[test]
fn long_kernels_are_refused_statement_by_statement() {
    // The kernel made for measurements has register references, which have no BIR form.
    let mut bytes = Vec::new();
    klr::made::write_kernel(2000, 3, &mut bytes).expect("memory can be written");
    let arena = Arena::new();
    let file = klr::read::<File<'_>>(&bytes, &arena, &klr::Options::new()).expect("it reads").value;
    let error = lower(&file, &Options { keep_going: true, ..Options::default() }).unwrap_err();
    let klr_lower::Error::Problems(problems) = error else { panic!("{error}") };
    assert!(problems.len() > 100 && problems.len() < 2000, "{}", problems.len());
}
