//! `tenure serve`: the daemon itself.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tenure_client::place;
use tenure_core::model::limits::Durations;
use tenure_engine::store::postgres::address::Address;
use tenure_server::daemon;

use crate::context::Context;
use crate::environment::variable;
use crate::stop::{Stop, usage};

/// Serve a store on a socket in a folder
///
/// The first command that needs the daemon of this machine's own store starts it, so this is seldom typed for that one.
/// It is for a fleet whose store is in PostgreSQL: every server that names the same database serves the same fleet. It
/// says in one line of JSON that it is ready, or why it cannot be.
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
    shorter: Shorter,
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
