//! What has become of a task by the record alone. It shares nothing with the rules.

use std::collections::BTreeSet;

use tenure_core::model::event::{Event, EventKind};
use tenure_core::model::ids::{AttemptId, SessionId};
use tenure_core::model::status::Status;
use tenure_core::model::task::Lifecycle;

/// A promise that does not hold, in words.
pub type Verdict = Result<(), String>;

/// Who holds a task by the record, and when the lease ends at the earliest and at the latest. Between the two lies what
/// a renewal did whose commit nobody confirmed.
#[derive(Debug, Clone)]
pub struct Holder {
    /// Task and generation.
    pub attempt: AttemptId,
    /// Whose it is.
    pub session: SessionId,
    /// The lease lives until then.
    pub earliest: i64,
    /// It is over by then.
    pub latest: i64,
    /// The record says that it is over.
    expired: bool,
    /// It was shown as over.
    pub seen_dead: bool,
}

impl Holder {
    /// Whether the lease can still live at a time.
    pub fn may_live(&self, time: i64) -> bool {
        time < self.latest && !self.expired && !self.seen_dead
    }

    /// Whether it can be over at a time.
    fn may_be_over(&self, time: i64) -> bool {
        self.expired || time >= self.earliest
    }
}

/// What has become of a task.
#[derive(Debug, Clone)]
pub struct Fate {
    /// The last that was given.
    pub generation: u64,
    /// Who has it.
    pub holder: Option<Holder>,
    lifecycle: Lifecycle,
    archived: bool,
    deferred: bool,
}

impl Fate {
    /// Of a task that was just created.
    pub fn of(created: &Event) -> Result<Self, String> {
        must!(created.kind == EventKind::TaskCreated, "of no task that was created: {created:?}");
        let lifecycle = match created.data["lifecycle"].as_str() {
            Some(imported) => imported.parse().map_err(|_| format!("no state of a task: {created:?}"))?,
            None if created.data["planned"] == true => Lifecycle::Planned,
            None => Lifecycle::Open,
        };
        Ok(Self { generation: 0, holder: None, lifecycle, archived: false, deferred: false })
    }

    fn is_over(&self) -> bool {
        matches!(self.lifecycle, Lifecycle::Done | Lifecycle::Cancelled)
    }

    /// Plays an event of the task.
    pub fn play(&mut self, event: &Event, lease_ms: i64, is_restored: bool) -> Verdict {
        must!(!self.is_over() || event.attempt.is_none(), "P2: {event:?} after the task was over");
        match &event.attempt {
            Some(attempt) => self.play_attempt(event, attempt, lease_ms, is_restored),
            None => self.play_alone(event),
        }
    }

    /// An event of nobody's attempt.
    fn play_alone(&mut self, event: &Event) -> Verdict {
        let is_free = self.holder.is_none() && !self.is_over();
        match event.kind {
            EventKind::TaskClosed => {
                must!(is_free, "P2: closed without holding: {event:?} of {self:?}");
                self.lifecycle = Lifecycle::Done;
            }
            EventKind::TaskCancelled => {
                let own = |holder: &Holder| event.actor.session.as_ref() == Some(&holder.session);
                let time = event.fleet_time.0;
                let may = self
                    .holder
                    .as_ref()
                    .is_none_or(|it| it.may_be_over(time) || own(it) && it.may_live(time));
                must!(may && !self.is_over(), "P1: cancelled under its holder: {event:?} of {self:?}");
                (self.lifecycle, self.holder) = (Lifecycle::Cancelled, None);
            }
            EventKind::TaskOpened => {
                must!(self.lifecycle == Lifecycle::Planned, "{event:?} of {self:?}");
                self.lifecycle = Lifecycle::Open;
            }
            EventKind::TaskDeferred => {
                must!(is_free, "put off although held or over: {event:?} of {self:?}");
                self.deferred = true;
            }
            EventKind::TaskResumed => {
                must!(self.deferred, "what was not put off is resumed: {event:?}");
                self.deferred = false;
            }
            EventKind::TaskArchived => {
                must!(self.is_over() && !self.archived, "{event:?} of {self:?}");
                self.archived = true;
            }
            EventKind::TaskCreated
            | EventKind::TaskEdited
            | EventKind::DependencyAdded
            | EventKind::DependencyRemoved
            | EventKind::BlockerRaised
            | EventKind::BlockerResolved
            | EventKind::NoteRecorded => {}
            EventKind::FleetCreated
            | EventKind::FleetRestored
            | EventKind::PrincipalCreated
            | EventKind::SessionOpened
            | EventKind::SessionClosed
            | EventKind::ProjectCreated
            | EventKind::ProjectEdited
            | EventKind::PolicySet
            | EventKind::ProjectBound
            | EventKind::ProjectUnbound
            | EventKind::AccountCreated
            | EventKind::AccountEdited
            | EventKind::PasswordChanged
            | EventKind::TokenCreated
            | EventKind::TokenRotated
            | EventKind::TokenRevoked
            | EventKind::PersonAuthenticated
            | EventKind::AuthenticationRefused
            | EventKind::ImportApplied => return Err(format!("of no task: {event:?}")),
            EventKind::TaskClaimed
            | EventKind::LeaseExpired
            | EventKind::AttemptVoided
            | EventKind::TaskReleased
            | EventKind::TaskHandedOff
            | EventKind::CheckpointRecorded
            | EventKind::DispositionRecorded
            | EventKind::TaskReconciled
            | EventKind::ReporterCreated
            | EventKind::ReporterEnded
            | EventKind::CancelRequested => return Err(format!("P3: of no attempt: {event:?}")),
            EventKind::TaskReopened => return Err(format!("nobody may reopen: {event:?}")),
        }
        Ok(())
    }

