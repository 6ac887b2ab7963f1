//! An engine that says what it was asked, and can be slow or broken.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tenure_core::envelope::Envelope;
use tenure_core::model::ids::Epoch;
use tenure_core::model::time::{FleetTime, WallTime};
use tenure_core::operation::catalog::AnyOperation;
use tenure_server::backend::{Backend, Command, Failure, Info, Outcome, Probe, Reply};

#[derive(Default)]
pub struct Fake {
    /// How long a commit takes.
    pub slow: Mutex<Duration>,
    /// Whether the store is gone.
    pub broken: AtomicBool,
    pub queued: AtomicUsize,
    pub probes: AtomicUsize,
    pub closed: AtomicBool,
}

fn say(operation: &AnyOperation, envelope: &Envelope) -> String {
    let input: Value = serde_json::from_str(&operation.to_json()).expect("JSON");
    json!({
        "asked": operation.spec().name,
        "input": input,
        "session": envelope.caller.as_ref().map(|caller| caller.session.to_string()),
        "operation_id": envelope.operation_id,
        "attempt": envelope.fence.as_ref().map(|fence| fence.attempt.to_string()),
        "token_hash": envelope.token_hash,
        "epoch": envelope.epoch,
        "task": { "revision": 7 },
    })
    .to_string()
}

impl Backend for &'static Fake {
    fn submit(&self, command: Command, reply: Reply) {
        let fake: &'static Fake = self;
        fake.queued.fetch_add(1, Ordering::SeqCst);
        std::thread::spawn(move || {
            let slow = *fake.slow.lock().expect("no panic while held");
            std::thread::sleep(slow);
            fake.queued.fetch_sub(1, Ordering::SeqCst);
            reply(fake.read(&command.operation, &command.envelope));
        });
    }

    fn read(&self, operation: &AnyOperation, envelope: &Envelope) -> Outcome {
        match self.broken.load(Ordering::SeqCst) {
            true => Err(Failure::CannotTell),
            false => Ok(say(operation, envelope)),
        }
    }

    fn info(&self) -> Info {
        let queued = self.queued.load(Ordering::SeqCst);
        Info { fleet: "f".repeat(32), epoch: Epoch(1), schema: 1, queued }
    }

    fn probe(&self) -> Result<Probe, Failure> {
        self.probes.fetch_add(1, Ordering::SeqCst);
        match self.broken.load(Ordering::SeqCst) {
            true => Err(Failure::CannotTell),
            false => Ok(Probe { fleet_time: FleetTime(5), wall_time: WallTime(6) }),
        }
    }

    fn verify_chain(&self) -> Outcome {
        Ok(json!({ "events": 0 }).to_string())
    }

    fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
    }
}
