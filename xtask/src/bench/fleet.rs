//! The fleet that figures are measured on: the tasks of two projects and the sessions of 64 clients, made by the engine
//! itself, so that every row is the product's own.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tenure_core::envelope::{Authentication, Caller, Envelope};
use tenure_core::model::account::PasswordHash;
use tenure_core::model::ids::{Digest, OperationId, PrincipalName, SessionId, TaskId};
use tenure_core::model::limits::{BATCH_COMMANDS, Durations};
use tenure_core::operation::account::BootstrapAccount;
use tenure_core::operation::catalog::AnyOperation;
use tenure_core::operation::ownership::Claim;
use tenure_core::operation::session::OpenSession;
use tenure_core::operation::token::CreateToken;
use tenure_core::operation::{project, task};
use tenure_core::secret::{SessionSecret, digest};
use tenure_core::token::Token;
use tenure_engine::Command;
use tenure_engine::clock::{FleetClock, MachineClocks};
use tenure_engine::execute::{prepare, run_batch};
use tenure_engine::store::driver::Driver;
use tenure_engine::store::folder::{Hold, hold};
use tenure_engine::store::sqlite::{Role, Sqlite};

/// How many clients claim at once.
pub const CLIENTS: u64 = 64;
/// How many sessions each client has.
const SESSIONS_PER_CLIENT: u64 = 64;
/// How many tasks there are.
pub const TASKS: u64 = 200_000;
/// How many stand in each of the two projects.
const TASKS_PER_PROJECT: u64 = TASKS / 2;
/// A stride without a common divisor with the tasks of a project: neighbours in time are none in the table.
const STRIDE: u64 = 7_919;

/// How a claim says what it wants. Each kind has a project of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The next task that is eligible.
    Next,
    /// The task of this name.
    Named,
}

impl Kind {
    /// How many of its sessions a client takes turns with. Whoever asks for the next task is asked what it holds, and an
    /// agent holds few tasks at a time: so that no session holds hundreds after a slice, such a client is another
    /// agent at every claim. A claim by name does not look at what its session holds, and one session is enough.
    fn sessions(self) -> u64 {
        match self {
            Self::Next => SESSIONS_PER_CLIENT,
            Self::Named => 1,
        }
    }

    /// The project's key.
    pub fn project(self) -> &'static str {
        match self {
            Self::Next => "next",
            Self::Named => "named",
        }
    }
}

/// A client's session.
pub struct Agent {
    number: u64,
    /// The session's id.
    pub session: SessionId,
    secret: SessionSecret,
    /// What proves the session, as it travels.
    pub proof: String,
}

impl Agent {
    fn new(number: u64) -> Result<Self, String> {
        let bytes = number.to_be_bytes();
        let secret = SessionSecret::new(digest("bench secret", &[&bytes]).0);
        let session = digest("bench session", &[&bytes]).to_string()[..32].parse()?;
        Ok(Self { number, session, proof: secret.session_proof().to_wire(), secret })
    }

    /// Opens its session, from the machine that has a token where there is one.
    fn opening(&self, token: Option<&Token>) -> Result<Command, String> {
        let operation = OpenSession {
            session: self.session.clone(),
            proof_hash: self.secret.session_proof().hash(),
            name: format!("agent-{:05}", self.number).parse()?,
            conversation: None,
            parent: None,
            harness: Some("bench".to_owned()),
            workstation: None,
            capabilities: Vec::new(),
        };
        let operation_id = Some(operation_id("open", self.number)?);
        let token = token.map(Token::hash);
        let envelope = Envelope { operation_id, token, ..Envelope::default() };
        Ok(Command { operation: operation.into(), envelope })
    }

    /// A command of this agent, as it would be sent.
    pub fn command(&self, operation: AnyOperation, operation_id: OperationId) -> Command {
        let caller = Caller { session: self.session.clone(), proof: self.secret.session_proof() };
        let token_hash = Some(self.token_hash(&operation_id));
        let operation_id = Some(operation_id);
        let envelope = Envelope { caller: Some(caller), operation_id, token_hash, ..Envelope::default() };
        Command { operation, envelope }
    }

    /// The hash of the token that a claim under this id is fenced by.
    pub fn token_hash(&self, operation_id: &OperationId) -> Digest {
        self.secret.lease_token(operation_id).hash()
    }

    /// That token, as it travels.
    pub fn lease_token(&self, claim: &OperationId) -> String {
        self.secret.lease_token(claim).to_wire()
    }
}

/// The sessions, and who claims what at which turn.
pub struct Agents(Vec<Agent>);

/// One claim, before it is sent or run.
pub struct Ask<'a> {
    /// Who asks.
    pub agent: &'a Agent,
    /// Under which id.
    pub operation_id: OperationId,
    /// For what.
    pub claim: Claim,
}

impl Ask<'_> {
    fn command(self) -> Command {
        self.agent.command(self.claim.into(), self.operation_id)
    }
}

