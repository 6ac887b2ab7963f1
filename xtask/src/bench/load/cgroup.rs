//! A limit on the memory of a process and of the pages that it makes the kernel keep.

use std::fs;
use std::path::{Path, PathBuf};

use super::super::daemon::Daemon;

/// Puts the daemon into a group of its own with so much memory. Says in words what came of it.
pub fn limit(daemon: &Daemon, bytes: u64) -> String {
    let id = daemon.process.id();
    let name = format!("tenure-bench-{id}");
    let (group, limit) = match own() {
        Some(Own::Version2(parent)) => (parent.join(&name), "memory.max"),
        Some(Own::Version1(parent)) => (parent.join(&name), "memory.limit_in_bytes"),
        None => return "not limited, because this machine has no control groups".to_owned(),
    };
    let write = |file: &str, text: String| fs::write(group.join(file), text);
    let limited = fs::create_dir(&group)
        .and_then(|()| write(limit, bytes.to_string()))
        .and_then(|()| write("cgroup.procs", id.to_string()));
    let gib = bytes / 1024 / 1024 / 1024;
    match limited {
        Ok(()) => format!("a control group of {gib} GiB, page cache included"),
        Err(error) => format!("not limited, because no control group can be made here ({error})"),
    }
}

/// The group that this process is in.
enum Own {
    Version1(PathBuf),
    Version2(PathBuf),
}

fn own() -> Option<Own> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let below = |root: &str, path: &str| Path::new(root).join(path.trim_start_matches('/'));
    let mut parts = groups.lines().map(|line| line.splitn(3, ':').collect::<Vec<_>>());
    let memory = parts.find(|parts| parts.len() == 3 && parts[1] == "memory");
    if let Some(parts) = memory {
        return Some(Own::Version1(below("/sys/fs/cgroup/memory", parts[2])));
    }
    let unified = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    Some(Own::Version2(below("/sys/fs/cgroup", unified)))
}
