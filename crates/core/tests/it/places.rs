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
