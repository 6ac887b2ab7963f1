//! A restore: everything that was granted before is history, and no number that may have been handed out since the
//! backup was taken is issued again.
//!
//! The store tells what was handed out until the backup. What came after is told by the store that the backup takes the
//! place of; where that one is lost, every counter moves on by more than it can have grown. [`Floors::after`] decides.

use std::collections::BTreeMap;

use serde_json::json;

use super::session::close;
use crate::envelope::Call;
use crate::model::attempt::{Attempt, AttemptState};
use crate::model::event::{EventKind, Fleet};
use crate::model::ids::{Epoch, EventNumber, ProjectKey};
use crate::model::limits::{RESTORE_SKIP, RESTORE_SKIP_PER_MS};
use crate::model::project::Project;
use crate::model::time::{FleetTime, WallTime};
use crate::mutant::Mutant;
use crate::working_set::{About, Page, Step, WorkingSet, together};

/// All open sessions.
const SESSIONS: Page = Page::Sessions { count: u32::MAX };

/// Up to which numbers a fleet may have handed out. None of these is issued again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Floors {
    /// The highest epoch.
    pub epoch: Epoch,
    /// The highest event number.
    pub event: EventNumber,
    /// The highest fleet time.
    pub time: FleetTime,
    /// The highest task number of each project.
    pub tasks: BTreeMap<ProjectKey, u64>,
    /// The highest number within any record: a generation, a revision, a blocker's, a criterion's.
    pub counters: u64,
}

/// What the store that a backup takes the place of tells about the time since the backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// Everything: it has all events that the backup has.
    All(Floors),
    /// A part: the backup has events that it never had, and who knows what followed those.
    Part(Floors),
    /// Nothing: there is none, or it cannot be read.
    Nothing,
}

impl Told {
    /// What a store tells that came as far as `floors` and lacks so many events of the backup.
    #[must_use]
    pub fn by(floors: Floors, lacking: u64) -> Self {
        if lacking == 0 { Self::All(floors) } else { Self::Part(floors) }
    }

    /// Whether nothing that was handed out can be missing.
    #[must_use]
    pub fn is_all(&self) -> bool {
        match self {
            Self::All(_) => true,
            Self::Part(_) | Self::Nothing => false,
        }
    }
}

impl Floors {
    /// What may have been handed out by now: until `since`, when the backup was taken, as the backup tells, and
    /// afterwards as the store tells that it takes the place of. What nobody tells is assumed to be far more than it
    /// can be.
    #[must_use]
    pub fn after(backup: Self, since: WallTime, told: Told, now: WallTime) -> Self {
        match told {
            Told::All(present) => backup.and(present),
            Told::Part(present) => backup.and(present).beyond(since, now),
            Told::Nothing => backup.beyond(since, now),
        }
    }

    /// What either of two stores of the fleet may have handed out.
    fn and(mut self, other: Self) -> Self {
        for (project, issued) in other.tasks {
            let known = self.tasks.entry(project).or_default();
            *known = issued.max(*known);
        }
        Self {
            epoch: self.epoch.max(other.epoch),
            event: self.event.max(other.event),
            time: self.time.max(other.time),
            tasks: self.tasks,
            counters: self.counters.max(other.counters),
        }
    }

    /// The same where nobody knows what was handed out since a moment: far beyond it. Counters and the epoch follow the
    /// clock, so that the same backup, restored twice onto empty disks, goes on twice in different places.
    fn beyond(mut self, since: WallTime, now: WallTime) -> Self {
        let count = |ms: i64| u64::try_from(ms).unwrap_or(0);
        let skip = RESTORE_SKIP + count(now.0.saturating_sub(since.0)) * RESTORE_SKIP_PER_MS;
        self.tasks.values_mut().for_each(|issued| *issued += skip);
        Self {
            epoch: self.epoch.max(Epoch(count(now.0 / 1000))),
            event: EventNumber(self.event.0 + skip),
            time: self.time,
            tasks: self.tasks,
            counters: self.counters + skip,
        }
    }
}

/// The fleet row that the next epoch begins with. Its first event gets the number after `event`.
#[must_use]
pub fn next_epoch(fleet: &Fleet, floors: &Floors, wall: WallTime) -> Fleet {
    let epoch = Epoch(fleet.epoch.max(floors.epoch).0 + 1);
    Fleet {
        epoch: if Mutant::RestoreKeepsEpoch.is_on() { fleet.epoch } else { epoch },
        time: fleet.time.max(floors.time),
        wall,
        event: fleet.event.max(floors.event),
        floor: fleet.floor.max(floors.counters),
        ..fleet.clone()
    }
}

