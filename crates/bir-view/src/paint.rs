//! Colours of text output.

use anstyle::{AnsiColor, Style};

/// Whether a text has colours. They are chosen to be readable on dark and on light.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Paint {
    /// Escape sequences of terminals.
    pub color: bool,
    /// Characters beyond ASCII.
    pub unicode: bool,
}

impl Paint {
    /// Plain ASCII: for files and pipes.
    pub const PLAIN: Paint = Paint { color: false, unicode: false };

    fn styled(self, style: Style, text: &str) -> String {
        if self.color && !text.is_empty() { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    /// A subject.
    pub fn title(self, text: &str) -> String {
        self.styled(Style::new().bold(), text)
    }

    /// A heading.
    pub fn heading(self, text: &str) -> String {
        self.styled(AnsiColor::Cyan.on_default().bold(), text)
    }

    /// Something of less weight.
    pub fn dim(self, text: &str) -> String {
        self.styled(Style::new().dimmed(), text)
    }

    /// Something odd.
    pub fn odd(self, text: &str) -> String {
        self.styled(AnsiColor::Magenta.on_default().bold(), text)
    }

    /// Something that is taken away.
    pub fn removed(self, text: &str) -> String {
        self.styled(AnsiColor::Red.on_default(), text)
    }

    /// Something that is added.
    pub fn added(self, text: &str) -> String {
        self.styled(AnsiColor::Green.on_default(), text)
    }
}
