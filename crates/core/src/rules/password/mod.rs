//! Which passwords an account may have: long enough, and none that is tried first by whoever guesses.

use crate::model::ids::PrincipalName;
use crate::model::limits::{PASSWORD_BYTES_MAX, PASSWORD_BYTES_MIN};
use crate::model::refusal::Refusal;

/// One password a line, in lower case and in order; lines that begin with `#` say where they come from.
const COMMON: &str = include_str!("guessed_first.txt");
/// A password with fewer different characters is a pattern.
const DISTINCT_MIN: usize = 5;
/// So much must be left of a password when the person's name is taken out of it.
const BESIDE_NAME_BYTES: usize = 8;
/// The longest beginning that, said over and over, is a pattern whatever it is, in characters.
const PERIOD: usize = 4;

/// Refuses a password that is too short, too long, or guessed first.
pub fn check(name: &PrincipalName, password: &str) -> Result<(), Refusal> {
    let bytes = password.len();
    if !(PASSWORD_BYTES_MIN..=PASSWORD_BYTES_MAX).contains(&bytes) {
        let wrong = format!("has {bytes} bytes, not {PASSWORD_BYTES_MIN} to {PASSWORD_BYTES_MAX}");
        return Err(Refusal::field("password", &wrong, "take several words that do not belong together"));
    }
    let easy = |wrong: &str| {
        let remedy = "take several words that do not belong together, or have a password manager draw one";
        Err(Refusal::field("password", wrong, remedy))
    };
    let folded = password.to_lowercase();
    let words = folded.trim_matches(|c: char| !c.is_alphabetic());
    if is_common(&folded) || is_common(words) {
        return easy("is one of the commonest passwords, or one with digits or signs around it");
    }
    let mut distinct: Vec<char> = folded.chars().collect();
    distinct.sort_unstable();
    distinct.dedup();
    if distinct.len() < DISTINCT_MIN || is_repeated(&folded) {
        return easy("repeats itself");
    }
    if words.is_empty() {
        return easy("has no letters");
    }
    if folded.replace(&name.as_str().to_lowercase(), "").len() < BESIDE_NAME_BYTES {
        return easy("is hardly more than the person's name");
    }
    Ok(())
}

fn is_common(password: &str) -> bool {
    COMMON.lines().any(|line| line == password && !line.starts_with('#'))
}

/// Whether a text is its beginning over and over, and that is short or common.
fn is_repeated(folded: &str) -> bool {
    let characters: Vec<char> = folded.chars().collect();
    (1..=characters.len() / 2).any(|period| {
        let begins = characters.iter().skip(period).eq(&characters[..characters.len() - period]);
        let unit: String = characters[..period].iter().collect();
        begins && (period <= PERIOD || is_common(&unit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(password: &str) -> Option<String> {
        check(&"ada.lovelace".parse().expect("a name"), password).err().map(|refusal| refusal.detail)
    }

    #[test]
    fn a_password_has_12_to_1024_bytes() {
        let long = |bytes: usize| "correct horse staple battery ".repeat(40)[..bytes].to_owned();
        assert_eq!(wrong("correct hors"), None);
        assert_eq!(wrong("correct hor").as_deref(), Some("password has 11 bytes, not 12 to 1024"));
        assert_eq!(wrong(&long(1024)), None);
        assert_eq!(wrong(&long(1025)).as_deref(), Some("password has 1025 bytes, not 12 to 1024"));
        assert_eq!(wrong("ünglaubñch"), None, "bytes count, not characters");
    }

    #[test]
    fn what_is_guessed_first_is_refused() {
        for (password, why) in [
            ("1qaz2wsx3edc", "commonest"),
            ("QWERTY123456", "commonest"),
            ("password2026!", "commonest"),
            ("!!!football!!!", "commonest"),
            ("passwordpassword", "repeats"),
            ("abcabcabcabcabca", "repeats"),
            ("aaaabbbbaaaab", "repeats"),
            ("735218940613", "no letters"),
            ("ada.lovelace1", "name"),
            ("Ada.LovelaceADA.LOVELACE", "name"),
        ] {
            let wrong = wrong(password).unwrap_or_default();
            assert!(wrong.contains(why), "{password}: {wrong:?}");
        }
        for password in
            ["correct horse battery", "Grüße aus Gießen 7", "x9$kQ2!vLm4#", "ada.lovelace plus nine"]
        {
            assert_eq!(wrong(password), None, "{password}");
        }
    }

    #[test]
    fn the_list_is_in_lower_case_and_has_no_line_twice() {
        let words: Vec<&str> = COMMON.lines().filter(|line| !line.starts_with('#')).collect();
        assert!(words.len() > 2_000 && words.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(words.iter().all(|word| word.to_lowercase() == *word && word.trim() == *word));
    }
}
