//! The limit that every durable figure stands beside: what the disk takes for a flush, and the database for a commit.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;

use rusqlite::Connection;

use super::bare;
use super::figure::median;

/// How many flushes a reading is the median of.
const FLUSHES: usize = 41;
/// What a database writes at least: one page.
const PAGE_BYTES: usize = 4096;
/// The number by which the kernel calls a file system that lies in memory.
const TMPFS: u64 = 0x0102_1994;

/// Refuses a folder whose files lie in memory: a flush there takes no time.
pub fn refuse_memory(folder: &Path) -> Result<(), String> {
    let kind = rustix::fs::statfs(folder).map_err(|error| format!("{}: {error}", folder.display()))?.f_type;
    if kind.cast_unsigned() & 0xffff_ffff == TMPFS {
        return Err(format!(
            "{} lies in memory; set CARGO_TARGET_DIR to a folder on a disk",
            folder.display()
        ));
    }
    Ok(())
}

/// How long the disk takes to overwrite a page and flush it, in milliseconds.
pub fn fsync_ms(folder: &Path) -> Result<f64, String> {
    let path = folder.join("flush");
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    let file = File::create(&path).map_err(failed)?;
    let page = [0x5a; PAGE_BYTES];
    let mut times = Vec::with_capacity(FLUSHES);
    for flush in 0..=FLUSHES {
        let begun = Instant::now();
        file.write_all_at(&page, 0).and_then(|()| file.sync_data()).map_err(failed)?;
        // The first one also makes the file longer.
        if flush > 0 {
            times.push(begun.elapsed().as_secs_f64() * 1000.0);
        }
    }
    median(&times).ok_or_else(|| "no flush was measured".to_owned())
}

/// How long the database takes to change one row and commit it with the product's settings, in milliseconds.
pub struct Commits {
    connection: Connection,
}

impl Commits {
    /// A small database of its own, which may be there from before. `settings` are those of the product's connection.
    pub fn new(folder: &Path, settings: &bare::Settings) -> Result<Self, String> {
        let connection = settings.open(&folder.join("commits.db"))?;
        let schema = "CREATE TABLE IF NOT EXISTS one (number INTEGER NOT NULL) STRICT; \
            DELETE FROM one; INSERT INTO one VALUES (0)";
        connection.execute_batch(schema).map_err(bare::failed)?;
        Ok(Self { connection })
    }

    /// Commits once.
    pub fn once_ms(&self) -> Result<f64, String> {
        let mut statement =
            self.connection.prepare_cached("UPDATE one SET number = number + 1").map_err(bare::failed)?;
        let begun = Instant::now();
        statement.execute([]).map_err(bare::failed)?;
        Ok(begun.elapsed().as_secs_f64() * 1000.0)
    }
}
