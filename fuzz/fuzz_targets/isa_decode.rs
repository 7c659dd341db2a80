//! Any bytes are a stream: words come apart and together, text gives them back, the checker and JSON take them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tpb_isa::text::{self, Options};
use tpb_isa::{Generation, Stream, check, json};

fuzz_target!(|data: &[u8]| {
    let Some((first, bytes)) = data.split_first() else { return };
    let generation = Generation::ALL[(first & 3) as usize];
    let mut fields = String::new();
    for word in Stream::new(bytes, generation) {
        assert_eq!(word.decode().encode(), word.word);
        fields.clear();
        json::put_line(&mut fields, "PE", &word, None, None);
    }
    check::stream(bytes, generation);

    let options = Options { offsets: first & 4 != 0, raw: first & 8 != 0, notes: first & 16 != 0 };
    let mut listing = Vec::new();
    text::put_header(&mut listing, generation, "", None);
    text::disassemble(bytes, &mut listing, generation, &options, |_, _| {}).expect("memory takes all");
    let mut again = Vec::new();
    text::assemble(&listing[..], &mut again, Generation::V3).expect("our own text assembles");
    assert_eq!(again, bytes);
});
