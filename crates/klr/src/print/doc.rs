//! Text that goes on one line if it fits and is broken at its brackets if not.

/// Columns that a line should not pass.
const WIDTH: usize = 110;

/// Indentation stops growing here; deeper nesting stays readable by its brackets.
const MAX_INDENT: usize = 60;

/// A piece of text.
#[derive(Debug, Clone)]
pub(super) enum Doc {
    Text(String),
    Group(Group),
}

/// Items in brackets.
#[derive(Debug, Clone)]
pub(super) struct Group {
    /// What stands before the items, with the bracket.
    pub(super) open: String,
    pub(super) items: Vec<(Option<&'static str>, Doc)>,
    /// The bracket and what follows it.
    pub(super) close: String,
}

impl Doc {
    /// Appends the text, which starts at column `column` in a line indented by `indent`.
    pub(super) fn render(&self, out: &mut String, indent: usize, column: usize) {
        match self {
            Doc::Text(text) => out.push_str(text),
            Doc::Group(group) if group.fits(WIDTH.saturating_sub(column)) => group.flat(out),
            Doc::Group(group) => {
                let inner = (indent + 2).min(MAX_INDENT);
                out.push_str(&group.open);
                for (name, item) in &group.items {
                    out.push('\n');
                    out.extend(std::iter::repeat_n(' ', inner));
                    let mut column = inner;
                    if let Some(name) = name {
                        out.push_str(name);
                        out.push_str(" = ");
                        column += name.len() + 3;
                    }
                    item.render(out, inner, column);
                    out.push(',');
                }
                out.push('\n');
                out.extend(std::iter::repeat_n(' ', indent.min(MAX_INDENT)));
                out.push_str(&group.close);
            }
        }
    }

    fn flat(&self, out: &mut String) {
        match self {
            Doc::Text(text) => out.push_str(text),
            Doc::Group(group) => group.flat(out),
        }
    }

    /// What is left of `room` when the text is on one line; `None` when it does not fit.
    fn room(&self, room: usize) -> Option<usize> {
        match self {
            Doc::Text(text) => room.checked_sub(text.chars().count()),
            Doc::Group(group) => group.room(room),
        }
    }
}

impl Group {
    fn fits(&self, room: usize) -> bool {
        self.items.is_empty() || self.room(room).is_some()
    }

    fn room(&self, room: usize) -> Option<usize> {
        let mut room = room.checked_sub(self.open.chars().count() + self.close.chars().count())?;
        for (index, (name, item)) in self.items.iter().enumerate() {
            // Two columns for the comma and the blank, three for the equals sign.
            let comma = if index > 0 { 2 } else { 0 };
            room = room.checked_sub(comma + name.map_or(0, |name| name.len() + 3))?;
            room = item.room(room)?;
        }
        Some(room)
    }

    fn flat(&self, out: &mut String) {
        out.push_str(&self.open);
        for (index, (name, item)) in self.items.iter().enumerate() {
            if index > 0 {
                out.push_str(", ");
            }
            if let Some(name) = name {
                out.push_str(name);
                out.push_str(" = ");
            }
            item.flat(out);
        }
        out.push_str(&self.close);
    }
}
