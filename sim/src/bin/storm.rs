//! Plays storms for so many minutes, or the storm of one seed with all that happens in it.

#![expect(clippy::print_stdout, reason = "developers read what it prints")]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use tenure_sim::seed::Seed;
use tenure_sim::storm::ground::Database;
use tenure_sim::storm::{Broken, Figures, run, run_all};

const USAGE: &str = "usage: storm [--postgresql] --minutes N [--seed FIRST] | storm [--postgresql] --seed N";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let played = match words.as_slice() {
        ["--postgresql", words @ ..] => Database::postgres().and_then(|database| play(&database, words)),
        words => play(&Database::Sqlite, words),
    };
    match played {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn play(database: &Database, words: &[&str]) -> Result<(), String> {
    let number = |text: &str| text.parse::<u64>().map_err(|_| USAGE.to_owned());
    match words {
        ["--seed", seed] => one(database, number(seed)?),
        ["--minutes", minutes] => many(database, number(minutes)?, Seed::of_this_run()),
        ["--minutes", minutes, "--seed", first] | ["--seed", first, "--minutes", minutes] => {
            many(database, number(minutes)?, number(first)?)
        }
        _ => Err(USAGE.to_owned()),
    }
}

/// Plays one storm and shows all of it.
fn one(database: &Database, seed: u64) -> Result<(), String> {
    let (figures, trace) = run(database, seed).map_err(|broken| broken.to_string())?;
    println!("{trace}{figures}");
    Ok(())
}

/// Plays storms on every processor until the time is over, each processor its own seeds.
fn many(database: &Database, minutes: u64, first: u64) -> Result<(), String> {
    let until = Instant::now() + Duration::from_secs(60 * minutes);
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as u64;
    let played: Vec<Result<Figures, Box<Broken>>> = std::thread::scope(|scope| {
        let own = |processor| {
            let seeds = (first + processor..).step_by(usize::try_from(processors).expect("few"));
            move || run_all(database, seeds.take_while(|_| Instant::now() < until))
        };
        let threads: Vec<_> = (0..processors).map(|processor| scope.spawn(own(processor))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a storm ends with a verdict")).collect()
    });
    let mut all = Figures::default();
    for figures in played {
        all.add(&figures.map_err(|broken| broken.to_string())?);
    }
    println!("seeds from {first}: {all}");
    all.check_loud()
}
