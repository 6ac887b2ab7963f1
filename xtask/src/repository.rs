//! What is asked of Git and of Cargo: the root of the checkout, the tracked files, the package graph.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The root of the checkout that xtask was called in. Cargo says where that is when it runs a program; a build folder
/// may be shared by several checkouts.
pub fn root() -> PathBuf {
    let manifest = std::env::var("CARGO_MANIFEST_DIR");
    let manifest = manifest.unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").to_owned());
    Path::new(&manifest).parent().expect("xtask is a folder of the repository").to_owned()
}

/// The folder of the checkout, and the one around it unless every machine has that one.
pub fn places() -> Vec<String> {
    let root = root();
    let around = root.parent().filter(|around| !EVERYWHERE.iter().any(|folder| around == &Path::new(folder)));
    around.into_iter().chain([root.as_path()]).map(|folder| format!("{}/", folder.display())).collect()
}

/// Folders of every machine that checkouts are put into.
const EVERYWHERE: [&str; 7] = ["/", "/home", "/opt", "/root", "/srv", "/tmp", "/var/tmp"];

/// The files that Git tracks or would track, relative to the root, in order.
///
/// New files that are not ignored count too, so that a rule speaks before the commit and not after it.
pub fn files() -> Result<Vec<String>, String> {
    let listed =
        output("git", &["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"])?;
    let mut paths: Vec<String> =
        listed.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect();
    paths.retain(|path| root().join(path).is_file());
    paths.sort_unstable();
    Ok(paths)
}

/// The folder that Cargo builds in.
pub fn target() -> Result<PathBuf, String> {
    let folder = metadata()?["target_directory"].as_str().map(PathBuf::from);
    folder.ok_or_else(|| "`cargo metadata` names no target folder".to_owned())
}

/// The package graph with every feature on, as `cargo metadata` prints it.
pub fn metadata() -> Result<Value, String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let text = output(&cargo, &["metadata", "--format-version", "1", "--all-features"])?;
    serde_json::from_str(&text).map_err(|error| format!("`cargo metadata` printed no JSON: {error}"))
}

fn output(program: &str, arguments: &[&str]) -> Result<String, String> {
    let command = format!("{program} {}", arguments.join(" "));
    let result = Command::new(program)
        .args(arguments)
        .current_dir(root())
        .output()
        .map_err(|error| format!("cannot run `{command}`: {error}"))?;
    if !result.status.success() {
        return Err(format!("`{command}` failed: {}", String::from_utf8_lossy(&result.stderr)));
    }
    String::from_utf8(result.stdout).map_err(|_| format!("`{command}` printed bytes that are not UTF-8"))
}
