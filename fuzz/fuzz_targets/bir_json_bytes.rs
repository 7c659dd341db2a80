//! Any bytes into the reader of BIR-JSON. What it accepts must be written, read again, and written the same.
#![no_main]

use bir_json::{ReadOptions, Unresolved, WriteOptions};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for unresolved in [Unresolved::Refuse, Unresolved::Keep] {
        let options = ReadOptions { unresolved, ..ReadOptions::default() };
        match bir_fuzz::read(bytes, &options) {
            Ok(loaded) => {
                let once = bir_json::to_string(&loaded.module, &WriteOptions::default());
                let again = bir_json::read(once.as_bytes(), &options)
                    .unwrap_or_else(|error| panic!("{}\n{once}", error.located(once.as_bytes())));
                assert_eq!(bir_json::to_string(&again.module, &WriteOptions::default()), once);
            }
            Err(error) => {
                assert!(error.offset <= bytes.len());
                assert!(!error.located(bytes).to_string().is_empty());
            }
        }
    }
    if let Ok(value) = bir_json::parse_value(bytes) {
        let text = bir_json::value_to_string(&value);
        // By text: `-0` is a signed zero and printed as an unsigned one.
        let again = bir_json::parse_value(text.as_bytes()).unwrap();
        assert_eq!(bir_json::value_to_string(&again), text);
    }
});
