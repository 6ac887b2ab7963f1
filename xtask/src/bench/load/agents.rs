//! Those who work: each on a connection of its own, one request after the other, with a pause between them.

use std::collections::BTreeMap;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::super::fleet::{Agent, Agents};
use super::super::worker::{Held, Worker};
use super::past::{HELD, project};

/// How long an agent thinks between two requests.
const THINKING: Duration = Duration::from_millis(100);
/// How often an agent renews what it holds before it closes it.
const RENEWALS: usize = 4;
/// In what time everybody who only renews has done so once.
const ROUND: Duration = Duration::from_secs(20);

/// What is done all day, in the order in which it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Deed {
    Claim,
    Heartbeat,
    Note,
    Close,
    Create,
    List,
}

impl Deed {
    const ALL: [Self; 6] = [Self::Claim, Self::Heartbeat, Self::Note, Self::Close, Self::Create, Self::List];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claim => "claim",
            Self::Heartbeat => "heartbeat",
            Self::Note => "note",
            Self::Close => "close",
            Self::Create => "create",
            Self::List => "list",
        }
    }
}

/// How long requests took, in milliseconds.
#[derive(Default)]
pub struct Times(BTreeMap<Deed, Vec<f64>>);

impl Times {
    /// Every deed, and what each took; nothing where nobody did it.
    pub fn deeds(&self) -> impl Iterator<Item = (Deed, &[f64])> {
        Deed::ALL.into_iter().map(|deed| (deed, self.0.get(&deed).map_or(&[][..], Vec::as_slice)))
    }

    /// Adds what others measured.
    pub fn add(&mut self, others: Self) {
        for (deed, times) in others.0 {
            self.0.entry(deed).or_default().extend(times);
        }
    }

    fn timed<T>(&mut self, deed: Deed, work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
        let begun = Instant::now();
        let done = work().map_err(|error| format!("{}: {error}", deed.as_str()))?;
        self.0.entry(deed).or_default().push(begun.elapsed().as_secs_f64() * 1000.0);
        Ok(done)
    }
}

/// One agent's day: it goes round the projects, takes a task, keeps it, notes something, closes it, and writes down
/// what comes next.
pub fn work(folder: &Path, agent: &Agent, number: usize, until: Instant) -> Result<Times, String> {
    let mut worker = Worker::connect(folder, agent, format!("work {number}"))?;
    let mut times = Times::default();
    let mut turn = number;
    // They do not all begin at once.
    sleep(THINKING * u32::try_from(number % 10).expect("a digit") / 10);
    while Instant::now() < until {
        let key = project(turn);
        turn += 1;
        times.timed(Deed::List, || worker.ask(&format!("/ready?project={key}")))?;
        sleep(THINKING);
        let held = times.timed(Deed::Claim, || worker.claim(&key))?;
        for _ in 0..RENEWALS {
            sleep(THINKING);
            times.timed(Deed::Heartbeat, || worker.act("heartbeat", &held, &json!({})))?;
        }
        sleep(THINKING);
        let note = json!({ "text": "The order is kept; what is left are the two readers at once." });
        times.timed(Deed::Note, || worker.act("notes", &held, &note))?;
        sleep(THINKING);
        times.timed(Deed::List, || worker.ask(&format!("/tasks?project={key}&limit=20")))?;
        let next = json!({ "project": key, "title": format!("What comes after {}", held.attempt) });
        times.timed(Deed::Create, || worker.change("/tasks", None, &next))?;
        sleep(THINKING);
        times.timed(Deed::Close, || worker.act("close", &held, &json!({})))?;
        sleep(THINKING);
    }
    Ok(times)
}

/// The day of many who hold a task each and only renew it, on one connection.
pub fn renew(folder: &Path, agents: &Agents, count: usize, until: Instant) -> Result<Times, String> {
    let mut times = Times::default();
    let mut holders: Vec<(Worker<'_>, Held)> = Vec::with_capacity(count);
    for (number, agent) in agents.some(super::AGENTS + count).skip(super::AGENTS).enumerate() {
        let purpose = format!("holder {number}");
        let mut worker = match holders.first() {
            Some((first, _)) => first.beside(agent, purpose)?,
            None => Worker::connect(folder, agent, purpose)?,
        };
        let held = times.timed(Deed::Claim, || worker.claim(HELD))?;
        holders.push((worker, held));
    }
    let pause = ROUND / u32::try_from(count).expect("not that many");
    'day: loop {
        for (worker, held) in &mut holders {
            if Instant::now() >= until {
                break 'day;
            }
            times.timed(Deed::Heartbeat, || worker.act("heartbeat", held, &json!({})))?;
            sleep(pause);
        }
    }
    Ok(times)
}

/// Records one more event, of a kind that happens once, and returns the number of the last one.
pub fn say(what: &str, folder: &Path, agents: &Agents) -> Result<u64, String> {
    let agent = agents.some(1).next().ok_or("there are no agents")?;
    let mut worker = Worker::connect(folder, agent, what.to_owned())?;
    worker.change("/tasks", None, &json!({ "project": project(0), "title": what }))?;
    let counts: Value = worker.ask("/stats")?;
    counts["events"].as_u64().ok_or_else(|| "the events are not counted".to_owned())
}
