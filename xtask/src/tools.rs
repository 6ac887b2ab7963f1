//! The programs that the checks need beyond Cargo itself, and how each is got.

use std::process::{Command, Stdio};

use crate::python;

/// Where a missing program comes from.
#[derive(Clone, Copy)]
enum Origin {
    /// A Debian package.
    Debian(&'static str),
    /// A crate from crates.io, built with its own lock file.
    Crate(&'static str),
    /// A component of the Rust toolchain.
    Component(&'static str),
}

#[derive(Clone, Copy)]
struct Tool {
    /// A command that succeeds where the tool is present.
    probe: &'static [&'static str],
    origin: Origin,
    why: &'static str,
}

const TOOLS: &[Tool] = &[
    Tool {
        probe: &["git", "--version"],
        origin: Origin::Debian("git"),
        why: "tidy asks it for the tracked files",
    },
    Tool { probe: &["cc", "--version"], origin: Origin::Debian("gcc"), why: "the embedded SQLite is C" },
    Tool {
        probe: &["faketime", "--version"],
        origin: Origin::Debian("faketime"),
        why: "the simulation moves the wall clock of real daemons",
    },
    Tool {
        probe: &["script", "--version"],
        origin: Origin::Debian("bsdutils"),
        why: "tests and the simulation open terminals",
    },
    Tool {
        probe: &["fish", "--version"],
        origin: Origin::Debian("fish"),
        why: "completions are asked for as this shell asks, beside bash",
    },
    Tool {
        probe: &["groff", "--version"],
        origin: Origin::Debian("groff-base"),
        why: "the pages for man are read as man reads them",
    },
    Tool {
        probe: &["less", "--version"],
        origin: Origin::Debian("less"),
        why: "long answers are shown in a pager",
    },
    Tool {
        probe: &["setpriv", "--version"],
        origin: Origin::Debian("util-linux"),
        why: "the simulation runs as another user, and mounts small disks with unshare beside it",
    },
    Tool {
        probe: &["ip", "-Version"],
        origin: Origin::Debian("iproute2"),
        why: "a test wires two networks of its own",
    },
    Tool {
        probe: &["sh", "-c", "ls /usr/lib/postgresql/*/bin/postgres"],
        origin: Origin::Debian("postgresql"),
        why: "the store is tested on a real server of its own",
    },
    Tool {
        probe: &["/usr/sbin/pgbouncer", "--version"],
        origin: Origin::Debian("pgbouncer"),
        why: "the store is tested behind a pooler",
    },
    Tool {
        probe: &["chromium", "--version"],
        origin: Origin::Debian("chromium"),
        why: "pages are shown in a real browser",
    },
    Tool {
        probe: &["openssl", "version"],
        origin: Origin::Debian("openssl"),
        why: "tests sign the certificates of their own servers",
    },
    Tool {
        probe: &["python3", "-m", "ensurepip", "--version"],
        origin: Origin::Debian("python3-venv"),
        why: "the official client in Python calls the tools, and schemathesis the routes",
    },
    Tool {
        probe: &["cargo", "fmt", "--version"],
        origin: Origin::Component("rustfmt"),
        why: "the format of the source is checked",
    },
    Tool {
        probe: &["cargo", "clippy", "--version"],
        origin: Origin::Component("clippy"),
        why: "the lints are checked",
    },
    Tool {
        probe: &["cargo", "nextest", "--version"],
        origin: Origin::Crate("cargo-nextest"),
        why: "it runs each test in a process of its own, with a limit on its time",
    },
];

/// What only the figures need: the peers.
const PEERS: &[Tool] = &[
    Tool {
        probe: &["etcd", "--version"],
        origin: Origin::Debian("etcd-server"),
        why: "the figures stand beside leases of etcd",
    },
    Tool {
        probe: &["beanstalkd", "-v"],
        origin: Origin::Debian("beanstalkd"),
        why: "the figures stand beside the log of beanstalkd",
    },
];

/// What only a cluster needs, whose leader is killed: it takes minutes, and is no part of the checks.
const CLUSTER: &[Tool] = &[
    Tool {
        probe: &["/usr/bin/patroni", "--version"],
        origin: Origin::Debian("patroni"),
        why: "it decides which server leads",
    },
    Tool {
        probe: &["/usr/bin/python3", "-c", "import etcd"],
        origin: Origin::Debian("python3-etcd"),
        why: "patroni asks etcd by it",
    },
    Tool {
        probe: &["etcd", "--version"],
        origin: Origin::Debian("etcd-server"),
        why: "the servers of the cluster agree in it",
    },
];

/// Makes sure that every tool of the checks is there: installs what is missing where that is ours to do, and else
/// says how to.
pub fn ensure() -> Result<(), String> {
    ensure_all(TOOLS)?;
    python::ensure()
}

/// The same for what the figures are measured beside.
pub fn ensure_peers() -> Result<(), String> {
    ensure_all(PEERS)
}

/// The same for a cluster whose leader is killed.
pub fn ensure_cluster() -> Result<(), String> {
    ensure_all(&[TOOLS, CLUSTER].concat())
}

fn ensure_all(tools: &[Tool]) -> Result<(), String> {
    let missing: Vec<&Tool> = tools.iter().filter(|tool| !runs(tool.probe)).collect();
    for tool in &missing {
        println!("missing: {} ({})", tool.probe[..tool.probe.len() - 1].join(" "), tool.why);
    }
    let mut by_hand = Vec::new();
    for tool in missing {
        let steps = steps(&tool.origin);
        let ours = match tool.origin {
            Origin::Debian(_) => is_root() && runs(&["apt-get", "--version"]),
            Origin::Crate(_) | Origin::Component(_) => true,
        };
        if !ours || !steps.iter().all(|step| install(step)) || !runs(tool.probe) {
            by_hand.extend(steps.iter().map(|step| step.join(" ")));
        }
    }
    if by_hand.is_empty() {
        return Ok(());
    }
    Err(format!("install what is missing, then repeat:\n  {}", by_hand.join("\n  ")))
}

fn steps(origin: &Origin) -> Vec<Vec<&'static str>> {
    match *origin {
        Origin::Debian(package) => vec![
            vec!["apt-get", "update"],
            vec!["apt-get", "install", "--yes", "--no-install-recommends", package],
        ],
        Origin::Crate(name) => vec![vec!["cargo", "install", name, "--locked"]],
        Origin::Component(name) => vec![vec!["rustup", "component", "add", name]],
    }
}

fn install(step: &[&str]) -> bool {
    println!("installing: {}", step.join(" "));
    let status = Command::new(step[0])
        .args(&step[1..])
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

fn runs(probe: &[&str]) -> bool {
    let status = Command::new(probe[0])
        .args(&probe[1..])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_says_how_it_is_installed_and_why_it_is_needed() {
        for tool in TOOLS.iter().chain(PEERS).chain(CLUSTER) {
            assert!(tool.probe.len() >= 2 && !tool.why.is_empty());
            assert!(!steps(&tool.origin).is_empty());
        }
    }

    #[test]
    fn a_program_that_does_not_exist_is_missing() {
        assert!(!runs(&["tenure-has-no-such-program", "--version"]));
    }
}
