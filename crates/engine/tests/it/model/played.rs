//! Plays a sequence on the engine and on the model, and says where they differ.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tenure_core::envelope::{Caller, Envelope, Fence};
use tenure_core::model::ids::OperationId;
use tenure_core::operation::catalog::AnyOperation;
use tenure_core::operation::queue::Explain;
use tenure_core::operation::record::RecordOverdue;
use tenure_core::operation::task::ShowTask;
use tenure_engine::Command;

use super::fleet::{Model, Request, id};
use super::steps::{Ask, By, Dependents, Edge, NAMES, Step, What};
use crate::world::{Agent, World, operation, operation_id};

/// The engine, the model, and what was asked so far, by operation.
struct Both {
    world: World,
    model: Model,
    agents: Vec<Agent>,
    asked: Vec<Request>,
    steps: u64,
    heard: Vec<String>,
}

/// Plays steps on an engine with an empty store and on the model, and returns the store and in words what was heard. Three
/// sessions are open and three tasks are there when it begins.
pub fn play(mut world: World, steps: &[Step]) -> Result<(World, Vec<String>), String> {
    let founder = Agent::new("founder", 99);
    world.done(founder.open());
    world.done(founder.command(operation("project.create", json!({ "key": "afc" }))));
    let (monotonic, wall) = world.clocks.read();
    let agents = (1..).zip(NAMES).map(|(seed, name)| Agent::new(name, seed)).collect();
    let mut both = Both {
        world,
        model: Model::new(monotonic, wall),
        agents,
        asked: Vec::new(),
        steps: 0,
        heard: Vec::new(),
    };
    for who in [0, 2, 3] {
        both.step(&Step::Ask(Ask { who, what: What::Open }))?;
    }
    for (priority, blocker) in [(1, None), (1, None), (0, Some(1))] {
        let what = What::Create { priority, objective: false, parent: None, blocker };
        both.step(&Step::Ask(Ask { who: 0, what }))?;
    }
    for (number, step) in steps.iter().enumerate() {
        both.step(step).map_err(|difference| format!("step {number}, {step:?}: {difference}"))?;
    }
    Ok((both.world, both.heard))
}

