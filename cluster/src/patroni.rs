//! Servers whose roles Patroni decides, as an organisation has them: when the leader is lost, the standby that its commits
//! waited for takes its place, and who comes back follows it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::Pid;

use crate::place::Place;
use crate::processes;
use crate::program::run;
use crate::server::{LOOPBACK, free_port};

/// Debian's packages of all that is needed.
const PACKAGES: &str = "Debian's packages are `patroni`, `python3-etcd` and `etcd-server`";
/// How long servers may take to be founded, to follow, and to have a leader again.
const PATIENCE: Duration = Duration::from_secs(180);
/// How often they are looked at. Each look starts a program.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Whether a server leads.
const LEADS: &str = "SELECT NOT pg_is_in_recovery()";
/// How many servers follow, and whether commits wait for one of them.
const FOLLOWED: &str = "SELECT count(*) FILTER (WHERE state = 'streaming'), bool_or(sync_state = 'sync') \
    FROM pg_stat_replication WHERE application_name LIKE 'node%'";
/// The smallest write. Its commit waits as any other does, and it leaves nothing.
const WRITE: &str = "SELECT pg_logical_emit_message(true, 'storm', '')";

/// Running servers, each under a Patroni of its own, and the etcd in which they agree. All of it ends with this value.
#[derive(Debug)]
pub struct Patroni {
    place: Place,
    etcd: Child,
    nodes: Vec<Node>,
}

/// One server and its Patroni.
#[derive(Debug)]
struct Node {
    name: String,
    data: PathBuf,
    port: u16,
    patroni: Option<Child>,
}

impl Patroni {
    /// Starts so many of the newest version. When it returns, commits of the leader wait for a standby.
    pub fn start(nodes: usize) -> Result<Self, String> {
        let place = Place::newest()?;
        let (etcd, port) = start_etcd(&place)?;
        let mut servers = Self { place, etcd, nodes: Vec::new() };
        for number in 0..nodes {
            servers.add(&format!("node{number}"), port)?;
        }
        servers.settle()?;
        Ok(servers)
    }

    fn add(&mut self, name: &str, etcd: u16) -> Result<(), String> {
        let port = free_port()?;
        let data = self.place.folder().join(name);
        let written = settings(&self.place, name, port, free_port()?, etcd);
        fs::write(self.place.folder().join(format!("{name}.yml")), written)
            .map_err(|error| error.to_string())?;
        self.nodes.push(Node { name: name.to_owned(), data, port, patroni: None });
        self.bring_back(self.nodes.len() - 1)
    }

    /// Where the servers listen.
    pub fn hosts(&self) -> impl Iterator<Item = (&'static str, u16)> {
        self.nodes.iter().map(|node| (LOOPBACK, node.port))
    }

    /// The folder with everything of theirs, also with what they say.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.place.folder()
    }

    /// Waits until all others follow a leader, and its commits wait for one of them.
    pub fn settle(&self) -> Result<(), String> {
        let all = format!("{}|t", self.nodes.len() - 1);
        self.until("all others follow a leader", || {
            self.leader().is_ok_and(|leader| self.sql(leader, FOLLOWED).is_ok_and(|told| told == all))
        })
    }

    /// The number of the server that leads.
    pub fn leader(&self) -> Result<usize, String> {
        let mut all = 0..self.nodes.len();
        all.find(|node| self.sql(*node, LEADS).is_ok_and(|told| told == "t"))
            .ok_or_else(|| "nobody leads".to_owned())
    }

    /// Ends a server's Patroni and all processes of the server by force.
    pub fn kill(&mut self, node: usize) -> Result<(), String> {
        let node = &mut self.nodes[node];
        let mut patroni = node.patroni.take();
        // Whoever of them lives is named before any of them ends.
        let both = [patroni.as_ref().map(Pid::from_child), processes::serving(&node.data)];
        processes::kill_others(&both.into_iter().flatten().collect::<Vec<_>>())?;
        patroni.as_mut().map_or(Ok(()), |patroni| patroni.wait().map(drop)).map_err(|error| error.to_string())
    }

    /// Waits until a leader can be written to.
    pub fn wait_for_a_leader(&self) -> Result<(), String> {
        self.until("a leader can be written to", || {
            self.leader().is_ok_and(|leader| self.sql(leader, WRITE).is_ok())
        })
    }

    /// Starts a server's Patroni, which was killed, as it was left.
    pub fn bring_back(&mut self, node: usize) -> Result<(), String> {
        let name = &self.nodes[node].name;
        let mut command = self.place.guarded_by("TERM", "/usr/bin/patroni");
        command.arg(self.place.folder().join(format!("{name}.yml")));
        self.nodes[node].patroni = Some(spawn(&self.place, &mut command, name)?);
        Ok(())
    }

    fn sql(&self, node: usize, statements: &str) -> Result<String, String> {
        let told = run(&mut self.place.psql(self.nodes[node].port, statements));
        told.map(|printed| printed.trim_end().to_owned())
    }

    fn until(&self, what: &str, mut is_so: impl FnMut() -> bool) -> Result<(), String> {
        let begun = Instant::now();
        while !is_so() {
            if begun.elapsed() > PATIENCE {
                let logs: Vec<String> =
                    self.nodes.iter().map(|node| last_lines(&self.place, &node.name)).collect();
                return Err(format!("it never came to this: {what}\n{}", logs.join("\n")));
            }
            // waits because: the state is other processes' and is only known by asking
            sleep(LOOK_EVERY);
        }
        Ok(())
    }
}

