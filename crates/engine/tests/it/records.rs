//! Every kind of record is the same after it was stored and read back, and is found under every question.

use tenure_core::model::attempt::{
    Attempt, AttemptMode, AttemptState, Disposition, Entry, EntryData, EntryKind, TreeState,
};
use tenure_core::model::dependency::{Dependency, DependencyKind};
use tenure_core::model::event::Receipt;
use tenure_core::model::handle::Handle;
use tenure_core::model::ids::{Digest, Epoch, EventNumber, Generation, ProjectKey, TaskId};
use tenure_core::model::project::{Binding, Policy, PolicyPart, Project, Tally};
use tenure_core::model::session::{Principal, PrincipalKind, Served, Session};
use tenure_core::model::task::{
    Alias, Blocker, BlockerKind, Body, Criterion, Details, Kind, Lifecycle, Priority, Queue, Rank,
    Reservation, Resolution, Task, folded_title,
};
use tenure_core::model::time::{FleetTime, Now, WallTime};
use tenure_core::working_set::{Moments, Need, Page, Rows, Source, WorkingSet};
use tenure_engine::store::driver::Class;
use tenure_engine::store::{fleet, flush, is_changed, load};

use crate::world::{World, on_every_store};

const NOW: Now = Now { fleet: FleetTime(50_000), wall: WallTime(1_000) };

pub fn key() -> ProjectKey {
    "afc".parse().expect("valid")
}

fn id(number: u64) -> TaskId {
    TaskId { project: key(), number }
}

pub fn project() -> Project {
    let policy = Policy { lease_ms: Some(60_000), attempts_max: Some(3), ..Policy::default() };
    let (name, agents_may) = ("Ünïcode 家 '; DROP TABLE task; --".to_owned(), vec![PolicyPart::LeaseMs]);
    Project { key: key(), name, policy, agents_may, revision: 7, tasks_issued: 12, created_at: WallTime(-5) }
}

pub fn task(number: u64, priority: u8, ready_at: i64) -> Task {
    Task {
        id: id(number),
        lifecycle: Lifecycle::Open,
        resolution: None,
        successor: None,
        kind: Kind::Code,
        priority: Priority::try_from(priority).expect("valid"),
        archived: false,
        revision: 3,
        generation: Generation(0),
        held: false,
        own_blockers: 0,
        outer_blockers: 0,
        inherited_blockers: 0,
        ready_at: FleetTime(ready_at),
        deferred_until: None,
        reserved: None,
        requires: Vec::new(),
    }
}

fn attempt(number: u64, generation: u64, current: bool, deadline: i64) -> Attempt {
    Attempt {
        id: format!("afc-{number}@{generation}").parse().expect("valid"),
        session: "ab".repeat(16).parse().expect("valid"),
        principal: "bob".parse().expect("valid"),
        state: if current { AttemptState::Active } else { AttemptState::Released },
        mode: AttemptMode::Recovery,
        current,
        token_hash: Digest([1; 32]),
        claim_operation: "claim-1".parse().expect("valid"),
        lease_ms: 600_000,
        deadline: FleetTime(deadline),
        started_at: FleetTime(1),
        heartbeat_at: FleetTime(2),
        heartbeat_operation: Some("beat-1".parse().expect("valid")),
        progress_at: FleetTime(3),
        task_digest: Digest([2; 32]),
        recovers: Some(Generation(1)),
        disposition: Some(Disposition::Resume),
        cancel_requested: true,
        ended_at: (!current).then_some(FleetTime(9)),
        reporter: Some("0123456789ab".parse().expect("valid")),
    }
}

/// Flushes what `fill` puts into an empty set and returns a new, empty one on the stored fleet row.
pub fn stored(world: &mut World, fill: impl FnOnce(&mut WorkingSet)) -> WorkingSet {
    let mut set = empty(world);
    fill(&mut set);
    assert!(is_changed(&set));
    world.flush(&set);
    empty(world)
}

fn empty(world: &mut World) -> WorkingSet {
    WorkingSet::new(fleet::existing(&mut *world.driver).expect("a fleet"))
}

/// Loads what is needed. A question that fails is an error and never an empty answer.
pub fn ask(world: &mut World, set: &mut WorkingSet, needs: Vec<Need>) {
    let fleet = set.fleet.clone();
    let loaded =
        world.attempt(|driver| load::load(driver, &mut WorkingSet::new(fleet.clone()), needs.clone(), NOW));
    loaded.expect("loaded");
    load::load(&mut *world.driver, set, needs, NOW).expect("loaded");
}

