//! The project key that a folder's name suggests, and whether a checkout can be bound to a project at all.

use std::path::Path;

use tenure_client::repository::Checkout;
use tenure_core::model::ids::ProjectKey;
use tenure_core::model::limits::{LINE_BYTES, check_line};

use crate::stop::{Stop, usage};

/// Most characters of a key.
const KEY_CHARACTERS: usize = 16;

/// The key that the top of a checkout suggests, if its name has what a key needs.
pub fn suggested(top: &Path) -> Option<ProjectKey> {
    let name = top.file_name()?.to_string_lossy().to_lowercase();
    let plain: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let key = plain.trim_matches(|c: char| c == '-' || c.is_ascii_digit());
    let short: String = key.chars().take(KEY_CHARACTERS).collect();
    short.trim_end_matches('-').parse().ok()
}

/// The surest name of a checkout's repository that a project can be bound to.
pub fn bindable(checkout: &Checkout) -> Result<&str, Stop> {
    let plain = checkout.identities.iter().find(|name| check_line("repository", name).is_ok());
    plain.map(String::as_str).ok_or_else(|| {
        let what = format!(
            "{} can be bound to no project: the path of its Git directory is no text, has a control character or \
             has more than {LINE_BYTES} bytes",
            checkout.top.display()
        );
        usage(what, UNBINDABLE)
    })
}

/// What to do where a checkout cannot be bound.
const UNBINDABLE: &str = "name projects with --project KEY (`tenure project create KEY` makes one), or give the folder \
    a short plain path";

/// What to do in a checkout that is bound to no project.
pub fn next_step(checkout: &Checkout) -> String {
    if bindable(checkout).is_ok() { init_command(&checkout.top) } else { UNBINDABLE.to_owned() }
}

/// The command that binds a checkout, to be typed as it stands where the folder's name allows.
fn init_command(top: &Path) -> String {
    format!("tenure init {}", suggested(top).as_ref().map_or("KEY", ProjectKey::as_str))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_s_name_becomes_a_key() {
        for (name, key) in [
            ("tenure", "tenure"),
            ("My.Repo", "my-repo"),
            ("2048-game", "game"),
            ("release-2", "release"),
            ("a-very-long-folder-name", "a-very-long-fold"),
        ] {
            assert_eq!(suggested(&Path::new("/src").join(name)).expect("a key").as_str(), key);
        }
        assert_eq!(suggested(Path::new("/src/\u{5bb6}")), None);
        assert_eq!(suggested(Path::new("/")), None);
    }

    #[test]
    fn the_command_is_whole_where_it_can_be() {
        assert_eq!(init_command(Path::new("/src/afc")), "tenure init afc");
        assert_eq!(init_command(Path::new("/src/2048")), "tenure init KEY");
    }
}
