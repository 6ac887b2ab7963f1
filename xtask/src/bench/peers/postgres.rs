//! PostgreSQL as a queue: one statement takes the next row that nobody else has locked, and `pgbench` sends it.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;

use super::super::fleet::CLIENTS;
use super::super::process::Process;
use super::{NOBODY, Peer, folder};

/// Where Debian keeps the programs of each version.
const VERSIONS: &str = "/usr/lib/postgresql";

/// Its tasks, and the index that a queue lives on.
const SCHEMA: &str = "\
CREATE TABLE task (
    id bigint PRIMARY KEY, priority integer NOT NULL, title text NOT NULL, held boolean NOT NULL,
    generation bigint NOT NULL, holder integer, deadline timestamptz
) WITH (fillfactor = 80);
INSERT INTO task SELECT n, n % 5, 'Let the importer keep the order of what it reads, part ' || n, false, 0
    FROM generate_series(1, :tasks) n;
CREATE INDEX task_ready ON task (priority, id) WHERE NOT held;
CREATE TABLE attempt (
    id bigserial PRIMARY KEY, task bigint NOT NULL, generation bigint NOT NULL, holder integer NOT NULL,
    began timestamptz NOT NULL, UNIQUE (task, generation)
);
CREATE INDEX attempt_holder ON attempt (holder, id);
CREATE TABLE event (
    id bigserial PRIMARY KEY, kind text NOT NULL, task bigint NOT NULL, holder integer NOT NULL, data jsonb NOT NULL
);
CREATE TABLE receipt (key text PRIMARY KEY, answer jsonb NOT NULL);
VACUUM ANALYZE;
CHECKPOINT;
";
/// How `pgbench` claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// One statement: no attempt, no event, no receipt, no check of who asks.
    Statement,
    /// What a claim leaves behind, one statement each, in a transaction: receipt looked up, next task found and taken, attempt,
    /// event, receipt. No rules, no chain, and the number of an event may come before an earlier one's commit.
    Whole,
}

impl Claim {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Statement, Self::Whole];

    fn file(self) -> &'static str {
        match self {
            Self::Statement => "statement.sql",
            Self::Whole => "whole.sql",
        }
    }

    fn script(self) -> &'static str {
        match self {
            Self::Statement => {
                "\
UPDATE task SET held = true, generation = generation + 1, holder = :client_id, deadline = now() + interval '10 minutes' \
WHERE id = (SELECT id FROM task WHERE NOT held ORDER BY priority, id FOR UPDATE SKIP LOCKED LIMIT 1) \
RETURNING id, generation;
"
            }
            Self::Whole => {
                "\
\\set key random(1, 9000000000000000000)
BEGIN;
SELECT answer FROM receipt WHERE key = 'claim-' || :key;
SELECT id FROM task WHERE NOT held ORDER BY priority, id FOR UPDATE SKIP LOCKED LIMIT 1 \\gset
UPDATE task SET held = true, generation = generation + 1, holder = :client_id, deadline = now() + interval '10 minutes' \
WHERE id = :id RETURNING generation \\gset
INSERT INTO attempt (task, generation, holder, began) VALUES (:id, :generation, :client_id, now());
INSERT INTO event (kind, task, holder, data) VALUES \
('task_claimed', :id, :client_id, jsonb_build_object('generation', :generation::bigint));
INSERT INTO receipt VALUES ('claim-' || :key, jsonb_build_object('task', :id::bigint, 'generation', :generation::bigint));
COMMIT;
"
            }
        }
    }
}

/// A running PostgreSQL with a full queue.
pub struct Postgres {
    _server: Process,
    place: Place,
    version: String,
    claimed: u64,
}

/// Where its programs and files are, and who runs them.
struct Place {
    programs: PathBuf,
    folder: PathBuf,
    as_nobody: bool,
    /// The name of a socket that is no file: a path may be too long for one.
    socket: String,
}

