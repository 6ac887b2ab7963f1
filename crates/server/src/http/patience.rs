//! Asking with patience: while the answer is a refusal that may pass, the caller's place is kept and it is asked again
//! when there is news.

use std::sync::Arc;
use std::time::Duration;

use tenure_core::model::limits::{RECHECK_MS, WAITERS, counted};
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::operation::Effect;
use tenure_core::rules::patience::Patience;
use tenure_engine::{Command, Failure, Told};
use tokio::time::Instant;

use super::app::App;
use super::at_least;
use super::waiters::{Wake, Woken};

/// Asks once, or for as long as the request has patience.
pub(super) async fn ask(app: &Arc<App>, command: Command) -> Told {
    let Some(Patience { wait_ms, topic }) = command.operation.patience() else {
        return at_least::ask(app, command).await;
    };
    let deadline = Instant::now() + Duration::from_millis(wait_ms.unsigned_abs());
    // The place comes before the first look, so that nothing is missed between the two.
    let Some(place) = app.waiters.enter(topic) else {
        // There may be nothing to wait for.
        let told = at_least::ask(app, command).await;
        return match told.outcome {
            Err(Failure::Refused(refusal)) if Patience::is_worth_it(&refusal) => refused(full()),
            _ => told,
        };
    };
    let takes = command.operation.spec().effect != Effect::Read;
    let mut stopping = app.stop().subscribe();
    let mut wake: Option<Wake> = None;
    loop {
        let told = at_least::ask(app, command.clone()).await;
        match (&told.outcome, wake.take()) {
            (Ok(_), Some(wake)) if takes && place.is_for_one_project() => wake.used(),
            (Ok(_), Some(wake)) if !takes => wake.told(),
            // Whoever is next may be able to take what this one could not, or did not.
            (_, unused) => drop(unused),
        }
        let left = deadline.saturating_duration_since(Instant::now());
        match &told.outcome {
            Err(Failure::Refused(refusal)) if !left.is_zero() && Patience::is_worth_it(refusal) => {}
            _ => return told,
        }
        let _at_rest = app.rest();
        let woken = tokio::select! {
            _ = stopping.wait_for(|stop| *stop) => return refused(closing()),
            woken = place.woken(left.min(Duration::from_millis(RECHECK_MS))) => woken,
        };
        match woken {
            Woken::For(work) => wake = Some(work),
            Woken::ByNews => {}
            // What time alone brought is known once the time is committed, and questions read what is.
            Woken::ByTime => commit_the_time(app).await,
        }
    }
}

fn refused(refusal: Refusal) -> Told {
    Err(Failure::Refused(refusal)).into()
}

fn closing() -> Refusal {
    Refusal::new(Code::CannotTell, "the coordinator is closing")
}

/// Makes what time alone brought readable; whether that works is found out by whoever asks next.
async fn commit_the_time(app: &Arc<App>) {
    let _ = app.blocking(App::probe).await;
}

fn full() -> Refusal {
    let detail = format!("{} are waiting already", counted(WAITERS as u64, "request"));
    Refusal::new(Code::Overloaded, detail).next("ask without waiting, or again later")
}
