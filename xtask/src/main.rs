//! What developers run: the house rules, the reference pages, and everything that CI checks.
//!
//! `cargo xtask ci` is the whole of it. Each part can be run alone; a part that fails says how to repeat it.

#![expect(clippy::print_stdout, reason = "developers' commands talk to a terminal and to CI's log")]

mod bench;
mod cargo;
mod ci;
mod docs;
mod proofs;
mod python;
mod repository;
mod tidy;
mod tools;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  ci [--quick]      everything that must hold before a change is merged;
                    --quick leaves out what it names in its output
  tools             install what the checks need beyond Cargo itself
  tidy              the house rules, over the files that Git tracks
  docs [--check]    write the generated pages under docs/, or fail if they differ
  schemathesis [--examples N]
                    ask every route what its description allows and forbids, 50 drawn requests each unless told,
                    and hear nothing that is not described; the checks draw two
  worlds [STATES]   find every deliberate mistake, then visit so many small worlds
  bench [--quick] [--write]
                    measure the figures beside their peers; --write also writes them into the book
  bench --servers [--write]
                    claims on PostgreSQL with one server and with two
  bench --growth [--write]
                    what everything costs from a thousand tasks to a million
  bench --load [--minutes N] [--write]
                    fifty agents, a thousand leases and twenty followers at work, 20 minutes unless told
  storm [--postgresql] --minutes N [--seed FIRST]
                    play the engine under faults, each seed to its end; --seed N alone repeats one and shows all of it
  storm --cluster [--minutes N]
                    real servers on PostgreSQL under Patroni, whose leader is killed under load again and again,
                    twice unless told for how long
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments.as_slice() {
        ["ci"] => ci::run(ci::Extent::Full),
        ["ci", "--quick"] => ci::run(ci::Extent::Quick),
        ["tools"] => tools::ensure(),
        ["tidy"] => tidy::run(),
        ["docs"] => docs::run(docs::Mode::Write),
        ["docs", "--check"] => docs::run(docs::Mode::Check),
        ["schemathesis"] => python::schemathesis("50"),
        ["schemathesis", "--examples", examples] => python::schemathesis(examples),
        ["worlds", words @ ..] => proofs::run("worlds", words),
        ["bench", words @ ..] => bench::run(words),
        ["storm", "--cluster", words @ ..] => proofs::failovers(words),
        ["storm", words @ ..] => proofs::run("storm", words),
        _ => Err(USAGE.to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
