//! P2 when the power goes: what was acknowledged is on the disk, wherever the power went and whatever else had reached
//! the disk. A disk that lies about its flushes loses what was acknowledged, which shows that the loss is real.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;

use serde_json::json;
use tenure_client::call::{Client, Retry};
use tenure_core::operation::ownership::WriteNote;
use tenure_core::operation::task::CreateTask;
use tenure_sim::agent::{Agent, Outcome, client};
use tenure_sim::daemon::{Daemon, serving};
use tenure_sim::fill::create_project;
use tenure_sim::flushes::{Disk, POWER_IS_OFF, Plan};
use tenure_sim::log::{Call, End, calls};
use tenure_sim::place::{PROJECT, Place};
use tenure_sim::recount::recount;
use tenure_sim::seed::{Seed, rounds};
use tenure_sim::{fill, program, store};

use super::races::next;

const AGENTS: u64 = 6;

/// Asks once: that nobody can tell is what is to be heard here.
fn impatient(state: &Path) -> Client {
    client(state).with_retry(Retry { pause_ms: 0, repetitions: 0 })
}

fn create(title: &str) -> CreateTask {
    serde_json::from_value(json!({ "project": PROJECT, "title": title })).expect("the input fits")
}

/// A place with a store that was made in peace, its disk, and agents that write down what they do.
struct Scene {
    place: Place,
    disk: Disk,
    agents: Vec<Agent>,
}

impl Scene {
    fn new() -> Self {
        let place = Place::new();
        let disk = Disk::under(&place);
        let mut daemon = place.daemon();
        let logs = place.folder("logs");
        let agents =
            (0..AGENTS).map(|number| Agent::open(impatient(place.state()), &format!("agent-{number}")));
        let agents: Vec<Agent> = agents.collect();
        create_project(&agents[0]);
        fill::tasks(&agents[0], 20);
        let agents = agents.into_iter().map(|agent| agent.logging(&logs)).collect();
        daemon.terminate();
        Self { place, disk, agents }
    }

    fn logs(&self) -> std::path::PathBuf {
        self.place.folder("logs")
    }

    /// Lets all agents work until the daemon has ended by itself, and returns its exit code.
    fn work_until_it_ends(&self, daemon: &mut Daemon) -> Option<i32> {
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            for agent in &self.agents {
                scope.spawn(|| work(agent, &over));
            }
            let ended = daemon.wait();
            over.store(true, SeqCst);
            ended.code()
        })
    }

    /// Everybody goes on in peace, and the logs are counted against the store.
    fn recount(&self) -> tenure_sim::recount::Figures {
        let _daemon = self.place.daemon();
        for agent in &self.agents {
            let title = format!("{} is back {}", agent.name, calls(&self.logs()).len());
            let back = agent.ask(&create(&title));
            assert!(matches!(back, Outcome::Ok(_)), "{back:?}");
        }
        recount(&client(self.place.state()), &calls(&self.logs()))
    }
}

/// One agent's work: it claims, notes and creates until it is told that the daemon is gone.
fn work(agent: &Agent, over: &AtomicBool) {
    let mut held = None;
    for call in 0.. {
        if over.load(SeqCst) {
            return;
        }
        let text = format!("{} {call} of {:p}", agent.name, over);
        match held.take() {
            None => {
                if let Outcome::Ok(claimed) = agent.ask(&next()) {
                    held = Some(claimed.task.id);
                }
            }
            Some(task) if call % 3 == 0 => drop(agent.ask(&tenure_sim::load::close(&task))),
            Some(task) => {
                agent.ask(&WriteNote { task: task.clone(), text: text.clone(), recovery: false });
                held = Some(task);
            }
        }
        agent.ask(&create(&text));
    }
}