impl Drop for Patroni {
    fn drop(&mut self) {
        // Their folder goes with them: nothing needs to be written any more.
        for node in 0..self.nodes.len() {
            if let Err(error) = self.kill(node) {
                eprintln!("{error}");
            }
            processes::clear_memory(&self.nodes[node].data);
        }
        self.etcd.kill().and_then(|()| self.etcd.wait()).ok();
    }
}

/// One is enough: it is not what is put to the test.
fn start_etcd(place: &Place) -> Result<(Child, u16), String> {
    let [clients, peers] = [free_port()?, free_port()?];
    let [clients_url, peers_url] = [clients, peers].map(|port| format!("http://{LOOPBACK}:{port}"));
    let mut command = place.guarded("etcd");
    command.args(["--name", "one", "--initial-cluster", &format!("one={peers_url}")]);
    command.args(["--listen-client-urls", &clients_url, "--advertise-client-urls", &clients_url]);
    command.args(["--listen-peer-urls", &peers_url, "--initial-advertise-peer-urls", &peers_url]);
    command.arg("--data-dir").arg(place.folder().join("etcd"));
    Ok((spawn(place, &mut command, "etcd")?, clients))
}

/// Starts a program that writes what it says into a file of the place.
fn spawn(place: &Place, command: &mut Command, name: &str) -> Result<Child, String> {
    let file = place.folder().join(format!("{name}.log"));
    let log = File::options().create(true).append(true).open(&file);
    let log = log.map_err(|error| format!("{}: {error}", file.display()))?;
    let output = log.try_clone().map_err(|error| error.to_string())?;
    let child = command.stdout(output).stderr(log).spawn();
    child.map_err(|error| format!("{name}: {error} ({PACKAGES})"))
}

fn last_lines(place: &Place, name: &str) -> String {
    let said = fs::read_to_string(place.folder().join(format!("{name}.log"))).unwrap_or_default();
    let lines: Vec<&str> = said.lines().rev().take(8).collect();
    let lines: Vec<&str> = lines.into_iter().rev().collect();
    format!("{name} ({PACKAGES}):\n{}", lines.join("\n"))
}

/// What one Patroni is told. What processes wrote outlives them: nothing has to wait for a disk.
fn settings(place: &Place, name: &str, port: u16, api: u16, etcd: u16) -> String {
    let (folder, programs) = (place.folder().display(), place.programs().display());
    format!(
        "\
scope: tenure
name: {name}
restapi: {{listen: '{LOOPBACK}:{api}', connect_address: '{LOOPBACK}:{api}'}}
etcd3: {{host: '{LOOPBACK}:{etcd}'}}
bootstrap:
  dcs:
    ttl: 20
    loop_wait: 5
    retry_timeout: 5
    synchronous_mode: true
    postgresql: {{use_pg_rewind: true}}
  initdb: [encoding: UTF8, locale: C, no-sync]
postgresql:
  listen: '{LOOPBACK}:{port}'
  connect_address: '{LOOPBACK}:{port}'
  data_dir: '{folder}/{name}'
  bin_dir: '{programs}'
  pgpass: '{folder}/{name}.pgpass'
  authentication:
    superuser: {{username: tenure}}
    replication: {{username: follower}}
  parameters:
    dynamic_shared_memory_type: mmap
    fsync: 'off'
    unix_socket_directories: '{folder}'
  pg_hba:
  - local all all trust
  - host all all {LOOPBACK}/32 trust
  - host replication all {LOOPBACK}/32 trust
"
    )
}
