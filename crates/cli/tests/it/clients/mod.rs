//! The official clients of the Model Context Protocol, as harnesses use them: each plays one story with a real server, by
//! every way and at every revision that it speaks.

mod official;
mod python;
mod relay;
mod routes;
mod scene;
mod story;

pub use scene::{Scene, Way};

/// The revisions that are served.
const REVISIONS: [&str; 3] = ["2025-06-18", "2025-11-25", "2026-07-28"];
/// Those that the client in Python speaks: of the ones that begin with a greeting it asks for the newest alone.
const REVISIONS_OF_PYTHON: [&str; 2] = ["2025-11-25", "2026-07-28"];

fn official(way: Way) {
    let scene = Scene::begin(way);
    for revision in REVISIONS {
        story::play(&scene, revision);
    }
    scene.host.ok("lead", &["audit", "verify"]);
}

fn python(way: Way) {
    play_in_python(&Scene::begin(way));
}

/// What a client in Python does with a server that is there: all of the story, at every revision that it speaks.
pub fn play_in_python(scene: &Scene) {
    for revision in REVISIONS_OF_PYTHON {
        python::play(scene, revision);
    }
    scene.host.ok("lead", &["audit", "verify"]);
}

#[test]
fn the_client_in_rust_plays_the_story_over_standard_input_and_output() {
    official(Way::Pipes);
}

#[test]
fn the_client_in_rust_plays_the_story_by_http_on_loopback() {
    official(Way::Loopback);
}

#[test]
fn the_client_in_rust_plays_the_story_over_tls() {
    official(Way::Encrypted);
}

#[test]
fn the_client_in_python_plays_the_story_over_standard_input_and_output() {
    python(Way::Pipes);
}

#[test]
fn the_client_in_python_plays_the_story_by_http_on_loopback() {
    python(Way::Loopback);
}

#[test]
fn the_client_in_python_plays_the_story_over_tls() {
    python(Way::Encrypted);
}
