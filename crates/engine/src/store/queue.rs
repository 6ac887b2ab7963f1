//! Queues: the next work in its order, and what the mere passing of time changed.

use tenure_core::model::attempt::Attempt;
use tenure_core::model::event::Receipt;
use tenure_core::model::ids::{AttemptId, ProjectKey, TaskId};
use tenure_core::model::task::{Body, Priority, Rank, Task};
use tenure_core::model::time::{FleetTime, Now};
use tenure_core::working_set::{Moments, Source, Window, WorkingSet};

use super::driver::{Driver, Fields, StoreError, Values};
use super::rows::{Stored, foresee_by_key, load_by_key};
use super::{attempt, body, receipt, task};

/// The ready queue after a place. `{columns}` stands for a task's columns.
pub const READY: &str = "SELECT {columns} FROM task WHERE queue = 'ready' AND project = $1 \
     AND (priority, ready_at, number) > ($2, $3, $4) ORDER BY priority, ready_at, number LIMIT $5";
/// The ready queues of all projects, each in its order.
pub const EVERY_READY: &str =
    "SELECT id FROM task WHERE queue = 'ready' ORDER BY project, priority, ready_at, number";
/// Deferrals of a project whose date has passed, in the ready queue's order, after a place.
pub const DUE: &str = "SELECT {columns} FROM task WHERE queue = 'deferred' AND project = $1 \
     AND deferred_until <= $2 AND (priority, ready_at, number) > ($3, $4, $5) \
     ORDER BY priority, ready_at, number LIMIT $6";
/// Current attempts of a project that give no authority any more, in the order of their tasks.
pub const RECOVERY: &str = "SELECT attempt.id, task.priority, task.ready_at, task.number \
     FROM attempt JOIN task ON task.id = attempt.task \
     WHERE attempt.current = 1 AND attempt.project = $1 AND attempt.stops_at <= $2 \
     AND (task.priority, task.ready_at, task.number) > ($3, $4, $5) \
     ORDER BY task.priority, task.ready_at, task.number LIMIT $6";
/// How many deferrals of a project have passed their date.
pub const DUE_COUNT: &str =
    "SELECT count(*) FROM task WHERE queue = 'deferred' AND project = $1 AND deferred_until <= $2";
/// How many current attempts of a project give no authority any more.
pub const EXPIRED_COUNT: &str =
    "SELECT count(*) FROM attempt WHERE current = 1 AND project = $1 AND stops_at <= $2";
/// Current attempts anywhere whose lease ended and whose end nobody recorded.
pub const OVERDUE_ATTEMPTS: &str = "SELECT id FROM attempt WHERE current = 1 \
     AND project IN (SELECT key FROM project) AND stops_at > $1 AND stops_at <= $2 LIMIT $3";
/// Deferrals anywhere whose date has passed.
pub const OVERDUE_DEFERRALS: &str = "SELECT id FROM task WHERE queue = 'deferred' \
     AND project IN (SELECT key FROM project) AND deferred_until <= $1 LIMIT $2";
/// Whether any lease anywhere still lives.
pub const LIVE: &str = "SELECT 1 FROM attempt WHERE current = 1 \
     AND project IN (SELECT key FROM project) AND stops_at > $1 LIMIT 1";

/// How exactly the time of rows that become due is asked for.
const HORIZON_MS: i64 = 1_000;

/// Reads whole tasks: fills a statement's `{columns}`.
fn tasks(
    driver: &mut dyn Driver,
    sql: &str,
    values: &Values<'_>,
    each: &mut dyn FnMut(Task),
) -> Result<(), StoreError> {
    driver.query(&filled(sql), &values.0, &mut |row| {
        each(Task::read(&mut Fields::of(row))?);
        Ok(())
    })
}

fn rank(values: &mut Values<'_>, rank: Rank) {
    values.integer(i64::from(rank.priority.get()));
    values.integer(rank.ready_at.0);
    values.count(rank.number);
}

/// Loads the next rows of a queue and notes which part of it is known by then. A window grows at its end; a
/// question for rows within it is answered already, and one for rows before it starts a new window.
pub fn load(
    driver: &mut dyn Driver,
    set: &mut WorkingSet,
    (project, source): (&ProjectKey, Source),
    (after, count): (Rank, u32),
    now: Now,
) -> Result<(), StoreError> {
    let Some((known, start)) = beginning(set, (project, source), after) else { return Ok(()) };
    let last = match source {
        // Both kinds of ready tasks are known as far as the shorter part of them reaches.
        Source::Ready => {
            let fresh = load_fresh(driver, set, project, (start, count))?;
            let due = load_due(driver, set, project, (start, count), horizon(now.wall.0))?;
            fresh.into_iter().chain(due).min()
        }
        Source::Recovery => load_recovery(driver, set, project, (start, count), horizon(now.fleet.0))?,
    };
    let window = Window {
        from: known.map_or(after, |window| window.from),
        to: last.unwrap_or(start),
        complete: last.is_none(),
    };
    set.windows.insert((project.clone(), source), window);
    Ok(())
}

