//! beanstalkd with its log: what it writes and flushes is a job that is put in; whoever reserves it is not written down.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Signal;

use super::super::clients::{Client, Pace, Speaker, drive};
use super::super::fleet::CLIENTS;
use super::super::process::Process;
use super::{Peer, connect, folder, free_port};

/// A running beanstalkd.
pub struct Beanstalkd {
    _server: Process,
    clients: Vec<Client<Producer>>,
    version: String,
}

/// Puts one job after the other.
struct Producer;

impl Speaker for Producer {
    fn ask(&mut self) -> Result<Vec<u8>, String> {
        let job = "Let the importer keep the order of what it reads";
        Ok(format!("put 0 0 600 {}\r\n{job}\r\n", job.len()).into_bytes())
    }

    fn take_answer(&mut self, inbox: &mut Vec<u8>) -> Result<bool, String> {
        let Some(end) = inbox.iter().position(|byte| *byte == b'\n') else { return Ok(false) };
        let line = String::from_utf8_lossy(&inbox[..end]).into_owned();
        inbox.drain(..=end);
        if line.starts_with("INSERTED ") { Ok(true) } else { Err(format!("beanstalkd answered {line:?}")) }
    }
}

impl Beanstalkd {
    /// Starts it with a log below `root`, flushed at every job.
    pub fn start(root: &Path) -> Result<Self, String> {
        let (folder, _) = folder(root, "beanstalkd")?;
        let port = free_port()?;
        let mut serve = std::process::Command::new("beanstalkd");
        serve.args(["-l", "127.0.0.1", "-p", &port.to_string(), "-f", "0", "-b"]).arg(&folder);
        serve.env_clear().current_dir(&folder).stderr(Stdio::null());
        let server = Process::start(&mut serve, Signal::TERM, || Ok(connect(port).is_ok()))?;
        let client = |_| connect(port).map(|stream| Client::new(stream, Producer));
        let clients =
            (0..CLIENTS).map(client).collect::<Result<_, _>>().map_err(|error| error.to_string())?;
        let version = super::version(Path::new("beanstalkd"), "-v")?;
        Ok(Self { _server: server, clients, version })
    }
}

impl Peer for Beanstalkd {
    fn slice(&mut self, long: Duration) -> Result<f64, String> {
        drive(&mut self.clients, Pace::AtOnce, long).map(|slice| slice.rate())
    }

    fn version(&self) -> &str {
        &self.version
    }
}