/// Voids what was granted in the epochs before: attempts are left to be recovered, sessions are closed. `before` is the
/// fleet row of the backup; the set's is the one that the next epoch begins with.
pub fn void(set: &mut WorkingSet, call: &Call, before: &Fleet, floors: &Floors) -> Step<()> {
    let keys = set.page(&Page::Projects)?.projects().to_vec();
    let open = set.page(&SESSIONS)?.sessions().to_vec();
    let attempts = together(keys.iter().map(|key| set.current_attempts_in(key)))?.concat();
    let projects = together(keys.iter().map(|key| set.project(key)))?;
    let sessions = together(open.iter().map(|id| set.session(id)))?;

    let gone = floors.tasks.iter().filter(|(key, _)| !keys.contains(key)).map(|(_, issued)| *issued);
    set.fleet.floor = gone.fold(set.fleet.floor, u64::max);
    let data = json!({
        "after": before.event, "from_epoch": before.epoch, "floor": set.fleet.floor, "tasks": floors.tasks,
    });
    set.record(EventKind::FleetRestored, About { data, ..About::default() });
    for project in projects.into_iter().flatten() {
        let tasks_issued = floors.tasks.get(&project.key).copied().unwrap_or(0).max(project.tasks_issued);
        if tasks_issued > project.tasks_issued {
            set.projects.put(Project { tasks_issued, ..project });
        }
    }
    for attempt in attempts.into_iter().filter(|attempt| attempt.state == AttemptState::Active) {
        let data = json!({ "deadline": attempt.deadline, "session": attempt.session });
        set.record(EventKind::AttemptVoided, About::attempt(&attempt.id, data));
        set.attempts.put(Attempt { state: AttemptState::Voided, ended_at: Some(call.now.fleet), ..attempt });
    }
    for session in sessions.into_iter().flatten() {
        close(set, session, "restored", None);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floors(epoch: u64, event: u64, tasks: &[(&str, u64)], counters: u64) -> Floors {
        let tasks = tasks.iter().map(|(key, issued)| (key.parse().expect("a key"), *issued)).collect();
        Floors { epoch: Epoch(epoch), event: EventNumber(event), time: FleetTime(7), tasks, counters }
    }

    #[test]
    fn of_two_stores_the_one_that_came_further_counts() {
        let told = Told::by(floors(2, 80, &[("a", 4), ("c", 9)], 8), 0);
        assert!(told.is_all());
        let backup = floors(1, 90, &[("a", 5), ("b", 2)], 3);
        let both = Floors::after(backup, WallTime(1), told, WallTime(9_000_000));
        assert_eq!(both, floors(2, 90, &[("a", 5), ("b", 2), ("c", 9)], 8));
    }

    #[test]
    fn whoever_lacks_an_event_of_the_backup_tells_only_a_part() {
        let (since, now) = (WallTime(5_000), WallTime(5_000));
        let told = Told::by(floors(4, 95, &[("a", 9)], 3), 1);
        assert!(!told.is_all() && !Told::Nothing.is_all());
        let after = Floors::after(floors(1, 90, &[("a", 5)], 3), since, told, now);
        let skipped = floors(5, 95 + RESTORE_SKIP, &[("a", 9 + RESTORE_SKIP)], 3 + RESTORE_SKIP);
        assert_eq!(after, skipped, "both count, and then the skip");
    }

    #[test]
    fn in_the_dark_a_second_loss_goes_on_beyond_what_followed_the_first() {
        let (taken, first, second) = (WallTime(1_000_000), WallTime(5_000_000), WallTime(5_001_000));
        let backup = floors(1, 90, &[("a", 5)], 3);
        let [first, second] =
            [first, second].map(|now| Floors::after(backup.clone(), taken, Told::Nothing, now));
        assert!(first.event.0 >= 90 + RESTORE_SKIP && first.epoch > backup.epoch);
        assert!(second.epoch > first.epoch);
        let apart = 1_000 * RESTORE_SKIP_PER_MS;
        assert_eq!(second.event.0 - first.event.0, apart);
        assert_eq!(second.counters - first.counters, apart);
        assert_eq!(second.tasks.values().sum::<u64>() - first.tasks.values().sum::<u64>(), apart);
        let back = Floors::after(backup.clone(), taken, Told::Nothing, WallTime(7));
        assert_eq!(back.event.0, backup.event.0 + RESTORE_SKIP, "a clock that went back takes nothing away");
    }
}
