//! Fleets to be exported.

use serde_json::{Value, json};

use crate::world::{Agent, World, operation};

/// Characters that break lines, terminals and careless readers.
pub const HOSTILE: &str =
    "\u{1b}[31m\r\n\t\"\\{}\u{7f}\u{9b}2J\u{202e}\u{feff}\u{2028}家 👩‍👩‍👧 {\"record\":\"end\"}\n";
/// The same as far as one plain line may hold it.
const LINE: &str = "\"\\{} \u{202e}\u{feff}\u{2028}家 👩‍👩‍👧 {\"record\":\"end\"}";

fn shown(world: &mut World, task: &str) -> Value {
    world.ask(operation("task.show", json!({ "task": task })))["task"].clone()
}

/// A fleet in which everything that can be exported occurs.
pub fn rich(mut world: World) -> World {
    let (bob, eve) = (Agent::new("bob", 1), Agent::new("eve", 2));
    world.done(bob.open());
    world.done(eve.open());
    let done = |world: &mut World, name: &str, input: Value| world.done(bob.command(operation(name, input)));
    done(
        &mut world,
        "project.create",
        json!({ "key": "afc", "name": "A fine crate", "policy": { "recovery": "manual" } }),
    );
    done(&mut world, "project.create", json!({ "key": "xyz" }));
    done(
        &mut world,
        "project.bind",
        json!({ "project": "afc", "repository": "example.org/afc", "folder": "src" }),
    );
    let full = json!({
        "project": "afc", "title": "One", "description": "# What\n\nAll of it.", "kind": "general", "priority": 0,
        "criteria": ["it works", "it is tested"], "labels": ["a", "b"], "specs": ["docs/one.md"],
        "references": ["owner/repo#12"], "aliases": ["gh-12", "owner/repo-12"], "touches": ["src/"], "resources": ["gpu"],
        "source": "github owner/repo#12", "source_revision": "r1",
    });
    done(&mut world, "task.create", full);
    let create = |world: &mut World, more: Value| {
        let mut input = json!({ "project": "afc", "title": "More" });
        input.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        done(world, "task.create", input);
    };
    create(&mut world, json!({ "title": "Waits", "blocked_by": ["afc-1"], "discovered_from": "afc-1" }));
    create(&mut world, json!({ "title": "Above", "kind": "objective" }));
    create(&mut world, json!({ "title": "Below", "parents": ["afc-3"] }));
    create(&mut world, json!({ "title": "Planned", "planned": true, "requires": ["rust"] }));
    create(&mut world, json!({ "title": "Put off" }));
    create(&mut world, json!({ "title": "Old way" }));
    create(&mut world, json!({ "title": "Waits for the old way", "blocked_by": ["afc-7"] }));
    create(&mut world, json!({ "title": "The same" }));
    create(&mut world, json!({ "title": "Not wanted", "priority": 4 }));
    for more in [json!({ "title": "Over there", "blocked_by": ["afc-1"] }), json!({ "title": "Beside" })] {
        let mut input = more;
        input["project"] = json!("xyz");
        done(&mut world, "task.create", input);
    }
    done(&mut world, "dependency.add", json!({ "task": "afc-9", "on": "afc-2", "kind": "related" }));
    done(
        &mut world,
        "dependency.add",
        json!({ "task": "afc-5", "on": "afc-3", "kind": "parent", "optional": true }),
    );
    done(&mut world, "dependency.add", json!({ "task": "xyz-2", "on": "afc-4", "kind": "blocks" }));
    done(
        &mut world,
        "task.defer",
        json!({ "task": "afc-6", "reason": "later", "reopening": "when it rains", "until": 1_900_000_000_000_i64 }),
    );
    done(
        &mut world,
        "blocker.raise",
        json!({ "task": "afc-2", "kind": "human_decision", "reason": "which?", "reopening": "an answer" }),
    );
    done(&mut world, "blocker.raise", json!({ "task": "afc-2", "kind": "permission", "reason": "may we?" }));
    done(&mut world, "blocker.resolve", json!({ "task": "afc-2", "number": 2, "reason": "we may" }));
    let revision = shown(&mut world, "afc-1")["revision"].clone();
    done(
        &mut world,
        "task.edit",
        json!({ "task": "afc-1", "revision": revision, "criteria": ["it works", "it is fast"] }),
    );

    // Somebody works, hands off, another one takes it up and closes it.
    let claim = world.done(bob.command(operation("claim", json!({ "task": "afc-4" }))));
    let checkpoint = json!({ "task": "afc-4", "text": "half", "evidence": { "branch": "b", "commit": "c0ffee" }, "tree": "pushed" });
    world.done(bob.fenced(operation("checkpoint", checkpoint), &claim));
    world.done(bob.fenced(operation("handoff", json!({ "task": "afc-4", "text": "the rest" })), &claim));
    let claim = world.done(eve.command(operation("claim", json!({ "task": "afc-4" }))));
    let close = json!({ "task": "afc-4", "note": "there", "lessons": ["measure first"], "evidence": { "merge_commit": "c0ffee" } });
    world.done(eve.fenced(operation("close", close), &claim));
    // Tasks that are over in every way, and one that is held.
    let mut over = |task: &str, more: Value| {
        let mut input =
            json!({ "task": task, "reason": "decided", "revision": shown(&mut world, task)["revision"] });
        input.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        world.done(bob.command(operation("task.cancel", input)));
    };
    over("afc-7", json!({ "resolution": "superseded", "successor": "afc-1" }));
    over("afc-9", json!({ "resolution": "duplicate", "successor": "afc-8" }));
    over("afc-10", json!({ "resolution": "abandoned" }));
    done(&mut world, "task.archive", json!({ "task": "afc-10" }));
    done(&mut world, "claim", json!({ "task": "afc-1" }));
    done(&mut world, "note", json!({ "task": "afc-8", "text": "from outside" }));
    world
}

