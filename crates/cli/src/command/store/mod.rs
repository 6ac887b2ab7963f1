//! `tenure store …`: what is done to a whole store that nobody serves.

mod copy;
mod restored;

use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;

use clap::Subcommand;
use tenure_client::autostart;
use tenure_core::wire::FLEET_MARKER;
use tenure_engine::copy::Place;
use tenure_engine::store::folder::DATABASE;
use tenure_engine::store::postgres::address::Address;

use super::backup::absolute;
use crate::context::Context;
use crate::long_text::read_file;
use crate::stop::{Stop, usage};

/// Where the password of a database comes from, unless its URL or a file tells it. PostgreSQL's own name.
const PASSWORD: &str = "PGPASSWORD";
/// Longest password that is read from a file, in bytes.
const PASSWORD_BYTES_MAX: usize = 1024;

/// `tenure store …`.
#[derive(Subcommand)]
#[command(defer = true)]
pub enum Command {
    /// Copy a whole store to another place, also into another database
    #[command(after_help = "A place is a state folder, or a URL of PostgreSQL:\n\
        \x20 postgres://USER@HOST/DATABASE?schema=NAME\n\
        The schema is `tenure` unless the URL names one. A password in a URL can be read by everybody on this machine:\n\
        set PGPASSWORD instead, or name a file of its own for each side.")]
    Copy(Box<copy::Copy>),
    /// Begin the next epoch of a store that was restored by other means than `tenure restore`
    #[command(
        after_help = "Run it once after a dump was loaded, a database was recovered to a moment, or a disk or a \
        machine was set back,\nand before anything serves the store. Every lease, session, cursor and answer from before \
        is void then, and no number\nthat may have been handed out is given again."
    )]
    Restored(Box<restored::Restored>),
}

/// Runs one.
pub fn run(command: &Command, context: &Context) -> Result<(), Stop> {
    match command {
        Command::Copy(wish) => copy::run(wish, context),
        Command::Restored(wish) => restored::run(wish, context),
    }
}

/// Reads where a store is, as an argument names it, and another one the file with its password.
fn place(
    argument: &str,
    named: &str,
    file_option: &str,
    password_file: Option<&Path>,
) -> Result<Place, Stop> {
    if named.contains("://") {
        let password = match password_file {
            Some(file) => Some(password(file)?),
            None => std::env::var(PASSWORD).ok().filter(|password| !password.is_empty()),
        };
        let address = Address::parse(named, password.as_deref());
        let address =
            address.map_err(|error| usage(format!("{argument}: {}", error.detail), error.remedy))?;
        return Ok(Place::Database(Box::new(address)));
    }
    if password_file.is_some() {
        let detail = format!("{file_option} is named, and {argument} is a folder");
        return Err(usage(detail, format!("leave out {file_option}")));
    }
    let folder = absolute(Path::new(named))?;
    if folder.is_file() {
        let detail = format!("{argument}: {} is a file", folder.display());
        return Err(usage(detail, "name the state folder, not the database in it"));
    }
    Ok(Place::Folder(folder))
}

/// Reads a password: the one line of a file.
fn password(file: &Path) -> Result<String, Stop> {
    let shorter = "name a file that holds the password and nothing else";
    let text = read_file(file, PASSWORD_BYTES_MAX, shorter)?;
    let mut lines = text.lines();
    match (lines.next(), lines.next()) {
        (Some(password), None) if !password.is_empty() => Ok(password.to_owned()),
        _ => Err(usage(format!("{} is not one line", file.display()), shorter)),
    }
}

/// Keeps commands from starting daemons in places where one has served before.
fn hold_off(places: &[&Place]) -> Result<Vec<File>, Stop> {
    let mut folders = BTreeSet::new();
    for place in places {
        match place {
            Place::Folder(folder)
                if [DATABASE, FLEET_MARKER].iter().any(|name| folder.join(name).exists()) =>
            {
                // One that is named twice is held once; that it is, the copy refuses.
                folders.insert(folder.canonicalize().unwrap_or_else(|_| folder.clone()));
            }
            Place::Folder(_) | Place::Database(_) => {}
        }
    }
    folders.iter().map(|folder| Ok(autostart::hold_off(folder)?)).collect()
}
