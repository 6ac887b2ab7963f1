//! What agents do of their own accord: a table of deeds, how likely each is, and what it asks for.

use serde_json::{Value, json};
use tenure_core::model::ids::{AttemptId, OperationId, PrincipalName, TaskId};
use tenure_core::model::status::Status;
use tenure_core::model::task::Kind;
use tenure_core::operation::view::TaskView;

use crate::place::PROJECT;
use crate::seed::Seed;

/// Why the one task that nobody unblocks is blocked.
pub const UNRESOLVED: &str = "nobody gives it";

/// A lease as the holder's file knows it.
#[derive(Debug, Clone)]
pub struct Lease {
    /// Task and generation.
    pub attempt: AttemptId,
    /// The operation that it was claimed with: its token follows from it.
    pub claim: OperationId,
    /// By the holder's own clock.
    pub renewed_at: i64,
    /// The same, as it was told.
    pub ends_at: i64,
    /// Taken over, and nothing decided yet about what was found.
    pub undecided: bool,
    /// The task is not what it was when it was claimed.
    pub changed: bool,
}

/// What an agent has before its eyes when it chooses.
pub struct Scene<'s> {
    /// A task as the store showed it just now. Until the request arrives much may have changed.
    pub seen: &'s TaskView,
    /// Any task, perhaps the same.
    pub other: &'s TaskId,
    /// What it has of the task that it sees.
    pub lease: Option<&'s Lease>,
    /// How many tasks it holds.
    pub holds: usize,
    /// Another agent.
    pub colleague: &'s PrincipalName,
    /// Whether there is room for more tasks.
    pub more: bool,
    /// Everything shall come to its end.
    pub calm: bool,
    /// What the wall clock shows.
    pub wall: i64,
    /// The revision of the project, if the agent looks at that.
    pub project_revision: Option<u64>,
    /// A text that is in no other request.
    pub text: &'s str,
    /// A number that no other request has.
    pub number: u64,
    /// A number by which requests of one kind differ.
    pub lot: u64,
}

/// One kind of thing that an agent does.
struct Deed {
    operation: &'static str,
    /// How likely it is while the agent holds the task that it sees, while it does not, and when the storm is over.
    weights: [u64; 3],
    /// What it asks for; nothing where it makes no sense.
    input: fn(&Scene<'_>) -> Option<Value>,
}

const fn deed(operation: &'static str, weights: [u64; 3], input: fn(&Scene<'_>) -> Option<Value>) -> Deed {
    Deed { operation, weights, input }
}

