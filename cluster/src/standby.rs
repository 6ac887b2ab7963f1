//! A server that follows another one, whose commits wait for it, and that takes its place.

use std::fs;

use crate::place::{Place, hand_over};
use crate::program::run;
use crate::server::{Cluster, until};

/// The name under which a standby follows, and for which its primary's commits wait.
const STANDBY: &str = "standby";

impl Cluster {
    /// Starts a server whose commits wait until a standby has them on its disk. As long as none follows, none ends.
    pub fn primary(settings: &[&str]) -> Result<Self, String> {
        let waits = format!("synchronous_standby_names={STANDBY}");
        Self::listening(&[settings, &[&waits]].concat())
    }

    /// Starts a standby of this primary, and waits until commits wait for it.
    pub fn standby(&self, settings: &[&str]) -> Result<Self, String> {
        let (host, port) = self.host().ok_or("a server that does not listen has no standby")?;
        let place = Place::of(self.place().version().clone())?;
        let data = place.folder().join("data");
        let mut copy = place.tool("pg_basebackup");
        copy.args(["--host", host, "--port", &port.to_string(), "--username", "tenure"]);
        copy.args(["--checkpoint", "fast", "--wal-method", "stream", "--no-sync", "--pgdata"]).arg(&data);
        run(&mut copy).map_err(|error| format!("pg_basebackup: {error}"))?;
        let signal = data.join("standby.signal");
        fs::write(&signal, "").map_err(|error| error.to_string())?;
        hand_over(&signal)?;
        let primary = format!(
            "primary_conninfo=host={host} port={port} user=tenure application_name={STANDBY} connect_timeout=2"
        );
        let standby = Self::serving(place, data, true, &[settings, &[&primary]].concat())?;
        let state = "SELECT sync_state FROM pg_stat_replication";
        until("a standby follows", || self.sql(state).is_ok_and(|state| state == "sync"))?;
        Ok(standby)
    }

    /// Makes a primary of a standby, whatever the one that it followed does. Nothing waits for another standby.
    pub fn promote(&self) -> Result<(), String> {
        match &*self.sql("SELECT pg_promote(true, 20)")? {
            "t" => Ok(()),
            _ => Err(format!("the standby was not promoted: {}", self.log())),
        }
    }
}
