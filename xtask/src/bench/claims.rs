//! Durable claims per second: 64 clients over the socket, beside the bare loop over the same statements.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, Params};
use serde_json::json;
use tenure_engine::store::folder::DATABASE;
use tenure_engine::store::sqlite::Sqlite;

use super::bare::{self, Recorder, Settings, play};
use super::clients::{Client, Pace, drive};
use super::disk::{Commits, fsync_ms};
use super::figure::{Figure, Target, Unit, middle, parts, quantile};
use super::fleet::{Agents, CLIENTS, Kind, Store};
use super::peers::Rival;
use super::wire::{self, Claimer};
use super::{Extent, Places};

/// A slice with fewer claims says nothing.
const CLAIMS_MIN: u64 = 500;
/// The largest part of a slice's claims that the bare loop repeats one by one.
const SINGLE_PART: u64 = 4;

/// The part of the highest rate at which latencies are judged.
const PACE: f64 = 0.5;
/// How many small commits stand beside a slice of them.
const COMMITS: usize = 40;

/// The bare loop's side: a store on which the engine is recorded, and another one that the tape is played on.
struct Peer<'a> {
    agents: &'a Agents,
    recorded: Store<Recorder>,
    played: Connection,
    next: u64,
}

/// What the peer did in a slice.
struct Played {
    rate: f64,
    statements_per_group: f64,
}

impl<'a> Peer<'a> {
    fn new(places: &Places, agents: &'a Agents, settings: &Settings) -> Result<Self, String> {
        let recorded = Store::open(&places.recorded, Recorder::new)?;
        let played = settings.open(&places.played.join(DATABASE))?;
        Ok(Self { agents, recorded, played, next: 0 })
    }

    /// Records so many claims in groups of one size, then plays them.
    fn play(&mut self, kind: Kind, claims: u64, group: usize) -> Result<Played, String> {
        let commands = self.agents.commands(kind, self.next..self.next + claims)?;
        self.next += claims;
        // Opening the store is on the tape as well.
        drop(self.recorded.driver.take());
        self.recorded.run_in_groups(commands, group)?;
        let tape = self.recorded.driver.take();
        let groups = claims.div_ceil(group as u64);
        let took = play(&self.played, &tape)?;
        Ok(Played {
            rate: claims as f64 / took.as_secs_f64(),
            statements_per_group: tape.len() as f64 / groups as f64,
        })
    }
}

/// What was measured of one kind of claim.
#[derive(Default)]
pub struct Measured {
    /// Our claims in a second.
    pub product: Vec<f64>,
    bare: Vec<f64>,
    /// The bare loop's, with a commit for each.
    pub single: Vec<f64>,
    group: Vec<f64>,
    statements: Vec<f64>,
    latencies_ms: Vec<f64>,
    /// What a flush took.
    pub fsync_ms: Vec<f64>,
    /// What each rival did.
    rivals: Vec<Vec<f64>>,
}

/// Measures both kinds of claims. The daemon of `places.daemon` runs.
pub fn measure(
    places: &Places,
    agents: &Agents,
    extent: &Extent,
    rivals: &mut [Rival],
) -> Result<Vec<Figure>, String> {
    let settings = settings(&places.played)?;
    let mut figures = Vec::new();
    for kind in [Kind::Next, Kind::Named] {
        let mut rivals: Vec<&mut Rival> = rivals.iter_mut().filter(|rival| rival.kind == kind).collect();
        let (measured, mut clients) = of_kind(places, agents, extent, kind, &mut rivals)?;
        figures.extend(measured.figures(kind)?);
        if kind == Kind::Next {
            let rate = middle(&measured.product)? * PACE;
            figures.push(paced(places, &settings, extent, &mut clients, rate)?);
        }
        for (rival, rates) in rivals.iter().zip(&measured.rivals) {
            figures.push(measured.beside(rival, rates)?);
        }
    }
    Ok(figures)
}

