//! How names of the tables are spelled in Rust.

/// `S3D3_MM.v3` becomes `S3d3MmV3`, `in_dtype` becomes `InDtype`.
pub(super) fn camel(name: &str) -> String {
    name.split(['_', '.'])
        .map(|word| {
            let mut letters = word.chars();
            let first = letters.next().map(|c| c.to_ascii_uppercase()).into_iter();
            first.chain(letters.map(|c| c.to_ascii_lowercase())).collect::<String>()
        })
        .collect()
}

/// `AllReduce` becomes `ALL_REDUCE`, `IS_LTIMM` stays, `MatmulMX` becomes `MATMUL_MX`.
pub(super) fn screaming(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let mut out = String::new();
    for (i, &c) in letters.iter().enumerate() {
        let before = i.checked_sub(1).map(|i| letters[i]);
        let next_is_small = letters.get(i + 1).is_some_and(|c| c.is_ascii_lowercase());
        let starts_word = c.is_ascii_uppercase()
            && before.is_some_and(|b| {
                b.is_ascii_lowercase()
                    || b.is_ascii_digit() && next_is_small
                    || b.is_ascii_uppercase() && next_is_small
            });
        if starts_word {
            out.push('_');
        }
        out.push(c.to_ascii_uppercase());
    }
    out
}

/// `marker.offset_wide` becomes `marker_offset_wide`.
pub(super) fn ident(name: &str) -> String {
    name.replace('.', "_")
}

/// A note of the tables as a sentence for documentation: no links by accident, a capital first, a full stop last.
pub(super) fn sentence(text: &str) -> String {
    let text = text.trim().trim_end_matches('.');
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    let text = first + letters.as_str();
    text.replace('[', "\\[").replace(']', "\\]").replace('<', "\\<") + "."
}
