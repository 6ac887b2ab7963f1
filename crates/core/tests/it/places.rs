//! Places: which project a folder of a repository belongs to.

use serde_json::{Value, json};
use tenure_core::model::refusal::Code;

use crate::world::{World, from};

#[test]
fn the_longest_bound_folder_wins_inside_it() {
    let (mut world, a) = World::with_project();
    world.ok(&a, from(json!({ "key": "q" }), "project.create"));
    for (project, folder) in [("p", ""), ("q", "src/engine")] {
        world
            .ok(&a, from(json!({ "project": project, "repository": "r", "folder": folder }), "project.bind"));
    }
    for (folder, project) in
        [("", "p"), ("src", "p"), ("src/engine", "q"), ("src/engine/store", "q"), ("src/engine-tests", "p")]
    {
        let resolve = json!({ "repositories": ["unknown", "r"], "folder": folder });
        assert_eq!(world.ok(&a, from(resolve, "project.resolve"))["binding"]["project"], project, "{folder}");
    }
}

#[test]
fn a_place_is_bound_once_and_by_its_plain_name() {
    let (mut world, a) = World::with_project();
    world.ok(&a, from(json!({ "key": "q" }), "project.create"));
    let at = |project: &str, folder: &str| json!({ "project": project, "repository": "r", "folder": folder });
    let bound: Value = world.ok(&a, from(at("p", "src"), "project.bind"));
    assert_eq!(world.ok(&a, from(at("p", "src"), "project.bind")), bound, "the same again changes nothing");
    assert_eq!(world.refused(&a, from(at("q", "src"), "project.bind")), Code::AlreadyExists);
    assert_eq!(world.refused(&a, from(at("q", "src"), "project.unbind")), Code::NotFound);
    world.ok(&a, from(at("p", "src"), "project.unbind"));
    world.ok(&a, from(at("q", "src"), "project.bind"));
    for folder in ["/src", "src/", "src//x", "./src", "src/..", "a\nb"] {
        assert_eq!(
            world.refused(&a, from(at("p", folder), "project.bind")),
            Code::InvalidInput,
            "{folder:?}"
        );
    }
}

#[test]
fn projects_and_their_counts_are_told_page_by_page_and_none_twice() {
    let (mut world, a) = World::with_project();
    for key in ["q", "a", "z1", "z0", "m"] {
        world.ok(&a, from(json!({ "key": key }), "project.create"));
    }
    for (operation, keys_of) in [
        ("project.list", (|page| keys(&page["projects"], "key")) as fn(&Value) -> Vec<String>),
        ("stats", |page| page["projects"].as_object().expect("an object").keys().cloned().collect()),
    ] {
        let (mut cursor, mut seen, mut pages) = (Value::Null, Vec::new(), 0);
        loop {
            let page = world.ok(&a, from(json!({ "limit": 2, "cursor": cursor }), operation));
            let keys = keys_of(&page);
            assert!(keys.len() <= 2, "{page}");
            seen.extend(keys);
            pages += 1;
            cursor = page["cursor"].clone();
            if cursor.is_null() {
                break;
            }
        }
        assert_eq!((seen.join(" ").as_str(), pages), ("a m p q z0 z1", 3), "{operation}");
        for cursor in ["1.", "1", "1.Not a key", "x.p"] {
            let asked = json!({ "cursor": cursor });
            assert_eq!(world.refused(&a, from(asked, operation)), Code::InvalidInput, "{operation} {cursor}");
        }
    }
}

#[test]
fn a_project_counts_its_tasks_by_the_same_words_wherever_it_is_shown() {
    let (mut world, a) = World::with_project();
    for more in [json!({}), json!({}), json!({ "planned": true }), json!({ "blocked_by": ["p-1"] })] {
        world.task(&a, &more);
    }
    world.claim(&a, Some("p-1")).expect("ready");
    let counted = |world: &mut World| {
        let stats = world.ok(&a, from(json!({}), "stats"))["projects"]["p"].clone();
        let shown = world.ok(&a, from(json!({ "project": "p" }), "project.show"))["project"]["tasks"].clone();
        let listed = world.ok(&a, from(json!({}), "project.list"))["projects"][0]["tasks"].clone();
        assert_eq!([&shown, &listed], [&stats, &stats]);
        stats
    };
    let expected = json!({ "in_progress": 1, "ready": 1, "planned": 1, "blocked": 1 });
    assert_eq!(counted(&mut world), expected);
    world.pass(100_000_000);
    let expected = json!({ "recovery": 1, "ready": 1, "planned": 1, "blocked": 1 });
    assert_eq!(counted(&mut world), expected);
}

#[test]
fn a_page_of_projects_without_a_limit_ends_after_about_two_kilobytes() {
    let (mut world, a) = World::with_project();
    for number in 0..15 {
        let named = json!({ "key": format!("q{number}"), "name": "n".repeat(400) });
        world.ok(&a, from(named, "project.create"));
    }
    let page = world.ok(&a, from(json!({}), "project.list"));
    let shown = keys(&page["projects"], "key");
    assert!(page.to_string().len() < 2048 && (1..15).contains(&shown.len()), "{page}");
    let last = shown.last().expect("one");
    assert_eq!(
        page["cursor"],
        format!("1.{last}"),
        "it goes on after what is shown, not after what was read"
    );
    let all = world.ok(&a, from(json!({ "limit": 100 }), "project.list"));
    assert_eq!((all["projects"].as_array().map(Vec::len), &all["cursor"]), (Some(16), &Value::Null));
}

fn keys(rows: &Value, name: &str) -> Vec<String> {
    let rows = rows.as_array().expect("rows");
    rows.iter().map(|row| row[name].as_str().expect("a key").to_owned()).collect()
}