#[test]
fn projects_bindings_and_tallies() {
    on_every_store(|mut world| {
        let binding = Binding { repository: "git@x:y".into(), folder: String::new(), project: key() };
        let tally = Tally { project: key(), queue: Queue::Ready, count: 4 };
        let mut set = stored(&mut world, |set| {
            set.projects.put(project());
            set.bindings.put(binding.clone());
            set.tallies.put(tally);
        });
        let needs = vec![
            Need::Project(key()),
            Need::Project("none".parse().expect("valid")),
            Need::Bindings("git@x:y".into()),
            Need::Tallies(key()),
            Need::Page(Page::Projects),
        ];
        ask(&mut world, &mut set, needs);
        assert_eq!(set.project(&key()), Ok(Some(project())));
        assert_eq!(set.project(&"none".parse().expect("valid")), Ok(None));
        assert_eq!(set.bindings_of("git@x:y"), Ok(vec![binding.clone()]));
        assert_eq!(set.tallies_of(&key()).expect("loaded")[&Queue::Ready], 4);
        assert_eq!(set.page(&Page::Projects), Ok(&Rows::Projects(vec![key()])));

        set.bindings.remove(&(binding.repository, binding.folder));
        world.flush(&set);
        assert_eq!(world.number("SELECT count(*) FROM binding"), 0);
    });
}

#[test]
fn principals_sessions_and_what_they_were_served() {
    on_every_store(|mut world| {
        let name = "bob".parse().expect("valid");
        let principal =
            Principal { name, kind: PrincipalKind::Agent, created_at: WallTime(1), machine: None };
        let open = Session {
            id: "ab".repeat(16).parse().expect("valid"),
            principal: principal.name.clone(),
            conversation: Some("conv".parse().expect("valid")),
            parent: Some("cd".repeat(16).parse().expect("valid")),
            proof_hash: Digest([9; 32]),
            handle: Handle::of("ab", 0),
            harness: Some("h".into()),
            workstation: None,
            capabilities: vec!["rust".parse().expect("valid")],
            open: true,
            opened_at: WallTime(5),
            machine: Some("mill".parse().expect("valid")),
            present_until: FleetTime(6),
        };
        let closed = Session {
            id: "ef".repeat(16).parse().expect("valid"),
            handle: Handle::of("ef", 0),
            open: false,
            ..open.clone()
        };
        let mut set = stored(&mut world, |set| {
            set.principals.put(principal.clone());
            set.sessions.put(open.clone());
            set.sessions.put(closed.clone());
            set.served.put(Served { session: open.id.clone(), project: key(), event: 44 });
        });
        let needs = vec![
            Need::Principal(principal.name.clone()),
            Need::OpenSessionsOf(principal.name.clone()),
            Need::SessionsIn("conv".parse().expect("valid")),
            Need::Handle(closed.handle.clone()),
            Need::Session(open.id.clone()),
            Need::Served(open.id.clone(), key()),
            Need::Served(closed.id.clone(), key()),
            Need::Page(Page::Sessions { count: 5 }),
        ];
        ask(&mut world, &mut set, needs);
        assert_eq!(set.principal(&principal.name), Ok(Some(principal.clone())));
        assert_eq!(set.open_sessions_of(&principal.name), Ok(vec![open.clone()]));
        assert_eq!(set.sessions_in(&"conv".parse().expect("valid")), Ok(vec![open.clone()]));
        assert_eq!(set.session_by_handle(&closed.handle), Ok(Some(closed.clone())));
        assert_eq!(set.served_at(&open.id, &key()), Ok(44));
        assert_eq!(set.served_at(&closed.id, &key()), Ok(0));
        assert_eq!(set.page(&Page::Sessions { count: 5 }), Ok(&Rows::Sessions(vec![open.id.clone()])));
    });
}