/// The known window that rows after a place lengthen, if there is one, and where they begin. Nothing where they are known.
fn beginning(
    set: &WorkingSet,
    (project, source): (&ProjectKey, Source),
    after: Rank,
) -> Option<(Option<Window>, Rank)> {
    let known = set.windows.get(&(project.clone(), source)).copied().filter(|window| window.from <= after);
    if known.is_some_and(|window| window.complete || after < window.to) {
        return None;
    }
    Some((known, known.map_or(after, |window| window.to)))
}

/// Says that the next rows of a queue will be loaded.
pub fn foresee(
    driver: &mut dyn Driver,
    set: &WorkingSet,
    (project, source): (&ProjectKey, Source),
    (after, count): (Rank, u32),
    now: Now,
) -> Result<(), StoreError> {
    let Some((_, start)) = beginning(set, (project, source), after) else { return Ok(()) };
    match source {
        Source::Ready => {
            driver.foresee(&filled(READY), &ready_values(project, start, count).0)?;
            driver.foresee(&filled(DUE), &timed_values(project, horizon(now.wall.0), start, count).0)
        }
        Source::Recovery => {
            driver.foresee(RECOVERY, &timed_values(project, horizon(now.fleet.0), start, count).0)
        }
    }
}

/// Until when rows are loaded whose time comes: a little later than now, and the same for all who ask within a second. The
/// rules look at the time of each.
fn horizon(now_ms: i64) -> i64 {
    now_ms.saturating_sub(now_ms.rem_euclid(HORIZON_MS)).saturating_add(2 * HORIZON_MS)
}

/// A statement with the columns of a task.
fn filled(sql: &str) -> String {
    sql.replace("{columns}", &Task::shape().columns().join(", "))
}

fn ready_values(project: &ProjectKey, after: Rank, count: u32) -> Values<'_> {
    let mut values = Values::default();
    values.text(project.as_str());
    rank(&mut values, after);
    values.integer(i64::from(count));
    values
}

fn timed_values(project: &ProjectKey, until: i64, after: Rank, count: u32) -> Values<'_> {
    let mut values = Values::default();
    values.text(project.as_str());
    values.integer(until);
    rank(&mut values, after);
    values.integer(i64::from(count));
    values
}

/// Loads so many ready tasks after a place. Returns the last one's place if there may be more.
fn load_fresh(
    driver: &mut dyn Driver,
    set: &mut WorkingSet,
    project: &ProjectKey,
    (after, count): (Rank, u32),
) -> Result<Option<Rank>, StoreError> {
    load_ready(driver, set, (READY, &ready_values(project, after, count)), count)
}

/// Loads so many deferrals whose date has passed by then. Returns the last one's place if there may be more.
fn load_due(
    driver: &mut dyn Driver,
    set: &mut WorkingSet,
    project: &ProjectKey,
    (after, count): (Rank, u32),
    until: i64,
) -> Result<Option<Rank>, StoreError> {
    load_ready(driver, set, (DUE, &timed_values(project, until, after, count)), count)
}