#[test]
fn nothing_acknowledged_is_lost_when_the_power_goes_under_load() {
    let run = Seed::of_this_run();
    for round in 1..=u64::from(rounds(3)) {
        let mut seed = Seed::of(run, round);
        let scene = Scene::new();
        let off_at = 5 + seed.below(120);
        // In the first round nothing unflushed reaches the disk; in the others some of it, torn.
        let keeps = if round == 1 { 0 } else { 1 + seed.below(1 << 30) };
        let mut daemon = scene.disk.daemon(Plan { off_at, keeps, ..Plan::default() });
        assert_eq!(scene.work_until_it_ends(&mut daemon), Some(POWER_IS_OFF));
        let counted = scene.recount();
        eprintln!("round {round}: {:?}; {counted:?}", scene.disk.report());
        assert!(!scene.disk.report()[0].contains(" 0 bytes lost"), "nothing was at stake");
        assert!(counted.acknowledged > 0 && counted.unknown > 0, "too quiet to prove anything");
    }
}

/// The titles of acknowledged tasks that are not there.
fn lost(logs: &Path, state: &Path) -> usize {
    let there: BTreeSet<String> = store::tasks(&client(state)).into_iter().map(|task| task.title).collect();
    let created = |call: &&Call| call.operation == "task.create" && matches!(call.end, End::Ok { .. });
    let calls = calls(logs);
    calls.iter().filter(created).filter(|call| !there.contains(call.asked("title"))).count()
}

#[test]
fn on_a_disk_that_lies_about_flushes_the_same_loses_what_was_acknowledged() {
    let scene = Scene::new();
    let mut daemon = scene.disk.daemon(Plan { off_at: 60, lies: true, ..Plan::default() });
    assert_eq!(scene.work_until_it_ends(&mut daemon), Some(POWER_IS_OFF));
    let _daemon = scene.place.daemon();
    let lost = lost(&scene.logs(), scene.place.state());
    eprintln!("{:?}: {lost} acknowledged tasks are gone", scene.disk.report());
    assert!(lost > 0, "a loss of power that loses nothing proves nothing");
}

#[test]
fn a_flush_that_fails_ends_the_daemon_and_is_never_told_as_success() {
    for fails_at in [3, 4, 17, 40] {
        let scene = Scene::new();
        let mut daemon = scene.disk.daemon(Plan { fails_at, ..Plan::default() });
        assert_eq!(scene.work_until_it_ends(&mut daemon), Some(1), "flush {fails_at}");
        // The process went by itself, and what it had only believed to be written is gone.
        let counted = scene.recount();
        eprintln!("{:?}; {counted:?}", scene.disk.report());
        assert!(scene.disk.report()[0].starts_with(&format!("error at flush {fails_at}")));
        assert!(counted.unknown > 0, "nobody heard that nobody can tell");
    }
}

#[test]
fn a_new_fleet_is_there_for_good_or_not_at_all_wherever_the_power_goes() {
    let mut founded = false;
    for off_at in 1.. {
        let place = Place::new();
        let disk = Disk::under(&place);
        let variables = disk.variables(Plan { off_at, ..Plan::default() });
        let variables: Vec<(&str, &str)> =
            variables.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let mut child = serving(program::tenure(), place.state(), &[], &variables).spawn().expect("it runs");
        let acknowledged = found(&place, &mut child);
        let code = child.wait().expect("it is our child").code();
        let was_untouched = disk.report().is_empty();
        assert!(was_untouched || code == Some(POWER_IS_OFF), "flush {off_at}: {code:?}");
        let _daemon = place.daemon();
        let there = store::projects(&client(place.state())).contains(&PROJECT.to_owned());
        assert!(there || !acknowledged, "flush {off_at}: an acknowledged project is gone");
        founded |= acknowledged && !was_untouched;
        if was_untouched {
            assert!(founded, "the power never went after something was acknowledged");
            return;
        }
    }
}

/// Makes a project as soon as the daemon answers, and says whether that was acknowledged. Then the daemon is asked to go.
fn found(place: &Place, child: &mut std::process::Child) -> bool {
    let state = place.state();
    let mut report = String::new();
    let output = child.stdout.take().expect("it is piped");
    std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut report).expect("it is text");
    let mut acknowledged = false;
    if report.contains("\"ready\":true")
        && let Ok(agent) = Agent::try_open(impatient(state), "ada")
    {
        acknowledged = agent.mutate("project.create", &json!({ "key": PROJECT })).is_ok();
    }
    tenure_sim::daemon::signal(child.id(), rustix::process::Signal::TERM);
    acknowledged
}
