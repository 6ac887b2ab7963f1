//! Claims on PostgreSQL: one server and two, beside `pgbench` claiming one in a transaction, in a statement and with what a claim
//! leaves behind, on the same disk and the same cores.

use std::fmt::Write as _;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::time::Duration;

use tenure_cluster::Cluster;
use tenure_engine::store::driver::{Driver, Role};
use tenure_engine::store::postgres::Postgres as Store;
use tenure_engine::store::postgres::address::Address;

use super::clients::{Client, Pace, drive};
use super::daemon::Daemon;
use super::figure::median;
use super::fleet::{self, Agents, CLIENTS, Kind};
use super::machine::Machine;
use super::peers::{Claim, Peer, Postgres};
use super::wire::{self, Claimer};
use crate::repository;

/// How many clients claim at once.
const CROWDS: [u64; 3] = [8, 32, CLIENTS];
/// How many servers share the database.
const SERVERS: [usize; 2] = [1, 2];
/// How many tasks wait to be claimed.
const TASKS: u64 = 160_000;
/// How many wait for `pgbench`.
const PEER_TASKS: u64 = 400_000;
/// How many rounds of slices count; one before them warms.
const ROUNDS: usize = 3;
/// How long a slice takes: `pgbench` takes whole seconds.
const SLICE: Duration = Duration::from_secs(1);
/// What a database of this size is given, as the peer is; what it acknowledges is flushed.
const SETTINGS: [&str; 4] = ["fsync=on", "synchronous_commit=on", "shared_buffers=512MB", "max_wal_size=4GB"];
/// The page of the book.
const PAGE: &str = "docs/src/servers.md";

/// Claims in a second, by crowd.
#[derive(Default)]
struct Rates {
    pgbench: [Vec<f64>; Claim::ALL.len()],
    ours: [Vec<f64>; SERVERS.len()],
}

/// Measures all of them in turn.
pub fn run(root: &Path, binary: &Path, machine: &Machine, writes: bool) -> Result<(), String> {
    let agents = Agents::draw()?;
    let cluster = Cluster::start(&SETTINGS)?;
    let version = fill(&cluster, &agents)?;
    let daemons: Vec<(std::path::PathBuf, Daemon)> = (0..SERVERS.len())
        .map(|number| {
            let folder = root.join(format!("server-{number}"));
            DirBuilder::new()
                .mode(0o700)
                .create(&folder)
                .map_err(|error| format!("{}: {error}", folder.display()))?;
            let words = ["--database", &cluster.url()];
            let daemon = Daemon::serve(binary, &folder, Kind::Next.project(), &words)?;
            Ok((folder, daemon))
        })
        .collect::<Result<_, String>>()?;
    let folders: Vec<&Path> = daemons.iter().map(|(folder, _)| folder.as_path()).collect();
    let mut peer = Postgres::start(root, PEER_TASKS)?;
    let mut claimers: Vec<Claimer<'_>> =
        (0..CLIENTS).map(|number| Claimer::new(&agents, Kind::Next, number)).collect();
    let mut rates: [Rates; CROWDS.len()] = Default::default();
    for round in 0..=ROUNDS {
        for (crowd, rates) in CROWDS.into_iter().zip(&mut rates) {
            // What a database that serves for long gets by itself, each the same.
            peer.vacuum()?;
            cluster.sql("VACUUM")?;
            let mut told = format!("bench: round {round} of {ROUNDS}, {crowd} clients:");
            for (claim, theirs) in Claim::ALL.into_iter().zip(&mut rates.pgbench) {
                let rate = peer.claim(claim, crowd, SLICE)?;
                let _ = write!(told, " pgbench {claim:?} {rate:.0}/s,");
                if round > 0 {
                    theirs.push(rate);
                }
            }
            for (servers, ours) in SERVERS.into_iter().zip(&mut rates.ours) {
                let rate = slice(&folders[..servers], &mut claimers, crowd)?;
                let _ = write!(told, " {servers} servers {rate:.0}/s");
                if round > 0 {
                    ours.push(rate);
                }
            }
            eprintln!("{told}");
        }
    }
    for (_, daemon) in daemons {
        daemon.stop()?;
    }
    let table = table(&rates)?;
    println!("{}; {version}\n\n{table}", machine.line());
    if writes {
        let page = page(machine, &version, peer.version(), &table);
        fs::write(repository::root().join(PAGE), page).map_err(|error| format!("{PAGE}: {error}"))?;
    }
    Ok(())
}

