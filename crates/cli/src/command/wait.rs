//! Waiting.

use std::time::{Duration, Instant};

use clap::Args;
use schemars::SchemaGenerator;
use tenure_client::failure::Failure;
use tenure_client::pause::{Pause, Steps};
use tenure_core::model::limits::WAIT_MS_MAX;
use tenure_core::operation::record::ListEvents;
use tenure_core::operation::wait::{self, Until, Waited};
use tenure_core::rules::patience::Patience;

use crate::context::Context;
use crate::duration;
use crate::on_work::OnWork;
use crate::stop::Stop;

/// How long a wait lasts when nobody says so.
const TIMEOUT: Duration = Duration::from_secs(60);

// Its help is the operation's own comment, which a doc comment here would replace.
#[derive(Args)]
#[group(skip)]
#[command(after_help = "Examples:\n  \
    tenure wait --timeout 10m\n  \
    tenure wait afc-1\n  \
    tenure wait afc-1 --until ready\n\n\
    A wait that times out ends with exit code 9 and says why.")]
pub struct Wait {
    #[command(flatten)]
    operation: OnWork<wait::Wait>,
    /// How long to wait at most, e.g. 90s or 5m; a minute when absent, and 0s looks once
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    timeout: Option<Duration>,
}

/// Waits and says what happened.
pub fn run(command: Wait, context: &Context) -> Result<(), Stop> {
    context.check_fields(SchemaGenerator::subschema_for::<Waited>)?;
    let deadline = Instant::now() + command.timeout.unwrap_or(TIMEOUT);
    let (mut wait, operand) = command.operation.resolve(context)?;
    if wait.until == Some(Until::Changed) && wait.after.is_none() {
        let newest = ListEvents { after: None, newest: true, task: None, limit: Some(1) };
        wait.after = Some(context.call(&newest)?.value.cursor);
    }
    let mut pause = Pause::new(Steps::PATIENT);
    loop {
        match context.call_on(&a_part_of(&wait, deadline), operand.as_deref()) {
            Err(stop) if goes_on(&stop, deadline, &mut pause) => {}
            outcome => return context.print(&outcome?),
        }
    }
}

/// Waits for a part of the time that is left, or until there is something to claim.
pub fn once(wait: &wait::Wait, deadline: Instant, pause: &mut Pause, context: &Context) -> Result<(), Stop> {
    match context.call(&a_part_of(wait, deadline)) {
        Err(stop) if Instant::now() < deadline && !goes_on(&stop, deadline, pause) => Err(stop),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// A wait for what is left, within the limit of one request.
fn a_part_of(wait: &wait::Wait, deadline: Instant) -> wait::Wait {
    let left = deadline.saturating_duration_since(Instant::now()).as_millis();
    let part = i64::try_from(left).unwrap_or(i64::MAX).min(WAIT_MS_MAX);
    wait::Wait { wait_ms: Some(part), ..wait.clone() }
}

/// Whether there is time and sense in asking again after a bad end. Before that it rests, if the end said nothing: the
/// coordinator is going, or cannot be reached for a moment. A claim that stays uncertain is asked again with its own id. A
/// stated wait that the time does not allow is the end.
pub fn goes_on(stop: &Stop, deadline: Instant, pause: &mut Pause) -> bool {
    let Stop::Failure(failure) = stop else { return false };
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return false;
    }
    if !failure.is_decided() {
        let stated = failure.retry_after();
        if stated.is_some_and(|stated| stated >= left) {
            return false;
        }
        std::thread::sleep(pause.rest(stated).min(left));
        return true;
    }
    pause.reset();
    matches!(failure, Failure::Refused(refusal) if Patience::is_worth_it(refusal))
}
