//! Several servers on one database, the agents at them, and the judgement of what these wrote down.

use std::path::PathBuf;
use std::time::Duration;

use tenure_client::call::Client;

use crate::agent::{Agent, client};
use crate::daemon::Daemon;
use crate::fill::{self, create_project};
use crate::history::{self, logged};
use crate::log::{Call, calls};
use crate::place::Place;
use crate::recount::{Figures, recount, recount_under_short_leases};
use crate::store;

/// How long the way back to work may take once the database can be written to.
pub const RECOVERY_MAX: Duration = Duration::from_secs(5);
/// The coordinator's usual lease.
const LEASE_MS: i64 = 600_000;
/// How far the time of leases and the time of clients may come apart: a server that joins moves the first by half of it.
const SLACK_MS: i64 = 10_000;
const TASKS: usize = 40;

/// The address of a database on one of several hosts.
#[must_use]
pub fn url(hosts: &[(&str, u16)]) -> String {
    let hosts: Vec<String> = hosts.iter().map(|(host, port)| format!("{host}:{port}")).collect();
    format!("postgres://tenure@{}/postgres", hosts.join(","))
}

/// The servers of a fleet, each with a folder of its own.
#[derive(Debug)]
pub struct Fleet {
    place: Place,
    /// Its servers.
    pub servers: Vec<Daemon>,
}

impl Fleet {
    /// Two servers, each with its own way to the database.
    #[must_use]
    pub fn of(urls: [&str; 2]) -> Self {
        Self::with(&urls.map(|url| (url, Vec::new())), &[])
    }

    /// The same with variables for each and arguments for both.
    #[must_use]
    pub fn with(servers: &[(&str, Vec<(String, String)>); 2], arguments: &[&str]) -> Self {
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

    /// The folder of all that agents write down.
    #[must_use]
    pub fn logs(&self) -> PathBuf {
        self.place.folder("logs")
    }

    /// An agent at one of the servers, who writes down what it asks and hears.
    #[must_use]
    pub fn agent(&self, server: usize, name: &str) -> Agent {
        Agent::open(client(self.servers[server].folder()), name)
    }

    /// So many agents at each server, who write down what they ask and hear.
    #[must_use]
    pub fn crowd(&self, each: usize) -> Vec<Agent> {
        let names = (0..self.servers.len()).flat_map(|server| (0..each).map(move |number| (server, number)));
        let open = |(server, number)| self.agent(server, &format!("agent-{server}-{number}"));
        names.map(open).map(|agent| agent.logging(&self.logs())).collect()
    }

    /// Counts all logs against the store as each server shows it.
    pub fn judge(&self) -> Figures {
        self.judge_by(recount, LEASE_MS)
    }

    /// The same where leases are so short that they end meanwhile.
    pub fn judge_under_leases_of(&self, lease_ms: i64) -> Figures {
        self.judge_by(recount_under_short_leases, lease_ms)
    }

    fn judge_by(&self, count: fn(&Client, &[Call]) -> Figures, lease_ms: i64) -> Figures {
        let logged = calls(&self.logs());
        let told: Vec<Figures> =
            self.servers.iter().map(|server| count(&client(server.folder()), &logged)).collect();
        let figures = told[0];
        let history = logged::calls(&logged, SLACK_MS);
        history::check(&history, lease_ms).unwrap_or_else(|why| panic!("{why}"));
        let [here, there] = [0, 1].map(|server| store::events(&client(self.servers[server].folder())));
        assert!(here == there, "the servers show different records");
        eprintln!("{figures:?}, {} calls in histories", history.len());
        assert!(figures.acknowledged > 50, "too quiet to prove anything");
        figures
    }
}

/// Tells people how long the way back took.
pub fn tell_recovery(of: &str, recovery: Duration) {
    eprintln!("{of}: {} ms to the next acknowledged mutation", recovery.as_millis());
    assert!(recovery <= RECOVERY_MAX, "{of}: it took {} ms", recovery.as_millis());
}
