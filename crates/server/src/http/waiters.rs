//! Those who wait for something to happen, in the order they came.
//!
//! News of freed work wakes one who waits for each freed task, in turn. One who was woken and took nothing, or went
//! away, passes the wake on to the next. News of a task wakes everybody who waits for that task. Whoever waits looks
//! again from time to time all the same, so a wake that nobody sent costs time and never a task.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tenure_core::model::ids::{ProjectKey, TaskId};
use tenure_core::model::limits::{WAITERS, WAKE_MS};
use tenure_core::rules::patience::Topic;
use tenure_core::working_set::News;
use tokio::sync::Notify;

/// Everybody who waits.
#[derive(Default)]
pub(super) struct Waiters {
    line: Mutex<Line>,
}

#[derive(Default)]
struct Line {
    last: u64,
    waiting: BTreeMap<u64, Waiter>,
    /// Who waits for work in a project.
    by_project: BTreeMap<ProjectKey, BTreeSet<u64>>,
    /// Who waits for something to happen to a task.
    by_task: BTreeMap<TaskId, BTreeSet<u64>>,
}

struct Waiter {
    bell: Arc<Notify>,
    /// What it was woken for and has not looked at.
    woken: Option<Cause>,
}

/// Why somebody is woken.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Cause {
    /// Work was freed in this project: it is for one.
    Work(ProjectKey),
    /// Something happened to the task: everybody who waits for it hears.
    Task,
}

impl Line {
    /// Wakes the first one behind a place who waits for work in a project and is not awake.
    fn wake_behind(&mut self, place: u64, project: &ProjectKey) {
        let Some(places) = self.by_project.get(project) else { return };
        for place in places.range(place + 1..) {
            if let Some(waiter) = self.waiting.get_mut(place).filter(|waiter| waiter.woken.is_none()) {
                waiter.woken = Some(Cause::Work(project.clone()));
                waiter.bell.notify_one();
                return;
            }
        }
    }

    /// Lets everybody look once, as if their time had come. A wake that somebody has not looked at yet stays.
    fn wake_everybody(&mut self) {
        self.waiting.values().for_each(|waiter| waiter.bell.notify_one());
    }

    fn wake_all(&mut self, task: &TaskId) {
        for place in self.by_task.get(task).into_iter().flatten() {
            if let Some(waiter) = self.waiting.get_mut(place) {
                waiter.woken = Some(Cause::Task);
                waiter.bell.notify_one();
            }
        }
    }
}

impl Waiters {
    fn lock(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes those whom the news may concern: as many for a project as tasks were freed there.
    pub(super) fn hear(&self, news: &News) {
        let mut line = self.lock();
        for (project, freed) in &news.freed {
            let waiting = line.by_project.get(project).map_or(0, BTreeSet::len);
            for _ in 0..waiting.min(*freed) {
                line.wake_behind(0, project);
            }
        }
        for task in &news.touched {
            line.wake_all(task);
        }
        if news.is_vague {
            line.wake_everybody();
        }
    }

    /// How many wait.
    pub(super) fn count(&self) -> usize {
        self.lock().waiting.len()
    }

    /// A place at the end of the line, or none when it is full.
    pub(super) fn enter(self: &Arc<Self>, topic: Topic) -> Option<Place> {
        let mut line = self.lock();
        if line.waiting.len() >= WAITERS {
            return None;
        }
        line.last += 1;
        let number = line.last;
        let bell = Arc::<Notify>::default();
        line.waiting.insert(number, Waiter { bell: bell.clone(), woken: None });
        match &topic {
            Topic::Work(projects) => projects.iter().for_each(|project| {
                line.by_project.entry(project.clone()).or_default().insert(number);
            }),
            Topic::Task(task) => drop(line.by_task.entry(task.clone()).or_default().insert(number)),
        }
        drop(line);
        Some(Place { waiters: self.clone(), number, topic, bell })
    }

    fn wake_behind(&self, place: u64, project: &ProjectKey) {
        self.lock().wake_behind(place, project);
    }
}

/// Somebody's place in the line, until it is dropped.
pub(super) struct Place {
    waiters: Arc<Waiters>,
    number: u64,
    topic: Topic,
    bell: Arc<Notify>,
}

impl Place {
    /// Whether whatever it takes is what it was woken for.
    pub(super) fn is_for_one_project(&self) -> bool {
        matches!(&self.topic, Topic::Work(projects) if projects.len() == 1)
    }

    /// Waits until there is a reason to look again, at most so long.
    pub(super) async fn woken(&self, at_most: Duration) -> Woken {
        // What was heard while it looked the last time has rung already.
        let rung = tokio::time::timeout(at_most, self.bell.notified()).await;
        match (self.take(), rung) {
            (Some(wake), _) => Woken::For(wake),
            (None, Ok(())) => Woken::ByNews,
            (None, Err(_)) => Woken::ByTime,
        }
    }

