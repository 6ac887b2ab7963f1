//! Several servers on one PostgreSQL, and what may happen between them, to them, and to the database.
//!
//! Each test lets agents work at the servers while something is done, and then counts their logs against the store. Where
//! the database comes back, it tells how long it took from there to the next acknowledged mutation.

mod at_least;
mod clocks;
mod connections;
mod failover;
mod full_disk;
mod readiness;
mod restarts;
mod silence;
mod standstill;

use std::path::PathBuf;
use std::time::Duration;

use tenure_client::call::Client;
use tenure_sim::agent::{Agent, client};
use tenure_sim::daemon::Daemon;
use tenure_sim::history::{self, logged};
use tenure_sim::log::{Call, calls};
use tenure_sim::place::Place;
use tenure_sim::recount::{Figures, recount, recount_under_short_leases};
use tenure_sim::{fill, store};

use super::races::create_project;

/// What processes wrote outlives them: no machine loses its power here, and nothing has to wait for a disk.
const UNFLUSHED: &[&str] = &["fsync=off"];
/// How long the way back to work may take once the database can be written to.
const RECOVERY_MAX: Duration = Duration::from_secs(5);
/// The coordinator's usual lease.
const LEASE_MS: i64 = 600_000;
/// How far the time of leases and the time of clients may come apart: a server that joins moves the first by half of it.
const SLACK_MS: i64 = 10_000;
const TASKS: usize = 40;

/// The address of a database on one of several hosts.
fn url(hosts: &[(&str, u16)]) -> String {
    let hosts: Vec<String> = hosts.iter().map(|(host, port)| format!("{host}:{port}")).collect();
    format!("postgres://tenure@{}/postgres", hosts.join(","))
}

/// The servers of a fleet, each with a folder of its own.
struct Fleet {
    place: Place,
    servers: Vec<Daemon>,
}

impl Fleet {
    /// Two servers, each with its own way to the database.
    fn of(urls: [&str; 2]) -> Self {
        Self::with(&urls.map(|url| (url, Vec::new())), &[])
    }

    /// The same with variables for each and arguments for both.
    fn with(servers: &[(&str, Vec<(String, String)>); 2], arguments: &[&str]) -> Self {
        let place = Place::new();
        let mut fleet = Self { place, servers: Vec::new() };
        for (number, (url, variables)) in servers.iter().enumerate() {
            let folder = fleet.place.folder(&format!("server-{number}"));
            let variables: Vec<_> =
                variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            let arguments = [&["--database", url], arguments].concat();
            fleet.servers.push(Daemon::start(&folder, &arguments, &variables));
        }
        let founder = fleet.agent(0, "founder");
        create_project(&founder);
        fill::tasks(&founder, TASKS);
        fleet
    }

    fn logs(&self) -> PathBuf {
        self.place.folder("logs")
    }

    /// An agent at one of the servers, who writes down what it asks and hears.
    fn agent(&self, server: usize, name: &str) -> Agent {
        Agent::open(client(self.servers[server].folder()), name)
    }

    /// So many agents at each server, who write down what they ask and hear.
    fn crowd(&self, each: usize) -> Vec<Agent> {
        let names = (0..self.servers.len()).flat_map(|server| (0..each).map(move |number| (server, number)));
        let open = |(server, number)| self.agent(server, &format!("agent-{server}-{number}"));
        names.map(open).map(|agent| agent.logging(&self.logs())).collect()
    }

    /// Counts all logs against the store as each server shows it.
    fn judge(&self) -> Figures {
        self.judge_by(recount, LEASE_MS)
    }

    /// The same where leases are so short that they end meanwhile.
    fn judge_under_leases_of(&self, lease_ms: i64) -> Figures {
        self.judge_by(recount_under_short_leases, lease_ms)
    }

    fn judge_by(&self, count: fn(&Client, &[Call]) -> Figures, lease_ms: i64) -> Figures {
        let logged = calls(&self.logs());
        let told: Vec<Figures> =
            self.servers.iter().map(|server| count(&client(server.folder()), &logged)).collect();
        let figures = told[0];
        let history = logged::calls(&logged, SLACK_MS);
        history::check(&history, lease_ms).unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(self.events(0), self.events(1), "the servers show different records");
        eprintln!("{figures:?}, {} calls in histories", history.len());
        assert!(figures.acknowledged > 50, "too quiet to prove anything");
        figures
    }

    /// How many events a server shows.
    fn events(&self, server: usize) -> usize {
        store::events(&client(self.servers[server].folder())).len()
    }
}

/// Tells people how long the way back took.
fn tell_recovery(of: &str, recovery: Duration) {
    eprintln!("{of}: {} ms to the next acknowledged mutation", recovery.as_millis());
    assert!(recovery <= RECOVERY_MAX, "{of}: it took {} ms", recovery.as_millis());
}
