//! Attempts: one session's try at a task each.

use tenure_core::model::attempt::{Attempt, AttemptState};
use tenure_core::model::ids::{Generation, TaskId};
use tenure_core::model::limits::ATTEMPTS_SHOWN;
use tenure_core::model::time::FleetTime;
use tenure_core::working_set::WorkingSet;
use tenure_core::working_set::records::AttemptIndex;

use super::driver::{Driver, Fields, StoreError, Values};
use super::rows::{Lookup, Stored};
use super::shape::Shape;

static ATTEMPT: Shape = Shape::new(
    "attempt",
    &[
        "id",
        "task",
        "project",
        "session",
        "current",
        "principal",
        "mode",
        "token_hash",
        "claim_operation",
        "started_at",
        "recovers",
        "state",
        "stops_at",
        "lease_ms",
        "deadline",
        "heartbeat_at",
        "heartbeat_operation",
        "progress_at",
        "task_digest",
        "disposition",
        "cancel_requested",
        "ended_at",
        "reporter",
    ],
    1,
    4,
)
.with_steady(1);

/// Attempts by id.
pub static BY_ID: Lookup = Lookup::new(&ATTEMPT, &["id"], "");
/// Current attempts by session.
pub static CURRENT_OF: Lookup = Lookup::new(&ATTEMPT, &["session"], "current = 1");
/// Current attempts by project.
pub static CURRENT_IN: Lookup = Lookup::new(&ATTEMPT, &["project"], "current = 1");

impl Stored for Attempt {
    fn shape() -> &'static Shape {
        &ATTEMPT
    }

    fn read(fields: &mut Fields<'_>) -> Result<Self, StoreError> {
        let id = fields.parse()?;
        fields.skip(2);
        let session = fields.parse()?;
        let current = fields.flag()?;
        let principal = fields.parse()?;
        let mode = fields.parse()?;
        let token_hash = fields.parse()?;
        let claim_operation = fields.parse()?;
        let started_at = FleetTime(fields.integer()?);
        let recovers = fields.optional_count()?.map(Generation);
        let state = fields.parse()?;
        fields.skip(1);
        Ok(Self {
            id,
            session,
            principal,
            state,
            mode,
            current,
            token_hash,
            claim_operation,
            lease_ms: fields.integer()?,
            deadline: FleetTime(fields.integer()?),
            started_at,
            heartbeat_at: FleetTime(fields.integer()?),
            heartbeat_operation: fields.optional_parse()?,
            progress_at: FleetTime(fields.integer()?),
            task_digest: fields.parse()?,
            recovers,
            disposition: fields.optional_parse()?,
            cancel_requested: fields.flag()?,
            ended_at: fields.optional_integer()?.map(FleetTime),
            reporter: fields.optional_parse()?,
        })
    }

    fn write<'a>(&'a self, values: &mut Values<'a>) {
        values.shown(&self.id);
        values.shown(&self.id.task);
        values.text(self.id.task.project.as_str());
        values.text(self.session.as_str());
        values.flag(self.current);
        values.text(self.principal.as_str());
        values.text(self.mode.as_str());
        values.shown(&self.token_hash);
        values.text(self.claim_operation.as_str());
        values.integer(self.started_at.0);
        values.optional_count(self.recovers.map(|recovers| recovers.0));
        values.text(self.state.as_str());
        values.integer(stops_at(self).0);
        values.integer(self.lease_ms);
        values.integer(self.deadline.0);
        values.integer(self.heartbeat_at.0);
        values.optional_text(
            self.heartbeat_operation.as_ref().map(tenure_core::model::ids::OperationId::as_str),
        );
        values.integer(self.progress_at.0);
        values.shown(&self.task_digest);
        values.optional_text(self.disposition.map(tenure_core::model::attempt::Disposition::as_str));
        values.flag(self.cancel_requested);
        values.optional_integer(self.ended_at.map(|at| at.0));
        values.optional_text(self.reporter.as_ref().map(tenure_core::model::ids::ReporterId::as_str));
    }

    /// A heartbeat renews an attempt that stays current; an attempt that is not current any more has just ended.
    fn has_moved(&self) -> bool {
        !self.current
    }

    fn write_key(key: &Self::Key, values: &mut Values<'_>) {
        values.shown(key);
    }
}

/// From when on an attempt gives no authority: recovery is found by one number.
fn stops_at(attempt: &Attempt) -> FleetTime {
    match attempt.state {
        AttemptState::Active => attempt.deadline,
        AttemptState::Expired
        | AttemptState::Voided
        | AttemptState::Released
        | AttemptState::HandedOff
        | AttemptState::Closed
        | AttemptState::Cancelled
        | AttemptState::Imported => FleetTime(i64::MIN),
    }
}

/// The statement for the newest attempts of a task: of two generations the longer number is the newer one.
#[must_use]
pub fn newest_of() -> String {
    format!("{} WHERE id > $1 AND id < $2 ORDER BY length(id) DESC, id DESC LIMIT $3", ATTEMPT.select())
}

/// The statement for every attempt of a task, oldest first.
#[must_use]
pub fn every_of() -> String {
    format!("{} WHERE id > $1 AND id < $2 ORDER BY length(id), id", ATTEMPT.select())
}

/// Hands over every attempt of a task, oldest first.
pub fn every_attempt_of(
    driver: &mut dyn Driver,
    task: &TaskId,
    each: &mut dyn FnMut(Attempt) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut values = Values::default();
    values.text(format!("{task}@"));
    values.text(format!("{task}A"));
    driver.query(&every_of(), &values.0, &mut |row| each(Attempt::read(&mut Fields::of(row))?))
}

/// Loads the newest attempts of a task: as many as are shown, and one that tells that there are more. An attempt's id
/// begins with its task's id, so they stand together.
pub fn load_newest_of(
    driver: &mut dyn Driver,
    set: &mut WorkingSet,
    task: &TaskId,
) -> Result<(), StoreError> {
    let mut values = Values::default();
    values.text(format!("{task}@"));
    values.text(format!("{task}A"));
    values.count(ATTEMPTS_SHOWN as u64 + 1);
    driver.query(&newest_of(), &values.0, &mut |row| {
        set.attempts.load(Attempt::read(&mut Fields::of(row))?);
        Ok(())
    })?;
    set.attempts.cover(AttemptIndex::Task(task.clone()));
    Ok(())
}
