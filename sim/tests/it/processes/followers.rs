//! Following the record with the real command: killed, paused or cut off, and every event is told once, by number.

use std::io::{BufRead, BufReader};
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use rustix::process::Signal;
use serde_json::{Value, json};
use tenure_core::model::event::Event;
use tenure_sim::agent::{Agent, client, starting_client};
use tenure_sim::daemon::{Daemon, found_in, has_ended, signal};
use tenure_sim::fill::create_project;
use tenure_sim::place::{PROJECT, Place};
use tenure_sim::seed::{Seed, rounds};
use tenure_sim::shell::Shell;
use tenure_sim::{store, waiting};

/// `tenure events --follow` and what it has printed.
struct Follower {
    child: Child,
    lines: Receiver<String>,
}

impl Follower {
    /// Follows from the event after a number.
    fn start(shell: &Shell, after: u64) -> Self {
        let after = format!("1-{after}");
        let mut child = shell.spawn(&["events", "--follow", "--after", &after, "--json=number"]);
        let output = child.stdout.take().expect("it is piped");
        let (told, lines) = channel();
        thread::spawn(move || {
            let whole = BufReader::new(output).lines().map_while(Result::ok);
            whole.for_each(|line| drop(told.send(line)));
        });
        Self { child, lines }
    }

    /// Ends it at once; what it had printed by then.
    fn kill(mut self) -> Vec<u64> {
        self.child.kill().expect("it is our child");
        self.child.wait().expect("it is our child");
        // A line that it was killed in is not one.
        self.lines.iter().filter_map(|line| number(&line)).collect()
    }
}

fn number(line: &str) -> Option<u64> {
    serde_json::from_str::<Value>(line).ok()?["number"].as_u64()
}

fn create(agent: &Agent, count: u64) {
    for _ in 0..count {
        agent.mutate("task.create", &json!({ "project": PROJECT, "title": "more" })).expect("it is created");
    }
}

#[test]
fn a_follower_that_is_killed_paused_or_cut_off_sees_every_event_once() {
    let seed = Seed::of_this_run();
    let mut dice = Seed::of(seed, 0);
    let place = Place::new();
    let mut daemon: Daemon = place.daemon();
    let agent = Agent::open(starting_client(place.state()), "ada");
    create_project(&agent);
    let shell = Shell::new(place.state(), &place.checkout());
    let mut follower = Follower::start(&shell, 0);
    let mut seen: Vec<u64> = Vec::new();
    let (mut killed, mut paused, mut cut) = (0, 0, 0);
    for _ in 0..rounds(12) {
        create(&agent, 1 + dice.below(5));
        match dice.below(3) {
            0 => {
                seen.extend(follower.kill());
                follower = Follower::start(&shell, seen.last().copied().unwrap_or_default());
                killed += 1;
            }
            1 => {
                signal(follower.child.id(), Signal::STOP);
                create(&agent, 1 + dice.below(5));
                signal(follower.child.id(), Signal::CONT);
                paused += 1;
            }
            _ => {
                // Everything that the daemon had open is cut; the next caller starts another one.
                match found_in(place.state()) {
                    Some(pid) if pid == daemon.pid() => drop(daemon.kill()),
                    Some(pid) => {
                        signal(pid, Signal::KILL);
                        waiting::until("the daemon has ended", || has_ended(pid));
                    }
                    None => {}
                }
                cut += 1;
            }
        }
    }
    create(&agent, 1);
    let last = store::as_of(&client(place.state())).event.number.0;
    while seen.last() != Some(&last) {
        let line = follower.lines.recv().expect("the follower lives");
        seen.push(number(&line).expect("whole lines are events"));
    }
    follower.kill();
    let events: Vec<u64> =
        store::events(&client(place.state())).iter().map(|event: &Event| event.number.0).collect();
    assert_eq!(seen, events, "seed {seed}");
    eprintln!("{last} events, each seen once; killed {killed} times, paused {paused}, cut off {cut}");
}
