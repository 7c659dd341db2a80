//! What is shown as text: a title, then labelled lines.

use super::inst::{is_event, sync_word};
use super::{
    Cut, Dependency, InstView, OperandView, QueueView, RegisterView, SemaphoreView, Shown, TensorView,
};
use super::{TouchView, UpdateView, WaitView};
use crate::paint::Paint;
use crate::program::At;

impl Shown {
    /// The view as text, with a newline at the end.
    pub fn text(&self, paint: Paint) -> String {
        match self {
            Shown::Instruction(view) => inst(view, paint),
            Shown::Tensor(view) => tensor(view, paint),
            Shown::Queue(view) => queue(view, paint),
            Shown::Register(view) => register(view, paint),
            Shown::Semaphore(view) => semaphore(view, paint),
        }
    }
}

/// Lines under labels.
struct Page {
    text: String,
    paint: Paint,
}

/// Columns of the labels.
const LABEL: usize = 12;

impl Page {
    fn new(title: &str, rest: &str, paint: Paint) -> Page {
        Page { text: format!("{}{rest}\n", paint.title(title)), paint }
    }

    /// Lines under one label; nothing without lines.
    fn put(&mut self, label: &str, lines: impl IntoIterator<Item = String>) {
        for (i, line) in lines.into_iter().enumerate() {
            let shown = if i == 0 { label } else { "" };
            let blanks = " ".repeat(LABEL.saturating_sub(shown.chars().count()).max(1));
            self.text += &format!("  {}{blanks}{line}\n", self.paint.heading(shown));
        }
    }

    fn gap(&mut self) {
        self.text.push('\n');
    }
}

/// Columns as wide as their widest cell, up to a bound: a long name moves only its own line.
fn columns<const N: usize>(rows: &[[String; N]]) -> Vec<String> {
    const WIDEST: usize = 36;
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.filter(|width| *width <= WIDEST).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..N).map(width).collect();
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

fn more<T>(cut: &Cut<T>, paint: Paint) -> Option<String> {
    let left = cut.total - cut.items.len();
    (left > 0).then(|| paint.dim(&format!("... and {left} more")))
}

fn steps(distance: u32) -> String {
    match distance {
        0 => "at the same time".into(),
        1 => "1 step away".into(),
        n => format!("{n} steps away"),
    }
}

fn place(at: &At) -> String {
    format!("{} / {} #{}", at.function, at.block, at.index)
}

fn inst(view: &InstView, paint: Paint) -> String {
    let at = &view.at;
    let engine = match view.engine_id {
        0 => at.engine.clone(),
        id => format!("{id}: {}", at.engine),
    };
    let mut page = Page::new(&at.instruction, &format!(": {} on {engine}", at.opcode), paint);
    let step = view.position.map(|step| format!(", step {step} of {}", view.positions)).unwrap_or_default();
    let via = at.trigger.as_ref().map(|trigger| format!(", started by {trigger}")).unwrap_or_default();
    page.put("at", [format!("{}{step}{via}", place(at))]);
    if let Some(source) = &view.source {
        let file = source.file.clone().map(|file| format!("{file}:")).unwrap_or_default();
        let line = match (source.line, file.is_empty()) {
            (Some(line), true) => format!("line {line}"),
            (Some(line), false) => line.to_string(),
            (None, _) => String::new(),
        };
        let operation = source.operation.clone().map(|name| format!("  {name}")).unwrap_or_default();
        let line = format!("{file}{line}{operation}");
        page.put("source", [line, source.rest.clone()].into_iter().filter(|line| !line.is_empty()));
    }
    page.put(
        "in loops",
        view.loops.iter().map(|each| {
            let axis = each.axis.clone().map(|axis| format!(" over {axis}")).unwrap_or_default();
            match each.trips {
                Some(trips) => format!("{}{axis}, {trips} times", each.instruction),
                None => format!("{}{axis}", each.instruction),
            }
        }),
    );
    if let Some([start, end]) = view.schedule {
        page.put("scheduled", [format!("cycles {start} to {end}")]);
    }
    let set = view.fields.iter().filter(|field| !field.default);
    let rows: Vec<[String; 2]> =
        set.map(|field| [format!("{} = {}", field.key, field.value), paint.dim(field.meaning)]).collect();
    page.put("fields", columns(&rows));
    let defaults = view.fields.iter().filter(|field| field.default);
    let defaults: Vec<String> = defaults.map(|field| format!("{}={}", field.key, field.value)).collect();
    if !defaults.is_empty() {
        let lines = wrap(&format!("at their defaults: {}", defaults.join(", ")), 96 - LABEL);
        page.put(if rows.is_empty() { "fields" } else { "" }, lines.iter().map(|line| paint.dim(line)));
    }
    for operand in &view.operands {
        operand_lines(&mut page, operand);
    }
    let transfers = view.transfers.items.iter().map(|transfer| {
        let side = |words: &[String]| if words.is_empty() { "-".into() } else { words.join(", ") };
        [
            transfer.dma_block.clone(),
            transfer.opcode.clone(),
            format!("{} to {}", side(&transfer.from), side(&transfer.to)),
        ]
    });
    let transfers: Vec<[String; 3]> = transfers.collect();
    page.put("transfers", columns(&transfers).into_iter().chain(more(&view.transfers, paint)));
    page.put("waits for", view.waits.iter().map(|wait| wait_line(wait, paint)));
    page.put("updates", view.updates.iter().map(update_line));
    page.put("needs", dependencies(&view.depends_on, paint));
    page.put("needed by", dependencies(&view.dependents, paint));
    page.text
}

