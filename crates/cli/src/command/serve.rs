//! `tenure serve`: the daemon itself.

use std::path::PathBuf;
use std::process::ExitCode;

use tenure_client::place;
use tenure_core::model::limits::Durations;
use tenure_server::daemon;

use crate::context::Context;
use crate::environment::variable;
use crate::stop::usage;

/// Serve the store of this machine on a socket in its folder
///
/// The first command that needs the daemon starts it, so this is seldom typed. It says in one line of JSON that it
/// is ready, or why it cannot be.
#[derive(clap::Args)]
pub struct Serve {
    /// Leave the terminal and outlive it, as the daemon that a command starts does
    #[arg(long)]
    private: bool,
    /// The folder of the store; the one that commands use when absent
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
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
    match folder {
        Ok(folder) => {
            let mut options = daemon::Options::from_environment();
            options.detach = serve.private;
            options.engine.durations = durations;
            daemon::serve(&folder, &options)
        }
        Err(failure) => context.screen.end(Err(failure.into())),
    }
}
