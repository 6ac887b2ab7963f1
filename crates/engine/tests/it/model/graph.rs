//! The model's edges, and what follows from them, by plain recursion over two sets of pairs.

use std::collections::{BTreeMap, BTreeSet};

/// How a task ended, if it did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum End {
    Done,
    Cancelled,
}

/// Who waits for whom and who is below whom.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    /// Every task, and how it ended.
    pub ends: BTreeMap<u64, Option<End>>,
    /// The first waits for the second.
    pub waits: BTreeSet<(u64, u64)>,
    /// The first is a child of the second.
    pub parents: BTreeSet<(u64, u64)>,
}

impl Graph {
    fn is_open(&self, task: u64) -> bool {
        self.ends[&task].is_none()
    }

    fn in_the_way(&self, task: u64) -> impl Iterator<Item = u64> {
        let own = self.waits.iter().filter(move |(waiting, _)| *waiting == task);
        own.map(|(_, on)| *on).filter(|on| self.ends[on] != Some(End::Done))
    }

    pub fn parents_of(&self, task: u64) -> impl Iterator<Item = u64> {
        self.parents.iter().filter(move |(child, _)| *child == task).map(|(_, parent)| *parent)
    }

    pub fn children_of(&self, task: u64) -> impl Iterator<Item = u64> {
        self.parents.iter().filter(move |(_, parent)| *parent == task).map(|(child, _)| *child)
    }

    fn is_below(&self, task: u64, top: u64) -> bool {
        self.parents_of(task).any(|parent| parent == top || self.is_below(parent, top))
    }

    /// Whether something that stands above a task holds it back.
    fn is_held_back(&self, task: u64) -> bool {
        self.parents_of(task).any(|parent| {
            let waits_outside = || self.in_the_way(parent).any(|on| !self.is_below(on, parent));
            (self.is_open(parent) && waits_outside()) || self.is_held_back(parent)
        })
    }

    pub fn is_blocked(&self, task: u64) -> bool {
        self.in_the_way(task).next().is_some() || self.is_held_back(task)
    }

    pub fn unfinished_children(&self, task: u64) -> usize {
        self.children_of(task).filter(|child| self.is_open(*child)).count()
    }

    /// The unfinished tasks that wait for a task.
    pub fn waiting_for(&self, task: u64) -> Vec<u64> {
        let waiting = self.waits.iter().filter(|(_, on)| *on == task).map(|(waiting, _)| *waiting);
        waiting.filter(|waiting| self.is_open(*waiting)).collect()
    }

    /// Whether some tasks could never be finished, however well everybody worked. What waits for a cancelled task is
    /// let go; a circle of parents is one as well.
    pub fn locks(&self) -> bool {
        if self.ends.keys().any(|task| self.reaches_itself(*task)) {
            return true;
        }
        let mut play = self.clone();
        play.waits.retain(|(_, on)| play.ends[on] != Some(End::Cancelled));
        loop {
            let open: Vec<u64> = play.ends.keys().copied().filter(|task| play.is_open(*task)).collect();
            let finishable = |task: &u64| !play.is_blocked(*task) && play.unfinished_children(*task) == 0;
            match open.iter().copied().find(finishable) {
                Some(task) => play.ends.insert(task, Some(End::Done)),
                None => return !open.is_empty(),
            };
        }
    }

    /// Whether a task is among those above it.
    fn reaches_itself(&self, task: u64) -> bool {
        let mut above = BTreeSet::new();
        let mut queue: Vec<u64> = self.parents_of(task).collect();
        while let Some(next) = queue.pop() {
            if above.insert(next) {
                queue.extend(self.parents_of(next));
            }
        }
        above.contains(&task)
    }
}
