//! What an operator restores a server from: a base backup with the log since, up to a moment; and a dump.

use std::fs;
use std::path::{Path, PathBuf};

use crate::place::{hand_over, own};
use crate::program::run;
use crate::server::{Cluster, Ending, until};

/// The folder of the log that is kept.
const ARCHIVE: &str = "archive";

impl Cluster {
    /// Starts a server that also listens on the loopback and keeps its log.
    pub fn archiving(settings: &[&str]) -> Result<Self, String> {
        let place = crate::Place::newest()?;
        let archive = place.folder().join(ARCHIVE);
        fs::create_dir(&archive).map_err(|error| error.to_string())?;
        own(&archive)?;
        let keeps = format!("archive_command=cp %p {}/%f", archive.display());
        Self::listening_at(place, &[settings, &["archive_mode=on", &keeps]].concat())
    }

    /// Copies the server's data while it serves.
    pub fn base_backup(&self) -> Result<PathBuf, String> {
        let backup = self.folder().join("base");
        let mut copy = self.place().client("pg_basebackup", self.port());
        copy.args(["--checkpoint", "fast", "--no-sync", "--pgdata"]).arg(&backup);
        run(&mut copy).map_err(|error| format!("pg_basebackup: {error}"))?;
        Ok(backup)
    }

    /// This moment, as an address in the log.
    pub fn moment(&self) -> Result<String, String> {
        self.sql("SELECT pg_current_wal_insert_lsn()")
    }

    /// Ends the server and recovers it at its place from a base backup up to a moment; what came after is gone.
    pub fn recover(&mut self, backup: &Path, moment: &str) -> Result<(), String> {
        let told = self.sql("SELECT pg_walfile_name(pg_switch_wal())")?;
        let archive = self.folder().join(ARCHIVE);
        until("the log is kept", || archive.join(&told).is_file())?;
        self.end(Ending::Fast)?;
        let data = self.data().to_owned();
        fs::rename(&data, self.folder().join("lost")).map_err(|error| error.to_string())?;
        fs::rename(backup, &data).map_err(|error| error.to_string())?;
        let signal = data.join("recovery.signal");
        fs::write(&signal, "").map_err(|error| error.to_string())?;
        hand_over(&signal)?;
        self.set(&format!("restore_command=cp {}/%f %p", archive.display()));
        self.set(&format!("recovery_target_lsn={moment}"));
        self.set("recovery_target_action=promote");
        self.serve()?;
        until("it can be written to", || self.sql("SELECT pg_is_in_recovery()").is_ok_and(|told| told == "f"))
    }

    /// All of a schema, as statements.
    pub fn dump(&self, schema: &str) -> Result<String, String> {
        let mut dump = self.place().client("pg_dump", self.port());
        dump.args(["--no-owner", &format!("--schema={schema}"), "postgres"]);
        run(&mut dump).map_err(|error| format!("pg_dump: {error}"))
    }

    /// Makes a new database of what was dumped, all of it or nothing.
    pub fn load(&self, database: &str, dump: &str) -> Result<(), String> {
        self.sql(&format!("CREATE DATABASE {database}"))?;
        let file = self.folder().join(format!("{database}.sql"));
        fs::write(&file, dump).map_err(|error| error.to_string())?;
        let mut psql = self.place().client("psql", self.port());
        psql.args(["--no-psqlrc", "--quiet", "--single-transaction", "--set", "ON_ERROR_STOP=1"]);
        psql.args(["--dbname", database, "--file"]).arg(&file);
        run(&mut psql).map(drop).map_err(|error| format!("psql: {error}"))
    }
}
