//! What sessions are derived from of those who call tools by the socket. The operating system vouches for them and they
//! bring no secret, so the server keeps one beside its store, in a file of its user alone. Who takes it away closes nobody's
//! session, and nobody can act as one that was opened before.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use tenure_core::caller_key::CallerKey;
use tenure_core::model::ids::Digest;
use tenure_core::model::refusal::{Code, Refusal};
use tenure_core::wire;

/// The key of the socket's callers; drawn when it is first asked for.
pub(super) fn of_socket(folder: &Path) -> Result<CallerKey, Refusal> {
    let path = folder.join(wire::CALLER_KEY);
    let kept = match std::fs::read_to_string(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            draw(&path).and_then(|()| std::fs::read_to_string(&path))
        }
        read => read,
    };
    let key = kept.ok().and_then(|text| text.trim().parse::<Digest>().ok());
    key.map(|Digest(bytes)| CallerKey::new(bytes)).ok_or_else(|| {
        Refusal::new(Code::CannotTell, "the secret of the socket's callers cannot be read beside the store")
            .next(format!("look at the file {} in the state folder, or take it away", wire::CALLER_KEY))
    })
}

/// Puts a new one in its place whole, unless somebody else was faster.
fn draw(path: &Path) -> std::io::Result<()> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)?;
    let draft = path.with_extension("draft");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    writeln!(file, "{}", Digest(bytes))?;
    file.sync_all()?;
    match std::fs::hard_link(&draft, path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        linked => linked,
    }
    .and_then(|()| std::fs::remove_file(&draft))
}
