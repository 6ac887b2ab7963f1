//! Exports, and their passage into another fleet and back: the same state gives the same bytes, nothing is lost on the
//! way, and a file that is imported where it is known changes nothing.

mod oracle;
mod scenes;

use proptest::test_runner::{Config, TestCaseError, TestRunner};
use serde_json::{Value, json};
use tenure_core::model::ids::ProjectKey;
use tenure_core::model::refusal::{Code, Refusal};
use tenure_engine::export::{ExportError, Exported, write};

use self::oracle::{Told, differences};
use self::scenes::{HOSTILE, hostile, imported, rich};
use crate::model::{play, steps};
use crate::world::{Agent, World, on_every_store, operation};

/// How many random fleets are sent on the way.
const CASES: u32 = 48;
const STEPS_MAX: usize = 60;

/// An export of everything.
pub fn export(world: &mut World) -> String {
    export_of(world, &[])
}

fn export_of(world: &mut World, projects: &[&str]) -> String {
    let projects: Vec<ProjectKey> = projects.iter().map(|key| key.parse().expect("a key")).collect();
    let text = world.attempt(|driver| {
        let mut out = Vec::new();
        match write(driver, &projects, &mut out) {
            Ok(Exported { lines, bytes, .. }) => {
                assert_eq!(bytes, out.len() as u64);
                assert_eq!(lines, out.iter().filter(|byte| **byte == b'\n').count() as u64);
                Ok(out)
            }
            Err(ExportError::Store(error)) => Err(error),
            Err(other) => panic!("{other}"),
        }
    });
    String::from_utf8(text.expect("exported")).expect("text")
}

/// An empty fleet with an id of its own.
pub fn another(letter: &str) -> World {
    let mut world = World::in_memory();
    rename(&mut world, letter);
    world
}

/// Gives a fleet an id like those that are drawn.
fn rename(world: &mut World, letter: &str) {
    let id = letter.repeat(32);
    world.driver.begin_write().expect("begun");
    world.driver.execute(&format!("UPDATE fleet SET id = '{id}'"), &[]).expect("renamed");
    world.driver.commit().expect("committed");
}

/// Somebody who imports.
pub fn importer(world: &mut World) -> Agent {
    let carol = Agent::new("carol", 77);
    world.run(carol.open()).ok();
    carol
}

/// Imports a file; what a preview said before is what was done.
pub fn import(world: &mut World, text: &str, project: Option<&str>) -> Result<Value, Refusal> {
    let carol = importer(world);
    let mut input = json!({ "format": "tenure", "text": text });
    if let Some(project) = project {
        input["project"] = json!(project);
    }
    let preview = world.asked(operation("import.preview", input.clone()));
    let done = world.run(carol.command(operation("import.apply", input)));
    match (&preview, &done) {
        (Ok(preview), Ok(done)) => assert_eq!(preview["report"], done["report"]),
        (preview, done) => assert_eq!(preview.as_ref().err(), done.as_ref().err()),
    }
    done.map(|answer| answer["report"].clone())
}