impl Agents {
    /// Draws the sessions, always the same.
    pub fn draw() -> Result<Self, String> {
        (0..CLIENTS * SESSIONS_PER_CLIENT).map(Agent::new).collect::<Result<_, _>>().map(Self)
    }

    /// Some of them.
    pub fn some(&self, count: usize) -> impl Iterator<Item = &Agent> {
        self.0.iter().take(count)
    }

    /// A client's claim at its turn.
    pub fn ask(&self, kind: Kind, client: u64, turn: u64) -> Result<Ask<'_>, String> {
        let place = client * SESSIONS_PER_CLIENT + turn % kind.sessions();
        let agent = &self.0[usize::try_from(place).expect("there are few agents")];
        let number = client + turn * CLIENTS;
        if kind == Kind::Named && number >= TASKS_PER_PROJECT {
            return Err(format!("the {TASKS_PER_PROJECT} tasks of a project were too few for this machine"));
        }
        let operation_id = operation_id(kind.project(), number)?;
        let (task, projects) = match kind {
            Kind::Next => (None, vec![kind.project().parse()?]),
            Kind::Named => (Some(named(number)?), Vec::new()),
        };
        let claim = Claim { task, projects, another: true, no_recovery: false, wait_ms: None };
        Ok(Ask { agent, operation_id, claim })
    }

    /// The claims from one number up to another as the 64 clients would make them in turn.
    pub fn commands(&self, kind: Kind, numbers: std::ops::Range<u64>) -> Result<Vec<Command>, String> {
        numbers.map(|number| Ok(self.ask(kind, number % CLIENTS, number / CLIENTS)?.command())).collect()
    }
}

fn named(number: u64) -> Result<TaskId, String> {
    let task = number * STRIDE % TASKS_PER_PROJECT + 1;
    format!("{}-{task}", Kind::Named.project()).parse()
}

/// An id of 32 hexadecimal digits, as clients draw them: the first 12 grow with the time, here with the number, and the
/// others are chance.
pub fn operation_id(what: &str, number: u64) -> Result<OperationId, String> {
    let chance = digest("bench operation", &[what.as_bytes(), &number.to_be_bytes()]).to_string();
    format!("{:012x}{}", number & 0xffff_ffff_ffff, &chance[..20]).parse()
}

/// A store that this process has open. Fields are dropped in this order.
pub struct Store<D> {
    /// The connection.
    pub driver: D,
    clock: FleetClock,
    _hold: Option<Arc<Hold>>,
}

impl Store<Sqlite> {
    /// A new store in which everybody has a session. Its rows are the product's own; only while they are made nobody
    /// needs each of them flushed.
    pub fn to_fill(folder: &Path, agents: &Agents) -> Result<Self, String> {
        let mut store = Self::unflushed(folder)?;
        store.admit(agents, None)?;
        Ok(store)
    }

    /// The same whose sessions are all opened from the machine that has this token.
    pub fn to_fill_from(folder: &Path, agents: &Agents, token: &Token) -> Result<Self, String> {
        let mut store = Self::unflushed(folder)?;
        store.run(given(token)?)?;
        store.admit(agents, Some(token))?;
        Ok(store)
    }

    fn unflushed(folder: &Path) -> Result<Self, String> {
        let mut store = Self::open(folder, |sqlite| sqlite)?;
        store.driver.execute("PRAGMA synchronous = OFF", &[]).map_err(|error| error.to_string())?;
        Ok(store)
    }
}

impl<D: Driver> Store<D> {
    /// Opens the store in a folder, or makes one there.
    pub fn open(folder: &Path, wrap: impl FnOnce(Sqlite) -> D) -> Result<Self, String> {
        let hold = hold(folder).map_err(|error| error.to_string())?;
        let sqlite = Sqlite::open(hold.database(), Role::Writer).map_err(|error| error.to_string())?;
        Ok(Self { _hold: Some(Arc::new(hold)), ..Self::on(wrap(sqlite))? })
    }

    /// The store behind a connection, or a new one there.
    pub fn on(mut driver: D) -> Result<Self, String> {
        let fleet = prepare(&mut driver, &MachineClocks, || Ok("bench".to_owned()));
        let clock = FleetClock::join(&fleet.map_err(|error| error.to_string())?, &MachineClocks);
        Ok(Self { driver, clock, _hold: None })
    }

    /// Opens everybody's session, from the machine that has a token where there is one.
    pub fn admit(&mut self, agents: &Agents, token: Option<&Token>) -> Result<(), String> {
        let openings: Vec<Command> =
            agents.0.iter().map(|agent| agent.opening(token)).collect::<Result<_, _>>()?;
        self.run_in_groups(openings, BATCH_COMMANDS)
    }