fn operand_lines(page: &mut Page, operand: &OperandView) {
    let paint = page.paint;
    let label = match operand.list {
        "indirection_ins" => format!("index[{}]", operand.index),
        list => format!("{list}[{}]", operand.index),
    };
    let role = operand.role.map(|role| format!("{role}: ")).unwrap_or_default();
    if operand.touches.is_empty() {
        page.put(&label, [format!("{role}{}", operand.text)]);
        return;
    }
    let dtype = operand.dtype.clone().unwrap_or_default();
    let name = operand.name.clone().unwrap_or_default();
    let outside = if operand.outside { paint.odd("  goes out of bounds") } else { String::new() };
    let access = match operand.access {
        "reads" | "writes" => String::new(),
        other => format!(", {other}"),
    };
    let mut lines = vec![format!("{role}{dtype} {name}{access}{outside}")];
    let most = if operand.touches.len() > 4 { 4 } else { operand.touches.len() };
    lines.extend(operand.touches[..most].iter().cloned());
    if operand.touches.len() > most {
        lines.push(paint.dim(&format!("... or any of {} more", operand.touches.len() - most)));
    }
    page.put(&label, lines);
    let rows = |cut: &Cut<TouchView>, word: &str| -> Vec<[String; 4]> {
        let row = |(i, touch): (usize, &TouchView)| {
            let what = format!("{} {}", touch.access, touch.operand);
            let certain = if touch.certain { "" } else { " maybe" };
            [
                if i == 0 { word.to_owned() } else { String::new() },
                touch.at.instruction.clone(),
                format!("{what}{certain}"),
                format!("{} on {}, {}", touch.at.opcode, touch.at.engine, steps(touch.distance)),
            ]
        };
        cut.items.iter().enumerate().map(row).collect()
    };
    let before = rows(&operand.before, "before");
    let split = before.len();
    let all: Vec<[String; 4]> = before.into_iter().chain(rows(&operand.after, "after")).collect();
    let lines = columns(&all);
    let note = |cut: &Cut<TouchView>| more(cut, paint).map(|note| format!("        {note}"));
    let (before, after) = lines.split_at(split);
    let before = before.iter().cloned().chain(note(&operand.before));
    page.put("", before.chain(after.iter().cloned()).chain(note(&operand.after)));
}

fn wait_line(wait: &WaitView, paint: Paint) -> String {
    let what = sync_word(&wait.sync, wait.id);
    let until = match (&wait.register, wait.value) {
        (Some(register), _) => format!("{what} >= %{register}"),
        _ if is_event(&wait.sync) => what,
        (None, Some(value)) => format!("{what} >= {value}"),
        (None, None) => what,
    };
    let mut line = until;
    if let Some(producer) = &wait.producer {
        let count =
            wait.count.map(|[from, to]| format!(" brings it from {from} to {to}")).unwrap_or_default();
        line += &format!(
            ": {} ({} on {}, {} #{}){count}",
            producer.instruction, producer.opcode, producer.engine, producer.block, producer.index
        );
    }
    if let Some(remark) = &wait.remark {
        line += &format!("; {}", paint.odd(remark));
    }
    if let Some(helper) = &wait.through {
        line += &format!(", through {helper}");
    }
    let named = wait.producer.as_ref().map(|producer| &producer.instruction);
    match &wait.from {
        Some(from) if Some(from) != named => line + &format!(" (from {from})"),
        _ => line,
    }
}

