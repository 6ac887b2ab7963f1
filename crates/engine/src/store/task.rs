//! The deciding rows of tasks.

use tenure_core::model::ids::Generation;
use tenure_core::model::task::{Priority, Queue, Reservation, Task};
use tenure_core::model::time::{FleetTime, WallTime};

use super::driver::{Fields, StoreError, Values};
use super::rows::{Lookup, Stored};
use super::shape::Shape;

static TASK: Shape = Shape::new(
    "task",
    &[
        "id",
        "project",
        "number",
        "stage",
        "queue",
        "lifecycle",
        "resolution",
        "successor",
        "kind",
        "priority",
        "archived",
        "revision",
        "generation",
        "held",
        "own_blockers",
        "outer_blockers",
        "inherited_blockers",
        "ready_at",
        "deferred_until",
        "reserved_for",
        "reserved_until",
        "requires",
    ],
    1,
    3,
)
.with_steady(1);

/// Tasks by id.
pub static BY_ID: Lookup = Lookup::new(&TASK, &["id"], "");

/// The part of a project's tasks that a queue belongs to. Lists walk through one part at a time, so that the
/// many finished tasks never stand in the way of the few others, and a claim moves no row between parts.
#[must_use]
pub fn stage(queue: Queue) -> i64 {
    match queue {
        Queue::Planned | Queue::Held | Queue::Blocked | Queue::Deferred | Queue::Objective | Queue::Ready => {
            0
        }
        Queue::Done | Queue::Cancelled => 1,
        Queue::Archived => 2,
    }
}

impl Stored for Task {
    fn shape() -> &'static Shape {
        &TASK
    }

    fn read(fields: &mut Fields<'_>) -> Result<Self, StoreError> {
        let id = fields.parse()?;
        // Project, number, stage and queue only serve to find the row; they follow from the other columns.
        fields.skip(4);
        Ok(Self {
            id,
            lifecycle: fields.parse()?,
            resolution: fields.optional_parse()?,
            successor: fields.optional_parse()?,
            kind: fields.parse()?,
            priority: priority(fields.count()?)?,
            archived: fields.flag()?,
            revision: fields.count()?,
            generation: Generation(fields.count()?),
            held: fields.flag()?,
            own_blockers: fields.count()?,
            outer_blockers: fields.count()?,
            inherited_blockers: fields.count()?,
            ready_at: FleetTime(fields.integer()?),
            deferred_until: fields.optional_integer()?.map(WallTime),
            reserved: match (fields.optional_parse()?, fields.optional_integer()?) {
                (Some(principal), Some(until)) => Some(Reservation { principal, until: FleetTime(until) }),
                (None, None) => None,
                (Some(_), None) | (None, Some(_)) => {
                    return Err(StoreError::corrupt("half a reservation"));
                }
            },
            requires: fields.optional_json()?.unwrap_or_default(),
        })
    }

    fn write<'a>(&'a self, values: &mut Values<'a>) {
        let queue = self.queue();
        values.shown(&self.id);
        values.text(self.id.project.as_str());
        values.count(self.id.number);
        values.integer(stage(queue));
        values.text(queue.as_str());
        values.text(self.lifecycle.as_str());
        values.optional_text(self.resolution.map(tenure_core::model::task::Resolution::as_str));
        values.optional_shown(self.successor.as_ref());
        values.text(self.kind.as_str());
        values.integer(i64::from(self.priority.get()));
        values.flag(self.archived);
        values.count(self.revision);
        values.count(self.generation.0);
        values.flag(self.held);
        values.integer(i64::from(self.own_blockers));
        values.integer(i64::from(self.outer_blockers));
        values.integer(i64::from(self.inherited_blockers));
        values.integer(self.ready_at.0);
        values.optional_integer(self.deferred_until.map(|until| until.0));
        values.optional_text(self.reserved.as_ref().map(|reserved| reserved.principal.as_str()));
        values.optional_integer(self.reserved.as_ref().map(|reserved| reserved.until.0));
        // Most tasks require nothing; null keeps their rows small.
        values.optional_json((!self.requires.is_empty()).then_some(&self.requires));
    }

    fn has_moved(&self) -> bool {
        stage(self.queue()) != 0
    }

    fn write_key(key: &Self::Key, values: &mut Values<'_>) {
        values.shown(key);
    }
}

fn priority(number: u8) -> Result<Priority, StoreError> {
    Priority::try_from(number).map_err(StoreError::corrupt)
}
