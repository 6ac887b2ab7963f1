//! The morning after.

use clap::Args;
use tenure_core::model::time::WallTime;
use tenure_core::operation::digest::TellDigest;

use crate::context::Context;
use crate::duration;
use crate::on_task::InProject;
use crate::stop::Stop;

/// How far back a digest reaches when nobody says so.
const A_DAY_MS: i64 = 24 * 60 * 60 * 1000;

// Its help is the operation's own comment, which a doc comment here would replace.
#[derive(Args)]
#[group(skip)]
#[command(after_help = "Examples:\n  \
    tenure digest\n  \
    tenure digest --since 8h\n  \
    tenure digest --since 2026-11-28")]
pub struct Digest {
    #[command(flatten)]
    digest: InProject<TellDigest>,
    /// Since when: so long ago (8h, 2d), a date, or a date with a time; a day ago when absent
    #[arg(long, value_name = "WHEN", value_parser = duration::since)]
    since: Option<WallTime>,
}

/// Tells what happened.
pub fn run(command: Digest, context: &Context) -> Result<(), Stop> {
    let since = command.since.unwrap_or_else(|| duration::now().minus_ms(A_DAY_MS));
    let digest = command.digest.resolve(context)?;
    context.perform(&TellDigest { since, ..digest })
}