/// Measures one kind of claims, and returns the clients for more.
pub fn of_kind<'a>(
    places: &Places,
    agents: &'a Agents,
    extent: &Extent,
    kind: Kind,
    rivals: &mut [&mut Rival],
) -> Result<(Measured, Vec<Client<Claimer<'a>>>), String> {
    let mut peer = Peer::new(places, agents, &settings(&places.played)?)?;
    let mut clients = wire::claimers(&places.daemon, agents, kind)?;
    let mut measured = Measured { rivals: vec![Vec::new(); rivals.len()], ..Measured::default() };
    // The first round warms both sides and is not counted.
    for round in 0..=extent.rounds {
        let mut counted = Measured::default();
        slice(places, kind, extent.slice, &mut clients, &mut peer, &mut counted)?;
        for rival in rivals.iter_mut() {
            counted.rivals.push(vec![rival.peer.slice(extent.slice)?]);
        }
        eprintln!(
            "bench: claims ({}), round {round} of {}: {:.0}/s, bare {:.0}/s, one by one {:.0}/s",
            kind.project(),
            extent.rounds,
            counted.product[0],
            counted.bare[0],
            counted.single[0]
        );
        for (rival, rates) in rivals.iter().zip(&counted.rivals) {
            eprintln!("bench:     {}: {:.0}/s", rival.peer.version(), rates[0]);
        }
        if round > 0 {
            measured.add(counted);
        }
    }
    Ok((measured, clients))
}

/// What a claim takes while as many come as half of what the product can do, beside the database's smallest commit.
fn paced(
    places: &Places,
    settings: &Settings,
    extent: &Extent,
    clients: &mut [Client<Claimer<'_>>],
    rate: f64,
) -> Result<Figure, String> {
    let commits = Commits::new(&places.root, settings)?;
    let pace = Pace::Every(Duration::from_secs_f64(clients.len() as f64 / rate));
    let (mut latencies_ms, mut commits_ms, mut fsyncs_ms) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..extent.rounds {
        latencies_ms.extend(drive(clients, pace, extent.slice)?.latencies_ms);
        for _ in 0..COMMITS {
            commits_ms.push(commits.once_ms()?);
        }
        fsyncs_ms.push(fsync_ms(&places.root)?);
    }
    let commit_ms = middle(&commits_ms)?;
    let part = |part| quantile(&latencies_ms, part).ok_or("no claim was measured");
    let numbers = [
        ("clients", json!(CLIENTS)),
        ("claims", json!(latencies_ms.len())),
        ("claims_per_second", json!(rate.round())),
        ("commit_ms", json!(commit_ms)),
        ("p50_ms", json!(part(0.5)?)),
        ("p99_ms", json!(part(0.99)?)),
    ];
    Ok(Figure {
        name: "claim_paced",
        what: "a claim's p99 at half of that rate, to one fsynced commit".to_owned(),
        value: part(0.99)? / commit_ms,
        unit: Unit::Times,
        target: Target::AtMost(5.0),
        fsync_ms: middle(&fsyncs_ms)?,
        parts: parts(numbers),
    })
}

/// The settings of the product's own connection, and a proof that they are durable.
pub fn settings(folder: &Path) -> Result<Settings, String> {
    let mut store = Store::open(folder, |sqlite: Sqlite| sqlite)?;
    Settings::of(&mut store.driver)
}

fn slice(
    places: &Places,
    kind: Kind,
    long: Duration,
    clients: &mut [Client<Claimer<'_>>],
    peer: &mut Peer<'_>,
    into: &mut Measured,
) -> Result<(), String> {
    let database = places.daemon.join(DATABASE);
    let last = last_receipt(&database)?;
    let slice = drive(clients, Pace::AtOnce, long)?;
    if slice.answers < CLAIMS_MIN {
        return Err(format!("a slice of {long:?} had only {} claims", slice.answers));
    }
    let commits = commits_after(&database, last)?;
    if commits == 0 {
        return Err("the claims of a slice left no receipts".to_owned());
    }
    let group = slice.answers as f64 / commits as f64;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a group is small and positive"
    )]
    let bare = peer.play(kind, slice.answers, (group.round() as usize).max(1))?;
    let single = peer.play(kind, slice.answers / SINGLE_PART, 1)?;
    into.product.push(slice.rate());
    into.bare.push(bare.rate);
    into.single.push(single.rate);
    into.group.push(group);
    into.statements.push(bare.statements_per_group);
    into.latencies_ms.extend(slice.latencies_ms);
    into.fsync_ms.push(fsync_ms(&places.root)?);
    Ok(())
}

