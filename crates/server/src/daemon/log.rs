//! The daemon's log: JSON lines in a file whose size is bounded. Bodies and secrets never come here.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use tenure_core::wire;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use super::report::Failed;

/// A log that has grown beyond this many bytes is put aside; the one put aside before it is dropped.
const LOG_BYTES: u64 = 10 * 1024 * 1024;

/// Sends everything that this process logs to the folder's log, and the reason of a panic too.
pub(super) fn start(folder: &Path, levels: Option<&str>) -> Result<(), Failed> {
    let targets = match levels {
        None => Targets::new().with_default(LevelFilter::INFO),
        Some(levels) => levels.parse().map_err(|error| {
            Failed::new(
                format!("TENURE_LOG does not name levels: {error}"),
                "write error, warn, info, debug or trace, or TARGET=LEVEL with commas between",
            )
        })?,
    };
    let file = BoundedFile::open(folder.join(wire::LOG), LOG_BYTES).map_err(|error| {
        Failed::new(
            format!("the log in {} cannot be written: {error}", folder.display()),
            "check the state folder's disk",
        )
    })?;
    let layer = tracing_subscriber::fmt::layer().json().flatten_event(true).with_writer(Mutex::new(file));
    // A process that has a log already keeps it.
    if tracing_subscriber::registry().with(targets).with(layer).try_init().is_ok() {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let place = panic.location().map(ToString::to_string).unwrap_or_default();
            tracing::error!(place, "a thread panicked");
            before(panic);
        }));
    }
    Ok(())
}

/// A file that is put aside when it has grown enough.
struct BoundedFile {
    path: PathBuf,
    file: File,
    bytes: u64,
    bytes_max: u64,
}

impl BoundedFile {
    fn open(path: PathBuf, bytes_max: u64) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(&path)?;
        let bytes = file.metadata()?.len();
        Ok(Self { path, file, bytes, bytes_max })
    }

    fn put_aside(&mut self) -> io::Result<()> {
        std::fs::rename(&self.path, self.path.with_extension("log.1"))?;
        *self = Self::open(self.path.clone(), self.bytes_max)?;
        Ok(())
    }
}

impl Write for BoundedFile {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.bytes > self.bytes_max {
            // Without a new file the old one goes on: a log that is too long is better than none.
            let _ = self.put_aside();
        }
        let written = self.file.write(line)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_never_grows_far_beyond_its_bound() {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let path = folder.path().join("daemon.log");
        let mut file = BoundedFile::open(path.clone(), 100).expect("a log");
        for _ in 0..50 {
            file.write_all(&[b'x'; 30]).expect("written");
        }
        let size = |path: &Path| std::fs::metadata(path).expect("there").len();
        assert!(size(&path) <= 130 && size(&path.with_extension("log.1")) <= 130);
    }
}