impl Place {
    fn find(root: &Path) -> Result<Self, String> {
        let versions = std::fs::read_dir(VERSIONS).map_err(|error| format!("{VERSIONS}: {error}"))?;
        let newest = versions
            .flatten()
            .filter(|version| version.path().join("bin/postgres").is_file())
            .filter_map(|version| Some((version.file_name().to_str()?.parse::<u32>().ok()?, version.path())))
            .max();
        let programs = newest.ok_or_else(|| format!("no PostgreSQL is below {VERSIONS}"))?.1.join("bin");
        let (folder, as_nobody) = folder(root, "postgres")?;
        let socket = format!("@tenure-bench-{}", std::process::id());
        Ok(Self { programs, folder, as_nobody, socket })
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.join(program));
        command.env_clear().env("LC_ALL", "C.UTF-8").current_dir(&self.folder).stderr(Stdio::null());
        if self.as_nobody {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    fn client(&self, program: &str) -> Command {
        let mut command = self.command(program);
        command.args(["--host", &self.socket, "--port", "5432", "--username", "bench"]);
        command
    }

    /// Runs statements and returns the last line of what they print.
    fn sql(&self, statements: &str) -> Result<String, String> {
        let mut psql = self.client("psql");
        psql.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set", "ON_ERROR_STOP=1"]);
        psql.arg("postgres");
        let file = self.folder.join("statements.sql");
        std::fs::write(&file, statements).map_err(|error| error.to_string())?;
        let output = psql.arg("--file").arg(&file).output().map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout);
        if output.status.success() {
            Ok(text.lines().last().unwrap_or_default().to_owned())
        } else {
            Err("PostgreSQL refused the statements of the bench".to_owned())
        }
    }
}

impl Postgres {
    /// Makes a cluster below `root`, starts it and fills the queue with so many tasks.
    pub fn start(root: &Path, tasks: u64) -> Result<Self, String> {
        let place = Place::find(root)?;
        let made = place
            .command("initdb")
            .args(["--pgdata", "data", "--username", "bench", "--auth", "trust", "--encoding", "UTF8"])
            .args(["--locale", "C", "--no-instructions"])
            .stdout(Stdio::null())
            .status();
        if !made.map_err(|error| format!("initdb: {error}"))?.success() {
            return Err(format!("initdb makes no cluster in {}", place.folder.display()));
        }
        let mut serve = place.command("postgres");
        serve.args([
            "-D",
            "data",
            "-c",
            "listen_addresses=",
            "-c",
            &format!("unix_socket_directories={}", place.socket),
        ]);
        // What it acknowledges is flushed; the rest is what a server of this size is given.
        for setting in ["fsync=on", "synchronous_commit=on", "shared_buffers=512MB", "max_wal_size=4GB"] {
            serve.args(["-c", setting]);
        }
        serve.args(["-c", &format!("max_connections={}", CLIENTS + 10)]);
        let server = Process::start(&mut serve, Signal::INT, || {
            Ok(place.client("pg_isready").stdout(Stdio::null()).status().is_ok_and(|status| status.success()))
        })?;
        place.sql(&SCHEMA.replace(":tasks", &tasks.to_string()))?;
        for claim in Claim::ALL {
            let file = place.folder.join(claim.file());
            std::fs::write(&file, claim.script()).map_err(|error| format!("{}: {error}", file.display()))?;
        }
        let version = super::version(&place.programs.join("postgres"), "--version")?
            .replace("postgres (PostgreSQL)", "PostgreSQL");
        let version = version.split(" (").next().unwrap_or_default().to_owned();
        Ok(Self { _server: server, place, version, claimed: 0 })
    }
}

impl Postgres {
    /// Clears away what earlier claims left behind.
    pub fn vacuum(&self) -> Result<(), String> {
        self.place.sql("VACUUM;").map(drop)
    }

    /// Lets so many clients claim so for so long, one claim in a transaction. How many did so in a second.
    pub fn claim(&mut self, claim: Claim, clients: u64, long: Duration) -> Result<f64, String> {
        let mut bench = self.place.client("pgbench");
        bench.args([
            "--no-vacuum",
            "--protocol",
            "prepared",
            "--jobs",
            "2",
            "--client",
            &clients.to_string(),
        ]);
        // It takes whole seconds only.
        bench.args(["--time", &long.as_secs().max(1).to_string(), "--file", claim.file(), "postgres"]);
        let output = bench.output().map_err(|error| format!("pgbench: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let number = |begins: &str| -> Option<f64> {
            let line = text.lines().find_map(|line| line.strip_prefix(begins))?;
            line.split_whitespace().next()?.parse().ok()
        };
        let rate = number("tps = ").filter(|_| output.status.success());
        let rate = rate.ok_or_else(|| format!("pgbench tells no rate: {text}"))?;
        // A claim that found nothing would be fast.
        let claimed: u64 = self
            .place
            .sql("SELECT count(*) FROM task WHERE held;")?
            .parse()
            .map_err(|_| "PostgreSQL does not count".to_owned())?;
        let transactions = number("number of transactions actually processed: ").unwrap_or(f64::NAN);
        let here = (claimed - self.claimed) as f64;
        self.claimed = claimed;
        if here == transactions {
            Ok(rate)
        } else {
            Err(format!("of {transactions} claims in PostgreSQL only {here} found a task"))
        }
    }
}

impl Peer for Postgres {
    fn slice(&mut self, long: Duration) -> Result<f64, String> {
        self.claim(Claim::Statement, CLIENTS, long)
    }

    fn version(&self) -> &str {
        &self.version
    }
}
