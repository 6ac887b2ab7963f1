//! What this crate needs from the engine. It stands in until the engine can be named directly.

use tenure_core::envelope::Envelope;
use tenure_core::model::ids::Epoch;
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::model::time::{FleetTime, WallTime};
use tenure_core::operation::catalog::AnyOperation;

/// One thing to do, with who asks for it.
pub struct Command {
    /// What to do.
    pub operation: AnyOperation,
    /// What came beside it.
    pub envelope: Envelope,
}

/// Why there is no answer.
#[derive(Debug, Clone)]
pub enum Failure {
    /// The rules said no.
    Refused(Refusal),
    /// The store could not find out or could not store it. The reason is in the log and never travels.
    CannotTell,
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(refusal) => refusal,
            Failure::CannotTell => Self::new(Code::CannotTell, "the store could not answer"),
        }
    }
}

/// The answer's JSON, or why there is none.
pub type Outcome = Result<String, Failure>;
/// Who waits for an outcome.
pub type Reply = Box<dyn FnOnce(Outcome) + Send>;

/// What is constant or cheap to know about an open store.
pub struct Info {
    /// The fleet's id.
    pub fleet: String,
    /// Its incarnation.
    pub epoch: Epoch,
    /// The version of the store's schema.
    pub schema: u32,
    /// How many commands wait for the writer.
    pub queued: usize,
}

/// What a write probe found.
#[derive(Clone, Copy)]
pub struct Probe {
    /// Fleet time as committed by the probe.
    pub fleet_time: FleetTime,
    /// Wall time as read under the lock.
    pub wall_time: WallTime,
}

/// The engine as seen from the surfaces.
pub trait Backend: Send + Sync + 'static {
    /// Queues a mutation. The reply is called exactly once, after its commit.
    fn submit(&self, command: Command, reply: Reply);
    /// Answers a question from committed state. It blocks for a short time.
    fn read(&self, operation: &AnyOperation, envelope: &Envelope) -> Outcome;
    /// What is constant or cheap to know.
    fn info(&self) -> Info;
    /// Commits an empty batch, to learn whether writing works. It blocks.
    fn probe(&self) -> Result<Probe, Failure>;
    /// Verifies the event chain and returns the report's JSON. It blocks for as long as that takes.
    fn verify_chain(&self) -> Outcome;
    /// Finishes what is queued and closes the store. It blocks.
    fn close(&self);
}
