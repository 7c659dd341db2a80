//! Long lists of blocks and instructions, written by several threads: each writes every nth piece of the list to
//! memory, and the pieces are put in order. The text is the same as that of one thread.

use std::ops::Range;
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::thread;

use bir::Module;
use bir::ids::{BlockId, FuncId, InstId, LocId, QueueId};

use super::{Out, Writer};

/// Instructions of one piece: about a megabyte of text.
const PIECE: usize = 1024;

/// How much there is to write for an element of a list, in instructions.
pub(super) trait Weight: Copy + Sync {
    fn weight(self, _module: &Module) -> usize {
        0
    }
}

impl Weight for FuncId {}
impl Weight for QueueId {}
impl Weight for LocId {}
impl Weight for bir::Storage {}

impl Weight for BlockId {
    fn weight(self, module: &Module) -> usize {
        module[self].instructions.len()
    }
}

impl Weight for InstId {
    fn weight(self, module: &Module) -> usize {
        1 + module[self].body().iter().map(|block| block.weight(module)).sum::<usize>()
    }
}

/// Where the texts of a thread come from, and where they go back to.
type Worker = (Receiver<Vec<u8>>, Sender<Vec<u8>>);

impl<'a> Writer<'a, '_> {
    /// Writes the elements of a list by several threads. False, with nothing written, when that is not worth while:
    /// the list is short, or most of it is one element.
    pub(super) fn shared<T: Weight>(
        &mut self,
        list: &'a [T],
        item: &(impl for<'w> Fn(&mut Writer<'a, 'w>, T) + Sync),
    ) -> bool {
        let Some(pieces) = (self.threads > 1).then(|| pieces(self.module, list)).flatten() else {
            return false;
        };
        let threads = self.threads.min(pieces.len());
        // What is inside an element is written by the thread that has the element.
        let all_threads = std::mem::replace(&mut self.threads, 1);
        let (module, drop_unknown, style, indent) =
            (self.module, self.drop_unknown, self.out.style(), self.out.indent());
        thread::scope(|scope| {
            let pieces = &pieces;
            // Texts come from a worker and go back, so that their memory is used again.
            let work = |worker: usize| -> Option<Worker> {
                let (done, texts) = sync_channel(1);
                let (give_back, used) = channel();
                let write = move || {
                    let (mut texts, mut templates) = Default::default();
                    for piece in pieces.iter().skip(worker).step_by(threads) {
                        let mut text: Vec<u8> = used.try_recv().unwrap_or_default();
                        text.clear();
                        let out = Out::new(&mut text, style).at_indent(indent);
                        let recording = Default::default();
                        let mut writer =
                            Writer { out, module, drop_unknown, texts, templates, recording, threads: 1 };
                        writer.elements(list, piece.clone(), item);
                        (texts, templates) = (writer.texts, writer.templates);
                        writer.out.finish().expect("writing to memory does not fail");
                        if done.send(text).is_err() {
                            // The sink has failed: nobody waits for the rest.
                            return;
                        }
                    }
                };
                // Where there may be no more threads, this one writes those pieces too.
                thread::Builder::new().spawn_scoped(scope, write).ok()?;
                Some((texts, give_back))
            };
            let workers: Vec<_> = (1..threads).map(work).collect();
            for (i, piece) in pieces.iter().enumerate() {
                match (i % threads).checked_sub(1).and_then(|worker| workers[worker].as_ref()) {
                    None => self.elements(list, piece.clone(), item),
                    Some((texts, give_back)) => {
                        // Without a text the worker has panicked, which the scope passes on.
                        let Ok(text) = texts.recv() else { break };
                        self.out.raw(&text);
                        // A worker that has nothing left to do takes none.
                        let _ = give_back.send(text);
                    }
                }
                if self.out.failed() {
                    break;
                }
            }
        });
        self.threads = all_threads;
        true
    }

    /// Writes some elements of a list.
    pub(super) fn elements<T: Copy>(
        &mut self,
        list: &'a [T],
        range: Range<usize>,
        item: &impl for<'w> Fn(&mut Writer<'a, 'w>, T),
    ) {
        for i in range {
            self.out.separate(i == 0);
            item(self, list[i]);
            if self.out.failed() {
                break;
            }
        }
    }
}

/// Cuts a list into pieces of about equal weight.
fn pieces<T: Weight>(module: &Module, list: &[T]) -> Option<Vec<Range<usize>>> {
    let (mut pieces, mut start, mut weight) = (Vec::new(), 0, 0);
    let (mut total, mut heaviest) = (0, 0);
    for (i, element) in list.iter().enumerate() {
        weight += element.weight(module);
        if weight >= PIECE {
            pieces.push(start..i + 1);
            (total, heaviest) = (total + weight, heaviest.max(weight));
            (start, weight) = (i + 1, 0);
        }
    }
    pieces.push(start..list.len());
    (pieces.len() > 2 && heaviest * 2 <= total).then_some(pieces)
}
