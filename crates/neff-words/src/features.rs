//! Features that words need of a loader (spec: neff 9).

use neff::{EngineKey, Package, feature_bit};
use tpb_isa::{Body, Generation, Opcode};

use crate::Program;

/// A feature that words need, and how often.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Needed {
    /// Its name.
    pub name: &'static str,
    /// Its bit.
    pub bit: u64,
    /// Words that need it.
    pub words: u64,
}

/// The features that the words of a package need.
pub fn needed(package: &Package, program: &Program, generation: Generation) -> Vec<Needed> {
    let names = ["DGE", "DGE_cast", "hardware_DGE", "queue_set_instances", "custom_ops", "has_functions"];
    let mut counts = [0; 6];
    for (graph, core) in package.graphs.iter().zip(&program.cores) {
        for stream in &core.engines {
            let in_hardware = matches!(stream.key, EngineKey::Sp | EngineKey::Act)
                && graph.definition.dma_queue.iter().any(|(_, queue)| {
                    queue.kind == "dynamic" && queue.owner.as_deref() == Some(stream.key.key())
                });
            for word in stream.words(generation) {
                match Opcode(word.word.opcode()) {
                    Opcode::PSEUDO_DMA_DIRECT2D => {
                        counts[0] += 1;
                        if let Body::PseudoDmaDirect2d(dma) = word.decode().body {
                            counts[1] += u64::from(dma.in_dtype != dma.out_dtype);
                        }
                        counts[2] += u64::from(in_hardware);
                    }
                    Opcode::PSEUDO_DMASWAP_QUEUE_SET => counts[3] += 1,
                    Opcode::CUSTOM_OP_HEADER => counts[4] += 1,
                    Opcode::PSEUDO_FUNCTION_CALL => counts[5] += 1,
                    _ => {}
                }
            }
        }
    }
    let all = names.into_iter().zip(counts).filter(|(_, words)| *words > 0);
    all.filter_map(|(name, words)| Some(Needed { name, bit: feature_bit(name)?, words })).collect()
}
