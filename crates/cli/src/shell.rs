//! Words as a shell reads them, for next steps that are typed as they stand.

use std::borrow::Cow;
use std::path::Path;

/// A word, quoted where a shell would read it otherwise.
pub fn word(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(format!("'{}'", text.replace('\'', r"'\''")))
    }
}

/// A path as such a word.
pub fn path(path: &Path) -> String {
    word(&path.to_string_lossy()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_back_what_was_meant() {
        for text in ["plain/path-1.x", "", "two words", "it's", "$HOME;`x`", "\u{5bb6}"] {
            let line = format!("printf %s {}", word(text));
            let output = std::process::Command::new("sh").args(["-c", &line]).output().expect("a shell");
            assert_eq!(String::from_utf8_lossy(&output.stdout), text);
        }
        assert_eq!(word("plain/path-1.x"), "plain/path-1.x");
    }
}
