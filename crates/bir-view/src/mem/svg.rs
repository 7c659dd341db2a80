//! A picture of the memories: each location a box over its bytes and the steps for which it is live.

use std::fmt::Write;

use super::map::placed;
use super::{LocationUse, Mem, SpaceUse};

/// More boxes than this are not drawn: the largest are.
const MOST: usize = 4000;
/// Width of the picture, and of the drawing in it, in pixels.
const WIDTH: f64 = 1200.0;
const LEFT: f64 = 92.0;
const INNER: f64 = WIDTH - LEFT - 24.0;
/// Height of the line of use above each memory.
const STRIP: f64 = 42.0;

/// Colours of boxes: told apart by people who see colours differently, and with dark text on them.
const COLORS: [&str; 8] =
    ["#56b4e9", "#e69f00", "#66c2a5", "#f0e442", "#cc79a7", "#a6cee3", "#fdbf6f", "#b2df8a"];

/// Draws the use of the memories. The picture is as large as its content asks, at most some megabytes.
pub fn svg(mem: &Mem) -> String {
    let mut body = String::new();
    let mut y = 64.0;
    for space in &mem.spaces {
        if placed(mem, space).next().is_some() {
            y = draw(&mut body, mem, space, y);
        }
    }
    let title = format!("Memory over the program: {}, {} steps", mem.device, mem.positions);
    let mut svg = String::new();
    let _ = write!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{y:.0}\" viewBox=\"0 0 {WIDTH} {y:.0}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"12\" fill=\"#222\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <text x=\"24\" y=\"32\" font-size=\"18\" font-weight=\"600\">{}</text>\n\
         <text x=\"24\" y=\"50\" fill=\"#666\">Each box is a location: across, the steps for which it is live; up, its bytes in each \
         partition. Faint boxes are on few partitions.</text>\n{body}</svg>\n",
        escape(&title)
    );
    svg
}

/// A scale from numbers to pixels.
#[derive(Clone, Copy)]
struct Scale {
    from: [f64; 2],
    to: [f64; 2],
}

impl Scale {
    fn at(self, value: f64) -> f64 {
        let [a, b] = self.from;
        let [c, d] = self.to;
        c + (value - a) / (b - a).max(1.0) * (d - c)
    }
}

fn draw(out: &mut String, mem: &Mem, space: &SpaceUse, top: f64) -> f64 {
    let height = match space.space {
        "SB" => 420.0,
        "PSUM" => 200.0,
        _ => 160.0,
    };
    let low = placed(mem, space).map(|(_, loc)| loc.bytes[0]).min().unwrap_or(0);
    let high = placed(mem, space).map(|(_, loc)| loc.bytes[1]).max().unwrap_or(1);
    let bytes = match (space.bank_bytes, space.bytes) {
        (Some(_), Some(all)) => [0, all.max(high)],
        _ => [low, high],
    };
    let x = Scale { from: [0.0, f64::from(mem.positions.max(1))], to: [LEFT, LEFT + INNER] };
    let base = top + 34.0 + STRIP;
    let y = Scale { from: [bytes[0] as f64, bytes[1] as f64], to: [base + height, base] };
    let peak = &space.peak;
    let share = space.bytes.map(|all| format!(" of {all} ({:.1} %)", peak.bytes as f64 * 100.0 / all as f64));
    let name = peak.at.as_ref().map(|at| format!(" at {}", at.instruction)).unwrap_or_default();
    let _ = writeln!(
        out,
        "<text x=\"24\" y=\"{:.1}\" font-size=\"15\" font-weight=\"600\">{}</text><text x=\"{LEFT}\" y=\"{:.1}\">peak {} bytes{} \
         in a partition{}, step {}</text>",
        top + 16.0,
        space.space,
        top + 16.0,
        peak.bytes,
        share.unwrap_or_default(),
        escape(&name),
        peak.position,
    );
    strip(out, space, x, top + 26.0);
    let _ = writeln!(
        out,
        "<rect x=\"{LEFT}\" y=\"{base:.1}\" width=\"{INNER:.1}\" height=\"{height:.1}\" fill=\"#f7f7f7\" stroke=\"#bbb\"/>"
    );
    boxes(out, mem, space, x, y);
    axis(out, space, bytes, y);
    let at = x.at(f64::from(peak.position) + 0.5);
    let _ = writeln!(
        out,
        "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{:.1}\" y2=\"{:.1}\" stroke=\"#c00\" stroke-dasharray=\"4 3\"/>",
        top + 26.0,
        base + height
    );
    for step in ticks(0, u64::from(mem.positions), 8) {
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#666\">{step}</text>",
            x.at(step as f64),
            base + height + 16.0
        );
    }
    base + height + 44.0
}

/// The bytes in use over the program.
fn strip(out: &mut String, space: &SpaceUse, x: Scale, top: f64) {
    let most = space.timeline.iter().copied().max().unwrap_or(0).max(1) as f64;
    let bottom = top + STRIP;
    let count = space.timeline.len().max(1) as f64;
    let mut path = format!("M{:.1} {bottom:.1}", x.to[0]);
    for (at, used) in space.timeline.iter().enumerate() {
        let width = x.to[1] - x.to[0];
        let (from, to) = (x.to[0] + at as f64 / count * width, x.to[0] + (at + 1) as f64 / count * width);
        let y = bottom - *used as f64 / most * STRIP;
        let _ = write!(path, "L{from:.1} {y:.1}L{to:.1} {y:.1}");
    }
    let _ = writeln!(out, "<path d=\"{path}L{:.1} {bottom:.1}Z\" fill=\"#9bb\" stroke=\"none\"/>", x.to[1]);
    let _ = writeln!(
        out,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#666\">in use</text>",
        LEFT - 8.0,
        bottom - 4.0
    );
}

