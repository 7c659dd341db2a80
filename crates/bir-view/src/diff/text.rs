//! Differences as text: a line for each object under its function and block, its fields below.

use std::fmt::Write;

use super::{Change, ChangeKind, Diff, Object, Spot};
use crate::paint::Paint;

impl Diff {
    /// The differences as text, with their numbers at the end; only these with `stat`. Nothing without differences.
    pub fn text(&self, stat: bool, paint: Paint) -> String {
        let mut text = String::new();
        if self.is_empty() {
            return text;
        }
        let mut place = (String::new(), None);
        for change in self.changes.iter().filter(|_| !stat) {
            let spot = change.right.as_ref().or(change.left.as_ref());
            let block = spot.and_then(|spot| spot.block.clone());
            let here = (spot.map(|spot| spot.function.clone()).unwrap_or_default(), block);
            if here != place {
                let path = match &here {
                    (function, Some(block)) => format!("{function} / {block}"),
                    (function, None) => function.clone(),
                };
                if !path.is_empty() {
                    let _ = writeln!(text, "{}", paint.heading(&path));
                }
                place = here;
            }
            self::change(&mut text, change, paint);
        }
        if !stat {
            text.push('\n');
        }
        self.stat(&mut text);
        text
    }

    fn stat(&self, text: &mut String) {
        let [left, right] = self.summary.instructions;
        let _ = writeln!(text, "{left} instructions before, {right} after");
        for count in &self.summary.objects {
            let numbers = [
                (count.added, "added"),
                (count.removed, "removed"),
                (count.moved, "moved"),
                (count.changed, "changed"),
            ];
            let said = numbers.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}"));
            let name = plural(count.object, numbers.iter().map(|(n, _)| n).sum());
            let _ = writeln!(text, "{name}: {}", said.collect::<Vec<_>>().join(", "));
        }
        if self.summary.names_ignored > 0 {
            let _ = writeln!(
                text,
                "the names of the two do not agree: {} instructions were matched by shape and place",
                self.summary.names_ignored
            );
        }
    }
}

fn plural(object: Object, count: u64) -> String {
    let name = word(object);
    if count == 1 { name.to_owned() } else { format!("{name}s") }
}

fn word(object: Object) -> &'static str {
    match object {
        Object::Module => "module",
        Object::Function => "function",
        Object::Tensor => "tensor",
        Object::Location => "location",
        Object::Register => "register",
        Object::Queue => "queue",
        Object::Block => "block",
        Object::Instruction => "instruction",
    }
}

fn change(text: &mut String, change: &Change, paint: Paint) {
    let what = match change.object {
        Object::Instruction => change.opcode.clone().unwrap_or_default(),
        object => word(object).to_owned(),
    };
    let index =
        |spot: &Option<Spot>| spot.as_ref().map(|spot| format!("#{}", spot.index)).unwrap_or_default();
    let place = |spot: &Option<Spot>| match spot {
        Some(Spot { block: Some(block), index, .. }) => format!("{block}#{index}"),
        other => index(other),
    };
    // Names that were counted anew are no difference, but people look for both.
    let renamed = match (&change.left, &change.right) {
        (Some(left), Some(right)) if left.name != right.name => format!(" (now {})", right.name),
        _ => String::new(),
    };
    let elsewhere = matches!((&change.left, &change.right), (Some(left), Some(right))
        if left.block != right.block || left.function != right.function);
    let from_to = if elsewhere {
        format!("from {} to {}", place(&change.left), place(&change.right))
    } else {
        format!("from {} to {}", index(&change.left), index(&change.right))
    };
    let line = match change.change {
        ChangeKind::Removed => paint.removed(&format!("- {} {} {what}", change.name, index(&change.left))),
        ChangeKind::Added => paint.added(&format!("+ {} {} {what}", change.name, index(&change.right))),
        ChangeKind::Moved => format!("> {}{renamed} {what}, moved {from_to}", change.name),
        ChangeKind::Changed if change.moved => format!("~ {}{renamed} {what}, moved {from_to}", change.name),
        ChangeKind::Changed if change.object == Object::Module => "~ module".to_owned(),
        ChangeKind::Changed => format!("~ {}{renamed} {} {what}", change.name, index(&change.left)),
    };
    let _ = writeln!(text, "  {}", line.trim_end());
    for field in &change.fields {
        if change.object == Object::Block && field.field == "instructions"
            || change.left.is_none() != change.right.is_none()
        {
            let count = field.left.as_ref().or(field.right.as_ref()).cloned().unwrap_or_default();
            let plural = if count == "1" { "" } else { "s" };
            let _ = writeln!(text, "      with {count} instruction{plural}");
            continue;
        }
        let is_set = field.field.ends_with("dependencies") || field.field == "alias";
        let _ = match (&field.left, &field.right) {
            (Some(left), None) if is_set => {
                writeln!(text, "      {} {}", field.field, paint.removed(&format!("- {left}")))
            }
            (None, Some(right)) if is_set => {
                writeln!(text, "      {} {}", field.field, paint.added(&format!("+ {right}")))
            }
            (left, right) => {
                let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".into());
                let (left, right) = (value(left), value(right));
                if left.len() + right.len() + field.field.len() > 100 {
                    let (left, right) =
                        (paint.removed(&format!("- {left}")), paint.added(&format!("+ {right}")));
                    writeln!(text, "      {}\n        {left}\n        {right}", field.field)
                } else {
                    writeln!(
                        text,
                        "      {}: {} -> {}",
                        field.field,
                        paint.removed(&left),
                        paint.added(&right)
                    )
                }
            }
        };
    }
}
