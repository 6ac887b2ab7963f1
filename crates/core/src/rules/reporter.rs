//! Reporters: who may renew a lease beside its holder, for how long, and how that ends.

use serde_json::json;

use super::attention::is_overdue;
use super::fence::{held, lost, scope};
use super::{Rule, caller};
use crate::envelope::Call;
use crate::model::attempt::Attempt;
use crate::model::event::EventKind;
use crate::model::ids::ReporterId;
use crate::model::limits::{REPORTER_MS_MAX, REPORTER_MS_MIN, check_line, check_span, heartbeat_ms};
use crate::model::refusal::{Code, Refusal};
use crate::model::reporter::Reporter;
use crate::mutant::Mutant;
use crate::operation::reporter::{
    CreateReporter, EndReporter, RenewLease, Renewed, ReporterMade, ReporterOver, RevokeReporter,
};
use crate::working_set::{About, Need, Step, WorkingSet};

impl Rule for CreateReporter {
    fn scope(&self, call: &Call) -> Vec<Need> {
        let mut needs = scope(call);
        needs.extend([Need::Task(self.task.clone()), Need::Reporter(ReporterId::of(&self.hash))]);
        needs
    }

    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<ReporterMade> {
        check_line("watches", &self.watches)?;
        let remedy = "name a window within these bounds; a holder can declare another one when it ends";
        check_span("window_ms", self.window_ms, (REPORTER_MS_MIN, REPORTER_MS_MAX), remedy)?;
        let attempt = held(set, call, &self.task)?;
        let id = ReporterId::of(&self.hash);
        if set.reporter(&id)?.is_some() {
            let detail = format!("there is a reporter {id} already");
            return Err(Refusal::new(Code::AlreadyExists, detail).next("draw another secret").into());
        }
        if let Some(before) = last_of(set, &attempt)?.filter(|before| before.may_renew(call.now.fleet)) {
            end(set, call, before);
        }
        let session = caller(call)?;
        let reporter = Reporter {
            id: id.clone(),
            attempt: attempt.id.clone(),
            session: session.id.clone(),
            principal: session.principal.clone(),
            token: call.token.as_ref().map(|token| token.id.clone()),
            hash: self.hash,
            watches: self.watches.clone(),
            created_at: call.now.fleet,
            until: call.now.fleet.plus_ms(self.window_ms),
            ended_at: None,
            renewed_at: None,
            renewed_operation: None,
        };
        record(set, EventKind::ReporterCreated, &reporter);
        let made = ReporterMade {
            reporter: id.clone(),
            attempt: attempt.id.clone(),
            until: reporter.until,
            window_ms: self.window_ms,
            renew_ms: heartbeat_ms(attempt.lease_ms),
        };
        set.attempts.put(Attempt { reporter: Some(id), ..attempt });
        set.reporters.put(reporter);
        Ok(made)
    }
}

impl Rule for RevokeReporter {
    fn scope(&self, call: &Call) -> Vec<Need> {
        scope(call)
    }

    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<ReporterOver> {
        let attempt = held(set, call, &self.task)?;
        match last_of(set, &attempt)?.filter(|last| last.may_renew(call.now.fleet)) {
            Some(reporter) => Ok(end(set, call, reporter)),
            None => {
                let detail = format!("no reporter renews {}", attempt.id);
                Err(Refusal::new(Code::StateConflict, detail).next("work on").into())
            }
        }
    }
}

/// What the reporter that calls will surely need, once it is known.
fn own_scope(call: &Call) -> Vec<Need> {
    let Some(reporter) = &call.reporter else { return Vec::new() };
    let mut needs = vec![Need::Attempt(reporter.attempt.clone()), Need::Session(reporter.session.clone())];
    needs.extend(reporter.token.clone().map(Need::Token));
    needs
}

