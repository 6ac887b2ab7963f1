//! Other systems that hand out work, each doing on the same disk and with as many clients what comes nearest to a claim
//! there. All of them flush what they acknowledge; none of them writes down who did what.

mod beanstalkd;
mod etcd;
mod message;
mod postgres;

use std::fs;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use beanstalkd::Beanstalkd;
use etcd::{Etcd, Lease};
pub use postgres::{Claim, Postgres};

use super::figure::Target;
use super::fleet::{Kind, TASKS};

/// The user that servers run as which refuse to run as root: nobody.
const NOBODY: u32 = 65_534;

/// A system beside which claims are measured.
pub trait Peer {
    /// Lets all clients work for about so long. How many claims, or what is nearest to them, in a second.
    fn slice(&mut self, long: Duration) -> Result<f64, String>;

    /// Its name and version.
    fn version(&self) -> &str;
}

/// How many times as many claims ours must answer as a system that does less for each.
const AHEAD: Target = Target::AtLeast(3.0);

/// A peer, what it does, and the kind of claim that it stands beside.
pub struct Rival {
    /// The figure's name.
    pub name: &'static str,
    /// What it is compared with, for people.
    pub what: &'static str,
    /// The claims beside which it takes its turns.
    pub kind: Kind,
    /// How far ahead of it ours must be.
    pub target: Target,
    /// The system.
    pub peer: Box<dyn Peer>,
}

/// Starts all of them, with their files below `root`.
pub fn start(root: &Path) -> Result<Vec<Rival>, String> {
    eprintln!("bench: starting PostgreSQL, beanstalkd and etcd");
    let etcd = |lease| Etcd::start(root, lease).map(Box::new);
    Ok(vec![
        Rival {
            name: "claim_postgres",
            what: "to one statement of PostgreSQL with SKIP LOCKED",
            kind: Kind::Next,
            target: AHEAD,
            peer: Box::new(Postgres::start(root, TASKS)?),
        },
        Rival {
            name: "claim_beanstalkd",
            what: "to a job put into beanstalkd's log",
            kind: Kind::Next,
            target: Target::Told,
            peer: Box::new(Beanstalkd::start(root)?),
        },
        Rival {
            name: "claim_etcd",
            what: "to etcd's lease and transaction for each",
            kind: Kind::Named,
            target: AHEAD,
            peer: etcd(Lease::OfTheClaim)?,
        },
        Rival {
            name: "claim_etcd_shared",
            what: "to etcd's transaction under one lease for each client",
            kind: Kind::Named,
            target: Target::Told,
            peer: etcd(Lease::OfTheClient)?,
        },
    ])
}

/// What a program says when it is asked for its version: the first line that has a digit.
fn version(program: &Path, argument: &str) -> Result<String, String> {
    let output = Command::new(program).arg(argument).output();
    let output = output.map_err(|error| format!("{}: {error}", program.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find(|line| line.contains(|c: char| c.is_ascii_digit()));
    line.map(str::to_owned).ok_or_else(|| format!("{} tells no version", program.display()))
}

/// A port that was free a moment ago.
pub fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|error| error.to_string())?;
    listener.local_addr().map(|address| address.port()).map_err(|error| error.to_string())
}

/// A connection that does not wait for more to send.
fn connect(port: u16) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// A folder for a server that may have to run as nobody. Says whether it has to.
fn folder(root: &Path, name: &str) -> Result<(PathBuf, bool), String> {
    let folder = root.join(name);
    let as_nobody = rustix::process::geteuid().is_root();
    let made = fs::create_dir(&folder).and_then(|()| {
        if as_nobody {
            fs::set_permissions(root, fs::Permissions::from_mode(0o711))?;
            chown(&folder, Some(NOBODY), Some(NOBODY))?;
        }
        Ok(())
    });
    made.map(|()| (folder.clone(), as_nobody)).map_err(|error| format!("{}: {error}", folder.display()))
}