/// A fleet whose texts are hostile wherever a text can be given.
pub fn hostile(mut world: World) -> World {
    let bob = Agent::new("bob", 1);
    world.done(bob.open());
    let mut done = |name: &str, input: Value| world.done(bob.command(operation(name, input)));
    done("project.create", json!({ "key": "afc", "name": LINE }));
    done("project.bind", json!({ "project": "afc", "repository": LINE, "folder": LINE.replace('/', "") }));
    let all = json!({
        "project": "afc", "title": LINE, "description": HOSTILE, "criteria": [HOSTILE], "labels": [LINE], "specs": [LINE],
        "references": [LINE], "aliases": [LINE], "touches": [LINE], "resources": [LINE], "source": LINE,
        "source_revision": LINE,
    });
    done("task.create", all);
    done("task.defer", json!({ "task": "afc-1", "reason": HOSTILE, "reopening": HOSTILE }));
    done(
        "blocker.raise",
        json!({ "task": "afc-1", "kind": "permission", "reason": HOSTILE, "reopening": HOSTILE }),
    );
    done("note", json!({ "task": "afc-1", "text": HOSTILE }));
    done("task.create", json!({ "project": "afc", "title": LINE }));
    let evidence = json!({ "branch": LINE, "commit": LINE, "merge_commit": LINE, "pull_request": LINE });
    done(
        "close",
        json!({ "task": "afc-2", "revision": 1, "note": HOSTILE, "lessons": [HOSTILE], "evidence": evidence }),
    );
    let record = json!({ "id": LINE, "title": format!("{LINE}\u{1b}[2J"), "description": HOSTILE, "notes": HOSTILE,
        "status": "in_progress", "labels": [HOSTILE], "x": { HOSTILE: [HOSTILE, 0.1, null] } });
    done("import.apply", json!({ "project": "afc", "format": "beads", "text": record.to_string() }));
    world
}

/// A fleet with a real export of another tracker.
pub fn imported(name: &str) -> World {
    let mut world = World::in_memory();
    let bob = Agent::new("bob", 1);
    world.done(bob.open());
    world.done(bob.command(operation("project.create", json!({ "key": "afc" }))));
    let file = format!("{}/../../testdata/beads/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&file).expect(&file);
    let input = json!({ "project": "afc", "format": "beads", "text": text });
    world.done(bob.command(operation("import.apply", input)));
    world
}