/// Sends a fleet into an empty one and from there on, and says what differs on the way.
fn passage(source: &mut World) -> Result<Value, String> {
    rename(source, "a");
    let first = export(source);
    let before = source.number("SELECT count(*) FROM event");
    importer(source);
    let opened = source.number("SELECT count(*) FROM event");
    let own = import(source, &first, None).map_err(|refusal| format!("into itself: {refusal:?}"))?;
    if own["created"] != 0 || own["left_alone"] != json!([]) || own["projects"] != json!([]) {
        return Err(format!("into itself: {own}"));
    }
    if source.number("SELECT count(*) FROM event") != opened || export(source) != first || opened < before {
        return Err("an import into the fleet itself changed it".to_owned());
    }

    let mut copy = another("b");
    let report = import(&mut copy, &first, None).map_err(|refusal| format!("into another: {refusal:?}"))?;
    let second = export(&mut copy);
    let (from, to) = (Told::of(&first), Told::of(&second));
    let found = differences(&from, &to, copy.clocks.read().1);
    if !found.is_empty() {
        return Err(format!("the copy differs: {found:#?}"));
    }
    let events = copy.number("SELECT count(*) FROM event");
    for (what, text) in [("the first file again", &first), ("the copy's own export", &second)] {
        let again = import(&mut copy, text, None).map_err(|refusal| format!("{what}: {refusal:?}"))?;
        if again["created"] != 0 || again["left_alone"] != json!([]) || again["ready"] != report["ready"] {
            return Err(format!("{what}: {again}"));
        }
        if copy.number("SELECT count(*) FROM event") != events || export(&mut copy) != second {
            return Err(format!("{what} changed something"));
        }
    }
    let back = import(source, &second, None).map_err(|refusal| format!("back: {refusal:?}"))?;
    if back["created"] != 0 || source.number("SELECT count(*) FROM event") != opened {
        return Err(format!("the copy's export came back as something new: {back}"));
    }
    if export(source) != first {
        return Err("the copy's export changed the fleet that it came from".to_owned());
    }
    Ok(report)
}

#[test]
fn the_same_state_gives_the_same_bytes() {
    on_every_store(|world| {
        let mut world = rich(world);
        let first = export(&mut world);
        importer(&mut world);
        world.join();
        assert_eq!(export(&mut world), first, "neither a restart nor a session that is opened is to be seen");
        world.done(
            Agent::new("bob", 1)
                .command(operation("task.create", json!({ "project": "afc", "title": "one more" }))),
        );
        assert_ne!(export(&mut world), first);
    });
}

#[test]
fn lines_come_by_kind_and_key_with_a_seal_and_nothing_that_gives_authority() {
    let mut world = rich(World::in_memory());
    let text = export(&mut world);
    let told: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let mut kinds: Vec<&str> = told.iter().map(|line| line["record"].as_str().expect("a kind")).collect();
    kinds.dedup();
    assert_eq!(
        kinds,
        ["header", "project", "task", "dependency", "blocker", "entry", "attempt", "end"],
        "every kind is there, in order"
    );
    let tasks: Vec<&str> =
        told.iter().filter(|line| line["record"] == "task").filter_map(|line| line["id"].as_str()).collect();
    assert!(tasks.starts_with(&["afc-1", "afc-2"]) && tasks.contains(&"afc-10"), "{tasks:?}");
    let (nine, ten) =
        (tasks.iter().position(|id| *id == "afc-9"), tasks.iter().position(|id| *id == "afc-10"));
    assert!(nine < ten, "by number, not by letters");
    let header = json!({ "record": "header", "format": "tenure-export", "version": 1, "fleet": "test" });
    assert_eq!(told[0], header);
    for attempt in told.iter().filter(|line| line["record"] == "attempt") {
        let known = [
            "record",
            "id",
            "principal",
            "mode",
            "state",
            "current",
            "recovers",
            "disposition",
            "started_at",
            "ended_at",
        ];
        let fields = attempt.as_object().expect("an object");
        assert!(fields.keys().all(|field| known.contains(&field.as_str())), "{attempt}");
    }
    for hash in [
        "SELECT token_hash FROM attempt",
        "SELECT proof_hash FROM session",
        "SELECT claim_operation FROM attempt",
    ] {
        let mut secrets = Vec::new();
        let mut each = |row: &dyn tenure_engine::store::driver::Row| {
            secrets.push(row.text(0)?.expect("a text").to_owned());
            Ok(())
        };
        world.driver.query(hash, &[], &mut each).expect("asked");
        assert!(!secrets.is_empty() && secrets.iter().all(|secret| !text.contains(secret)), "{hash}");
    }
}

