//! Forms to look at: [`compat`] as the reference prints, [`readable`] our own, [`python`](mod@python) for front-end
//! trees, and [`sexp`] as the public 0.0.12 tool dumps them.

mod compat;
mod doc;
pub mod python;
mod readable;
mod sexp;

pub use compat::{compat, write_compat};
pub use readable::{readable, write_readable};
pub use sexp::sexp;

/// `%f` of C: six decimals, and the sign of a NaN.
fn c_float(value: f64) -> String {
    if value.is_nan() {
        let sign = if value.is_sign_negative() { "-" } else { "" };
        format!("{sign}nan")
    } else if value.is_infinite() {
        format!("{value}")
    } else {
        format!("{value:.6}")
    }
}

/// A string in double quotes, with the escapes that Python and Rust share.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    escape_into(&mut out, text);
    out.push('"');
    out
}

fn escape_into(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c < ' ' || c == '\x7F' => out.push_str(&format!("\\x{:02x}", c as u32)),
            c => out.push(c),
        }
    }
}
