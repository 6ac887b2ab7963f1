//! Which versions of PostgreSQL are there, and where the programs of each are.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::program::run;

/// Where Debian keeps the programs of each version.
const DEBIAN: &str = "/usr/lib/postgresql";
/// Names the folder of the programs of a further version, however it came here.
const NAMED: &str = "TENURE_POSTGRES";

/// One version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// Its number, as 15.
    pub number: u32,
    /// The folder of its programs.
    pub(crate) programs: PathBuf,
}

/// The versions that are there, the newest last. Of two with one number the one that `TENURE_POSTGRES` names comes last.
pub fn versions() -> Result<Vec<Version>, String> {
    let named = env::var_os(NAMED).filter(|named| !named.is_empty());
    found(Path::new(DEBIAN), named.as_deref().map(Path::new))
}

/// The newest.
pub fn newest() -> Result<Version, String> {
    versions()?.pop().ok_or_else(|| {
        format!(
            "no PostgreSQL is below {DEBIAN}: install it (Debian's package is `postgresql`), or name the folder of its \
             programs in {NAMED}"
        )
    })
}

fn found(debian: &Path, named: Option<&Path>) -> Result<Vec<Version>, String> {
    let installed = fs::read_dir(debian).into_iter().flatten().flatten();
    let mut versions: Vec<Version> = installed
        .filter_map(|folder| {
            let number = folder.file_name().to_str()?.parse().ok()?;
            Some(Version { number, programs: folder.path().join("bin") })
        })
        .filter(|version| version.programs.join("postgres").is_file())
        .collect();
    if let Some(programs) = named {
        versions.push(Version { number: number_of(programs)?, programs: programs.to_owned() });
    }
    versions.sort_by_key(|version| version.number);
    Ok(versions)
}

/// The number that a version's own program tells.
fn number_of(programs: &Path) -> Result<u32, String> {
    let wrong = |why: &str| format!("{NAMED}: {} holds no PostgreSQL: {why}", programs.display());
    let told =
        run(Command::new(programs.join("postgres")).arg("--version")).map_err(|error| wrong(&error))?;
    let number = told.split_once("(PostgreSQL) ").map(|(_, number)| number);
    let number =
        number.and_then(|number| number.split(|sign: char| !sign.is_ascii_digit()).next()?.parse().ok());
    number.ok_or_else(|| wrong(told.trim()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A program that tells its version, and nothing else.
    fn postgres(programs: &Path, told: &str) {
        fs::create_dir_all(programs).expect("a folder");
        let program = programs.join("postgres");
        fs::write(&program, format!("#!/bin/sh\necho '{told}'\n")).expect("a program");
        fs::set_permissions(program, fs::Permissions::from_mode(0o755)).expect("it is ours");
    }

    #[test]
    fn the_newest_version_comes_last_wherever_it_is() {
        let room = tempfile::tempdir().expect("a folder");
        let (debian, named) = (room.path().join("debian"), room.path().join("named"));
        let numbers = |named: Option<&Path>| -> Vec<u32> {
            found(&debian, named).expect("versions").iter().map(|version| version.number).collect()
        };
        assert!(numbers(None).is_empty(), "nothing is installed");
        for number in ["9", "16", "15"] {
            postgres(&debian.join(number).join("bin"), "never asked");
        }
        fs::create_dir_all(debian.join("17/lib")).expect("a rest of a version");
        assert_eq!(numbers(None), [9, 15, 16]);
        postgres(&named, "postgres (PostgreSQL) 18.6");
        assert_eq!(numbers(Some(&named)), [9, 15, 16, 18]);
        postgres(&named, "postgres (PostgreSQL) 16.1 (Debian 16.1-1)");
        assert_eq!(numbers(Some(&named)), [9, 15, 16, 16]);
        assert_eq!(found(&debian, Some(&named)).expect("versions").pop().expect("one").programs, named);
    }

    #[test]
    fn a_folder_without_it_is_told_by_its_name() {
        let room = tempfile::tempdir().expect("a folder");
        let none = found(room.path(), Some(room.path())).expect_err("no program");
        assert!(none.starts_with(NAMED), "{none}");
        postgres(room.path(), "something else");
        let other = found(room.path(), Some(room.path())).expect_err("another program");
        assert!(other.ends_with("holds no PostgreSQL: something else"), "{other}");
    }
}