fn load_ready(
    driver: &mut dyn Driver,
    set: &mut WorkingSet,
    (sql, values): (&str, &Values<'_>),
    count: u32,
) -> Result<Option<Rank>, StoreError> {
    let mut last = None;
    let mut ids = Vec::new();
    tasks(driver, sql, values, &mut |task| {
        last = Some(task.rank());
        ids.push(task.id.clone());
        set.tasks.load(task);
    })?;
    let is_full = ids.len() >= usize::try_from(count).unwrap_or(usize::MAX);
    // Whoever looks at the queue takes from it or lists it, and both show titles.
    if driver.is_far() {
        foresee_by_key::<Body>(driver, &set.bodies, &body::BY_TASK, &ids)?;
    }
    load_by_key::<Body>(driver, &mut set.bodies, &body::BY_TASK, ids)?;
    Ok(last.filter(|_| is_full))
}

/// Loads tasks whose attempt has expired by then. Returns the last one's place if there may be more.
fn load_recovery(
    driver: &mut dyn Driver,
    set: &mut WorkingSet,
    project: &ProjectKey,
    (after, count): (Rank, u32),
    until: i64,
) -> Result<Option<Rank>, StoreError> {
    let values = timed_values(project, until, after, count);
    let (mut last, mut ids) = (None, Vec::new());
    driver.query(RECOVERY, &values.0, &mut |row| {
        let mut fields = Fields::of(row);
        ids.push(fields.parse::<AttemptId>()?);
        let priority = Priority::try_from(fields.count::<u8>()?).map_err(StoreError::corrupt)?;
        let ready_at = FleetTime(fields.integer()?);
        last = Some(Rank { priority, ready_at, number: fields.count()? });
        Ok(())
    })?;
    let is_full = ids.len() >= usize::try_from(count).unwrap_or(usize::MAX);
    load_attempts_with_tasks(driver, set, ids)?;
    Ok(last.filter(|_| is_full))
}

fn load_attempts_with_tasks(
    driver: &mut dyn Driver,
    set: &mut WorkingSet,
    ids: Vec<AttemptId>,
) -> Result<Vec<TaskId>, StoreError> {
    let task_ids: Vec<TaskId> = ids.iter().map(|id| id.task.clone()).collect();
    load_by_key::<Attempt>(driver, &mut set.attempts, &attempt::BY_ID, ids)?;
    load_by_key::<Task>(driver, &mut set.tasks, &task::BY_ID, task_ids.clone())?;
    Ok(task_ids)
}

/// Counts what the mere passing of time changed in a project.
pub fn moments(driver: &mut dyn Driver, project: &ProjectKey, now: Now) -> Result<Moments, StoreError> {
    Ok(Moments {
        deferred_due: count(driver, DUE_COUNT, project, now.wall.0)?,
        expired: count(driver, EXPIRED_COUNT, project, now.fleet.0)?,
    })
}

fn count(driver: &mut dyn Driver, sql: &str, project: &ProjectKey, until: i64) -> Result<u64, StoreError> {
    let mut values = Values::default();
    values.text(project.as_str());
    values.integer(until);
    let mut count = 0;
    driver.query(sql, &values.0, &mut |row| {
        count = Fields::of(row).count()?;
        Ok(())
    })?;
    Ok(count)
}

/// The tasks whose lease ended unrecorded or whose deferral's date has passed, at most so many.
fn overdue(
    driver: &mut dyn Driver,
    now: Now,
    count: u32,
) -> Result<(Vec<AttemptId>, Vec<TaskId>), StoreError> {
    let (mut attempts, mut deferred) = (Vec::new(), Vec::new());
    let mut values = Values::default();
    // Attempts that ended already stand at the very beginning of the index.
    values.integer(i64::MIN);
    values.integer(now.fleet.0);
    values.integer(i64::from(count));
    driver.query(OVERDUE_ATTEMPTS, &values.0, &mut |row| {
        attempts.push(Fields::of(row).parse()?);
        Ok(())
    })?;
    let mut values = Values::default();
    values.integer(now.wall.0);
    values.integer(i64::from(count) - i64::try_from(attempts.len()).unwrap_or(i64::from(count)));
    driver.query(OVERDUE_DEFERRALS, &values.0, &mut |row| {
        deferred.push(Fields::of(row).parse()?);
        Ok(())
    })?;
    Ok((attempts, deferred))
}

/// Loads overdue tasks, the held ones with their attempts.
pub fn load_overdue(
    driver: &mut dyn Driver,
    set: &mut WorkingSet,
    now: Now,
    count: u32,
) -> Result<Vec<TaskId>, StoreError> {
    let (attempts, deferred) = overdue(driver, now, count)?;
    let mut ids = load_attempts_with_tasks(driver, set, attempts)?;
    load_by_key::<Task>(driver, &mut set.tasks, &task::BY_ID, deferred.clone())?;
    ids.extend(deferred);
    Ok(ids)
}

/// Whether there is anything overdue to record.
pub fn any_overdue(driver: &mut dyn Driver, now: Now) -> Result<bool, StoreError> {
    let (attempts, deferred) = overdue(driver, now, 1)?;
    let aged = receipt::aged(driver, Receipt::kept_since(now.wall), 1)?;
    Ok(!attempts.is_empty() || !deferred.is_empty() || !aged.is_empty())
}

/// Whether any lease still lives, so that the fleet's time must go on being committed.
pub fn any_live(driver: &mut dyn Driver, now: FleetTime) -> Result<bool, StoreError> {
    let mut values = Values::default();
    values.integer(now.0);
    let mut live = false;
    driver.query(LIVE, &values.0, &mut |_| {
        live = true;
        Ok(())
    })?;
    Ok(live)
}