/// Everything that an agent does by choice. It opens sessions and renews leases because it must.
const DEEDS: &[Deed] = &[
    deed("checkpoint", [28, 0, 0], |it| it.on_task(json!({ "text": it.text }))),
    deed("note", [8, 8, 0], |it| it.on_task(json!({ "text": it.text }))),
    deed("reporter.create", [3, 0, 0], |it| {
        // What a reporter is called by is the beginning of the hash.
        let hash = format!("{:012x}{:052x}", it.number, 0);
        it.on_task(json!({ "hash": hash, "watches": it.text, "window_ms": 60_000 }))
    }),
    deed("reporter.revoke", [9, 0, 0], |it| {
        let attempt = it.seen.attempt.as_ref()?;
        it.on_task(json!({})).filter(|_| attempt.reporter.as_ref().is_some_and(|one| one.window_ms > 0))
    }),
    deed("release", [4, 0, 0], |it| it.on_task(json!({ "note": it.text }))),
    deed("handoff", [3, 0, 0], |it| it.on_task(json!({ "text": it.text }))),
    deed("handoff", [3, 0, 0], |it| it.on_task(json!({ "text": it.text, "to": it.colleague }))),
    deed("dispose", [60, 0, 8], |it| {
        it.on_task(json!({ "disposition": "resume" })).filter(|_| it.is_undecided())
    }),
    deed("reconcile", [30, 0, 8], |it| {
        it.on_task(json!({ "digest": it.seen.digest })).filter(|_| it.is_changed())
    }),
    deed("close", [16, 0, 8], |it| {
        it.on_task(json!({ "note": it.text, "criteria": it.criteria() })).filter(|_| it.lease.is_some())
    }),
    deed("close", [0, 12, 4], |it| {
        it.by_revision(json!({ "note": it.text, "criteria": it.criteria() }))
            .filter(|_| it.is_finished_objective())
    }),
    deed("claim", [4, 38, 8], |it| {
        Some(json!({ "projects": [PROJECT] })).filter(|_| !it.calm || it.lease.is_none())
    }),
    deed("claim", [0, 16, 0], |it| it.on_task(json!({}))),
    deed("claim", [4, 0, 0], |it| {
        Some(json!({ "projects": [PROJECT], "another": true })).filter(|_| it.holds < 2)
    }),
    deed("task.create", [4, 10, 0], |it| it.new_task(json!({}))),
    deed("task.create", [0, 2, 0], |it| it.new_task(json!({ "planned": true, "criteria": ["it works"] }))),
    deed("task.create", [0, 2, 0], |it| {
        it.new_task(json!({ "kind": "objective", "blocked_by": it.one_in(3) }))
    }),
    deed("task.create", [2, 4, 0], |it| {
        it.new_task(json!({ "parents": it.one_in(2), "discovered_from": it.seen.id }))
    }),
    deed("task.open", [0, 8, 8], |it| it.on_task(json!({})).filter(|_| it.seen.status == Status::Planned)),
    deed("task.edit", [3, 5, 0], |it| it.by_revision(json!({ "description": it.text }))),
    deed("task.edit", [1, 3, 0], |it| it.by_revision(json!({ "priority": it.lot % 5, "labels": ["seen"] }))),
    deed("task.defer", [1, 4, 0], |it| {
        it.on_task(json!({ "reason": it.text, "until": it.soon() })).filter(|_| !it.is_over())
    }),
    deed("task.resume", [0, 36, 0], |it| {
        it.on_task(json!({})).filter(|_| it.seen.status == Status::Deferred)
    }),
    deed("task.archive", [0, 2, 0], |it| it.on_task(json!({})).filter(|_| it.is_over())),
    deed("task.cancel", [2, 2, 0], |it| {
        it.by_revision(json!({ "reason": it.text, "dependents": it.dependents() }))
    }),
    deed("task.cancel", [1, 1, 0], |it| {
        it.by_revision(json!({ "reason": it.text, "resolution": "superseded", "successor": it.other }))
    }),
    deed("dependency.add", [1, 4, 0], |it| it.on_task(json!({ "on": it.other, "kind": it.relation() }))),
    deed("dependency.remove", [1, 12, 0], |it| it.on_task(json!({ "on": it.seen.waits_for.first()?.id }))),
    deed("dependency.remove", [0, 6, 0], |it| {
        it.on_task(json!({ "on": it.seen.parents.first()?.id, "kind": "parent" }))
    }),
    deed("blocker.raise", [1, 2, 0], |it| it.on_task(json!({ "kind": "human_decision", "reason": it.text }))),
    deed("blocker.resolve", [4, 16, 0], |it| {
        let blocker = it.seen.blockers.first().filter(|blocker| blocker.reason != UNRESOLVED)?;
        it.on_task(json!({ "number": blocker.number, "reason": it.text }))
    }),
    deed("project.create", [0, 1, 0], |it| Some(json!({ "key": format!("p{}", it.number) }))),
    deed("project.edit", [0, 24, 0], |it| {
        Some(json!({ "project": PROJECT, "revision": it.project_revision?, "name": it.text }))
    }),
    deed("project.policy", [0, 1, 0], |it| {
        Some(json!({ "project": PROJECT, "revision": 1, "reason": it.text }))
    }),
    deed("project.bind", [0, 2, 0], |it| Some(it.place())),
    deed("project.unbind", [0, 2, 0], |it| Some(it.place())),
    deed("import.apply", [0, 3, 0], |it| Some(it.export()).filter(|_| it.more)),
    deed("task.reopen", [0, 1, 0], |it| it.on_task(json!({ "reason": it.text }))),
    deed("task.force-release", [0, 1, 0], |it| it.on_task(json!({ "reason": it.text }))),
    deed("session.close", [0, 2, 0], |_| Some(json!({}))),
];

