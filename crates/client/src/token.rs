//! The token that a server knows this user by: one file for each server in the user's state folder, of this user alone.
//! Its name is the server's address, so a token never goes to another server.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::private;
use crate::server_url::ServerUrl;

/// The folder of the files, in the state folder.
const FOLDER: &str = "servers";
/// Most bytes of such a file.
const TOKEN_BYTES: usize = 4 * 1024;

/// A token. It is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Token {
    /// A token as an administrator was shown it. What is wrong with another text is told without a part of it.
    pub fn given(text: &str) -> Result<Self, String> {
        text.trim().parse::<tenure_core::token::Token>().map(|token| Self(token.as_str().to_owned()))
    }

    /// What stands in its place for a reporter.
    pub(crate) fn of_reporter(secret: &tenure_core::token::ReporterSecret) -> Self {
        Self(secret.as_str().to_owned())
    }

    /// The value of the header that carries it.
    pub(crate) fn header(&self) -> String {
        format!("Bearer {}", self.0)
    }
}

/// The file of the token for a server. Its first line is the token.
#[must_use]
pub fn file(state_folder: &Path, server: &ServerUrl) -> PathBuf {
    state_folder.join(FOLDER).join(server.file_name()).with_added_extension("token")
}

/// Keeps the token for a server, in place of one that was there.
pub fn keep(state_folder: &Path, server: &ServerUrl, token: &Token) -> Result<PathBuf, Failure> {
    let path = file(state_folder, server);
    private::create_folder(state_folder, private::CHANGE)?;
    private::create_folder(&state_folder.join(FOLDER), private::ANYTHING)?;
    let written = private::replace(&path, &format!("{}\n", token.0));
    written.map_err(|error| Failure::file("write", &path, &error))?;
    Ok(path)
}

/// Reads the token for a server, if there is one. A file that others can read is refused.
pub fn read(state_folder: &Path, server: &ServerUrl) -> Result<Option<Token>, Failure> {
    let path = file(state_folder, server);
    let found = match std::fs::symlink_metadata(&path) {
        Ok(found) => found,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Failure::file("look at", &path, &error)),
    };
    let is_own = found.uid() == rustix::process::geteuid().as_raw();
    if !is_own || found.mode() & private::ANYTHING != 0 {
        return Err(Failure::cannot_tell(
            format!("the token in {} is not this user's alone", path.display()),
            format!("if nobody else has read it: chmod 600 {}; else ask for another token", path.display()),
        ));
    }
    let bytes =
        private::read_own(&path, TOKEN_BYTES).map_err(|error| Failure::file("read", &path, &error))?;
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii();
    match std::str::from_utf8(line) {
        Ok(token) if !token.is_empty() && line.iter().all(u8::is_ascii_graphic) => {
            Ok(Some(Token(token.to_owned())))
        }
        _ => Err(Failure::cannot_tell(
            format!("the first line of {} is no token", path.display()),
            "write the token there as it was given to you, alone on the first line",
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_token_is_kept_for_this_user_alone_in_place_of_another() {
        let root = tempfile::tempdir().expect("a folder");
        let state = root.path().join("state");
        let server: ServerUrl = "https://tenure.example".parse().expect("an address");
        for seed in [1, 2] {
            let text = tenure_core::token::Token::of(tenure_core::token::TokenKind::Agent, [seed; 32]);
            let token = Token::given(&format!(" {}\n", text.as_str())).expect("a token");
            let path = keep(&state, &server, &token).expect("kept");
            assert_eq!(std::fs::metadata(&path).expect("there").mode() & 0o777, 0o600);
            assert_eq!(read(&state, &server), Ok(Some(token)));
            let all = std::fs::read_dir(path.parent().expect("a folder")).expect("there").count();
            assert_eq!(all, 1, "no draft is left");
        }
        let wrong = Token::given("tnr_agent_secretsecret").expect_err("cut");
        assert!(!wrong.contains("secret"), "{wrong}");
    }

    #[test]
    fn a_token_is_its_owners_alone_and_of_one_server() {
        let folder = tempfile::tempdir().expect("a folder");
        let server: ServerUrl = "https://tenure.example".parse().expect("an address");
        assert_eq!(read(folder.path(), &server), Ok(None));
        let path = file(folder.path(), &server);
        assert_eq!(path, folder.path().join("servers/https-tenure.example-443.token"));
        std::fs::create_dir(folder.path().join(FOLDER)).expect("created");
        std::fs::write(&path, "a-token\n").expect("written");
        let mode =
            |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("set");
        for open in [0o644, 0o640, 0o602] {
            mode(open);
            let failure = read(folder.path(), &server).expect_err("open");
            assert!(failure.to_string().contains("not this user's alone"), "{failure}");
        }
        mode(0o600);
        let token = read(folder.path(), &server).expect("read").expect("there");
        assert_eq!(token.header(), "Bearer a-token");
        assert!(!format!("{token:?}").contains("a-token"));
        let other: ServerUrl = "https://tenure.example:444".parse().expect("an address");
        assert_eq!(read(folder.path(), &other), Ok(None));
        for wrong in ["", "\n", "two words\n", "a\u{7}b"] {
            std::fs::write(&path, wrong).expect("written");
            read(folder.path(), &server).expect_err("no token");
        }
    }
}