#[test]
fn a_fleet_with_everything_in_it_passes_into_another_and_back() {
    let mut world = rich(World::in_memory());
    let report = passage(&mut world).unwrap_or_else(|wrong| panic!("{wrong}"));
    assert_eq!(report["projects"], json!(["afc", "xyz"]));
    let remarks = report["remarks"].to_string();
    for said in
        ["somebody holds there", "policy is not taken over", "bindings to repositories are not taken over"]
    {
        assert!(remarks.contains(said), "{said} is missing: {remarks}");
    }
}

#[test]
fn hostile_text_in_every_field_passes_as_it_is() {
    let mut world = hostile(World::in_memory());
    assert!(export(&mut world).lines().all(|line| !line.contains('\u{1b}')), "a line is one line of JSON");
    passage(&mut world).unwrap_or_else(|wrong| panic!("{wrong}"));
    let told = Told::of(&export(&mut world));
    assert_eq!(told.tasks["afc-1"]["description"], HOSTILE);
}

#[test]
fn real_exports_of_another_tracker_pass_through() {
    for name in ["tiny", "boring-ui-dups", "relay-cycle", "gastown-dangling", "beads-2026-01"] {
        let mut world = imported(name);
        let report = passage(&mut world).unwrap_or_else(|wrong| panic!("{name}: {wrong}"));
        assert!(report["created"].as_u64() > Some(30), "{name}: {report}");
    }
}