#[test]
fn tasks_with_everything_around_them() {
    on_every_store(|mut world| {
        let bob = "bob".parse().expect("valid");
        let full = Task {
            lifecycle: Lifecycle::Cancelled,
            resolution: Some(Resolution::Superseded),
            successor: Some(id(2)),
            archived: true,
            generation: Generation(5),
            own_blockers: 1,
            outer_blockers: 2,
            inherited_blockers: 3,
            deferred_until: Some(WallTime(77)),
            reserved: Some(Reservation { principal: bob, until: FleetTime(8) }),
            requires: vec!["gpu/a100".parse().expect("valid")],
            ..task(1, 4, 10)
        };
        let details = Details {
            criteria: vec![Criterion { id: "c1".into(), text: "it works".into() }],
            criteria_given: 1,
            labels: vec!["x".into()],
            imported: Some(serde_json::json!({ "z": [1, null] })),
            ..Details::default()
        };
        let body = Body {
            task: id(1),
            title: "Fix: the  Ünïcode".into(),
            description: "\u{1b}[31m 👩‍👩‍👧\r\n".into(),
            details,
            created_at: WallTime(1),
            updated_at: WallTime(2),
        };
        let alias = Alias { project: key(), alias: "o/r#1".into(), task: id(1) };
        let edge = Dependency { task: id(1), kind: DependencyKind::Parent, on: id(2), optional: true };
        let blocker = Blocker {
            task: id(1),
            number: 1,
            kind: BlockerKind::HumanDecision,
            reason: "which".into(),
            reopening: Some("an answer".into()),
            principal: "bob".parse().expect("valid"),
            created_at: WallTime(3),
            resolved_at: None,
        };
        let mut set = stored(&mut world, |set| {
            set.projects.put(project());
            set.tasks.put(full.clone());
            set.tasks.put(task(2, 2, 10));
            set.bodies.put(body.clone());
            set.aliases.put(alias.clone());
            set.dependencies.put(edge.clone());
            set.blockers.put(blocker.clone());
        });
        let titled = Page::Titled { project: key(), title: folded_title("fix the ünïcode") };
        let listed = Page::Tasks { project: key(), queues: Queue::ALL.to_vec(), after: 0, count: 9 };
        let needs = vec![
            Need::Task(id(1)),
            Need::Task(id(99)),
            Need::Body(id(1)),
            Need::Alias(key(), "o/r#1".into()),
            Need::AliasesOf(id(1)),
            Need::DependenciesOf(id(1)),
            Need::DependenciesOn(id(2)),
            Need::DependenciesOn(id(1)),
            Need::Blockers(id(1)),
            Need::Page(titled.clone()),
            Need::Page(listed.clone()),
        ];
        ask(&mut world, &mut set, needs);
        assert_eq!(set.task(&id(1)), Ok(Some(full.clone())));
        assert_eq!(set.task(&id(99)), Ok(None));
        assert_eq!(set.body(&id(1)), Ok(body.clone()));
        assert_eq!(set.alias(&key(), "o/r#1"), Ok(Some(alias.clone())));
        assert_eq!(set.aliases_of(&id(1)), Ok(vec!["o/r#1".to_owned()]));
        assert_eq!(set.dependencies_of(&id(1)), Ok(vec![edge.clone()]));
        assert_eq!(set.dependencies_on(&id(2)), Ok(vec![edge.clone()]));
        assert_eq!(set.dependencies_on(&id(1)), Ok(vec![]));
        assert_eq!(set.blockers_of(&id(1)), Ok(vec![blocker.clone()]));
        assert_eq!(set.page(&titled), Ok(&Rows::Tasks(vec![id(1)])));
        assert_eq!(set.page(&listed), Ok(&Rows::Tasks(vec![id(1), id(2)])));
    });
}

#[test]
fn attempts_entries_and_receipts() {
    on_every_store(|mut world| {
        let (old, held, other) =
            (attempt(1, 1, false, 10), attempt(1, 2, true, 60_000), attempt(11, 1, false, 10));
        let entry = Entry {
            number: EventNumber(12),
            task: id(1),
            attempt: Some(held.id.clone()),
            kind: EntryKind::Checkpoint,
            principal: "bob".parse().expect("valid"),
            at: WallTime(4),
            text: "saved".into(),
            data: EntryData { tree: Some(TreeState::Pushed), ..EntryData::default() },
        };
        let receipt = Receipt {
            principal: "bob".parse().expect("valid"),
            operation_id: "op".parse().expect("valid"),
            operation: "note".into(),
            fingerprint: Digest([4; 32]),
            epoch: Epoch(1),
            at: WallTime(6),
            answer: Some("{}".into()),
        };
        let mut set = stored(&mut world, |set| {
            set.projects.put(project());
            set.tasks.put(task(1, 2, 10));
            set.tasks.put(task(11, 2, 10));
            set.attempts.put(old.clone());
            set.attempts.put(held.clone());
            set.attempts.put(other.clone());
            set.entries.put(entry.clone());
            set.receipts.put(receipt.clone());
        });
        let unknown = "new".parse().expect("valid");
        let needs = vec![
            Need::AttemptsOf(id(1)),
            Need::CurrentAttemptsOf(held.session.clone()),
            Need::CurrentAttemptsIn(key()),
            Need::Attempt(other.id.clone()),
            Need::NewestEntries { task: id(1), kinds: EntryKind::ALL, count: 5 },
            Need::Receipt(receipt.principal.clone(), receipt.operation_id.clone()),
            Need::Receipt(receipt.principal.clone(), "new".parse().expect("valid")),
        ];
        ask(&mut world, &mut set, needs);
        assert_eq!(set.newest_attempts_of(&id(1)), Ok(vec![old.clone(), held.clone()]));
        assert_eq!(set.current_attempts_of(&held.session), Ok(vec![held.clone()]));
        assert_eq!(set.current_attempts_in(&key()), Ok(vec![held.clone()]));
        assert_eq!(set.attempt(&other.id), Ok(Some(other.clone())));
        assert_eq!(set.newest_entries(&id(1), EntryKind::ALL, 5), Ok((vec![entry.clone()], 1)));
        assert_eq!(set.receipt(&receipt.principal, &receipt.operation_id), Ok(Some(receipt.clone())));
        assert_eq!(set.receipt(&receipt.principal, &unknown), Ok(None));
    });
}

