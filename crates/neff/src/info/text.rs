//! What there is to know about a package, for people.

use std::fmt::{self, Display, Formatter, Write as _};

use super::{GraphInfo, Info, QueueInfo, TensorLine, VariableInfo};
use crate::WORD_BYTES;
use crate::archive::Compression;
use crate::container::HashForm;

impl Display for Info {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: a package of {} bytes", self.file, self.size)?;
        let mut facts: Vec<(&str, String)> = Vec::new();
        facts.push(("target", self.target_text()));
        if let Some(version) = &self.compiler.tool_version {
            facts.push(("compiler", version.clone()));
        }
        if let Some(header) = &self.header {
            let mut identity = header.uuid_text();
            if !header.name.is_empty() {
                let _ = write!(identity, ", name {:?}", header.name);
            }
            facts.push(("uuid", identity));
            let mut version = format!(
                "package {}, NEFF {}.{}",
                header.pkg_version, header.neff_version_major, header.neff_version_minor
            );
            if !header.neff_build_version.is_empty() {
                let _ = write!(version, ", build {}", header.neff_build_version);
            }
            facts.push(("version", version));
            let features = header.features();
            let names = if features.is_empty() { "none".to_owned() } else { features.join(", ") };
            facts.push(("features", format!("{names} ({:#x})", header.feature_bits)));
        }
        facts.push(("payload", self.payload_text()));
        facts.push(("digest", self.digest_text()));
        if let Some(count) = self.hlo_mac_count.filter(|count| *count >= 0) {
            facts.push(("model", format!("{count} multiplications with addition")));
        }
        let layers = [
            ("framework operations", &self.debug.framework),
            ("HLO instructions", &self.debug.hlo),
            ("statements", &self.debug.penguin),
        ];
        let layers = layers
            .iter()
            .filter_map(|(name, layer)| layer.as_ref().map(|layer| format!("{} {name}", layer.entries)));
        let layers: Vec<String> = layers.collect();
        if !layers.is_empty() {
            facts.push(("debug", layers.join(", ")));
        }
        self.source_files.iter().for_each(|file| facts.push(("source", file.clone())));
        for (name, fact) in facts {
            writeln!(f, "  {name:9} {fact}")?;
        }
        tensors(f, "inputs", &self.inputs)?;
        tensors(f, "outputs", &self.outputs)?;
        self.graphs.iter().try_for_each(|graph| graph.put(f))
    }
}

impl Info {
    fn target_text(&self) -> String {
        let name = self.target.as_deref().unwrap_or("unknown");
        let generation = self.generation.map_or(String::new(), |generation| format!(" ({generation})"));
        let cores = match self.graphs.len() {
            1 => "1 core".to_owned(),
            cores => format!("{cores} cores"),
        };
        format!("{name}{generation}, {cores}")
    }

    fn payload_text(&self) -> String {
        let payload = &self.payload;
        let mut text = match payload.compression {
            Compression::Gzip => {
                format!("gzip, {} bytes, {} inflated", payload.gzip_bytes.unwrap_or(0), payload.inflated)
            }
            Compression::None => format!("not compressed, {} bytes", payload.inflated),
        };
        let _ = write!(text, ", {} members", payload.members);
        if self.strays > 0 {
            let _ = write!(text, ", {} of them unknown", self.strays);
        }
        text
    }

    fn digest_text(&self) -> String {
        let payload = &self.payload;
        let (name, digest) = match (&payload.md5, &payload.sha256) {
            (Some(digest), _) => ("MD5", digest.as_str()),
            (_, Some(digest)) => ("SHA-256", digest.as_str()),
            _ => return String::new(),
        };
        let verdict = match (&self.header, payload.hash_form) {
            (None, _) => "no header to compare with",
            (_, Some(HashForm::Plain)) => "as in the header",
            (_, Some(HashForm::WordReversed)) => "as in the header, which has words reversed",
            (_, None) => "NOT the one in the header",
        };
        format!("{name} {digest}, {verdict}")
    }
}