    /// An event of an attempt.
    fn play_attempt(
        &mut self,
        event: &Event,
        attempt: &AttemptId,
        lease_ms: i64,
        is_restored: bool,
    ) -> Verdict {
        let time = event.fleet_time.0;
        match event.kind {
            EventKind::TaskClaimed => {
                let taken = self.holder.as_ref().is_some_and(|holder| !holder.expired);
                must!(!taken, "P1: a second owner beside {:?}: {event:?}", self.holder);
                let (given, last) = (attempt.generation.0, self.generation);
                must!(
                    given == last + 1 || is_restored && given > last,
                    "P1: generation {given} follows {last}"
                );
                self.generation = given;
                let session = event.actor.session.clone().ok_or("a session claims")?;
                let until = time + lease_ms;
                let (earliest, latest) = (until, until);
                let attempt = attempt.clone();
                self.holder =
                    Some(Holder { attempt, session, earliest, latest, expired: false, seen_dead: false });
            }
            EventKind::LeaseExpired => {
                let holder = self.held_as(attempt, event)?;
                must!(!holder.expired, "a lease expired twice: {event:?}");
                must!(
                    time >= holder.earliest,
                    "P1: a lease was ended before its time: {holder:?}, {event:?}"
                );
                holder.expired = true;
            }
            EventKind::AttemptVoided => {
                let holder = self.held_as(attempt, event)?;
                must!(!holder.expired, "what had expired was voided: {event:?}");
                (holder.expired, holder.earliest) = (true, i64::MIN);
            }
            EventKind::CancelRequested => {
                let holder = self.held_as(attempt, event)?;
                must!(holder.may_live(time), "nobody is there to be asked: {holder:?}, {event:?}");
            }
            EventKind::NoteRecorded if event.data["entry"] == "recovery_note" => {}
            EventKind::TaskReleased
            | EventKind::TaskHandedOff
            | EventKind::TaskClosed
            | EventKind::NoteRecorded
            | EventKind::CheckpointRecorded
            | EventKind::DispositionRecorded
            | EventKind::ReporterCreated
            | EventKind::ReporterEnded
            | EventKind::TaskReconciled => self.write(event, attempt)?,
            other => return Err(format!("an attempt knows nothing of {other}: {event:?}")),
        }
        Ok(())
    }

    /// What only the holder may do.
    fn write(&mut self, event: &Event, attempt: &AttemptId) -> Verdict {
        let holder = self.held_as(attempt, event)?;
        let live = holder.may_live(event.fleet_time.0);
        must!(live, "P3: a write was accepted after its lease: {holder:?}, {event:?}");
        let own = event.actor.session.as_ref() == Some(&holder.session);
        must!(own, "P3: a foreign session wrote: {event:?}");
        let is_close = event.kind == EventKind::TaskClosed;
        if is_close || matches!(event.kind, EventKind::TaskReleased | EventKind::TaskHandedOff) {
            self.holder = None;
        }
        if is_close {
            self.lifecycle = Lifecycle::Done;
        }
        Ok(())
    }

    fn held_as(&mut self, attempt: &AttemptId, event: &Event) -> Result<&mut Holder, String> {
        let holder = self.holder.as_mut().filter(|holder| holder.attempt == *attempt);
        holder.ok_or_else(|| format!("P3: of an attempt that nobody has: {event:?}"))
    }

    /// What is shown of the task at a time is what the record makes of it. `past` are sessions of before a restore.
    pub fn shows(&mut self, status: Status, time: i64, past: Option<&BTreeSet<SessionId>>) -> Verdict {
        let stored = match self.lifecycle {
            Lifecycle::Done | Lifecycle::Cancelled if self.archived => Some(Status::Archived),
            Lifecycle::Done => Some(Status::Done),
            Lifecycle::Cancelled => Some(Status::Cancelled),
            Lifecycle::Planned => Some(Status::Planned),
            Lifecycle::Open => None,
        };
        if let Some(stored) = stored {
            must!(status == stored, "P2: it is shown as {status}, and by the record it is {stored}");
            return Ok(());
        }
        match (status, &mut self.holder) {
            (Status::InProgress, Some(holder)) => {
                must!(holder.may_live(time), "P6: {holder:?} lives at {time}");
                let is_past = past.is_some_and(|past| past.contains(&holder.session));
                must!(!is_past, "P8: a lease from before the restore lives: {holder:?}");
            }
            (Status::Recovery, Some(holder)) => {
                must!(time >= holder.earliest, "P1: {holder:?} lost its lease at {time}");
                holder.seen_dead = true;
            }
            (Status::Blocked | Status::WaitingChildren, None) => {}
            (Status::Deferred, None) => must!(self.deferred, "it is shown as put off, and it is not"),
            (Status::Ready, None) => must!(!self.deferred, "it is shown as ready, and it is put off"),
            (other, holder) => return Err(format!("it is shown as {other}, and its holder is {holder:?}")),
        }
        Ok(())
    }
}