/// What an agent asks next: the name of an operation, and its input.
pub fn draw(scene: &Scene<'_>, dice: &mut Seed) -> (&'static str, Value) {
    let column = match scene {
        Scene { calm: true, .. } => 2,
        Scene { lease: Some(_), .. } => 0,
        Scene { lease: None, .. } => 1,
    };
    let likely = DEEDS.iter().filter(|deed| deed.weights[column] > 0);
    let possible: Vec<(&Deed, Value)> =
        likely.filter_map(|deed| Some((deed, (deed.input)(scene)?))).collect();
    let mut left = dice.below(possible.iter().map(|(deed, _)| deed.weights[column]).sum());
    for (deed, input) in possible {
        match left.checked_sub(deed.weights[column]) {
            Some(rest) => left = rest,
            None => return (deed.operation, input),
        }
    }
    unreachable!("the next task can be claimed, or the one that is held closed")
}

impl Scene<'_> {
    fn on_task(&self, mut input: Value) -> Option<Value> {
        input["task"] = json!(self.seen.id);
        Some(input)
    }

    fn by_revision(&self, mut input: Value) -> Option<Value> {
        input["revision"] = json!(self.seen.revision);
        self.on_task(input)
    }

    fn new_task(&self, mut input: Value) -> Option<Value> {
        (input["project"], input["title"]) = (json!(PROJECT), json!(self.text));
        self.more.then_some(input)
    }

    fn is_over(&self) -> bool {
        self.seen.lifecycle.is_finished()
    }

    fn is_undecided(&self) -> bool {
        self.lease.is_some_and(|lease| lease.undecided)
    }

    fn is_changed(&self) -> bool {
        self.lease.is_some_and(|lease| lease.changed)
    }

    fn is_finished_objective(&self) -> bool {
        self.seen.kind == Kind::Objective && self.seen.status == Status::Ready
    }

    /// An answer to every criterion.
    fn criteria(&self) -> Value {
        self.seen.criteria.iter().map(|criterion| (criterion.id.to_string(), json!("yes"))).collect()
    }

    /// The task that it sees, once in so many times.
    fn one_in(&self, times: u64) -> Vec<&TaskId> {
        if self.lot.is_multiple_of(times) { vec![&self.seen.id] } else { Vec::new() }
    }

    /// A date in some seconds, or in some days, or none.
    fn soon(&self) -> Option<i64> {
        let ms = i64::try_from(self.lot % 20_000).expect("small");
        match self.lot % 10 {
            0 => None,
            1 => Some(self.wall + 1 + ms * 100_000),
            _ => Some(self.wall + 1_000 + ms),
        }
    }

    fn dependents(&self) -> Option<&'static str> {
        match self.lot % 5 {
            0 => None,
            1 => Some("keep"),
            2 => Some("cancel"),
            _ => Some("release"),
        }
    }

    fn relation(&self) -> &'static str {
        if self.lot.is_multiple_of(3) { "parent" } else { "blocks" }
    }

    /// One of a few places in repositories.
    fn place(&self) -> Value {
        json!({ "project": PROJECT, "repository": format!("example.org/team/{}", self.lot % 3) })
    }

    /// An export of another tracker, with two issues. It was perhaps imported before.
    fn export(&self) -> Value {
        let id = imported(self.number / 40);
        let first = json!({ "id": id, "title": id, "status": "open" });
        let edge = json!({ "depends_on_id": id, "type": "blocks" });
        let second = json!({ "id": format!("{id}-b"), "title": format!("{id}-b"), "dependencies": [edge] });
        json!({ "project": PROJECT, "format": "beads", "text": format!("{first}\n{second}\n") })
    }
}

/// The id, and the title too, of an issue of another tracker.
fn imported(number: u64) -> String {
    format!("issue-{number}")
}

/// The title of the first issue of an import.
pub fn title_in(export: &str) -> Option<String> {
    let first: Value = serde_json::from_str(export.lines().next()?).ok()?;
    first["title"].as_str().map(ToOwned::to_owned)
}