#[test]
fn a_second_current_attempt_is_stopped_by_the_store_itself() {
    on_every_store(|mut world| {
        let mut set = empty(&mut world);
        set.projects.put(project());
        set.tasks.put(task(1, 2, 10));
        set.attempts.put(attempt(1, 1, true, 10));
        set.attempts.put(attempt(1, 2, true, 10));
        let flushed = world.attempt(|driver| {
            driver.begin_write()?;
            flush(driver, &set)?;
            driver.commit()
        });
        assert_eq!(flushed.map_err(|error| error.class), Err(Class::Other));
        world.driver.rollback().expect("rollback");
    });
}

/// Twelve ready tasks whose order differs from their numbers, a due and an undue deferral, and held ones.
fn queues(world: &mut World) -> WorkingSet {
    stored(world, |set| {
        set.projects.put(project());
        for number in 1..=12 {
            set.tasks.put(task(number, (number % 3) as u8, 100 - number as i64));
        }
        for (number, until) in [(20, 1_000), (21, 3_001), (22, 3_000)] {
            set.tasks.put(Task { deferred_until: Some(WallTime(until)), ..task(number, 0, 1) });
        }
        for (number, deadline) in [(30, 50_000), (31, 52_001), (32, 49_000)] {
            let generation = Generation(1);
            set.tasks.put(Task { held: true, generation, ..task(number, 1, number as i64) });
            set.attempts.put(attempt(number, 1, true, deadline));
        }
        let stopped = AttemptState::Imported;
        set.tasks.put(Task { held: true, generation: Generation(1), ..task(33, 0, 33) });
        set.attempts.put(Attempt { state: stopped, ..attempt(33, 1, true, 90_000) });
    })
}

fn next(source: Source, after: Rank, count: u32) -> Need {
    Need::Queue { project: key(), source, after, count }
}

#[test]
fn the_ready_queue_comes_in_windows_that_grow() {
    on_every_store(|mut world| {
        let mut set = queues(&mut world);
        ask(&mut world, &mut set, vec![next(Source::Ready, Rank::FIRST, 5)]);
        let window = set.windows[&(key(), Source::Ready)];
        assert_eq!((window.to, window.complete), (task(10, 1, 90).rank(), false));
        assert!(set.tasks.get(&id(20)).is_some(), "its date has passed");
        assert!(set.tasks.get(&id(22)).is_some(), "its date is near: a moment later the same is asked");
        assert!(set.tasks.get(&id(21)).is_none(), "its date is not");
        assert!(set.tasks.get(&id(7)).is_none(), "it lies behind the window");

        ask(&mut world, &mut set, vec![next(Source::Ready, Rank::FIRST, 5)]);
        assert_eq!(set.windows[&(key(), Source::Ready)], window, "what is known is not asked for again");

        ask(&mut world, &mut set, vec![next(Source::Ready, window.to, 50)]);
        let window = set.windows[&(key(), Source::Ready)];
        assert_eq!((window.from, window.complete), (Rank::FIRST, true));
        assert!((1..=12).all(|number| set.tasks.get(&id(number)).is_some()));
    });
}

#[test]
fn commands_that_share_a_queue_get_a_row_each() {
    on_every_store(|mut world| {
        let mut set = queues(&mut world);
        ask(&mut world, &mut set, vec![next(Source::Ready, Rank::FIRST, 2); 4]);
        assert_eq!(set.windows[&(key(), Source::Ready)].to, task(10, 1, 90).rank());
    });
}

