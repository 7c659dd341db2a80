//! A sign of life on the terminal while work takes more than a second.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::report::Context;

const PATIENCE: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(120);

/// Parts of the work that are told apart.
const WHOLE: u64 = 1000;

/// Work that goes on until this is dropped.
pub(crate) struct Progress {
    thread: Option<(Sender<()>, JoinHandle<()>)>,
    /// How much is done, of [`WHOLE`]; 0 while nobody says.
    done: Arc<AtomicU64>,
}

impl Progress {
    /// Says how much of the work is done.
    pub(crate) fn set(&self, done: usize, total: usize) {
        let parts = (done as u128 * u128::from(WHOLE)) / (total as u128).max(1);
        self.done.store(parts as u64, Ordering::Relaxed);
    }
}

impl Context {
    /// Shows what is going on, on standard error when that is a terminal, once it takes more than a second.
    pub(crate) fn progress(&self, what: String) -> Progress {
        let done = Arc::new(AtomicU64::new(0));
        if self.is_quiet() || !io::stderr().is_terminal() {
            return Progress { thread: None, done };
        }
        let parts = Arc::clone(&done);
        let (stop, waiting) = mpsc::channel();
        let show = move || {
            if waiting.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                let bar = ProgressBar::new(WHOLE).with_message(what).with_elapsed(PATIENCE);
                while waiting.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                    let parts = parts.load(Ordering::Relaxed);
                    let template = match parts {
                        0 => "{spinner} {msg} {elapsed}",
                        _ => "{spinner} {msg} {percent} % {elapsed}",
                    };
                    if let Ok(style) = ProgressStyle::with_template(template) {
                        bar.set_style(style);
                    }
                    bar.set_position(parts);
                    bar.tick();
                }
                bar.finish_and_clear();
            }
        };
        let thread = thread::Builder::new().spawn(show).ok();
        Progress { thread: thread.map(|thread| (stop, thread)), done }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.thread.take() {
            drop(stop);
            // A thread that panicked has shown nothing: no reason to stop the work.
            let _ = thread.join();
        }
    }
}
