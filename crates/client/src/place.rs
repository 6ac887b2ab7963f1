//! Where the coordinator is: a configured server, else the private store of this machine.
//!
//! A server that is configured but cannot be used never turns into the local store: whoever configured it would
//! write to the wrong place.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tenure_core::model::refusal::{Code, Refusal};

use crate::failure::Failure;
use crate::private;
use crate::server_url::ServerUrl;

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

/// What names a server that a person has typed the address of.
pub const TYPED: &str = "the command line";

/// What the command line says about the place.
#[derive(Debug, Clone, Default)]
pub struct Wish {
    /// `--server`.
    pub server: Option<String>,
    /// What names that server, if it is no option of that name.
    pub named_by: Option<&'static str>,
    /// The authorities that its certificate is checked against, if the command line says so.
    pub authorities: Option<PathBuf>,
    /// `--local`: mean the local store although a server is configured.
    pub local: bool,
}

/// The user's configuration file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    pub(crate) server: Option<String>,
    pub(crate) ca_file: Option<PathBuf>,
}

/// Where the coordinator is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// The store in this folder of this machine.
    Local(PathBuf),
    /// A server on the network.
    Server(Server),
}

/// A server that was named, and what this machine keeps for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Its address.
    pub url: ServerUrl,
    /// The flag, variable or file that names it.
    pub named_by: String,
    /// The authorities that its certificate is checked against, if they are not the system's.
    pub authorities: Option<Setting>,
    /// The state folder: the token and the sessions are there.
    pub folder: PathBuf,
}

/// What to do about an answer that was lost.
pub(crate) const AFTER_A_CUT: &str = "repeat the command; `tenure doctor` looks for the cause";

impl Server {
    /// The same for one on the network, which may speak otherwise than its address says.
    pub(crate) fn after_a_cut(&self) -> &'static str {
        if self.url.is_encrypted {
            return AFTER_A_CUT;
        }
        "repeat the command; if that port speaks TLS, its address begins with https://"
    }
}

impl Place {
    /// The state folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        match self {
            Self::Local(folder) => folder,
            Self::Server(server) => &server.folder,
        }
    }
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
        return Ok(setting(server.clone(), wish.named_by.unwrap_or("--server").to_owned()));
    }
    if wish.local {
        return Ok(None);
    }
    if let Some(server) = given(variable, "TENURE_SERVER") {
        return Ok(setting(server, "TENURE_SERVER".to_owned()));
    }
    let Some((path, config)) = config(variable)? else { return Ok(None) };
    Ok(config.server.and_then(|server| setting(server, path.display().to_string())))
}

/// The file of authorities that servers' certificates are checked against, if it is not the system's.
pub fn authorities(
    wish: &Wish,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<Setting>, Failure> {
    let setting = |value: String, origin: String| Some(Setting { name: "ca_file", value, origin });
    if let Some(file) = &wish.authorities {
        return Ok(setting(file.to_string_lossy().into_owned(), "--ca".to_owned()));
    }
    if let Some(file) = given(variable, "TENURE_CA_FILE") {
        return Ok(setting(file, "TENURE_CA_FILE".to_owned()));
    }
    let Some((path, config)) = config(variable)? else { return Ok(None) };
    let Some(file) = config.ca_file else { return Ok(None) };
    // Named in a file, it is beside that file, wherever a command is given.
    let file = path.parent().unwrap_or(&path).join(file);
    Ok(setting(file.to_string_lossy().into_owned(), path.display().to_string()))
}

/// The user's configuration, if there is one.
fn config(variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<(PathBuf, Config)>, Failure> {
    let Some(path) = config_file(variable) else { return Ok(None) };
    let text = match private::read_text(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Failure::file("read", &path, &error)),
    };
    match toml::from_str(&text) {
        Ok(config) => Ok(Some((path, config))),
        Err(error) => Err(Failure::cannot_tell(
            format!("{} cannot be read: {}", path.display(), error.message()),
            format!("mend {}; its settings are `server` and `ca_file`", path.display()),
        )),
    }
}

/// The user's configuration file, whether or not it exists.
#[must_use]
pub fn config_file(variable: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let base = given(variable, "XDG_CONFIG_HOME").filter(|folder| folder.starts_with('/')).map(PathBuf::from);
    let base = base.or_else(|| given(variable, "HOME").map(|home| Path::new(&home).join(".config")))?;
    Some(base.join("tenure/config.toml"))
}

/// Where the coordinator is, or why it cannot be told.
pub fn find(wish: &Wish, variable: &dyn Fn(&str) -> Option<String>) -> Result<Place, Failure> {
    if wish.local && wish.server.is_some() {
        return Err(Refusal::new(Code::InvalidInput, "--server and --local contradict each other")
            .next("give one of them")
            .into());
    }
    let folder = PathBuf::from(state_folder(variable)?.value);
    let Some(server) = server(wish, variable)? else { return Ok(Place::Local(folder)) };
    let url = server.value.parse().map_err(|rule| {
        Failure::cannot_tell(
            format!("{} names the server {:?}: {rule}", server.origin, server.value),
            ways_out(&server.origin),
        )
    })?;
    let authorities = authorities(wish, variable)?;
    Ok(Place::Server(Server { url, named_by: server.origin, authorities, folder }))
}

/// The folder of this machine's own store, for what is done to that one, or why it cannot be told.
pub fn store(wish: &Wish, variable: &dyn Fn(&str) -> Option<String>) -> Result<PathBuf, Failure> {
    match find(wish, variable)? {
        Place::Local(folder) => Ok(folder),
        Place::Server(Server { url, named_by, .. }) => Err(Failure::cannot_tell(
            format!("{named_by} names the server {url}, and this command is about a store of this machine"),
            "say --local to mean the store of this machine, or give the command where the server runs",
        )),
    }
}

/// What to do about a server that cannot be used, by what names it.
pub(crate) fn ways_out(named_by: &str) -> String {
    if named_by == TYPED {
        return "correct the URL, or try again when the server is there; nothing was changed".to_owned();
    }
    format!("correct what {named_by} says, or say --local to mean the store of this machine")
}

fn given(variable: &dyn Fn(&str) -> Option<String>, name: &str) -> Option<String> {
    variable(name).filter(|value| !value.is_empty())
}