fn tensors(f: &mut Formatter<'_>, title: &str, tensors: &[TensorLine]) -> fmt::Result {
    if tensors.is_empty() {
        return Ok(());
    }
    writeln!(f, "\n{title}")?;
    let width = tensors.iter().map(|tensor| tensor.name.chars().count()).max().unwrap_or(0);
    for tensor in tensors {
        write!(f, "  {:width$}", tensor.name)?;
        if let Some(dtype) = &tensor.dtype {
            write!(f, "  {dtype}")?;
        }
        if let Some(shape) = &tensor.shape {
            let shape: Vec<String> = shape.iter().map(u64::to_string).collect();
            write!(f, " {}", shape.join("x"))?;
        }
        match tensor.bytes {
            Some(bytes) => writeln!(f, "  {bytes} bytes")?,
            None => writeln!(f)?,
        }
    }
    Ok(())
}

impl GraphInfo {
    fn put(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n{}: {}", self.name, self.definition)?;
        writeln!(
            f,
            "  {:8} {:>9} {:>12} {:>12} {:>12} {:>8}  stream",
            "engine", "words", "code bytes", "table bytes", "instructions", "records"
        )?;
        for engine in &self.engines {
            writeln!(
                f,
                "  {:8} {:>9} {:>12} {:>12} {:>12} {:>8}  {}",
                engine.engine.key(),
                engine.words,
                engine.words * WORD_BYTES,
                engine.data,
                engine.instructions,
                engine.dma_records,
                engine.stream.as_deref().unwrap_or("-")
            )?;
        }
        self.queues.iter().try_for_each(|queue| queue.put(f))?;
        self.variables.iter().try_for_each(|variable| variable.put(f))?;
        writeln!(f, "  scratchpad {} bytes", self.scratchpad)?;
        let runtime = &self.runtime;
        write!(f, "  runtime keeps {} events, {} semaphores", runtime.events, runtime.semaphores)?;
        for part in &runtime.statebuffer {
            let (first, last) =
                (part.base_partition, (part.base_partition + part.partitions).saturating_sub(1));
            let end = part.offset.saturating_add(part.size);
            write!(f, ", bytes {}..{end} of SB partitions {first} to {last}", part.offset)?;
        }
        writeln!(f)?;
        if self.collective_streams > 0 || self.rank_world_size > 0 {
            writeln!(
                f,
                "  collectives over {} ranks, {} streams",
                self.rank_world_size, self.collective_streams
            )?;
        }
        Ok(())
    }
}

impl QueueInfo {
    fn put(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let owner = self.owner.as_deref().unwrap_or("nobody");
        write!(f, "  queue {} of {owner}: {}, {} queues", self.name, self.kind, self.num_queues)?;
        if let Some(semaphores) = self.semaphores.as_ref().filter(|list| !list.is_empty()) {
            write!(f, ", semaphores {}", ranges(semaphores))?;
        }
        if let Some(semaphore) = self.semaphore {
            write!(f, ", semaphore {semaphore}")?;
        }
        writeln!(f)
    }
}

impl VariableInfo {
    fn put(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "  variable {} {}: {}", self.id, self.name, self.kind)?;
        if let Some(size) = self.size {
            write!(f, ", {size} bytes")?;
        }
        if let Some(offset) = self.backing_variable_off {
            write!(f, " at {offset:#x} of the scratchpad")?;
        }
        if let Some(file) = &self.file {
            write!(f, ", content in {file}")?;
        }
        if let Some(list) = &self.list {
            write!(f, ", of variables {}", ranges(list))?;
        }
        writeln!(f)
    }
}

/// `1, 3 to 5` for a list in order.
fn ranges(numbers: &[u64]) -> String {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for &number in numbers {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(number) => *last = number,
            _ => runs.push((number, number)),
        }
    }
    let run = |(first, last): &(u64, u64)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first} to {last}"),
    };
    runs.iter().map(run).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    #[test]
    fn runs_of_numbers_are_short() {
        assert_eq!(super::ranges(&[8, 9, 10, 11, 24, 3, 4]), "8 to 11, 24, 3, 4");
    }
}