impl Both {
    fn step(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Ask(ask) => {
                self.asked.push(self.model.resolve(ask.clone()));
                self.ask(self.asked.len() - 1, None)?;
            }
            Step::Repeat(back) => {
                let operation = self.asked.len() - 1 - back % self.asked.len();
                self.ask(operation, None)?;
            }
            Step::Late(ms) => {
                self.step(&Step::Pass(*ms))?;
                return self.step(&Step::Repeat(0));
            }
            Step::Reuse(back) => {
                let operation = self.asked.len() - 1 - back % self.asked.len();
                let what = What::Note { task: 1, by: By::Bare, recovery: false };
                let note = self.model.resolve(Ask { who: self.asked[operation].ask.who, what });
                self.ask(operation, Some(note))?;
            }
            Step::Pass(ms) => {
                self.world.clocks.pass(*ms);
                self.model.pass(*ms);
            }
            Step::Jump(ms) => {
                self.world.clocks.jump(*ms);
                self.model.jump(*ms);
            }
            Step::Restart(ms) => {
                self.world.clocks.pass(*ms);
                self.model.pass(*ms);
                self.world.join();
                self.model.join();
            }
            Step::Background => {
                let envelope = Envelope { operation_id: Some(operation_id()), ..Envelope::default() };
                self.world.done(Command { operation: RecordOverdue {}.into(), envelope });
                self.model.background();
            }
        }
        // Every second task, and one explanation in turn: questions cost time that more sequences use better.
        self.steps += 1;
        differ("", &self.model.visible(self.steps), &self.visible())?;
        let Some(turn) = self.steps.checked_rem(self.model.tasks()) else { return Ok(()) };
        let number = turn + 1;
        let explained = self.world.ask(Explain { task: id(number).parse().expect("an id") });
        differ(&format!("/explained/{number}"), &self.model.explained(number), &explained)
    }

    fn ask(&mut self, operation: usize, other: Option<Request>) -> Result<(), String> {
        let request = other.unwrap_or_else(|| self.asked[operation].clone());
        let said = self.world.run(self.command(operation, &request)).map_err(|refusal| refusal.code.as_str());
        match (self.model.run(operation, &request), said) {
            (Ok(expected), Ok(said)) => {
                self.heard.push("accepted".to_owned());
                self.heard.extend(said["mode"].as_str().map(str::to_owned));
                self.heard.extend((said["resumed"] == true).then(|| "resumed".to_owned()));
                differ("the answer", &expected, &said)
            }
            (Err(expected), Err(said)) if expected == said => {
                self.heard.push(said.to_owned());
                Ok(())
            }
            (expected, said) => Err(format!("the model says {expected:?}, the engine {said:?}")),
        }
    }

    /// The command that a request is, under an operation's id.
    fn command(&self, number: usize, request: &Request) -> Command {
        let agent = &self.agents[request.ask.who];
        let operation_id =
            |number: usize| -> OperationId { format!("asked-{number}").parse().expect("valid") };
        let own = operation_id(number);
        let what = &request.ask.what;
        let envelope = Envelope {
            caller: (*what != What::Open)
                .then(|| Caller { session: agent.session.clone(), proof: agent.secret.session_proof() }),
            token_hash: Some(agent.secret.lease_token(&own).hash()),
            fence: request.fence.zip(what.task()).map(|((generation, claim), task)| Fence {
                attempt: format!("{}@{generation}", id(task)).parse().expect("an attempt"),
                token: agent.secret.lease_token(&operation_id(claim)),
            }),
            operation_id: Some(own),
            epoch: None,
            ..Envelope::default()
        };
        Command { operation: what.operation(agent, request), envelope }
    }

    /// Everything that the engine's questions tell, in the model's words.
    fn visible(&mut self) -> Value {
        let listed = self.world.ask(operation("ready", json!({ "project": "afc", "limit": 1000 })));
        let ready: Vec<&Value> = each(&listed["tasks"]).map(|task| &task["id"]).collect();
        assert_eq!(listed["total"], ready.len(), "the total");
        let mut tasks = BTreeMap::new();
        for number in (1..=self.model.tasks()).filter(|number| (number + self.steps).is_multiple_of(2)) {
            let shown =
                self.world.asked(ShowTask { task: id(number).parse().expect("an id"), entries: None });
            let shown = shown.expect("the model has it");
            tasks.insert(id(number), self.shown(&shown["task"]));
        }
        let sessions = self.world.ask(operation("session.list", json!({})));
        let sessions = each(&sessions["sessions"]).filter_map(|session| {
            let mut holds = session["holds"].as_array().expect("a list").clone();
            holds.sort_by_key(ToString::to_string);
            Some((self.number_of(&session["id"])?, json!({ "present": session["present"], "holds": holds })))
        });
        json!({
            "tasks": tasks,
            "ready": ready,
            "reasons": listed["reasons"],
            "sessions": sessions.collect::<BTreeMap<_, _>>(),
            "fleet_time": listed["as_of"]["fleet_time"],
        })
    }

    fn shown(&self, task: &Value) -> Value {
        let names = |field: &str| each(&task[field]).map(|other| other["id"].clone()).collect::<Vec<_>>();
        let attempt = &task["attempt"];
        let attempt = attempt.is_object().then(|| {
            json!({
                "id": attempt["id"],
                "session": self.number_of(&attempt["session"]),
                "state": attempt["state"],
                "mode": attempt["mode"],
                "expires_in_ms": attempt["expires_in_ms"],
                "cancel_requested": attempt["cancel_requested"] == true,
            })
        });
        json!({
            "status": task["status"],
            "revision": task["revision"],
            "generation": task["generation"],
            "attempt": attempt,
            "waits_for": names("waits_for"),
            "parents": names("parents"),
            "children": names("children"),
            "deferred_until": task["deferred_until"],
            "reserved": task["reserved"],
        })
    }

    fn number_of(&self, session: &Value) -> Option<String> {
        let found = self.agents.iter().position(|agent| *session == agent.session.as_str());
        found.map(|number| number.to_string())
    }
}