/// The last receipt of a store.
fn last_receipt(database: &Path) -> Result<i64, String> {
    number(database, "SELECT coalesce(max(rowid), 0) FROM receipt", [])
}

/// In how many commits the receipts after one were written. All receipts of a commit carry its moment; two commits in the
/// same millisecond count as one, which makes the peer's groups larger and the peer faster, never slower.
fn commits_after(database: &Path, last: i64) -> Result<i64, String> {
    number(database, "SELECT count(DISTINCT at) FROM receipt WHERE rowid > ?1", [last])
}

/// Asks the daemon's database for a number, beside the daemon.
fn number(database: &Path, sql: &str, values: impl Params) -> Result<i64, String> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(database, flags).map_err(bare::failed)?;
    connection.query_row(sql, values, |row| row.get(0)).map_err(bare::failed)
}

impl Measured {
    fn add(&mut self, other: Self) {
        self.product.extend(other.product);
        self.bare.extend(other.bare);
        self.single.extend(other.single);
        self.group.extend(other.group);
        self.statements.extend(other.statements);
        self.latencies_ms.extend(other.latencies_ms);
        self.fsync_ms.extend(other.fsync_ms);
        for (rates, more) in self.rivals.iter_mut().zip(other.rivals) {
            rates.extend(more);
        }
    }

    fn figures(&self, kind: Kind) -> Result<[Figure; 2], String> {
        let which = match kind {
            Kind::Next => "claims of the next task",
            Kind::Named => "claims by name",
        };
        let (grouped, alone) = match kind {
            Kind::Next => ("claim_next", "claim_next_single"),
            Kind::Named => ("claim_named", "claim_named_single"),
        };
        let what = format!("durable {which}, {CLIENTS} clients, to a bare loop in the same groups");
        let mut in_groups = self.figure(grouped, what, &self.bare, Target::AtLeast(0.6))?;
        in_groups.parts.insert("peer_claims_per_commit".to_owned(), json!(middle(&self.group)?));
        in_groups.parts.insert("statements_per_commit".to_owned(), json!(middle(&self.statements)?));
        let what = format!("the same {which}, to a bare loop with a commit for each");
        let one_by_one = self.figure(alone, what, &self.single, Target::AtLeast(2.0))?;
        Ok([in_groups, one_by_one])
    }

    /// The figure beside a rival that did so much in the same rounds.
    fn beside(&self, rival: &Rival, rates: &[f64]) -> Result<Figure, String> {
        let mut figure = self.figure(rival.name, format!("the same, {}", rival.what), rates, rival.target)?;
        figure.parts.insert("peer".to_owned(), json!(rival.peer.version()));
        Ok(figure)
    }

    fn figure(
        &self,
        name: &'static str,
        what: String,
        peer: &[f64],
        target: Target,
    ) -> Result<Figure, String> {
        // A ratio is one of the same round; the median is taken of ratios, not of rates.
        let ratios: Vec<f64> = self.product.iter().zip(peer).map(|(ours, peer)| ours / peer).collect();
        let numbers = [
            ("clients", json!(CLIENTS)),
            ("rounds", json!(self.product.len())),
            ("claims_per_second", json!(middle(&self.product)?.round())),
            ("peer_per_second", json!(middle(peer)?.round())),
            ("p50_ms", json!(quantile(&self.latencies_ms, 0.5))),
            ("p99_ms", json!(quantile(&self.latencies_ms, 0.99))),
        ];
        let parts = parts(numbers);
        let (value, fsync_ms) = (middle(&ratios)?, middle(&self.fsync_ms)?);
        Ok(Figure { name, what, value, unit: Unit::Times, target, fsync_ms, parts })
    }
}