fn boxes(out: &mut String, mem: &Mem, space: &SpaceUse, x: Scale, y: Scale) {
    let area = |loc: &LocationUse| {
        let live = loc.live.unwrap_or_default();
        u128::from(live[1] - live[0] + 1) * u128::from(loc.bytes[1].saturating_sub(loc.bytes[0]))
    };
    let mut all: Vec<(usize, &LocationUse)> = placed(mem, space).collect();
    all.sort_by_key(|(index, loc)| (std::cmp::Reverse(area(loc)), *index));
    let left_out = all.len().saturating_sub(MOST);
    for (_, loc) in all.into_iter().take(MOST) {
        let live = loc.live.unwrap_or_default();
        let (x0, x1) = (x.at(live[0].into()), x.at(f64::from(live[1]) + 1.0));
        let (y0, y1) = (y.at(loc.bytes[1] as f64), y.at(loc.bytes[0] as f64));
        let (width, height) = ((x1 - x0).max(0.5), (y1 - y0).max(0.5));
        let share = loc.partitions[1].min(space.partitions).saturating_sub(loc.partitions[0]) as f64
            / space.partitions as f64;
        let color = COLORS
            [loc.tensor.bytes().fold(7usize, |sum, b| sum.wrapping_mul(31) + usize::from(b)) % COLORS.len()];
        let _ = writeln!(
            out,
            "<rect x=\"{x0:.1}\" y=\"{y0:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{color}\" \
             fill-opacity=\"{:.2}\" stroke=\"#555\" stroke-width=\"0.4\"><title>{}</title></rect>",
            0.3 + 0.7 * share,
            escape(&format!(
                "{}: partitions {}..{}, bytes {}..{}, steps {}..{}, from {} to {}",
                loc.name,
                loc.partitions[0],
                loc.partitions[1],
                loc.bytes[0],
                loc.bytes[1],
                live[0],
                live[1],
                loc.first.as_deref().unwrap_or("?"),
                loc.last.as_deref().unwrap_or("?"),
            ))
        );
        // About six pixels a character.
        let room = ((width - 6.0) / 6.2) as usize;
        if height >= 12.0 && room >= 4 {
            let name = shorten(&loc.name, room);
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"10.5\" pointer-events=\"none\">{}</text>",
                x0 + 3.0,
                y0 + height / 2.0 + 3.7,
                escape(&name)
            );
        }
    }
    if left_out > 0 {
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#c00\">the {left_out} smallest of {} locations are not \
             drawn</text>",
            x.to[1],
            y.to[1] - STRIP - 18.0,
            left_out + MOST
        );
    }
}

/// Numbers of bytes at the side; lines between the banks of PSUM.
fn axis(out: &mut String, space: &SpaceUse, bytes: [u64; 2], y: Scale) {
    let mut label = |value: u64, text: &str, line: bool| {
        let at = y.at(value as f64);
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#666\">{text}</text>",
            LEFT - 8.0,
            at + if line { -6.0 } else { 4.0 }
        );
        if line {
            let _ = writeln!(
                out,
                "<line x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#bbb\" stroke-width=\"0.6\"/>",
                LEFT + INNER
            );
        }
    };
    match space.bank_bytes {
        Some(bank) if bank > 0 => {
            (0..bytes[1] / bank).for_each(|at| label(at * bank, &format!("bank {at}"), true));
        }
        _ => ticks(bytes[0], bytes[1], 8).into_iter().for_each(|at| label(at, &at.to_string(), false)),
    }
}

/// Some round numbers in a range.
fn ticks(from: u64, to: u64, about: u64) -> Vec<u64> {
    let rough = (to.saturating_sub(from) / about).max(1);
    let ten = 10u64.saturating_pow(rough.ilog10());
    let step = [1, 2, 5, 10].into_iter().map(|n| n * ten).find(|step| *step >= rough).unwrap_or(rough);
    (from.div_ceil(step)..=to / step).map(|n| n * step).collect()
}

/// The beginning of a name that is too long.
fn shorten(name: &str, room: usize) -> String {
    if name.chars().count() <= room {
        return name.to_owned();
    }
    let kept: String = name.chars().take(room.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// Text in XML; characters that XML cannot hold become `?`.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => out.push('?'),
            c if c.is_control() => out.push('?'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(ticks(0, 36, 8), [0, 5, 10, 15, 20, 25, 30, 35]);
        assert_eq!(ticks(16384, 31520, 8), [18000, 20000, 22000, 24000, 26000, 28000, 30000].map(|n| n));
        assert_eq!(ticks(0, 0, 8), [0]);
        assert!(ticks(0, u64::MAX, 8).len() < 12);
    }

    #[test]
    fn names_are_text() {
        assert_eq!(escape("a<b>&\"\u{1}"), "a&lt;b&gt;&amp;&quot;?");
        assert_eq!(shorten("abcdef", 4), "abc…");
    }
}