    fn take(&self) -> Option<Wake> {
        let cause = self.waiters.lock().waiting.get_mut(&self.number)?.woken.take()?;
        match cause {
            Cause::Work(project) => {
                Some(Wake { waiters: self.waiters.clone(), place: self.number, project: Some(project) })
            }
            Cause::Task => None,
        }
    }
}

/// Why one who waits looks again.
pub(super) enum Woken {
    /// Work was freed, and it is this one's turn.
    For(Wake),
    /// Something happened to the task.
    ByNews,
    /// Nothing was heard for so long.
    ByTime,
}

impl Drop for Place {
    fn drop(&mut self) {
        // A wake that it never looked at is somebody else's.
        drop(self.take());
        let mut line = self.waiters.lock();
        line.waiting.remove(&self.number);
        let Line { by_project, by_task, .. } = &mut *line;
        match &self.topic {
            Topic::Work(projects) => projects.iter().for_each(|key| leave(by_project, key, self.number)),
            Topic::Task(task) => leave(by_task, task, self.number),
        }
    }
}

fn leave<K: Ord>(places: &mut BTreeMap<K, BTreeSet<u64>>, key: &K, number: u64) {
    if let Some(numbers) = places.get_mut(key) {
        numbers.remove(&number);
        if numbers.is_empty() {
            places.remove(key);
        }
    }
}

/// A wake for one freed task. Dropped unused, it goes to the next in line.
pub(super) struct Wake {
    waiters: Arc<Waiters>,
    place: u64,
    project: Option<ProjectKey>,
}

impl Wake {
    /// The task was taken: nobody else is woken for it.
    pub(super) fn used(mut self) {
        self.project = None;
    }

    /// Somebody was told of the task and may take it. If the moment passes, the next in line is woken; if the task was
    /// taken by then, that one finds nothing and goes on waiting.
    pub(super) fn told(self) {
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(WAKE_MS)).await;
            drop(self);
        });
    }
}

impl Drop for Wake {
    fn drop(&mut self) {
        if let Some(project) = self.project.take() {
            self.waiters.wake_behind(self.place, &project);
        }
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::model::ids::EventNumber;

    use super::*;

    fn key(text: &str) -> ProjectKey {
        text.parse().expect("a key")
    }

    fn freed(project: &str, count: usize) -> News {
        News {
            event: EventNumber(1),
            freed: BTreeMap::from([(key(project), count)]),
            touched: BTreeSet::new(),
            is_vague: false,
        }
    }

    fn places<const N: usize>(waiters: &Arc<Waiters>, projects: [&[&str]; N]) -> [Place; N] {
        projects.map(|keys| {
            let keys = keys.iter().map(|text| key(text)).collect();
            waiters.enter(Topic::Work(keys)).expect("there is room")
        })
    }

    #[test]
    fn one_is_woken_per_freed_task_in_the_order_they_came() {
        let waiters = Arc::<Waiters>::default();
        let line = places(&waiters, [&["b"], &["a"], &["a", "b"], &["a"]]);
        waiters.hear(&freed("a", 2));
        let woken = line.each_ref().map(Place::take);
        assert_eq!(woken.each_ref().map(Option::is_some), [false, true, true, false]);
        woken.into_iter().flatten().for_each(Wake::used);
        assert!(line.iter().all(|place| place.take().is_none()), "used wakes go nowhere");
    }

    #[test]
    fn a_wake_that_nobody_used_passes_on_and_not_back() {
        let waiters = Arc::<Waiters>::default();
        let line = places(&waiters, [&["a"], &["a"], &["a"]]);
        waiters.hear(&freed("a", 1));
        for at in 0..3 {
            let woken = line.each_ref().map(Place::take);
            let awake: Vec<usize> = (0..3).filter(|place| woken[*place].is_some()).collect();
            assert_eq!(awake, [at]);
        }
        assert!(line.iter().all(|place| place.take().is_none()), "the last one had nobody behind it");
    }

    #[test]
    fn who_goes_away_passes_its_wake_on_whether_or_not_it_saw_it() {
        let waiters = Arc::<Waiters>::default();
        let [first, second, third] = places(&waiters, [&["a"], &["a"], &["a"]]);
        waiters.hear(&freed("a", 1));
        drop(first);
        let wake = second.take().expect("it was woken instead");
        drop(second);
        assert!(third.take().is_none(), "the wake is still held");
        drop(wake);
        assert!(third.take().is_some());
    }

    #[test]
    fn everybody_who_waits_for_a_task_hears_of_it() {
        let waiters = Arc::<Waiters>::default();
        let [one, other] = ["a-1", "a-2"].map(|id| id.parse::<TaskId>().expect("an id"));
        let enter = |task: &TaskId| waiters.enter(Topic::Task(task.clone())).expect("there is room");
        let line = [enter(&one), enter(&other), enter(&one)];
        let touched = BTreeSet::from([one.clone()]);
        waiters.hear(&News { event: EventNumber(1), freed: BTreeMap::new(), touched, is_vague: false });
        let rung = line.each_ref().map(|place| {
            waiters.lock().waiting.get(&place.number).is_some_and(|waiter| waiter.woken.is_some())
        });
        assert_eq!(rung, [true, false, true]);
    }

    #[test]
    fn the_line_is_bounded_and_leaves_nothing_behind() {
        let waiters = Arc::<Waiters>::default();
        let full: Vec<Place> =
            (0..WAITERS).filter_map(|_| waiters.enter(Topic::Work(vec![key("a")]))).collect();
        assert_eq!(full.len(), WAITERS);
        assert!(waiters.enter(Topic::Work(vec![key("a")])).is_none());
        drop(full);
        let line = waiters.lock();
        assert!(line.waiting.is_empty() && line.by_project.is_empty() && line.by_task.is_empty());
    }
}
