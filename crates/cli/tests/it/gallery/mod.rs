//! Every command as it looks: for a person at a narrow and at a wide terminal, for a program, and where there is nothing
//! to show, in a fleet whose texts were written by somebody who means no good. The list of commands is the program's own,
//! so a new command without its pictures fails here by its name.

mod cases;
mod fleet;
mod pictures;
mod sizes;

use std::collections::BTreeSet;

use crate::place::Place;

/// What a command does to the fleet.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Nothing; many can look at one store.
    Asks,
    /// Something; each gets a store of its own.
    Changes,
    /// Something to a store that no daemon serves.
    Offline,
}

/// How a command is typed in the fleet of the pictures.
pub struct Case {
    /// The command's words.
    pub command: &'static str,
    /// Who types it.
    pub agent: &'static str,
    /// What stands behind the command's words.
    pub words: &'static [&'static str],
    pub effect: Effect,
}

impl Case {
    /// The whole line, with these words at its end.
    pub fn line<'a>(&self, more: &[&'a str]) -> Vec<&'a str>
    where
        'static: 'a,
    {
        // What follows `--` are another program's words.
        let (before, after) = match self.words.iter().position(|word| *word == "--") {
            Some(place) => self.words.split_at(place),
            None => (self.words, &[][..]),
        };
        self.command
            .split(' ')
            .chain(before.iter().copied())
            .chain(more.iter().copied())
            .chain(after.iter().copied())
            .collect()
    }
}

#[test]
fn every_command_has_its_pictures() {
    let place = Place::new();
    let all = place.json("", &["help", "--all"]);
    let rows = all["commands"].as_array().expect("rows");
    let there: BTreeSet<&str> = rows.iter().map(|row| row["command"].as_str().expect("words")).collect();
    let pictured: BTreeSet<&str> = cases::CASES
        .iter()
        .map(|case| case.command)
        .chain(cases::TOLD_ELSEWHERE.iter().map(|(name, _)| *name))
        .collect();
    for command in &there {
        assert!(pictured.contains(command), "`tenure {command}` has no pictures: add it to gallery/cases.rs");
    }
    for command in &pictured {
        assert!(there.contains(command), "there is no `tenure {command}`: take it out of gallery/cases.rs");
    }
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/gallery/snapshots");
    let files: BTreeSet<String> = std::fs::read_dir(folder)
        .expect("the pictures are there")
        .map(|file| file.expect("a file").file_name().to_string_lossy().into_owned())
        .collect();
    let expected: BTreeSet<String> =
        cases::CASES.iter().map(|case| format!("{}.snap", pictures::name(case))).collect();
    assert_eq!(files, expected);
}
