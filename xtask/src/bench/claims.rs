//! Durable claims per second: 64 clients over the socket, beside the bare loop over the same statements.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};
use serde_json::{Map, json};
use tenure_engine::store::folder::DATABASE;
use tenure_engine::store::sqlite::Sqlite;

use super::bare::{self, Recorder, Settings, play};
use super::disk::fsync_ms;
use super::figure::{Figure, Target, Unit, median, quantile};
use super::fleet::{Agents, CLIENTS, Kind, Store};
use super::wire::{self, Client};
use super::{Extent, Places};

/// A slice with fewer claims says nothing.
const CLAIMS_MIN: u64 = 500;
/// The largest part of a slice's claims that the bare loop repeats one by one.
const SINGLE_PART: u64 = 4;

/// The bare loop's side: a store on which the engine is recorded, and another one that the tape is played on.
struct Peer<'a> {
    agents: &'a Agents,
    recorded: Store<Recorder>,
    played: Connection,
    next: [u64; 2],
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
        Ok(Self { agents, recorded, played, next: [0; 2] })
    }

    /// Records so many claims in groups of one size, then plays them.
    fn play(&mut self, kind: Kind, claims: u64, group: usize) -> Result<Played, String> {
        let next = &mut self.next[usize::from(kind == Kind::Named)];
        let commands = self.agents.commands(kind, *next..*next + claims)?;
        *next += claims;
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
struct Measured {
    product: Vec<f64>,
    bare: Vec<f64>,
    single: Vec<f64>,
    group: Vec<f64>,
    statements: Vec<f64>,
    latencies_ms: Vec<f64>,
    fsync_ms: Vec<f64>,
}

/// Measures both kinds of claims. The daemon of `places.daemon` runs.
pub fn measure(places: &Places, agents: &Agents, extent: &Extent) -> Result<Vec<Figure>, String> {
    let settings = settings(&places.recorded)?;
    let mut peer = Peer::new(places, agents, &settings)?;
    let mut figures = Vec::new();
    for kind in [Kind::Next, Kind::Named] {
        let mut clients = wire::clients(&places.daemon)?;
        let mut measured = Measured::default();
        // The first round warms both sides and is not counted.
        for round in 0..=extent.rounds {
            let mut counted = Measured::default();
            slice(places, agents, kind, extent.slice, &mut clients, &mut peer, &mut counted)?;
            eprintln!(
                "bench: claims ({}), round {round} of {}: {:.0}/s, bare {:.0}/s, one by one {:.0}/s",
                kind.project(),
                extent.rounds,
                counted.product[0],
                counted.bare[0],
                counted.single[0]
            );
            if round > 0 {
                measured.add(counted);
            }
        }
        figures.extend(measured.figures(kind)?);
    }
    Ok(figures)
}

/// The settings of the product's own connection, and a proof that they are durable.
pub fn settings(folder: &Path) -> Result<Settings, String> {
    let mut store = Store::open(folder, |sqlite: Sqlite| sqlite)?;
    Settings::of(&mut store.driver)
}

fn slice(
    places: &Places,
    agents: &Agents,
    kind: Kind,
    long: Duration,
    clients: &mut [Client],
    peer: &mut Peer<'_>,
    into: &mut Measured,
) -> Result<(), String> {
    let database = places.daemon.join(DATABASE);
    let (last, _) = receipts(&database, 0)?;
    let slice = wire::claim(clients, agents, kind, long)?;
    if slice.claims < CLAIMS_MIN {
        return Err(format!("a slice of {long:?} had only {} claims", slice.claims));
    }
    let (_, commits) = receipts(&database, last)?;
    if commits == 0 {
        return Err("the claims of a slice left no receipts".to_owned());
    }
    let group = slice.claims as f64 / commits as f64;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a group is small and positive"
    )]
    let bare = peer.play(kind, slice.claims, (group.round() as usize).max(1))?;
    let single = peer.play(kind, slice.claims / SINGLE_PART, 1)?;
    into.product.push(slice.rate());
    into.bare.push(bare.rate);
    into.single.push(single.rate);
    into.group.push(group);
    into.statements.push(bare.statements_per_group);
    into.latencies_ms.extend(slice.latencies_ms);
    into.fsync_ms.push(fsync_ms(&places.root)?);
    Ok(())
}

/// The last receipt of a store, and in how many commits those after `last` were written. All receipts of a commit
/// carry its moment; two commits in the same millisecond count as one, which makes the peer's groups larger and the
/// peer faster, never slower.
fn receipts(database: &Path, last: i64) -> Result<(i64, i64), String> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(database, flags).map_err(bare::failed)?;
    let commits = "SELECT coalesce(max(rowid), 0), count(DISTINCT at) FROM receipt WHERE rowid > ?1";
    let ask = |after: i64| connection.query_row(commits, [after], |row| Ok((row.get(0)?, row.get(1)?)));
    // The first time only the end is wanted.
    if last == 0 {
        let end = connection.query_row("SELECT coalesce(max(rowid), 0), 0 FROM receipt", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        });
        return end.map_err(bare::failed);
    }
    ask(last).map_err(bare::failed)
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
    }

    fn figures(&self, kind: Kind) -> Result<[Figure; 2], String> {
        let middle = |values: &[f64]| median(values).ok_or_else(|| "no slice was measured".to_owned());
        // A ratio is one of the same round; the median is taken of ratios, not of rates.
        let ratio = |peer: &[f64]| {
            let ratios: Vec<f64> = self.product.iter().zip(peer).map(|(ours, peer)| ours / peer).collect();
            middle(&ratios)
        };
        let parts = |peer: &[f64], group: f64, statements: Option<f64>| {
            let mut parts = Map::new();
            parts.insert("clients".to_owned(), json!(CLIENTS));
            parts.insert("rounds".to_owned(), json!(self.product.len()));
            parts.insert("claims_per_second".to_owned(), json!(middle(&self.product)?.round()));
            parts.insert("peer_per_second".to_owned(), json!(middle(peer)?.round()));
            parts.insert("peer_claims_per_commit".to_owned(), json!(group));
            if let Some(statements) = statements {
                parts.insert("statements_per_commit".to_owned(), json!(statements));
            }
            parts.insert("p50_ms".to_owned(), json!(quantile(&self.latencies_ms, 0.5)));
            parts.insert("p99_ms".to_owned(), json!(quantile(&self.latencies_ms, 0.99)));
            Ok::<_, String>(parts)
        };
        let which = match kind {
            Kind::Next => "claims of the next task",
            Kind::Named => "claims by name",
        };
        let (grouped, alone) = match kind {
            Kind::Next => ("claim_next", "claim_next_single"),
            Kind::Named => ("claim_named", "claim_named_single"),
        };
        let fsync_ms = middle(&self.fsync_ms)?;
        let group = middle(&self.group)?;
        Ok([
            Figure {
                name: grouped,
                what: format!("durable {which}, {CLIENTS} clients, to a bare loop in the same groups"),
                value: ratio(&self.bare)?,
                unit: Unit::Times,
                target: Target::AtLeast(0.6),
                fsync_ms,
                parts: parts(&self.bare, group, Some(middle(&self.statements)?))?,
            },
            Figure {
                name: alone,
                what: format!("the same {which}, to a bare loop with a commit for each"),
                value: ratio(&self.single)?,
                unit: Unit::Times,
                target: Target::Told,
                fsync_ms,
                parts: parts(&self.single, 1.0, None)?,
            },
        ])
    }
}
