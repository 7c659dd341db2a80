//! A sign of life on the terminal while work takes more than a second.

use std::io::{self, IsTerminal};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::report::Context;

const PATIENCE: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(120);

/// Work that goes on until this is dropped.
pub(crate) struct Progress {
    thread: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Context {
    /// Shows what is going on, on standard error when that is a terminal, once it takes more than a second.
    pub(crate) fn progress(&self, what: String) -> Progress {
        if self.is_quiet() || !io::stderr().is_terminal() {
            return Progress { thread: None };
        }
        let (done, waiting) = mpsc::channel();
        let thread = thread::spawn(move || {
            if waiting.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                let style = ProgressStyle::with_template("{spinner} {msg} {elapsed}");
                let bar = ProgressBar::new_spinner().with_message(what).with_elapsed(PATIENCE);
                bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
                bar.enable_steady_tick(TICK);
                let _ = waiting.recv();
                bar.finish_and_clear();
            }
        });
        Progress { thread: Some((done, thread)) }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((done, thread)) = self.thread.take() {
            drop(done);
            // A thread that panicked has shown nothing: no reason to stop the work.
            let _ = thread.join();
        }
    }
}
