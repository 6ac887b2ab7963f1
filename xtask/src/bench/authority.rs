//! What it costs to prove who asks: claims by the network with a machine's token, beside the same claims by the socket,
//! where the operating system vouches.

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;

use serde_json::json;
use tenure_core::token::{Token, TokenKind};
use tenure_engine::store::driver::Driver;

use super::Extent;
use super::clients::{Client, PATIENCE, Pace, drive};
use super::daemon::Daemon;
use super::disk::fsync_ms;
use super::figure::{Figure, Target, Unit, middle, parts};
use super::fleet::{Agents, CLIENTS, Kind, Store};
use super::peers::free_port;
use super::wire::{self, Claimer};

/// More than a machine claims in a second, for there to be tasks enough.
const CLAIMS_PER_SECOND: f64 = 20_000.0;
/// The name that the server goes by.
const HOST: &str = "tenure";
/// From which turn on the clients of the network claim: what a client asked for by the socket is another request.
const TURN: u64 = 1 << 20;

/// Measures it on a store and a server of its own, in slices that take turns.
pub fn measure(root: &Path, binary: &Path, agents: &Agents, extent: &Extent) -> Result<Figure, String> {
    let folder = root.join("authority");
    let token = Token::of(TokenKind::Machine, [7; 32]);
    fill(&folder, agents, &token, extent)?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?));
    // One machine claims here as often as it can, which is what a limit of writes is against.
    let words = ["--listen", &address.to_string(), "--host", HOST, "--writes-per-second", "1000000"];
    let daemon = Daemon::serve(binary, &folder, Kind::Next.project(), &words)?;
    let mut local = wire::claimers(&folder, agents, Kind::Next)?;
    let mut remote: Vec<Client<Claimer<'_>>> = (0..CLIENTS)
        .map(|number| {
            let speaker = Claimer::new(agents, Kind::Next, number).since_turn(TURN).with_token(&token);
            Ok(Client::new(connect(address)?, speaker))
        })
        .collect::<Result<_, String>>()?;
    let (mut rates, mut ratios, mut fsyncs_ms) = ([Vec::new(), Vec::new()], Vec::new(), Vec::new());
    // The first round warms both ways and is not counted.
    for round in 0..=extent.rounds {
        let by_socket = drive(&mut local, Pace::AtOnce, extent.slice)?.rate();
        let by_network = drive(&mut remote, Pace::AtOnce, extent.slice)?.rate();
        eprintln!(
            "bench: claims (authority), round {round} of {}: {by_network:.0}/s with tokens, {by_socket:.0}/s by the socket",
            extent.rounds
        );
        if round > 0 {
            rates[0].push(by_network);
            rates[1].push(by_socket);
            ratios.push(by_network / by_socket);
            fsyncs_ms.push(fsync_ms(root)?);
        }
    }
    daemon.stop()?;
    Ok(Figure {
        name: "claim_token",
        what: format!(
            "claims of the next task with a token over TCP, {CLIENTS} clients, to the same by the socket"
        ),
        value: middle(&ratios)?,
        unit: Unit::Times,
        target: Target::AtLeast(0.8),
        fsync_ms: middle(&fsyncs_ms)?,
        parts: parts([
            ("claims_per_second", json!(middle(&rates[0])?.round())),
            ("peer_per_second", json!(middle(&rates[1])?.round())),
        ]),
    })
}

/// A store whose sessions were all opened from the machine that has the token.
fn fill(folder: &Path, agents: &Agents, token: &Token, extent: &Extent) -> Result<(), String> {
    let rounds = f64::from(u32::try_from(extent.rounds + 1).expect("a few"));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few hundred thousand")]
    let tasks = (rounds * extent.slice.as_secs_f64() * 2.0 * CLAIMS_PER_SECOND) as u64;
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut store = Store::to_fill_from(folder, agents, token)?;
    store.create(agents, tasks, tasks)?;
    store.driver.settle().map_err(|error| error.to_string())
}

fn connect(address: SocketAddr) -> Result<TcpStream, String> {
    let stream = TcpStream::connect(address).map_err(|error| format!("the server: {error}"))?;
    let set = stream.set_nodelay(true).and_then(|()| stream.set_read_timeout(Some(PATIENCE)));
    set.map_err(|error| format!("the server: {error}"))?;
    Ok(stream)
}
