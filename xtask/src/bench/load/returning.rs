//! Many clients that lose the daemon at the same moment: real ones, which follow the record and come back by themselves.

use std::io::Read;
use std::path::Path;
use std::process::{Child, ChildStdout, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::super::daemon::{self, Daemon};
use super::super::fleet::Agents;
use super::agents::say;
use super::past::project;
use super::{AWAY, RETURNING};

/// How long they may take to come, and to come back.
const PATIENCE: Duration = Duration::from_secs(60);
/// A stampede is many within so many milliseconds.
const AT_ONCE_MS: f64 = 100.0;

/// When each was back, in milliseconds after the daemon served again, in order.
pub struct Returned(Vec<f64>);

impl Returned {
    /// The largest part of them that came back within the same tenth of a second.
    pub fn most_at_once(&self) -> f64 {
        let within = |from: &f64| self.0.iter().filter(|at| (*from..from + AT_ONCE_MS).contains(*at)).count();
        let most = self.0.iter().map(within).max().unwrap_or(0);
        most as f64 / self.0.len() as f64
    }

    /// When the last one was back.
    pub fn last_ms(&self) -> f64 {
        self.0.last().copied().unwrap_or(f64::NAN)
    }
}

/// A client that ends with the bench.
struct Follower {
    child: Child,
    output: ChildStdout,
}

impl Drop for Follower {
    fn drop(&mut self) {
        let _ = self.child.kill().and_then(|()| self.child.wait());
    }
}

/// Takes the daemon away from many followers, starts it again, and notes when each hears of something new.
pub fn measure(binary: &Path, folder: &Path, agents: &Agents, daemon: Daemon) -> Result<Returned, String> {
    eprintln!("bench: {RETURNING} followers lose the daemon for {AWAY:?}");
    let mut followers = (0..RETURNING)
        .map(|_| {
            let mut follow = daemon::command(binary, folder);
            follow.args(["events", "--follow", "--newest", "--limit", "1", "--json", "--quiet"]);
            follow.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
            let mut child = follow.spawn().map_err(|error| error.to_string())?;
            let output = child.stdout.take().ok_or("a follower says nothing")?;
            Ok(Follower { child, output })
        })
        .collect::<Result<Vec<_>, String>>()?;
    // Each tells the newest event first: then it is there.
    hear(&mut followers, Instant::now())?;
    daemon.stop()?;
    sleep(AWAY);
    let daemon = Daemon::start(binary, folder, &project(0))?;
    let begun = Instant::now();
    say("Good morning", folder, agents)?;
    let times = hear(&mut followers, begun)?;
    drop(followers);
    daemon.stop()?;
    Ok(Returned(times))
}

/// Waits until every one has said something. When each did, in milliseconds, in order.
fn hear(followers: &mut [Follower], begun: Instant) -> Result<Vec<f64>, String> {
    let mut silent: Vec<usize> = (0..followers.len()).collect();
    let mut times = Vec::new();
    while !silent.is_empty() {
        let left = PATIENCE.saturating_sub(begun.elapsed());
        if left.is_zero() {
            return Err(format!("{} of {} followers did not come back", silent.len(), followers.len()));
        }
        let heard: Vec<bool> = {
            let mut polled: Vec<PollFd<'_>> =
                silent.iter().map(|place| PollFd::new(&followers[*place].output, PollFlags::IN)).collect();
            let timeout = Timespec::try_from(left).map_err(|error| error.to_string())?;
            poll(&mut polled, Some(&timeout)).map_err(|error| error.to_string())?;
            polled.iter().map(|polled| !polled.revents().is_empty()).collect()
        };
        let now_ms = begun.elapsed().as_secs_f64() * 1000.0;
        let mut still = Vec::new();
        for (place, is_heard) in silent.into_iter().zip(heard) {
            if !is_heard {
                still.push(place);
                continue;
            }
            let count =
                followers[place].output.read(&mut [0; 64 * 1024]).map_err(|error| error.to_string())?;
            if count == 0 {
                return Err("a follower ended".to_owned());
            }
            times.push(now_ms);
        }
        silent = still;
    }
    Ok(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stampede_is_the_largest_part_within_a_tenth_of_a_second() {
        let returned = Returned(vec![10.0, 300.0, 350.0, 399.0, 401.0, 900.0, 2_000.0, 2_050.0]);
        assert!((returned.most_at_once() - 3.0 / 8.0).abs() < 1e-9);
        assert!((returned.last_ms() - 2_050.0).abs() < 1e-9);
    }
}
