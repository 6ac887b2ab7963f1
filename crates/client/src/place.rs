//! Where the coordinator is: a configured server, else the private store of this machine.
//!
//! A server that is configured but cannot be used never turns into the local store: whoever configured it would
//! write to the wrong place.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tenure_core::model::refusal::{Code, Refusal};

use crate::failure::Failure;
use crate::private;

/// A setting, what it is, and where that was said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// The setting's name.
    pub name: &'static str,
    /// Its value.
    pub value: String,
    /// The flag, variable, file or default that says so.
    pub origin: String,
}

/// What the command line says about the place.
#[derive(Debug, Clone, Default)]
pub struct Wish {
    /// `--server`.
    pub server: Option<String>,
    /// `--local`: mean the local store although a server is configured.
    pub local: bool,
}

/// The user's configuration file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    server: Option<String>,
}

/// The state folder of the local store.
pub fn state_folder(variable: &dyn Fn(&str) -> Option<String>) -> Result<Setting, Failure> {
    let setting = |value: PathBuf, origin: &str| Setting {
        name: "store",
        value: value.to_string_lossy().into_owned(),
        origin: origin.to_owned(),
    };
    if let Some(folder) = given(variable, "TENURE_STATE_DIR") {
        // Taken from the folder that one happens to be in, it would be another store in every folder.
        if !folder.starts_with('/') {
            return Err(Failure::cannot_tell(
                format!("TENURE_STATE_DIR is {folder}, which is no absolute path"),
                "set TENURE_STATE_DIR to an absolute path, or unset it",
            ));
        }
        return Ok(setting(PathBuf::from(folder), "TENURE_STATE_DIR"));
    }
    if let Some(folder) = given(variable, "XDG_STATE_HOME").filter(|folder| folder.starts_with('/')) {
        return Ok(setting(Path::new(&folder).join("tenure"), "XDG_STATE_HOME"));
    }
    let home = given(variable, "HOME").ok_or_else(|| {
        Failure::cannot_tell(
            "HOME is not set, so there is no state folder",
            "set TENURE_STATE_DIR to a folder of yours",
        )
    })?;
    Ok(setting(Path::new(&home).join(".local/state/tenure"), "default"))
}

/// The configured server, if there is one and `--local` does not overrule it.
pub fn server(wish: &Wish, variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<Setting>, Failure> {
    let setting = |value: String, origin: String| Some(Setting { name: "server", value, origin });
    if let Some(server) = &wish.server {
        return Ok(setting(server.clone(), "--server".to_owned()));
    }
    if wish.local {
        return Ok(None);
    }
    if let Some(server) = given(variable, "TENURE_SERVER") {
        return Ok(setting(server, "TENURE_SERVER".to_owned()));
    }
    let Some(path) = config_file(variable) else { return Ok(None) };
    let text = match private::read_text(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Failure::file("read", &path, &error)),
    };
    let config: Config = toml::from_str(&text).map_err(|error| {
        Failure::cannot_tell(
            format!("{} cannot be read: {}", path.display(), error.message()),
            format!("mend {}; its one setting is `server`", path.display()),
        )
    })?;
    Ok(config.server.and_then(|server| setting(server, path.display().to_string())))
}

/// The user's configuration file, whether or not it exists.
#[must_use]
pub fn config_file(variable: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let base = given(variable, "XDG_CONFIG_HOME").filter(|folder| folder.starts_with('/')).map(PathBuf::from);
    let base = base.or_else(|| given(variable, "HOME").map(|home| Path::new(&home).join(".config")))?;
    Some(base.join("tenure/config.toml"))
}

/// The folder of the store to use, or why it cannot be told.
pub fn store(wish: &Wish, variable: &dyn Fn(&str) -> Option<String>) -> Result<PathBuf, Failure> {
    if wish.local && wish.server.is_some() {
        return Err(Refusal::new(Code::InvalidInput, "--server and --local contradict each other")
            .next("give one of them")
            .into());
    }
    if let Some(server) = server(wish, variable)? {
        return Err(Failure::cannot_tell(
            format!(
                "{} names the server {}, and this version of tenure cannot use a server yet",
                server.origin, server.value
            ),
            format!(
                "remove the setting from {}, or say --local to mean the store of this machine",
                server.origin
            ),
        ));
    }
    Ok(PathBuf::from(state_folder(variable)?.value))
}

fn given(variable: &dyn Fn(&str) -> Option<String>, name: &str) -> Option<String> {
    variable(name).filter(|value| !value.is_empty())
}
