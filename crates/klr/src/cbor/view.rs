//! Bytes of an unknown build as CBOR diagnostic notation (RFC 8949, section 8), without a schema.

use std::fmt::Write;

/// The items of `bytes` as text, one line for each outermost item. Front-end trees have no zero-byte fields, so the
/// text is right for them; in Core values a `TensorName` or `AccessBasic` leads it astray (spec: klr 3).
///
/// Where the bytes are no CBOR the text ends in `!` and the offset. Nesting is shown down to 500 levels.
///
/// ```
/// assert_eq!(klr::cbor::diagnostic(&[0xD9, 0x0C, 0x00, 0x82, 0x61, 0x66, 0x07]), "3072([\"f\", 7])\n");
/// assert_eq!(klr::cbor::diagnostic(&[0x82, 0x01]), "[1, !2\n");
/// ```
#[must_use]
pub fn diagnostic(bytes: &[u8]) -> String {
    let mut view = View { bytes, at: 0, out: String::new() };
    while view.at < bytes.len() {
        let done = view.item(500);
        if done.is_none() {
            let _ = write!(view.out, "!{}", view.at);
        }
        view.out.push('\n');
        if done.is_none() {
            break;
        }
    }
    view.out
}

struct View<'b> {
    bytes: &'b [u8],
    at: usize,
    out: String,
}

impl View<'_> {
    /// One item; `None` when it is cut or not one of the forms that KLR files have.
    fn item(&mut self, depth: usize) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        let first = *self.bytes.get(self.at)?;
        let info = first & 31;
        let (size, number) = match info {
            0..24 => (0, u64::from(info)),
            24..28 => {
                let size = 1 << (info - 24);
                let bytes = self.bytes.get(self.at + 1..self.at + 1 + size)?;
                (size, bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
            }
            _ => return None,
        };
        let body = self.at + 1 + size;
        match first >> 5 {
            0 => self.show(body, format_args!("{number}")),
            1 => self.show(body, format_args!("{}", -1 - i128::from(number))),
            major @ (2 | 3) => {
                let end = body.checked_add(usize::try_from(number).ok()?)?;
                let content = self.bytes.get(body..end)?;
                match std::str::from_utf8(content) {
                    Ok(text) if major == 3 => self.show(end, format_args!("{text:?}")),
                    _ => {
                        let hex: String = content.iter().map(|byte| format!("{byte:02x}")).collect();
                        self.show(end, format_args!("h'{hex}'"));
                    }
                }
            }
            4 => {
                self.show(body, format_args!("["));
                for index in 0..number {
                    if index > 0 {
                        self.out.push_str(", ");
                    }
                    self.item(depth)?;
                }
                self.out.push(']');
            }
            6 => {
                self.show(body, format_args!("{number}("));
                self.item(depth)?;
                self.out.push(')');
            }
            7 => match (info, number) {
                (20, _) => self.show(body, format_args!("false")),
                (21, _) => self.show(body, format_args!("true")),
                (22, _) => self.show(body, format_args!("null")),
                (26, bits) => self.show(body, format_args!("{:?}", f32::from_bits(bits as u32))),
                (27, bits) => self.show(body, format_args!("{:?}", f64::from_bits(bits))),
                _ => return None,
            },
            _ => return None,
        }
        Some(())
    }

    fn show(&mut self, end: usize, text: std::fmt::Arguments<'_>) {
        let _ = self.out.write_fmt(text);
        self.at = end;
    }
}
