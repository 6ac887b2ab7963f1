//! Two servers on three PostgreSQL under Patroni, whose leader is killed under load and comes back as a follower, again
//! and again; in the end everything is judged. `failovers [--minutes N]`.

#![expect(clippy::print_stdout, reason = "developers read what it prints")]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use tenure_cluster::Patroni;
use tenure_sim::failover::Failover;
use tenure_sim::fleet::{Fleet, RECOVERY_MAX, url};
use tenure_sim::load::Load;
use tenure_sim::seed::Seed;

const USAGE: &str = "usage: failovers [--minutes N]";
/// How many servers the database has: a leader, the standby that its commits wait for, and one more.
const SERVERS: usize = 3;
/// How many agents work at each of the two coordinators.
const AGENTS: usize = 4;
/// How often the leader is killed at least.
const KILLS_MIN: u32 = 2;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match minutes(&words).and_then(play) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// For how long leaders are killed.
fn minutes(words: &[String]) -> Result<Duration, String> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let minutes: u64 = match words.as_slice() {
        [] => 0,
        ["--minutes", minutes] => minutes.parse().map_err(|_| USAGE.to_owned())?,
        _ => return Err(USAGE.to_owned()),
    };
    Ok(Duration::from_secs(60 * minutes))
}

/// Kills leaders until the time is over, and judges.
fn play(for_long: Duration) -> Result<(), String> {
    let seed = Seed::of_this_run();
    let begun = Instant::now();
    let mut database = Patroni::start(SERVERS)?;
    println!("{SERVERS} servers in {} after {:.1} s", database.folder().display(), elapsed(begun));
    let hosts: Vec<_> = database.hosts().collect();
    let fleet = Fleet::of([&url(&hosts), &url(&hosts)]);
    let agents = fleet.crowd(AGENTS);
    let failovers = Load::during(&agents, seed, |load| {
        kill_leaders(&mut database, load, Seed::of(seed, 100), Instant::now() + for_long)
    })?;
    let figures = fleet.judge();
    println!(
        "{} leaders killed: {} calls acknowledged and none of them lost, {} refused, {} without an answer of which {} \
         happened; {} events, at both servers the same",
        failovers.len(),
        figures.acknowledged,
        figures.refused,
        figures.unknown,
        figures.unknown_that_happened,
        figures.events,
    );
    let late = failovers.iter().filter(|failover| !failover.is_in_time()).count();
    if late == 0 {
        return Ok(());
    }
    Err(format!(
        "{late} times it took longer than {} s until something was acknowledged",
        RECOVERY_MAX.as_secs()
    ))
}

fn kill_leaders(
    database: &mut Patroni,
    load: &Load,
    mut dice: Seed,
    until: Instant,
) -> Result<Vec<Failover>, String> {
    let mut failovers = Vec::new();
    while failovers.len() < KILLS_MIN as usize || Instant::now() < until {
        load.go_on(50 + dice.below(200));
        let killed = database.leader()?;
        let failover = Failover::during(load, || {
            database.kill(killed)?;
            database.wait_for_a_leader()
        })?;
        let back = Instant::now();
        database.bring_back(killed)?;
        database.settle()?;
        failovers.push(failover);
        println!(
            "kill {}, of server {killed}: {failover}; followed again by all after another {:.1} s",
            failovers.len(),
            elapsed(back)
        );
    }
    Ok(failovers)
}

fn elapsed(since: Instant) -> f64 {
    since.elapsed().as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_said_in_minutes_and_anything_else_is_told_how_to_say_it() {
        let asked =
            |words: &[&str]| minutes(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        assert_eq!(asked(&[]), Ok(Duration::ZERO));
        assert_eq!(asked(&["--minutes", "10"]), Ok(Duration::from_secs(600)));
        for wrong in [&["10"][..], &["--minutes"], &["--minutes", "ten"], &["--minutes", "1", "2"]] {
            assert_eq!(asked(wrong), Err(USAGE.to_owned()));
        }
    }
}