#[test]
fn what_expired_comes_with_its_attempts_in_the_order_of_work() {
    on_every_store(|mut world| {
        let mut set = queues(&mut world);
        ask(&mut world, &mut set, vec![next(Source::Recovery, Rank::FIRST, 2)]);
        let window = set.windows[&(key(), Source::Recovery)];
        assert_eq!((window.to, window.complete), (task(30, 1, 30).rank(), false));
        ask(&mut world, &mut set, vec![next(Source::Recovery, window.to, 2)]);
        assert!(set.windows[&(key(), Source::Recovery)].complete);
        for (number, known) in [(30, true), (31, false), (32, true), (33, true)] {
            assert_eq!(set.tasks.get(&id(number)).is_some(), known, "{number}");
            assert_eq!(set.attempts.get(&attempt(number, 1, true, 0).id).is_some(), known, "{number}");
        }
    });
}

#[test]
fn what_time_alone_changed_is_counted_and_listed() {
    on_every_store(|mut world| {
        let mut set = queues(&mut world);
        let overdue = Page::Overdue { count: 10 };
        ask(&mut world, &mut set, vec![Need::Moments(key()), Need::Page(overdue.clone())]);
        assert_eq!(set.moments_of(&key()), Ok(Moments { deferred_due: 1, expired: 3 }));
        // The imported attempt was over before it came here; there is nothing to record about it.
        let mut found = match set.page(&overdue) {
            Ok(Rows::Tasks(ids)) => ids.clone(),
            other => panic!("{other:?}"),
        };
        found.sort();
        assert_eq!(found, [id(20), id(30), id(32)]);
    });
}

#[test]
fn lists_by_number_merge_finished_and_unfinished_tasks() {
    on_every_store(|mut world| {
        let mut set = stored(&mut world, |set| {
            set.projects.put(project());
            for number in 1..=9 {
                let lifecycle = if number % 2 == 0 { Lifecycle::Done } else { Lifecycle::Open };
                set.tasks.put(Task { lifecycle, archived: number == 8, ..task(number, 2, 1) });
            }
        });
        let page = |queues: &[Queue], after, count| Page::Tasks {
            project: key(),
            queues: queues.to_vec(),
            after,
            count,
        };
        let some = page(&[Queue::Ready, Queue::Done], 2, 3);
        let finished = page(&[Queue::Done, Queue::Archived], 2, 9);
        ask(&mut world, &mut set, vec![Need::Page(some.clone()), Need::Page(finished.clone())]);
        assert_eq!(set.page(&some), Ok(&Rows::Tasks(vec![id(3), id(4), id(5)])));
        assert_eq!(set.page(&finished), Ok(&Rows::Tasks(vec![id(4), id(6), id(8)])));
    });
}

#[test]
fn many_rows_go_in_and_come_out_in_a_few_statements() {
    on_every_store(|mut world| {
        let mut set = stored(&mut world, |set| {
            set.projects.put(project());
            (1..=150).for_each(|number| set.tasks.put(task(number, 2, 1)));
        });
        ask(&mut world, &mut set, (1..=160).map(|number| Need::Task(id(number))).collect());
        for number in 1..=160 {
            assert_eq!(set.task(&id(number)), Ok((number <= 150).then(|| task(number, 2, 1))));
        }
    });
}

#[test]
fn a_row_that_moved_in_a_seldom_changed_index_is_written_all_the_same() {
    on_every_store(|mut world| {
        stored(&mut world, |set| {
            set.projects.put(project());
            set.tasks.put(Task { lifecycle: Lifecycle::Done, ..task(1, 2, 1) });
            set.tasks.put(Task { held: true, generation: Generation(1), ..task(2, 2, 1) });
            set.attempts.put(attempt(2, 1, true, 70_000));
        });
        // A finished task comes back, beside a new one and one that stays; an attempt is renewed.
        let (tasks, renewed) = ([task(1, 2, 5), task(3, 2, 1)], attempt(2, 1, true, 80_000));
        let mut set = empty(&mut world);
        ask(&mut world, &mut set, vec![Need::Task(id(1)), Need::Attempt(renewed.id.clone())]);
        tasks.iter().cloned().for_each(|task| set.tasks.put(task));
        set.attempts.put(renewed.clone());
        world.flush(&set);
        let mut set = empty(&mut world);
        let all = Page::Tasks { project: key(), queues: Queue::ALL.to_vec(), after: 0, count: 9 };
        ask(&mut world, &mut set, vec![Need::Page(all), Need::CurrentAttemptsIn(key())]);
        assert_eq!(tasks.each_ref().map(|task| set.task(&task.id)), tasks.clone().map(|task| Ok(Some(task))));
        assert_eq!(set.current_attempts_in(&key()), Ok(vec![renewed.clone()]));
        assert_eq!(world.number("SELECT count(*) FROM task WHERE stage = 0"), 3);
        assert_eq!(world.number("SELECT stops_at FROM attempt"), 80_000);
    });
}
