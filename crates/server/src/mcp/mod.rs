//! The surface for models: each operation of an agent is a tool of the Model Context Protocol.
//!
//! What is the same however a tool is reached stands here: which tools there are ([`tool`]), what a call's arguments mean
//! ([`asked`]) and what becomes of an answer ([`told`]). Who carries a call out is a [`Carrier`]: the server itself, or the
//! command line, which asks a server as it always does. The protocol is spoken in [`protocol`] alone, which names the crate
//! that knows it.
//!
//! Nothing is kept for a connection. What a call needs it names: the session by its id, the lease by the attempt and the
//! claim that it was granted by, and a change by its operation id.

pub mod asked;
mod bound;
pub(crate) mod protocol;
mod schema;
pub mod told;
pub mod tool;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::http::Extensions;
use serde_json::{Map, Value};
use tenure_core::model::refusal::{Code, Refusal};

use asked::Asked;
use told::Told;
use tool::Tool;

pub use protocol::serve_stdio;

/// Who carries out what tools ask for.
pub trait Carrier: Send + Sync + 'static {
    /// Asks for an operation and returns its answer as JSON, or why there is none.
    fn carry(&self, asked: Asked, beside: Beside) -> impl Future<Output = Result<String, Refusal>> + Send;
}

/// Who carries calls out by waiting for the answer, each on a thread of its own.
pub trait Plain: Send + Sync + 'static {
    /// Asks for an operation and returns its answer as JSON, or why there is none.
    fn carry(&self, asked: Asked, beside: &Beside) -> Result<String, Refusal>;
}

/// The threads that [`Plain`] calls are carried out on.
struct OnThreads<P>(Arc<P>);

impl<P: Plain> Carrier for OnThreads<P> {
    async fn carry(&self, asked: Asked, beside: Beside) -> Result<String, Refusal> {
        let plain = self.0.clone();
        let carried = tokio::task::spawn_blocking(move || plain.carry(asked, &beside)).await;
        carried.unwrap_or_else(|_| Err(Refusal::new(Code::CannotTell, "the call was interrupted")))
    }
}

/// What came with a call besides its arguments.
#[derive(Clone, Default)]
pub struct Beside {
    /// What the client's program says of the call and its conversation. It is a claim, and proves nothing.
    pub meta: Map<String, Value>,
    /// What whoever carries calls out has put beside the request, where one came by HTTP.
    pub(crate) request: Extensions,
    gone: Arc<AtomicBool>,
}

impl Beside {
    /// Whether nobody waits for the answer any more.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }
}

/// Says that nobody waits any more when it is dropped.
struct Waiting(Arc<AtomicBool>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Calls a tool.
async fn call<C: Carrier>(
    carrier: &C,
    tool: &'static Tool,
    arguments: Map<String, Value>,
    beside: Beside,
) -> Told {
    let _waiting = Waiting(beside.gone.clone());
    let mut asked = match Asked::read(tool, &arguments) {
        Ok(asked) => asked,
        Err(refusal) => return Told::refused(&refusal, None),
    };
    loop {
        match carrier.carry(asked.clone(), beside.clone()).await {
            Err(refusal) => return Told::refused(&refusal, asked.operation_id.as_ref()),
            Ok(json) => match asked.for_fewer_rows(&json) {
                // A page that is cut would lose its rows: its cursor is behind them.
                Some(fewer) => asked = fewer,
                None => return Told::answered(&asked, &json),
            },
        }
    }
}
