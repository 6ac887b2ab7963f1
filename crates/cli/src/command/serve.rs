//! `tenure serve`: the daemon itself.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tenure_client::place;
use tenure_core::model::limits::Durations;
use tenure_engine::store::postgres::address::Address;
use tenure_server::daemon::network::{Files, Limits, Network};
use tenure_server::{daemon, http};

use crate::context::Context;
use crate::environment::variable;
use crate::stop::{Stop, usage};

/// Serve a store on a socket in a folder, and on the network
///
/// The first command that needs the daemon of this machine's own store starts it, so this is seldom typed for that one.
/// It is for a fleet whose store is in PostgreSQL: every server that names the same database serves the same fleet. And
/// with --listen it is for a team: other machines reach the server over TLS. It says in one line of JSON that it is ready,
/// or why it cannot be.
#[derive(clap::Args)]
pub struct Serve {
    /// Leave the terminal and outlive it, as the daemon that a command starts does
    #[arg(long)]
    private: bool,
    /// The folder of the store and its socket; the one that commands use when absent
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Keep the store in this PostgreSQL instead: postgres://USER@HOST[,HOST…]/DATABASE[?schema=NAME]; TENURE_DATABASE when
    /// absent
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// The file whose first line is the database's password; PGPASSWORD when absent
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
    #[command(flatten)]
    outside: Outside,
    #[command(flatten)]
    shorter: Shorter,
}

/// How it listens on the network.
#[derive(clap::Args)]
struct Outside {
    /// Listen on this address and port too; repeatable. TENURE_LISTEN when absent, with commas between several
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    listen: Vec<SocketAddr>,
    /// The certificate to show there, with those that lead to its authority, in PEM; without it only loopback addresses are
    /// listened on
    #[arg(long, value_name = "FILE", requires = "key")]
    certificate: Option<PathBuf>,
    /// Its private key in PEM, which nobody else may read
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key: Option<PathBuf>,
    /// A name or address that callers reach this server by, besides those listened on; repeatable. 0.0.0.0 is none, so with
    /// it each is named here
    #[arg(long, value_name = "NAME")]
    host: Vec<http::HostName>,
    /// An origin whose web pages may call this server, besides its own; repeatable
    #[arg(long, value_name = "URL")]
    origin: Vec<http::Origin>,
    /// A proxy whose X-Forwarded-For is believed; repeatable
    #[arg(long, value_name = "ADDRESS[/BITS]")]
    trusted_proxy: Vec<http::Block>,
    /// How often in a second each token or person may write by the network, in the long run; ten seconds' worth at once. 100
    /// when absent
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    writes_per_second: Option<u32>,
}

fn address(text: &str) -> Result<SocketAddr, &'static str> {
    text.trim().parse().map_err(|_| "it is no address with a port, such as 127.0.0.1:7070 or [::]:7070")
}

impl Outside {
    /// The network that was asked for. A daemon that a command starts for itself opens no port, whatever its environment
    /// says.
    fn network(self, private: bool) -> Result<Network, Stop> {
        let mut listen = self.listen;
        let named = variable("TENURE_LISTEN").filter(|named| !named.is_empty() && !private);
        if let (Some(named), true) = (named, listen.is_empty()) {
            let wrong = |why| usage(format!("TENURE_LISTEN is {named:?}: {why}"), "correct it, or unset it");
            listen = named.split(',').map(address).collect::<Result<_, _>>().map_err(wrong)?;
        }
        let without = [
            ("--certificate", self.certificate.is_some()),
            ("--host", !self.host.is_empty()),
            ("--origin", !self.origin.is_empty()),
            ("--trusted-proxy", !self.trusted_proxy.is_empty()),
            ("--writes-per-second", self.writes_per_second.is_some()),
        ];
        if let (true, Some((option, _))) = (listen.is_empty(), without.iter().find(|(_, given)| *given)) {
            let detail = format!("{option} is of no use to a server that only listens on its socket");
            return Err(usage(detail, "name an address with --listen"));
        }
        let files = self.certificate.zip(self.key);
        let usual = Limits::default();
        let writes_per_second = self.writes_per_second.unwrap_or(usual.writes_per_second);
        Ok(Network {
            listen,
            certificate: files.map(|(certificate, key)| Files { certificate, key }),
            hosts: self.host,
            origins: self.origin,
            proxies: self.trusted_proxy,
            limits: Limits { writes_per_second, ..usual },
        })
    }
}

/// Durations for the demo and tests. Nobody else has a reason to change them.
#[derive(clap::Args)]
struct Shorter {
    /// Lease of a project that sets none, in milliseconds
    #[arg(long, hide = true)]
    lease_ms: Option<i64>,
    /// Shortest lease that a project may set, in milliseconds
    #[arg(long, hide = true)]
    lease_ms_min: Option<i64>,
    /// Presence of a session after its last call, in milliseconds
    #[arg(long, hide = true)]
    presence_ms: Option<i64>,
    /// How long a handoff waits for the agent it names, in milliseconds
    #[arg(long, hide = true)]
    handoff_window_ms: Option<i64>,
}

impl Shorter {
    fn durations(&self) -> Durations {
        let usual = Durations::default();
        Durations {
            lease_ms_min: self.lease_ms_min.unwrap_or(usual.lease_ms_min),
            lease_ms_default: self.lease_ms.unwrap_or(usual.lease_ms_default),
            presence_ms: self.presence_ms.unwrap_or(usual.presence_ms),
            handoff_window_ms: self.handoff_window_ms.unwrap_or(usual.handoff_window_ms),
        }
    }
}

/// Serves until it is told to stop.
pub fn run(serve: Serve, context: &Context) -> ExitCode {
    let folder = match serve.folder {
        Some(folder) => Ok(folder),
        None => place::state_folder(&variable).map(|setting| setting.value.into()),
    };
    let durations = serve.shorter.durations();
    if [durations.lease_ms_min, durations.lease_ms_default, durations.presence_ms].iter().any(|ms| *ms < 1) {
        return context.screen.end(Err(usage("a duration is not positive", "leave it out")));
    }
    let network = match serve.outside.network(serve.private) {
        Ok(network) => network,
        Err(stop) => return context.screen.end(Err(stop)),
    };
    let database = match database(serve.database, serve.password_file.as_deref()) {
        Ok(database) => database,
        Err(stop) => return context.screen.end(Err(stop)),
    };
    match folder {
        Ok(folder) => {
            let mut options = daemon::Options::from_environment();
            options.detach = serve.private;
            options.engine.durations = durations;
            options.engine.database = database;
            options.network = network;
            daemon::serve(&folder, &options)
        }
        Err(failure) => context.screen.end(Err(failure.into())),
    }
}

/// The database that was named, with its password.
fn database(url: Option<String>, password_file: Option<&Path>) -> Result<Option<Address>, Stop> {
    let Some(url) = url.or_else(|| variable("TENURE_DATABASE").filter(|url| !url.is_empty())) else {
        return match password_file {
            Some(_) => {
                Err(usage("--password-file is of no use without a database", "name one with --database"))
            }
            None => Ok(None),
        };
    };
    let password = match password_file {
        None => variable("PGPASSWORD"),
        Some(file) => {
            let unread =
                |error| usage(format!("{}: {error}", file.display()), "name a file that you can read");
            let text = std::fs::read_to_string(file).map_err(unread)?;
            Some(text.lines().next().unwrap_or_default().to_owned())
        }
    };
    let address = Address::parse(&url, password.as_deref());
    address.map(Some).map_err(|error| usage(error.detail, error.remedy))
}