#[test]
fn random_fleets_pass_into_another_and_back() {
    let cases = std::env::var("TENURE_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(CASES);
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 2_000, ..Config::default() };
    TestRunner::new(config)
        .run(&steps(STEPS_MAX), |steps| {
            let (mut world, _) = play(World::in_memory(), &steps).map_err(TestCaseError::reject)?;
            passage(&mut world).map(drop).map_err(TestCaseError::fail)
        })
        .unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn one_project_is_exported_alone_and_what_it_waits_for_outside_keeps_it() {
    let mut world = rich(World::in_memory());
    let text = export_of(&mut world, &["xyz"]);
    let told = Told::of(&text);
    assert!(
        told.tasks.keys().all(|id| id.starts_with("xyz-")) && told.tasks.len() == 2,
        "{:?}",
        told.tasks.keys()
    );
    let mut copy = another("b");
    let report = import(&mut copy, &text, None).expect("imported");
    assert_eq!(report["dangling"], json!(["xyz-1 -> afc-1", "xyz-2 -> afc-4"]));
    let shown = copy.ask(operation("task.show", json!({ "task": "xyz-1" })))["task"].clone();
    assert_eq!(shown["status"], "blocked", "afc-1 was not done there: {shown}");
    assert_eq!(shown["blockers"][0]["kind"], "dependency");
    let shown = copy.ask(operation("task.show", json!({ "task": "xyz-2" })))["task"].clone();
    assert_eq!(shown["status"], "ready", "afc-4 was done there");

    let mut renamed = another("c");
    let carol = importer(&mut renamed);
    renamed.done(carol.command(operation("project.create", json!({ "key": "mine" }))));
    assert_eq!(import(&mut renamed, &text, Some("mine")).expect("imported")["created"], 2);
    assert_eq!(import(&mut renamed, &text, Some("mine")).expect("imported")["created"], 0);
    let all = export(&mut world);
    assert_eq!(import(&mut renamed, &all, Some("mine")).expect_err("two projects").code, Code::InvalidInput);
    assert_eq!(import(&mut renamed, &text, Some("other")).expect_err("no project").code, Code::NotFound);
    let unknown = write(&mut *world.driver, &["nope".parse().expect("a key")], &mut Vec::new());
    assert!(matches!(unknown, Err(ExportError::Unknown(_))), "{unknown:?}");
}

#[test]
fn what_moved_on_here_stays_and_what_was_lost_comes_back_once() {
    let mut world = rich(World::in_memory());
    let text = export(&mut world);
    let bob = Agent::new("bob", 1);
    let revision = world.ask(operation("task.show", json!({ "task": "afc-2" })))["task"]["revision"].clone();
    world.done(
        bob.command(operation(
            "task.edit",
            json!({ "task": "afc-2", "revision": revision, "title": "newer" }),
        )),
    );
    let report = import(&mut world, &text, None).expect("imported");
    assert_eq!((&report["created"], &report["left_alone"]), (&json!(0), &json!(["afc-2"])));
    assert_eq!(world.ask(operation("task.show", json!({ "task": "afc-2" })))["task"]["title"], "newer");

    // The other way round: the fleet is that from before a task was created and another edited.
    world.done(bob.command(operation("task.create", json!({ "project": "afc", "title": "later" }))));
    let newer = export(&mut world);
    let mut older = rich(World::in_memory());
    let report = import(&mut older, &newer, None).expect("imported");
    assert_eq!((&report["created"], &report["left_alone"]), (&json!(1), &json!(["afc-2"])));
    assert!(report["remarks"].to_string().contains("newer revision than this fleet"), "{report}");
    assert_eq!(import(&mut older, &newer, None).expect("imported")["created"], 0);
}

#[test]
fn a_task_that_was_held_there_is_open_here_and_nobody_s() {
    let mut world = rich(World::in_memory());
    let held = world.ask(operation("task.show", json!({ "task": "afc-1" })))["task"].clone();
    assert_eq!(held["status"], "in_progress");
    let mut copy = another("b");
    import(&mut copy, &export(&mut world), None).expect("imported");
    let shown = copy.ask(operation("task.show", json!({ "task": "afc-1" })))["task"].clone();
    assert_eq!((&shown["status"], &shown["generation"]), (&json!("ready"), &json!(0)));
    assert_eq!(shown["attempt"], Value::Null);
    assert_eq!(shown["imported"]["tenure"]["attempts"][0]["principal"], "bob", "who worked is told");
    assert_eq!(copy.number("SELECT count(*) FROM attempt"), 0);
    assert_eq!(copy.number("SELECT count(*) FROM task WHERE held = 1 OR reserved_for IS NOT NULL"), 0);
}

#[test]
fn a_successor_that_comes_later_still_frees_those_who_wait() {
    let mut world = World::in_memory();
    let bob = Agent::new("bob", 1);
    world.done(bob.open());
    let mut done = |name, input| world.done(bob.command(operation(name, input)));
    done("project.create", json!({ "key": "afc" }));
    done("task.create", json!({ "project": "afc", "title": "new way" }));
    let first = export(&mut world);
    let mut done = |name, input| world.done(bob.command(operation(name, input)));
    done("task.create", json!({ "project": "afc", "title": "old way" }));
    done("task.create", json!({ "project": "afc", "title": "waits", "blocked_by": ["afc-2"] }));
    let cancel = json!({ "task": "afc-2", "reason": "a better one", "resolution": "superseded", "successor": "afc-1", "revision": 1 });
    done("task.cancel", cancel);
    let second = export(&mut world);
    let mut copy = another("b");
    import(&mut copy, &first, None).expect("imported");
    assert_eq!(import(&mut copy, &second, None).expect("imported")["created"], 2);
    let carol = importer(&mut copy);
    copy.done(carol.command(operation("close", json!({ "task": "afc-1", "revision": 1 }))));
    let waits = copy.ask(operation("task.show", json!({ "task": "afc-3" })))["task"].clone();
    assert_eq!(waits["status"], "ready", "{waits}");
}

#[test]
fn a_file_that_cannot_be_written_is_told_and_the_store_is_free() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut world = rich(World::on_file());
    let error = write(&mut *world.driver, &[], &mut Full).expect_err("no room");
    assert_eq!(Refusal::from(error).code, Code::DiskFull);
    world.done(
        Agent::new("bob", 1).command(operation("task.create", json!({ "project": "afc", "title": "on" }))),
    );
}