impl Rule for RenewLease {
    fn scope(&self, call: &Call) -> Vec<Need> {
        own_scope(call)
    }

    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<Renewed> {
        let (reporter, attempt) = renewing(set, call)?;
        let now = call.now.fleet;
        let operation_id = &call.envelope.operation_id;
        let until = reporter.until;
        let attempt = if operation_id.is_some() && reporter.renewed_operation == *operation_id {
            attempt
        } else {
            let lasts = now.plus_ms(attempt.lease_ms);
            let within = if Mutant::ReporterBeyondWindow.is_on() { lasts } else { lasts.min(until) };
            // The holder's own renewals may reach further, and are not shortened.
            let renewed = Attempt { deadline: within.max(attempt.deadline), ..attempt };
            set.attempts.put(renewed.clone());
            let renewed_operation = operation_id.clone();
            set.reporters.put(Reporter { renewed_at: Some(now), renewed_operation, ..reporter });
            renewed
        };
        Ok(Renewed {
            deadline: attempt.deadline,
            expires_in_ms: attempt.deadline.since_ms(now).max(0),
            until,
            window_ms: until.since_ms(now).max(0),
            renew_ms: heartbeat_ms(attempt.lease_ms),
            cancel_requested: attempt.cancel_requested,
            progress_overdue: is_overdue(call, &attempt),
            attempt: attempt.id,
        })
    }
}

impl Rule for EndReporter {
    fn scope(&self, call: &Call) -> Vec<Need> {
        own_scope(call)
    }

    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<ReporterOver> {
        let (reporter, _) = renewing(set, call)?;
        Ok(end(set, call, reporter))
    }
}

/// The reporter that calls and its attempt, if it may renew that at this moment, or the reason that it may not.
fn renewing(set: &WorkingSet, call: &Call) -> Step<(Reporter, Attempt)> {
    let unknown = || Refusal::new(Code::Unauthenticated, "the reporter is not known here");
    let known = call.reporter.as_ref().ok_or_else(unknown)?;
    let reporter = set.reporter(&known.id)?.ok_or_else(unknown)?;
    let attempt = set.attempt(&reporter.attempt)?.ok_or_else(unknown)?;
    if !attempt.is_live(call.now.fleet) && !Mutant::ReporterAfterAttempt.is_on() {
        return Err(lost(&attempt, call).into());
    }
    if !reporter.may_renew(call.now.fleet) {
        let what = if reporter.ended_at.is_some() { "was ended" } else { "is at the end of its window" };
        let detail = format!("the reporter {} of {} {what}", reporter.id, attempt.id);
        return Err(Refusal::new(Code::ReporterEnded, detail).into());
    }
    if Mutant::ReporterOutlives.is_on() {
        return Ok((reporter, attempt));
    }
    if !set.session(&reporter.session)?.is_some_and(|session| session.open) {
        let detail = format!("the session that made the reporter {} is closed", reporter.id);
        return Err(Refusal::new(Code::SessionClosed, detail).into());
    }
    if let Some(id) = &reporter.token
        && !set.token(id)?.is_some_and(|token| token.counts(call.now.wall))
    {
        let detail = format!("the token {id}, under which the reporter {} was made, is over", reporter.id);
        return Err(Refusal::new(Code::Unauthenticated, detail).into());
    }
    Ok((reporter, attempt))
}

/// The reporter that was made for an attempt last.
fn last_of(set: &WorkingSet, attempt: &Attempt) -> Step<Option<Reporter>> {
    attempt.reporter.as_ref().map_or(Ok(None), |id| set.reporter(id))
}

/// Ends a reporter before its window does.
fn end(set: &mut WorkingSet, call: &Call, reporter: Reporter) -> ReporterOver {
    let ended = Reporter { ended_at: Some(call.now.fleet), ..reporter };
    record(set, EventKind::ReporterEnded, &ended);
    let over = ReporterOver { reporter: ended.id.clone(), attempt: ended.attempt.clone() };
    set.reporters.put(ended);
    over
}

/// An event tells what a reporter is now, and the digest of its row.
fn record(set: &mut WorkingSet, kind: EventKind, reporter: &Reporter) {
    let data = json!({
        "reporter": reporter.id, "watches": reporter.watches, "until": reporter.until, "row": reporter.digest(),
    });
    set.record(kind, About::attempt(&reporter.attempt, data));
}
