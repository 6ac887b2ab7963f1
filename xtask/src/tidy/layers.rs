//! Dependencies between our own crates point one way.

use serde_json::Value;

use super::{Finding, Tree};

/// Each crate of ours and which of ours it may depend on. `xtask` may depend on any.
const LAYERS: &[(&str, &[&str])] = &[
    ("tenure-core", &[]),
    ("tenure-engine", &["tenure-core"]),
    ("tenure-client", &["tenure-core"]),
    ("tenure-server", &["tenure-core", "tenure-engine"]),
    ("tenure-local", &["tenure-core", "tenure-client"]),
    ("tenure", &["tenure-core", "tenure-engine", "tenure-server", "tenure-client", "tenure-local"]),
    (OF_TESTS, &[]),
    ("tenure-sim", &["tenure-core", "tenure-engine", "tenure-client", OF_TESTS]),
];

/// What the tests of any crate may depend on: it knows none of them.
const OF_TESTS: &str = "tenure-cluster";

/// core ← engine ← server ← cli, core ← client ← local ← cli, and sim beside them.
pub fn dependencies_point_one_way(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in own_packages(&tree.metadata) {
        let name = text(package, "name");
        if name == "xtask" {
            continue;
        }
        let at = |message| Finding { path: manifest(package), line: 1, rule: "layers", message };
        let Some((_, allowed)) = LAYERS.iter().find(|(layer, _)| *layer == name) else {
            findings.push(at(format!(
                "{name} has no place in the layers: give it one in xtask/src/tidy/layers.rs"
            )));
            continue;
        };
        for dependency in list(package, "dependencies").filter(|dependency| dependency["path"].is_string()) {
            let on = text(dependency, "name");
            let is_of_tests = on == OF_TESTS && dependency["kind"] == "dev";
            if !allowed.contains(&on) && !is_of_tests {
                findings.push(at(format!(
                    "{name} must not depend on {on}: move the code to the layer that may know both, or hand it in as a \
                     value or a trait"
                )));
            }
        }
    }
    findings
}

/// The packages of this workspace.
pub fn own_packages(metadata: &Value) -> impl Iterator<Item = &Value> {
    list(metadata, "packages").filter(|package| package["source"].is_null())
}

/// All packages.
pub fn all_packages(metadata: &Value) -> impl Iterator<Item = &Value> {
    list(metadata, "packages")
}

/// A list field, empty when absent.
pub fn list<'a>(value: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> {
    value[field].as_array().into_iter().flatten()
}

/// A text field, empty when absent.
pub fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

/// The path of a package's manifest from the root.
pub fn manifest(package: &Value) -> String {
    let path = text(package, "manifest_path");
    let root = format!("{}/", crate::repository::root().display());
    path.strip_prefix(&root).unwrap_or(path).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(packages: &Value) -> Vec<String> {
        let mut tree = Tree::of(&[]);
        tree.metadata = json!({ "packages": packages });
        dependencies_point_one_way(&tree).into_iter().map(|finding| finding.message).collect()
    }

    fn package(name: &str, on: &[&str]) -> Value {
        let dependencies: Vec<Value> = on.iter().map(|name| json!({ "name": name, "path": "x" })).collect();
        json!({ "name": name, "source": null, "manifest_path": "Cargo.toml", "dependencies": dependencies })
    }

    #[test]
    fn the_wrong_direction_is_refused() {
        let found = check(&json!([
            package("tenure-core", &["tenure-engine"]),
            package("tenure-client", &["tenure-engine"])
        ]));
        assert!(found[0].starts_with("tenure-core must not depend on tenure-engine"));
        assert!(found[1].starts_with("tenure-client must not depend on tenure-engine"));
    }

    #[test]
    fn a_server_for_tests_is_no_part_of_the_product() {
        let mut engine = package("tenure-engine", &[OF_TESTS]);
        assert_eq!(check(&json!([engine])).len(), 1);
        engine["dependencies"][0]["kind"] = json!("dev");
        assert_eq!(check(&json!([engine])), Vec::<String>::new());
    }

    #[test]
    fn a_crate_without_a_place_is_refused() {
        assert!(check(&json!([package("tenure-drawer", &[])]))[0].contains("no place"));
    }

    #[test]
    fn the_right_direction_passes() {
        let found =
            check(&json!([package("tenure", &["tenure-server"]), package("xtask", &["tenure-core"])]));
        assert_eq!(found, Vec::<String>::new());
    }
}
