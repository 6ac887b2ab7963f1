//! The user's configuration file with another server in it: what else stands there stays as it is.

use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::place::Config;
use crate::private;
use crate::server_url::ServerUrl;

/// A text that the file is to have.
pub struct Draft {
    file: PathBuf,
    /// Absent where the file says it already.
    text: Option<String>,
}

/// What the file is to say so that this server is the default. It is read again as it would be, before anything is written.
pub fn with_server(file: &Path, server: &ServerUrl, authorities: Option<&Path>) -> Result<Draft, Failure> {
    let before = match private::read_text(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(Failure::file("read", file, &error)),
    };
    let mut text = set(&before, "server", &server.to_string());
    if let Some(authorities) = authorities {
        text = set(&text, "ca_file", &authorities.to_string_lossy());
    }
    let wanted = |config: &Config| {
        config.server.as_deref() == Some(&*server.to_string())
            && authorities.is_none_or(|file| config.ca_file.as_deref() == Some(file))
    };
    if !toml::from_str(&text).is_ok_and(|config: Config| wanted(&config)) {
        return Err(Failure::cannot_tell(
            format!("{} cannot be changed without losing what stands there", file.display()),
            format!("write `server = \"{server}\"` there yourself, or say --no-default"),
        ));
    }
    Ok(Draft { file: file.to_owned(), text: (text != before).then_some(text) })
}

/// The text with a setting in the place of the one that it has, or at the end.
fn set(text: &str, name: &str, value: &str) -> String {
    let setting = format!("{name} = {}\n", toml::Value::from(value));
    let is_it = |line: &str| line.split_once('=').is_some_and(|(before, _)| before.trim() == name);
    let mut lines: Vec<String> = text.lines().map(|line| format!("{line}\n")).collect();
    match lines.iter().position(|line| is_it(line)) {
        Some(place) => lines[place] = setting,
        None => lines.push(setting),
    }
    lines.concat()
}

impl Draft {
    /// Puts it in the file's place, as a whole, and tells which file that is.
    pub fn write(self) -> Result<PathBuf, Failure> {
        let Some(text) = self.text else { return Ok(self.file) };
        let wrong = |error: std::io::Error| Failure::file("write", &self.file, &error);
        let folder = self.file.parent().unwrap_or(Path::new("/"));
        std::fs::create_dir_all(folder).map_err(wrong)?;
        private::replace(&self.file, &text).map_err(wrong)?;
        Ok(self.file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_else_stands_in_the_file_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("tenure/config.toml");
        let one: ServerUrl = "https://one.example".parse().expect("an address");
        let other: ServerUrl = "https://other.example".parse().expect("an address");
        let ca = Path::new("/etc/a \"strange\" name.pem");
        with_server(&file, &one, None).expect("it can be").write().expect("written");
        assert_eq!(std::fs::read_to_string(&file).expect("there"), "server = \"https://one.example\"\n");
        std::fs::write(&file, "# ours\nserver = \"https://one.example\" # until May\n").expect("written");
        with_server(&file, &other, Some(ca)).expect("it can be").write().expect("written");
        let text = std::fs::read_to_string(&file).expect("there");
        assert!(text.starts_with("# ours\nserver = \"https://other.example\"\nca_file = "), "{text}");
        assert!(
            with_server(&file, &other, Some(ca)).expect("it can be").text.is_none(),
            "it says so already"
        );
        for odd in ["[server]\na = 1\n", "server = \"\"\"\nhttps://one.example\"\"\"\n", "x = 1\n", "= ="] {
            std::fs::write(&file, odd).expect("written");
            assert!(with_server(&file, &other, None).is_err(), "{odd}");
            assert_eq!(std::fs::read_to_string(&file).expect("there"), odd);
        }
    }
}
