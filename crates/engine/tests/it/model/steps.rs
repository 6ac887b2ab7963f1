//! What a sequence is made of. Numbers name sessions and tasks whether or not those exist, so that every sequence can
//! be played and a part of a failing one is again a sequence.

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof};

/// The agents that the sessions belong to: two sessions share a name, so that one can replace the other.
pub const NAMES: [&str; 4] = ["ada", "ada", "bob", "cyd"];
/// Tasks that steps are about; more may be created.
const TASKS: u64 = 4;

/// One step of a sequence.
#[derive(Debug, Clone)]
pub enum Step {
    /// A session asks under a new operation id.
    Ask(Ask),
    /// An earlier request again, with its operation id; 0 is the last one.
    Repeat(usize),
    /// Another request, a note, under the operation id of an earlier one.
    Reuse(usize),
    /// Both clocks go on.
    Pass(i64),
    /// Somebody moves the wall clock.
    Jump(i64),
    /// The coordinator starts anew after so long.
    Restart(i64),
    /// The coordinator records what is overdue.
    Background,
}

/// A request as it is meant; the model fills in what the session knows by then.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    pub who: usize,
    pub what: What,
}

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    Open,
    Leave,
    Create { priority: u8, objective: bool, parent: Option<u64>, blocker: Option<u64> },
    Add { task: u64, edge: Edge, on: u64 },
    Remove { task: u64, edge: Edge, on: u64 },
    Claim { task: u64 },
    Next { another: bool },
    Heartbeat { task: u64, by: By },
    Note { task: u64, by: By, recovery: bool },
    Dispose { task: u64, by: By },
    HandOff { task: u64, by: By, to: Option<usize> },
    Release { task: u64, by: By },
    Close { task: u64, by: By },
    Cancel { task: u64, by: By, dependents: Option<Dependents> },
    Defer { task: u64, ms: i64 },
    Resume { task: u64 },
}

/// An edge that says what waits for what.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Edge {
    Blocks,
    Parent,
}

/// By what right.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum By {
    /// The task's newest attempt, asked by the session that made it, whichever was to ask.
    Holder,
    /// The session's newest attempt at the task, if it ever had one.
    Own,
    /// Its oldest one.
    Old,
    /// The task's newest attempt, whoever made it; the token is of the session's own secret.
    Foreign,
    /// The attempt of the holder, with a token that nobody was given.
    Forged,
    /// The task's present revision.
    Revision,
    /// A revision that never was.
    Stale,
    /// Nothing.
    Bare,
}

/// What becomes of those who wait for a cancelled task.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Dependents {
    Keep,
    Release,
    Cancel,
}

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const DAY: i64 = 24 * 60 * MINUTE;

/// Sequences of up to so many steps.
pub fn steps(most: usize) -> impl Strategy<Value = Vec<Step>> {
    let who = prop_oneof![5 => Just(0), 1 => Just(1), 4 => Just(2), 4 => Just(3)];
    let leaving = (0..NAMES.len()).prop_map(|who| Step::Ask(Ask { who, what: What::Leave }));
    let asking = (who, what()).prop_map(|(who, what)| Step::Ask(Ask { who, what }));
    let passing = prop_oneof![
        4 => 1..=SECOND,
        4 => Just(61 * SECOND),
        4 => Just(5 * MINUTE),
        4 => Just(10 * MINUTE - 1),
        4 => Just(10 * MINUTE),
        1 => Just(30 * MINUTE),
        1 => Just(31 * DAY),
    ];
    let step = prop_oneof![
        70 => asking,
        1 => leaving,
        4 => Just(Step::Repeat(0)),
        4 => (0..8_usize).prop_map(Step::Repeat),
        2 => (0..8_usize).prop_map(Step::Reuse),
        9 => passing.prop_map(Step::Pass),
        1 => prop_oneof![Just(-60 * MINUTE), Just(60 * MINUTE)].prop_map(Step::Jump),
        1 => prop_oneof![Just(SECOND), Just(7 * SECOND), Just(20 * MINUTE)].prop_map(Step::Restart),
        2 => Just(Step::Background),
    ];
    vec(step, 1..=most)
}

fn task() -> impl Strategy<Value = u64> {
    1..=TASKS
}

fn what() -> impl Strategy<Value = What> {
    let edge = || prop_oneof![Just(Edge::Blocks), Just(Edge::Parent)];
    let often_own = || {
        prop_oneof![
            12 => Just(By::Holder), 2 => Just(By::Own), 2 => Just(By::Old), 2 => Just(By::Foreign), 1 => Just(By::Forged),
            6 => Just(By::Revision), 1 => Just(By::Stale), 1 => Just(By::Bare),
        ]
    };
    let maybe = || proptest::option::weighted(0.3, task());
    let dependents = proptest::option::weighted(
        0.6,
        prop_oneof![Just(Dependents::Keep), Just(Dependents::Release), Just(Dependents::Cancel),],
    );
    let to = proptest::option::weighted(0.9, 0..NAMES.len());
    prop_oneof![
        2 => Just(What::Open),
        5 => (0..3_u8, proptest::bool::weighted(0.15), maybe(), maybe()).prop_map(
            |(priority, objective, parent, blocker)| What::Create { priority, objective, parent, blocker }
        ),
        5 => (task(), edge(), task()).prop_map(|(task, edge, on)| What::Add { task, edge, on }),
        2 => (task(), edge(), task()).prop_map(|(task, edge, on)| What::Remove { task, edge, on }),
        9 => task().prop_map(|task| What::Claim { task }),
        6 => any::<bool>().prop_map(|another| What::Next { another }),
        6 => (task(), often_own()).prop_map(|(task, by)| What::Heartbeat { task, by }),
        3 => (task(), often_own(), any::<bool>())
            .prop_map(|(task, by, recovery)| What::Note { task, by, recovery }),
        2 => (task(), often_own()).prop_map(|(task, by)| What::Dispose { task, by }),
        6 => (task(), often_own(), to).prop_map(|(task, by, to)| What::HandOff { task, by, to }),
        3 => (task(), often_own()).prop_map(|(task, by)| What::Release { task, by }),
        6 => (task(), often_own()).prop_map(|(task, by)| What::Close { task, by }),
        5 => (task(), often_own(), dependents)
            .prop_map(|(task, by, dependents)| What::Cancel { task, by, dependents }),
        2 => (task(), prop_oneof![Just(SECOND), Just(5 * MINUTE)]).prop_map(|(task, ms)| What::Defer { task, ms }),
        1 => task().prop_map(|task| What::Resume { task }),
    ]
}
