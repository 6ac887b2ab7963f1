//! What can happen in a small world, and how it is told.

use std::fmt;

use tenure_core::model::ids::{SessionId, TaskId};

/// A step of time. A lease is two of them, and so is the most that a restart adds.
pub const TICK_MS: i64 = 2_500;
/// How long a lease lasts.
pub const LEASE_MS: i64 = 2 * TICK_MS;
/// When the worlds begin.
pub const WALL_MS: i64 = 1_800_000_000_000;
/// The agents.
pub const NAMES: [&str; AGENTS] = ["ann", "bob", "cat"];
/// How many agents there are.
pub const AGENTS: usize = 3;
/// The tasks; the second waits for the first.
pub const TASKS: usize = 2;

/// The session of an agent.
#[must_use]
pub fn session(agent: usize) -> SessionId {
    format!("{:032x}", agent + 1).parse().expect("32 hexadecimal digits")
}

/// The id of a task.
#[must_use]
pub fn task(index: usize) -> TaskId {
    format!("w-{}", index + 1).parse().expect("a valid id")
}

/// How much of everything may happen.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Steps of time, restarts not counted.
    pub ticks: u8,
    /// Claims of one task.
    pub generations: u64,
    /// Waits for the writer's lock that last a step of time.
    pub waits: u8,
    /// Processes that die right after a commit.
    pub deaths: u8,
    /// Restarts between commands.
    pub restarts: u8,
}

/// What an agent asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ask {
    /// This task.
    Claim(usize),
    /// Whatever is next.
    ClaimNext,
    /// A renewal of what it holds, or held.
    Heartbeat,
    /// A checkpoint.
    Checkpoint,
    /// An end of its work.
    Close,
    /// Giving it back.
    Release,
    /// Giving it to whoever comes.
    HandOff,
    /// What becomes of recovered work.
    Dispose,
    /// The last request once more, under its operation id.
    Again,
}

/// How the wall clock stands after a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wall {
    /// Where it stood.
    True,
    /// Three hours ahead.
    Ahead,
    /// Three hours behind.
    Behind,
}

/// What happens around a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fate {
    /// It is carried out and answered.
    Answered,
    /// It waits for the writer's lock for a step of time.
    Waits,
    /// The process dies right after the commit and starts again; nobody hears the answer.
    Dies,
}

/// A step from one state to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// An agent asks.
    Agent(usize, Ask, Fate),
    /// Time passes.
    Tick,
    /// The process is started anew.
    Restart(Wall),
    /// The background records what is overdue.
    Overdue,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tick => write!(f, "{TICK_MS} ms pass"),
            Self::Restart(Wall::True) => f.write_str("the process is started anew"),
            Self::Restart(wall) => write!(f, "the process is started anew, its wall clock 3 h {wall:?}"),
            Self::Overdue => f.write_str("the background records what is overdue"),
            Self::Agent(agent, ask, fate) => {
                let name = NAMES[*agent];
                match ask {
                    Ask::Claim(index) => write!(f, "{name}: claim {}", task(*index))?,
                    Ask::ClaimNext => write!(f, "{name}: claim whatever is next")?,
                    Ask::Again => write!(f, "{name}: the same request again")?,
                    Ask::Heartbeat => write!(f, "{name}: heartbeat")?,
                    Ask::Checkpoint => write!(f, "{name}: checkpoint")?,
                    Ask::Close => write!(f, "{name}: close")?,
                    Ask::Release => write!(f, "{name}: release")?,
                    Ask::HandOff => write!(f, "{name}: handoff")?,
                    Ask::Dispose => write!(f, "{name}: dispose, resume")?,
                }
                match fate {
                    Fate::Answered => Ok(()),
                    Fate::Waits => write!(f, " (waits {TICK_MS} ms for the lock)"),
                    Fate::Dies => write!(f, " (the process dies after the commit and starts anew)"),
                }
            }
        }
    }
}
