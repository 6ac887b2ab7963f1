//! Asking of a state that has an event: while the store that is reached lacks it, the question is asked again when there
//! is news, and after a while refused.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::model::limits::{AT_LEAST_LOOK_MS, AT_LEAST_MS};
use tenure_core::model::refusal::Code;
use tenure_engine::{Command, Failure, Told};
use tokio::time::Instant;

use super::app::App;

/// Asks, and asks again for a while where the state lacks an event that the question wants it to have.
pub(super) async fn ask(app: &Arc<App>, command: Command) -> Told {
    let Some(wanted) = command.envelope.at_least else { return app.ask(command).await };
    let deadline = Instant::now() + Duration::from_millis(AT_LEAST_MS);
    let mut stopping = app.stop().subscribe();
    let mut head = app.head.subscribe();
    loop {
        // What is heard of from here on is looked at again.
        head.mark_unchanged();
        let told = app.ask(command.clone()).await;
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || !is_behind(&told) {
            return told;
        }
        let _at_rest = app.rest();
        tokio::select! {
            _ = stopping.wait_for(|stop| *stop) => return told,
            // What is heard of an event before it helps nobody.
            () = async { while head.changed().await.is_ok() && *head.borrow_and_update() < wanted.number {} } => {}
            () = tokio::time::sleep(left.min(Duration::from_millis(AT_LEAST_LOOK_MS))) => {}
        }
    }
}

fn is_behind(told: &Told) -> bool {
    matches!(&told.outcome, Err(Failure::Refused(refusal)) if refusal.code == Code::Behind)
}