/// Makes the fleet, and says which database it is in. Nobody needs each of its rows flushed.
fn fill(cluster: &Cluster, agents: &Agents) -> Result<String, String> {
    let address = Address::parse(&cluster.url(), None).map_err(|error| error.to_string())?;
    let told = |error: tenure_engine::store::driver::StoreError| error.to_string();
    let mut driver = Store::open(&address, Role::Writer).map_err(told)?;
    driver.execute("SET synchronous_commit = off", &[]).map_err(told)?;
    let mut store = fleet::Store::on(driver)?;
    store.admit(agents, None)?;
    store.create(agents, TASKS, TASKS)?;
    for order in ["VACUUM ANALYZE", "CHECKPOINT"] {
        cluster.sql(order)?;
    }
    store.driver.version().map_err(told)
}

/// Lets so many clients, spread over the servers, claim for a slice.
fn slice(folders: &[&Path], claimers: &mut Vec<Claimer<'_>>, crowd: u64) -> Result<f64, String> {
    let crowd = usize::try_from(crowd).expect("there are few clients");
    let mut clients = Vec::new();
    for (number, claimer) in claimers.drain(..crowd).enumerate() {
        let stream = wire::connect(folders[number % folders.len()]);
        let stream = stream.map_err(|error| format!("a client could not connect: {error}"))?;
        clients.push(Client::new(stream, claimer));
    }
    let slice = drive(&mut clients, Pace::AtOnce, SLICE)?;
    claimers.splice(..0, clients.into_iter().map(Client::into_speaker));
    Ok(slice.rate())
}

fn table(rates: &[Rates; CROWDS.len()]) -> Result<String, String> {
    let mut table = String::from(
        "| clients | one server | two servers | two to one | `pgbench`, whole claim | one server to it | `pgbench`, one statement | \
         one server to it |\n|---|---|---|---|---|---|---|---|\n",
    );
    for (crowd, rates) in CROWDS.into_iter().zip(rates) {
        let middle = |rates: &[f64]| median(rates).ok_or("a slice is missing");
        let (one, two) = (middle(&rates.ours[0])?, middle(&rates.ours[1])?);
        let (statement, whole) = (middle(&rates.pgbench[0])?, middle(&rates.pgbench[1])?);
        let _ = writeln!(
            table,
            "| {crowd} | {one:.0}/s | {two:.0}/s | {:.2} × | {whole:.0}/s | {:.2} × | {statement:.0}/s | {:.2} × |",
            two / one,
            one / whole,
            one / statement,
        );
    }
    Ok(table)
}

fn page(machine: &Machine, version: &str, peer: &str, table: &str) -> String {
    format!(
        "<!-- Written by `cargo xtask bench --servers --write`. Run that, do not edit this. -->\n\n\
         # Several servers\n\n\
         Claims of the next task through the sockets of one server and of two that share a store in {version}, with \
         all that a claim is: eligibility, generation, event in the chain, receipt. Beside them `pgbench` ({peer}) claims \
         with SKIP LOCKED, one in a transaction, on a database of its own. The *whole claim* looks a receipt up, finds and takes \
         the next task, and writes attempt, event and receipt, as programs do that keep a record in PostgreSQL; *one statement* \
         takes the row and leaves nothing behind. Each flushes what it acknowledges. Slices of a second take turns; the \
         median of {ROUNDS} counts. One fleet writes in one order, so a second server adds availability and answers, not claims; \
         clients, servers and databases share the cores. Both databases are vacuumed before each turn of a crowd; without \
         that both grow slower from round to round, and `pgbench` more than ours.\n\n\
         Measured on {}.\n\n{table}",
        machine.line()
    )
}
