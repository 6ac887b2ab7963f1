//! Breadth first through all states.

use std::collections::{HashSet, VecDeque};
use std::fmt::Write as _;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use super::check;
use super::step::{Bounds, Step};
use super::world::World;
use super::{Flaw, Mistake};

/// What an exploration found.
pub struct Explored {
    /// States that differ.
    pub states: usize,
    /// Steps that were taken.
    pub steps: u64,
    /// Most steps from the first state to another.
    pub depth: u32,
    /// Whether every state within the bounds was visited.
    pub complete: bool,
    /// The promise that was broken first, and the steps that lead there.
    pub broken: Option<(String, Vec<Step>)>,
}

impl Explored {
    /// The steps that lead to a broken promise, a line for each.
    #[must_use]
    pub fn trace(&self) -> Option<String> {
        let (promise, steps) = self.broken.as_ref()?;
        let mut text = String::new();
        for (number, step) in (1..).zip(steps) {
            let _ = writeln!(text, "  {number}. {step}");
        }
        let _ = writeln!(text, "  => {promise}");
        Some(text)
    }
}

/// How a state was reached.
#[derive(Clone, Copy)]
struct Way {
    from: u32,
    step: Step,
}

/// Visits states until all are seen, so many are seen, or a promise is broken. `told` hears of the progress.
#[must_use]
pub fn explore(
    bounds: &Bounds,
    mistake: Option<Mistake>,
    states_max: usize,
    told: &mut dyn FnMut(usize, u32),
) -> Explored {
    match mistake {
        None => breadth_first(bounds, None, states_max, told),
        Some(Mistake::Store(flaw)) => breadth_first(bounds, Some(flaw), states_max, told),
        Some(Mistake::Rule(mutant)) => mutant.while_on(|| breadth_first(bounds, None, states_max, told)),
    }
}

fn breadth_first(
    bounds: &Bounds,
    flaw: Option<Flaw>,
    states_max: usize,
    told: &mut dyn FnMut(usize, u32),
) -> Explored {
    // The same order every time: the hasher has no key of its own.
    let hasher = BuildHasherDefault::<DefaultHasher>::default();
    let mut seen: HashSet<u64> = HashSet::new();
    let mut ways: Vec<Option<Way>> = vec![None];
    let first = World::first();
    seen.insert(hasher.hash_one(first.essence()));
    let mut queue = VecDeque::from([(0_u32, 0_u32, first)]);
    let (mut steps, mut deepest) = (0, 0);
    while let Some((number, depth, world)) = queue.pop_front() {
        for step in world.steps(bounds) {
            let taken = world.take(step, flaw);
            steps += 1;
            if let Err(promise) = check::step(&world, step, &taken) {
                let mut path = path(&ways, number);
                path.push(step);
                let broken = Some((promise, path));
                return Explored { states: seen.len(), steps, depth: depth + 1, complete: false, broken };
            }
            if seen.insert(hasher.hash_one(taken.after.essence())) {
                let next = u32::try_from(ways.len()).expect("fewer states than numbers");
                ways.push(Some(Way { from: number, step }));
                deepest = depth + 1;
                if seen.len().is_multiple_of(100_000) {
                    told(seen.len(), deepest);
                }
                if seen.len() >= states_max {
                    return Explored {
                        states: seen.len(),
                        steps,
                        depth: deepest,
                        complete: false,
                        broken: None,
                    };
                }
                queue.push_back((next, depth + 1, taken.after));
            }
        }
    }
    Explored { states: seen.len(), steps, depth: deepest, complete: true, broken: None }
}

/// The steps that lead to a state.
fn path(ways: &[Option<Way>], mut number: u32) -> Vec<Step> {
    let mut steps = Vec::new();
    while let Some(way) = ways[number as usize] {
        steps.push(way.step);
        number = way.from;
    }
    steps.reverse();
    steps
}
