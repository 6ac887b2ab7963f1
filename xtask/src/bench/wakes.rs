//! How soon a waiting claimer has the task that somebody gave back.

use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use serde_json::json;
use tenure_core::model::ids::OperationId;

use super::disk::fsync_ms;
use super::figure::{Figure, Target, Unit, parts, quantile};
use super::fleet::Agents;
use super::wire::{self, Request};
use super::worker::{Held, Worker};
use super::{Extent, Places};

/// The project, which has one task.
const PROJECT: &str = "wakes";
/// How many agents wait for it at a time, while one holds it.
const WAITERS: usize = 16;
/// What the wait may take.
const WAKE_MS: f64 = 10.0;
/// How long a call waits, and how long its answer is waited for.
const WAIT_MS: i64 = 60_000;
const PATIENCE: Duration = Duration::from_secs(90);

/// Measures it. The daemon of `places.daemon` runs.
pub fn measure(places: &Places, agents: &Agents, extent: &Extent) -> Result<Figure, String> {
    let mut workers: Vec<Worker<'_>> = agents
        .some(WAITERS + 1)
        .enumerate()
        .map(|(number, agent)| {
            let worker = Worker::connect(&places.daemon, agent, format!("wakes {number}"))?;
            worker.stream.set_read_timeout(Some(PATIENCE)).map_err(|error| error.to_string())?;
            Ok(worker)
        })
        .collect::<Result<_, String>>()?;
    workers[0].change("/projects", None, &json!({ "key": PROJECT }))?;
    let task = json!({ "project": PROJECT, "title": "The task that goes round" });
    workers[0].change("/tasks", None, &task)?;

    let wait = |worker: &mut Worker<'_>| worker.send_claim(PROJECT, Some(WAIT_MS));
    let mut asked: Vec<OperationId> = workers.iter_mut().map(wait).collect::<Result<_, _>>()?;
    let mut times_ms = Vec::with_capacity(extent.processes);
    let (mut holder, mut held) = next_holder(&workers, &asked, None)?;
    for _ in 0..extent.processes {
        let id = workers[holder].draw()?;
        let agent = workers[holder].agent;
        let path = format!("/tasks/{}/release", held.attempt.task);
        let release = Request::post(&path, agent, &id, Some((&held.attempt, &held.claim)), "{}");
        // From before the release was sent: what is told includes its own commit, and the claim's.
        let begun = Instant::now();
        wire::send(&workers[holder].stream, release)?;
        let next = next_holder(&workers, &asked, Some(holder))?;
        times_ms.push(begun.elapsed().as_secs_f64() * 1000.0);
        wire::receive(&workers[holder].stream)?;
        asked[holder] = wait(&mut workers[holder])?;
        (holder, held) = next;
    }
    eprintln!("bench: {} tasks freed for {WAITERS} waiting agents", times_ms.len());
    let part = |part| quantile(&times_ms, part).ok_or("nothing was freed");
    let numbers =
        [("freed", json!(times_ms.len())), ("waiters", json!(WAITERS)), ("p50_ms", json!(part(0.5)?))];
    Ok(Figure {
        name: "wake",
        what: format!("from sending a release to the answer of one of {WAITERS} waiting claims, p99"),
        value: part(0.99)?,
        unit: Unit::Milliseconds,
        target: Target::AtMost(WAKE_MS),
        fsync_ms: fsync_ms(&places.root)?,
        parts: parts(numbers),
    })
}

/// Waits for the agent whose claim is answered first, of all but one that does not wait.
fn next_holder(
    workers: &[Worker<'_>],
    asked: &[OperationId],
    but: Option<usize>,
) -> Result<(usize, Held), String> {
    let waiting: Vec<usize> = (0..workers.len()).filter(|worker| Some(*worker) != but).collect();
    let mut polled: Vec<PollFd<'_>> =
        waiting.iter().map(|worker| PollFd::new(&workers[*worker].stream, PollFlags::IN)).collect();
    poll(&mut polled, None).map_err(|error| error.to_string())?;
    let answered = polled.iter().position(|polled| !polled.revents().is_empty());
    let worker = waiting[answered.ok_or("nobody was answered")?];
    Ok((worker, workers[worker].receive_claim(&asked[worker])?))
}
