//! Two networks of their own with a wire between them. Each lasts as long as a process that only waits for the end of its
//! input, so nothing is left of them however the test ends.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// The addresses of the two ends: the server's, and the workstation's.
pub const ADDRESSES: [&str; 2] = ["10.77.0.1", "10.77.0.2"];
/// The names of the two ends of the wire.
const ENDS: [&str; 2] = ["tenure-a", "tenure-b"];

/// A network's place among the files of its processes.
pub type Network = PathBuf;

/// Two networks, and the wire between them.
pub struct Wired([Child; 2]);

impl Wired {
    /// Makes them. Only root may.
    pub fn new() -> Self {
        let holders = [(), ()].map(|()| {
            Command::new("unshare")
                .args(["--net", "sh", "-c", "echo there && exec cat"])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::inherit())
                .spawn()
                .expect("unshare is there")
        });
        let mut wired = Self(holders);
        for holder in &mut wired.0 {
            let mut said = String::new();
            let output = holder.stdout.take().expect("a pipe");
            let mut output = std::io::BufReader::new(output);
            std::io::BufRead::read_line(&mut output, &mut said).expect("text");
            assert_eq!(said, "there\n", "this test makes networks, and only root may");
        }
        let [one, other] = wired.0.each_ref().map(|holder| holder.id().to_string());
        ip(None, &format!("link add {} netns {one} type veth peer name {} netns {other}", ENDS[0], ENDS[1]));
        for (network, (end, address)) in
            [wired.server(), wired.workstation()].iter().zip(ENDS.iter().zip(ADDRESSES))
        {
            ip(Some(network), &format!("address add {address}/24 dev {end}"));
            ip(Some(network), &format!("link set {end} up"));
            ip(Some(network), "link set lo up");
        }
        wired
    }

    /// The network of the server.
    pub fn server(&self) -> Network {
        of(&self.0[0])
    }

    /// The network of the workstation.
    pub fn workstation(&self) -> Network {
        of(&self.0[1])
    }
}

impl Drop for Wired {
    fn drop(&mut self) {
        for holder in &mut self.0 {
            drop(holder.stdin.take());
            let _ = holder.wait();
        }
    }
}

fn of(holder: &Child) -> Network {
    PathBuf::from(format!("/proc/{}/ns/net", holder.id()))
}

fn ip(network: Option<&Network>, words: &str) {
    let mut command = match network {
        Some(network) => {
            let mut command = Command::new("nsenter");
            command.arg(format!("--net={}", network.display())).arg("ip");
            command
        }
        None => Command::new("ip"),
    };
    let status = command.args(words.split(' ')).status().expect("iproute2 is there");
    assert!(status.success(), "ip {words}");
}