fn each(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

/// Where something said is not what was expected. Fields that nothing is expected of may say anything; an empty list
/// may be left out, and its order says nothing unless it is the queue's.
fn differ(place: &str, expected: &Value, said: &Value) -> Result<(), String> {
    match (expected, said) {
        (Value::Object(expected), Value::Object(said)) => {
            for (field, expected) in expected {
                let said = said.get(field).unwrap_or(&Value::Null);
                differ(&format!("{place}/{field}"), expected, said)?;
            }
            Ok(())
        }
        (Value::Array(expected), Value::Null) if expected.is_empty() => Ok(()),
        (expected, said) if expected == said => Ok(()),
        (Value::Array(expected), Value::Array(said))
            if place != "/ready" && sorted(expected) == sorted(said) =>
        {
            Ok(())
        }
        (expected, said) => Err(format!("{place}: the model says {expected}, the engine {said}")),
    }
}

fn sorted(list: &[Value]) -> Vec<String> {
    let mut sorted: Vec<String> = list.iter().map(ToString::to_string).collect();
    sorted.sort();
    sorted
}

impl What {
    /// The task that it is about, where a fence can come with it.
    fn task(&self) -> Option<u64> {
        match self {
            Self::Heartbeat { task, .. }
            | Self::Note { task, .. }
            | Self::Dispose { task, .. }
            | Self::HandOff { task, .. }
            | Self::Release { task, .. }
            | Self::Close { task, .. }
            | Self::Cancel { task, .. } => Some(*task),
            Self::Open
            | Self::Leave
            | Self::Create { .. }
            | Self::Add { .. }
            | Self::Remove { .. }
            | Self::Claim { .. }
            | Self::Next { .. }
            | Self::Defer { .. }
            | Self::Resume { .. } => None,
        }
    }

    fn operation(&self, agent: &Agent, request: &Request) -> AnyOperation {
        let kind = |edge: &Edge| match edge {
            Edge::Blocks => "blocks",
            Edge::Parent => "parent",
        };
        let ids = |task: &Option<u64>| task.iter().copied().map(id).collect::<Vec<_>>();
        let (name, input) = match self {
            Self::Open => return agent.open().operation,
            Self::Leave => ("session.close", json!({})),
            Self::Create { priority, objective, parent, blocker } => {
                let kind = if *objective { "objective" } else { "code" };
                let (parents, blocked_by) = (ids(parent), ids(blocker));
                let create = json!({
                    "project": "afc", "title": "work", "priority": priority, "kind": kind,
                    "parents": parents, "blocked_by": blocked_by,
                });
                ("task.create", create)
            }
            Self::Add { task, edge, on } => {
                ("dependency.add", json!({ "task": id(*task), "on": id(*on), "kind": kind(edge) }))
            }
            Self::Remove { task, edge, on } => {
                ("dependency.remove", json!({ "task": id(*task), "on": id(*on), "kind": kind(edge) }))
            }
            Self::Claim { task } => ("claim", json!({ "task": id(*task) })),
            Self::Next { another } => ("claim", json!({ "projects": ["afc"], "another": another })),
            Self::Heartbeat { task, .. } => ("heartbeat", json!({ "task": id(*task) })),
            Self::Note { task, by, recovery } => {
                let text = if *by == By::Bare { "from outside" } else { "so far" };
                ("note", json!({ "task": id(*task), "text": text, "recovery": recovery }))
            }
            Self::Dispose { task, .. } => ("dispose", json!({ "task": id(*task), "disposition": "resume" })),
            Self::HandOff { task, to, .. } => {
                let to = to.map(|to| NAMES[to]);
                ("handoff", json!({ "task": id(*task), "text": "so far", "to": to }))
            }
            Self::Release { task, .. } => ("release", json!({ "task": id(*task) })),
            Self::Close { task, .. } => ("close", json!({ "task": id(*task), "revision": request.revision })),
            Self::Cancel { task, dependents, .. } => {
                let dependents = dependents.map(|dependents| match dependents {
                    Dependents::Keep => "keep",
                    Dependents::Release => "release",
                    Dependents::Cancel => "cancel",
                });
                let (task, revision) = (id(*task), request.revision);
                let cancel =
                    json!({ "task": task, "revision": revision, "reason": "r", "dependents": dependents });
                ("task.cancel", cancel)
            }
            Self::Defer { task, .. } => {
                ("task.defer", json!({ "task": id(*task), "until": request.until, "reason": "r" }))
            }
            Self::Resume { task } => ("task.resume", json!({ "task": id(*task) })),
        };
        operation(name, input)
    }
}