    /// Makes the projects, and so many tasks in them, the first `of_next` of them in the one whose next task is claimed.
    pub fn create(&mut self, agents: &Agents, tasks: u64, of_next: u64) -> Result<(), String> {
        let first = &agents.0[0];
        for kind in [Kind::Next, Kind::Named] {
            let project: project::CreateProject = input(json!({ "key": kind.project() }))?;
            self.run(vec![first.command(project.into(), operation_id(kind.project(), u64::MAX)?)])?;
        }
        let mut shown = Instant::now();
        let mut number = 0;
        while number < tasks {
            let until = tasks.min(number + BATCH_COMMANDS as u64);
            let batch =
                (number..until).map(|number| creation(first, number, of_next)).collect::<Result<_, _>>()?;
            self.run(batch)?;
            number = until;
            if shown.elapsed() > Duration::from_secs(2) || number == tasks {
                eprintln!("bench: {number} of {tasks} tasks are written down");
                shown = Instant::now();
            }
        }
        Ok(())
    }

    /// Runs commands that must all be accepted, in one commit.
    pub fn run(&mut self, commands: Vec<Command>) -> Result<(), String> {
        let ran = run_batch::<dyn Driver>(
            &mut self.driver,
            &self.clock,
            &MachineClocks,
            commands,
            None,
            Durations::default(),
        );
        match ran.map_err(|error| error.to_string())?.answers.into_iter().find_map(Result::err) {
            Some(refusal) => Err(format!("the engine refused: {}: {}", refusal.code, refusal.detail)),
            None => Ok(()),
        }
    }

    /// Runs commands in groups, each in one commit.
    pub fn run_in_groups(&mut self, commands: Vec<Command>, group: usize) -> Result<(), String> {
        let mut commands = commands.into_iter();
        loop {
            let some: Vec<Command> = commands.by_ref().take(group).collect();
            if some.is_empty() {
                return Ok(());
            }
            self.run(some)?;
        }
    }
}

/// Makes a store in a folder with so many tasks, half of them in each project.
pub fn fill(folder: &Path, agents: &Agents, tasks: u64) -> Result<(), String> {
    let mut store = Store::to_fill(folder, agents)?;
    store.create(agents, tasks, tasks / 2)?;
    // The database file alone is copied: what the log still holds must be in it.
    store.driver.settle().map_err(|error| error.to_string())
}

/// What an administrator does so that a machine has a token.
fn given(token: &Token) -> Result<Vec<Command>, String> {
    let password: PasswordHash = "$argon2id$v=19$m=8,t=1,p=1$c2FsdA$Zmlyc3Q".parse()?;
    let name: PrincipalName = "ada".parse()?;
    let proven = Authentication::Password { name: name.clone(), hash: password.digest() };
    let first = BootstrapAccount { name };
    let create: CreateToken = input(
        json!({ "name": "mill", "kind": token.kind(), "hash": token.hash(), "reason": "the figures" }),
    )?;
    let by = |operation: AnyOperation, what: &str, authentication| {
        let envelope = Envelope {
            operation_id: Some(operation_id(what, 0)?),
            authentication: Some(authentication),
            new_password: Some(password.clone()),
            ..Envelope::default()
        };
        Ok::<_, String>(Command { operation, envelope })
    };
    Ok(vec![by(first.into(), "first", Authentication::Console)?, by(create.into(), "token", proven)?])
}

fn creation(agent: &Agent, number: u64, of_next: u64) -> Result<Command, String> {
    let kind = if number < of_next { Kind::Next } else { Kind::Named };
    let create: task::CreateTask = input(json!({
        "project": kind.project(),
        "title": format!("Let the importer keep the order of what it reads, part {number}"),
        "description": "What is read first must be written first, also when two readers work at once. The order is \
            seen in the list of records; the figure is kept beside the others and compared with the last release.",
        "priority": number * STRIDE % 5,
        "labels": ["importer", "order"],
        "criteria": ["The list of records is in the order of the file"],
    }))?;
    Ok(agent.command(create.into(), operation_id("create", number)?))
}

/// An operation's input.
pub fn input<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, String> {
    serde_json::from_value(value).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_named_task_is_claimed_once() {
        let all: BTreeSet<String> =
            (0..TASKS_PER_PROJECT).map(|number| named(number).expect("an id").to_string()).collect();
        assert_eq!(all.len() as u64, TASKS_PER_PROJECT);
        assert!(all.contains("named-1") && all.contains("named-50000"));
    }

    #[test]
    fn a_claim_in_process_is_the_one_that_a_client_would_send() {
        let agents = Agents::draw().expect("agents");
        let commands = agents.commands(Kind::Named, 65..66).expect("a command");
        let ask = agents.ask(Kind::Named, 1, 1).expect("an ask");
        let envelope = &commands[0].envelope;
        assert_eq!(envelope.operation_id.as_ref(), Some(&ask.operation_id));
        assert_eq!(envelope.token_hash, Some(ask.agent.token_hash(&ask.operation_id)));
        assert_eq!(envelope.caller.as_ref().map(|caller| &caller.session), Some(&ask.agent.session));
    }
}
