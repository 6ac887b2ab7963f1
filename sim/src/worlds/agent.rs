//! An agent: what it knows, and the requests that it sends.

use std::rc::Rc;
use std::sync::OnceLock;

use tenure_core::envelope::{Caller, Envelope, Fence};
use tenure_core::model::attempt::{Disposition, Evidence};
use tenure_core::model::ids::{AttemptId, Epoch, OperationId, TaskId};
use tenure_core::operation::catalog::AnyOperation;
use tenure_core::operation::ownership::{
    Claim, Close, Dispose, HandOff, Heartbeat, Release, WriteCheckpoint,
};
use tenure_core::operation::session::OpenSession;
use tenure_core::secret::{Proof, SessionSecret};
use tenure_engine::Command;

use super::step::{AGENTS, Ask, NAMES, session, task};

/// What an agent was told it holds.
#[derive(Clone)]
pub struct Grant {
    /// Task and generation.
    pub attempt: AttemptId,
    /// What proves it.
    pub token: Proof,
}

/// A request that an agent sent.
#[derive(Clone)]
pub struct Sent {
    /// What was asked.
    pub ask: Ask,
    /// The request.
    pub command: Command,
    /// The answer, if it was accepted and committed. The agent may not have heard it.
    pub accepted: Option<String>,
    /// After how many restores it was first sent.
    pub incarnation: u8,
}

/// An agent as far as its own knowledge goes.
#[derive(Clone)]
pub struct Agent {
    /// Its place among the agents.
    pub number: usize,
    /// The last grant that it heard of.
    pub grant: Option<Grant>,
    /// Its last request.
    pub last: Option<Rc<Sent>>,
    /// After how many restores it opened its session.
    pub session: u8,
    /// The fleet's epoch when it did.
    pub epoch: Epoch,
    /// How many requests it has sent.
    pub sent: u32,
}

fn secret(agent: usize) -> SessionSecret {
    SessionSecret::new([agent as u8 + 1; 32])
}

/// What proves an agent's session. It is the same every time and costs more than a step.
fn proof(agent: usize) -> Proof {
    static PROOFS: OnceLock<[Proof; AGENTS]> = OnceLock::new();
    PROOFS.get_or_init(|| std::array::from_fn(|agent| secret(agent).session_proof()))[agent].clone()
}

/// The session that an agent opens after so many restores.
#[must_use]
pub fn open(agent: usize, incarnation: u8) -> OpenSession {
    OpenSession {
        session: session(agent, incarnation),
        proof_hash: proof(agent).hash(),
        name: NAMES[agent].parse().expect("a name"),
        conversation: None,
        parent: None,
        harness: None,
        workstation: None,
        capabilities: Vec::new(),
    }
}

impl Agent {
    /// An agent that has opened its first session and asked for nothing.
    #[must_use]
    pub fn new(number: usize) -> Self {
        Self { number, grant: None, last: None, session: 0, epoch: Epoch(1), sent: 0 }
    }

    /// What it sends when it asks this, after so many restores.
    #[must_use]
    pub fn request(&self, ask: Ask, incarnation: u8) -> Sent {
        if ask == Ask::Again {
            let last = self.last.as_ref().expect("only what was sent is sent again");
            return Sent {
                ask,
                command: last.command.clone(),
                accepted: None,
                incarnation: last.incarnation,
            };
        }
        let held = self.grant.as_ref();
        let of = || held.expect("only a holder asks this").attempt.task.clone();
        let claim = |task: Option<TaskId>| Claim {
            projects: if task.is_none() { vec!["w".parse().expect("a key")] } else { Vec::new() },
            task,
            another: false,
            no_recovery: false,
            wait_ms: None,
        };
        let operation: AnyOperation = match ask {
            Ask::Claim(index) => claim(Some(task(index))).into(),
            Ask::ClaimNext => claim(None).into(),
            Ask::Heartbeat => Heartbeat { task: of() }.into(),
            Ask::Checkpoint => serde_json::from_value::<WriteCheckpoint>(
                serde_json::json!({ "task": of(), "text": "so far" }),
            )
            .expect("a checkpoint's input")
            .into(),
            Ask::Close => serde_json::from_value::<Close>(serde_json::json!({ "task": of() }))
                .expect("a close's input")
                .into(),
            Ask::Release => Release { task: of(), note: None }.into(),
            Ask::HandOff => HandOff {
                task: of(),
                text: "go on".to_owned(),
                to: None,
                evidence: Evidence::default(),
                tree: None,
            }
            .into(),
            Ask::Dispose => Dispose { task: of(), disposition: Disposition::Resume, reason: None }.into(),
            Ask::Open => open(self.number, incarnation).into(),
            Ask::Again => unreachable!("handled above"),
        };
        let fence = if matches!(ask, Ask::Claim(_) | Ask::ClaimNext | Ask::Open) { None } else { held };
        let command = self.command(operation, fence);
        let incarnation = if ask == Ask::Open { incarnation } else { self.session };
        Sent { ask, command, accepted: None, incarnation }
    }

    /// A request under a new operation id.
    #[must_use]
    pub fn command(&self, operation: AnyOperation, held: Option<&Grant>) -> Command {
        let agent = self.number;
        let opens = matches!(operation, AnyOperation::OpenSession(_));
        let id: OperationId = format!("{}-{}", NAMES[agent], self.sent).parse().expect("an id");
        let envelope = Envelope {
            caller: (!opens).then(|| Caller { session: session(agent, self.session), proof: proof(agent) }),
            fence: held.map(|grant| Fence { attempt: grant.attempt.clone(), token: grant.token.clone() }),
            token_hash: held.is_none().then(|| secret(agent).lease_token(&id).hash()),
            operation_id: Some(id),
            epoch: (!opens).then_some(self.epoch),
            ..Envelope::default()
        };
        Command { operation, envelope }
    }
}

/// What an answer to a claim grants.
#[must_use]
pub fn grant(agent: usize, answer: &str) -> Grant {
    let answer: serde_json::Value = serde_json::from_str(answer).expect("answers are JSON");
    let text = |field: &str| answer[field].as_str().expect("a text").to_owned();
    Grant {
        attempt: text("attempt").parse().expect("an attempt"),
        token: secret(agent).lease_token(&text("claim_operation").parse().expect("an operation's id")),
    }
}