fn update_line(update: &UpdateView) -> String {
    let mut line = format!("{}: {}", sync_word(&update.sync, update.id), update.mode);
    if let Some(value) = update.value {
        line += &format!(" {value}");
    }
    if let Some(core) = update.core {
        line += &format!(" on core {core}");
    }
    if let Some(count) = update.count {
        line += &format!(", to {count}");
    }
    if let Some(block) = &update.dma_block {
        line += &format!(", when {block} is complete");
    }
    if update.waiters.total > 0 {
        let names: Vec<&str> = update.waiters.items.iter().map(|at| &*at.instruction).collect();
        let rest = update.waiters.total - names.len();
        let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
        line += &format!(
            "; {}{more} {} for it",
            names.join(", "),
            if update.waiters.total == 1 { "waits" } else { "wait" }
        );
    }
    line
}

fn dependencies(cut: &Cut<Dependency>, paint: Paint) -> Vec<String> {
    let rows = cut.items.iter().flat_map(|dependency| {
        let carried = match dependency.loop_carried.as_deref() {
            None => String::new(),
            Some("") => ", earlier iteration".into(),
            Some(extras) => format!(", earlier iteration {extras}"),
        };
        let head = [dependency.at.instruction.clone(), format!("{}{carried}", dependency.edge)];
        let reasons: Vec<[String; 3]> = match &dependency.because[..] {
            [] => vec![[head[0].clone(), head[1].clone(), paint.dim("no byte in common")]],
            because => because
                .iter()
                .enumerate()
                .map(|(i, each)| {
                    let maybe = if each.certain { "" } else { "maybe " };
                    let why = format!("{maybe}{}  ({} then {})", each.bytes, each.first, each.second);
                    let [name, kind] = if i == 0 { head.clone() } else { Default::default() };
                    [name, kind, why]
                })
                .collect(),
        };
        reasons
    });
    let rows: Vec<[String; 3]> = rows.collect();
    columns(&rows).into_iter().chain(more(cut, paint)).collect()
}

fn tensor(view: &TensorView, paint: Paint) -> String {
    let shape: Vec<String> = view.shape.iter().map(u64::to_string).collect();
    let dtype = view.dtype.as_deref().unwrap_or("untyped");
    let kind = view.tensor_kind.as_deref().unwrap_or("tensor");
    let mut page = Page::new(&view.name, &format!(": {kind} {dtype} {}", shape.join("x")), paint);
    page.put("in", [format!("{}, {}", view.function, view.class)]);
    if !view.file.is_empty() {
        page.put("data", [view.file.clone()]);
    }
    for location in &view.locations {
        page.gap();
        let bank = location.bank.map(|bank| format!(" bank {bank}")).unwrap_or_default();
        let partitions = location.partitions.map(|[a, b]| format!(" [{a}..{b}) x")).unwrap_or_default();
        let bytes = match location.bytes {
            Some([a, b]) => format!(" bytes [{a}..{b})"),
            None => " of unknown size".into(),
        };
        let placed = if location.placed { "" } else { ", not placed" };
        page.put(
            "location",
            [format!("{}: {}{bank}{partitions}{bytes}{placed}", location.name, location.space)],
        );
        page.put("aliases", location.aliases.iter().map(|(name, word)| format!("{name}, {word}")));
        if location.shares.total > 0 {
            let mut names = location.shares.items.join(", ");
            if location.shares.total > location.shares.items.len() {
                names += &format!(" and {} more", location.shares.total - location.shares.items.len());
            }
            page.put("shares with", [names]);
        }
        let count = |n: usize, word: &str| format!("{n} {word}{}", if n == 1 { "" } else { "s" });
        page.put(
            "accesses",
            [format!("{}, {}", count(location.writes, "write"), count(location.reads, "read"))],
        );
        let mut rows: Vec<[String; 4]> = location.accesses.items.iter().map(tensor_use).collect();
        let rest = location.accesses.total - rows.len();
        rows.extend(location.last.as_ref().map(tensor_use));
        let mut lines = columns(&rows);
        if rest > 1 {
            let last = lines.pop();
            lines.push(paint.dim(&format!("... {} more", rest - 1)));
            lines.extend(last);
        }
        page.put("", lines);
    }
    if view.symbolic.total > 0 {
        page.gap();
        let rows: Vec<[String; 4]> = view.symbolic.items.iter().map(tensor_use).collect();
        page.put("by name", columns(&rows).into_iter().chain(more(&view.symbolic, paint)));
    }
    page.text
}

