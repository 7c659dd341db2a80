//! Rust names for the names in the KLR tables.

/// `float8_e4m3` -> `Float8E4m3`, `ncMatMulMX` -> `NcMatMulMX`, `nki_0_0_12` -> `Nki0_0_12`.
pub(in crate::codegen) fn camel(name: &str) -> String {
    let mut out = String::new();
    for word in name.split('_').filter(|word| !word.is_empty()) {
        let first = word.chars().next().expect("the word is not empty");
        // Digits on both sides of an underscore would run together.
        if first.is_ascii_digit() && out.ends_with(|last: char| last.is_ascii_digit()) {
            out.push('_');
        }
        out.extend(first.to_uppercase());
        out.push_str(&word[first.len_utf8()..]);
    }
    out
}

/// `lineEnd` -> `line_end`, `parWF` -> `par_wf`, `opDim` -> `op_dim`.
pub(in crate::codegen) fn snake(name: &str) -> String {
    let mut out = String::new();
    let mut previous = '_';
    for c in name.chars() {
        if c.is_ascii_uppercase() && !previous.is_ascii_uppercase() && previous != '_' {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
        previous = c;
    }
    out
}
