//! Where a command's output goes: standard output, or a file that is there as a whole or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};
use std::path::{Path, PathBuf};

use bir_view::Paint;
use tempfile::NamedTempFile;

use crate::printable::Printable;
use crate::report::{Context, Fault, Form, Result};

/// The option of commands with one output.
#[derive(clap::Args)]
pub(crate) struct OutputOpt {
    /// Write to FILE instead of standard output
    #[arg(short, long = "output", value_name = "FILE")]
    output: Option<PathBuf>,
}

impl OutputOpt {
    /// How text may look there: a file gets plain ASCII, a terminal what it can show.
    pub(crate) fn paint(&self, context: &Context) -> Paint {
        context.paint(self.is_stdout() && io::stdout().is_terminal())
    }

    /// Whether the output is standard output.
    pub(crate) fn is_stdout(&self) -> bool {
        self.output.as_deref().is_none_or(|path| path == Path::new("-"))
    }

    pub(crate) fn create(&self) -> Result<Output> {
        match self.output.as_deref() {
            Some(path) if !self.is_stdout() => Output::file(path),
            _ => Ok(Output::stdout()),
        }
    }
}

/// An output. Nothing is in its place before `Output::write_with` has ended well.
pub(crate) struct Output {
    name: String,
    sink: Sink,
}

enum Sink {
    Stdout(BufWriter<StdoutLock<'static>>),
    /// Written beside the file and renamed.
    Temporary(BufWriter<NamedTempFile>, PathBuf),
    /// A device or a pipe.
    Direct(BufWriter<File>),
}

const BUFFER: usize = 1 << 16;

impl Output {
    pub(crate) fn stdout() -> Output {
        let sink = Sink::Stdout(BufWriter::with_capacity(BUFFER, io::stdout().lock()));
        Output { name: "standard output".into(), sink }
    }

    pub(crate) fn file(path: &Path) -> Result<Output> {
        let name = path.display().to_string();
        let sink = open(path).map_err(|error| Fault::io("write", &name, &error))?;
        Ok(Output { name, sink })
    }

    /// Writes what `write` gives, and puts the output into its place.
    pub(crate) fn write_with(mut self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
        let written = write(&mut self).and_then(|()| self.flush());
        let name = self.name;
        let kept = written.and_then(|()| match self.sink {
            Sink::Temporary(file, path) => {
                file.into_inner()?.persist(path)?;
                Ok(())
            }
            Sink::Stdout(_) | Sink::Direct(_) => Ok(()),
        });
        kept.map_err(|error| Fault::io("write", &name, &error))
    }
}

impl Output {
    /// Like [`Output::write_with`], for commands whose text is for people: control characters in it are escaped.
    pub(crate) fn write_as(
        self,
        context: &Context,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<()> {
        match context.form() {
            Form::Text => {
                let colors =
                    context.colors(matches!(self.sink, Sink::Stdout(_)) && io::stdout().is_terminal());
                self.write_with(|sink| write(&mut Printable::new(sink, colors)))
            }
            Form::Json | Form::Sarif => self.write_with(write),
        }
    }
}

fn open(path: &Path) -> io::Result<Sink> {
    // A link stays one: what it points to is replaced.
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let existing = fs::metadata(&path).ok();
    if let Some(facts) = &existing {
        if facts.is_dir() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder"));
        }
        if !facts.is_file() {
            return Ok(Sink::Direct(BufWriter::with_capacity(BUFFER, File::create(&path)?)));
        }
    }
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    // Said of the folder itself, the reason does not name a temporary file.
    fs::metadata(folder)?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".bir-").suffix(".tmp");
    #[cfg(unix)]
    let builder = {
        use std::os::unix::fs::PermissionsExt;
        // What any new file gets; the mask of the process applies.
        builder.permissions(fs::Permissions::from_mode(0o666))
    };
    let file = builder.tempfile_in(folder).map_err(without_path)?;
    if let Some(facts) = existing {
        file.as_file().set_permissions(facts.permissions())?;
    }
    Ok(Sink::Temporary(BufWriter::with_capacity(BUFFER, file), path))
}

/// The error without the temporary name, which says nothing to anybody.
fn without_path(error: io::Error) -> io::Error {
    let inner = error.get_ref().and_then(|inner| inner.source()).map(|source| source.to_string());
    inner.map_or(error.kind().into(), |text| io::Error::new(error.kind(), text))
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.sink {
            Sink::Stdout(sink) => sink.write(bytes),
            Sink::Temporary(sink, _) => sink.write(bytes),
            Sink::Direct(sink) => sink.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.sink {
            Sink::Stdout(sink) => sink.flush(),
            Sink::Temporary(sink, _) => sink.flush(),
            Sink::Direct(sink) => sink.flush(),
        }
    }
}