fn tensor_use(each: &super::storage::TensorUse) -> [String; 4] {
    [
        each.at.instruction.clone(),
        format!("{} {}", each.access, each.operand),
        each.touches.clone(),
        place(&each.at),
    ]
}

fn queue(view: &QueueView, paint: Paint) -> String {
    let kind = view.queue_type.as_deref().map(|ty| format!(" of type {ty}")).unwrap_or_default();
    let mut page = Page::new(&view.name, &format!(": DMA queue{kind}"), paint);
    if let Some(engines) = view.dma_engines {
        page.put("engines", [engines.to_string()]);
    }
    let ids: Vec<String> = view.semaphores.iter().map(u32::to_string).collect();
    page.put("semaphores", (!ids.is_empty()).then(|| ids.join(", ")));
    for instance in &view.instances {
        let row = |block: &super::DmaBlockView| {
            let trigger = match &block.trigger {
                Some(at) => format!("started by {} at {}", at.instruction, place(at)),
                None => "nothing starts it".into(),
            };
            let work = format!("{} descriptors, {} bytes", block.descriptors, block.bytes);
            [block.name.clone(), work, block.updates.join(", "), trigger]
        };
        let rows: Vec<[String; 4]> = instance.dma_blocks.items.iter().map(row).collect();
        let lines = [format!("{}, {} DMA blocks", instance.block, instance.dma_blocks.total)];
        let lines = lines.into_iter().chain(columns(&rows)).chain(more(&instance.dma_blocks, paint));
        page.put("instance", lines);
    }
    let rows: Vec<[String; 3]> = view.users.items.iter().map(inst_row).collect();
    page.put("used by", columns(&rows).into_iter().chain(more(&view.users, paint)));
    page.text
}

fn inst_row(at: &At) -> [String; 3] {
    [at.instruction.clone(), format!("{} on {}", at.opcode, at.engine), place(at)]
}

fn register(view: &RegisterView, paint: Paint) -> String {
    let engine = view.engine.as_deref().map(|engine| format!(" of {engine}")).unwrap_or_default();
    let mut page = Page::new(&view.name, &format!(": register{engine}"), paint);
    let width = if view.width == 1 { String::new() } else { format!(", {} physical registers", view.width) };
    page.put("in", [format!("{}{width}", view.function)]);
    let row = |each: &super::RegisterUse| {
        let [name, what, place] = inst_row(&each.at);
        [name, each.access.to_owned(), each.operand.clone(), what, place]
    };
    let rows: Vec<[String; 5]> = view.uses.items.iter().map(row).collect();
    page.put("uses", columns(&rows).into_iter().chain(more(&view.uses, paint)));
    page.text
}

fn semaphore(view: &SemaphoreView, paint: Paint) -> String {
    let mut page = Page::new(&format!("{} {}", view.sync, view.id), "", paint);
    page.put("queues", (!view.queues.is_empty()).then(|| view.queues.join(", ")));
    page.put("updated by", (!view.engines.is_empty()).then(|| view.engines.join(", ")));
    if view.blocks.is_empty() {
        page.put("", ["nothing uses it".to_owned()]);
    }
    for block in &view.blocks {
        page.gap();
        page.put("in", [format!("{} / {}", block.function, block.block)]);
        let row = |event: &super::EventView| {
            let value = event.value.map(|value| value.to_string()).unwrap_or_default();
            let what = match event.what {
                "update" => format!("{} {value}", event.mode),
                "wait" if view.sync == "event" => "waits".into(),
                "wait" => format!("waits for {value}"),
                other => other.to_owned(),
            };
            let count = event.count.map_or_else(|| "?".into(), |count| count.to_string());
            let bound = event.producer.as_ref().map(|name| format!("by {name}")).unwrap_or_default();
            [
                format!("#{}", event.at.index),
                event.at.instruction.clone(),
                what,
                format!("count {count}"),
                bound,
            ]
        };
        let rows: Vec<[String; 5]> = block.events.items.iter().map(row).collect();
        page.put("", columns(&rows).into_iter().chain(more(&block.events, paint)));
    }
    page.text
}

/// Lines of at most `width` characters, broken at blanks.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
