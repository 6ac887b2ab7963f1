//! What a command and its evaluator say to each other: a kind, a length, and so much text.

use std::io::{Read, Result, Write};

/// What is said. Towards the evaluator it is always text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Text that stands for itself.
    Text,
    /// A result that is printed as JSON.
    Json,
    /// All that was wanted is done.
    Done,
    /// Why it is not.
    Failed,
}

/// Each kind and its mark.
const MARKS: [(u8, Kind); 4] =
    [(b't', Kind::Text), (b'j', Kind::Json), (b'd', Kind::Done), (b'f', Kind::Failed)];

/// Why nothing more is heard.
#[derive(Debug, PartialEq, Eq)]
pub enum Unheard {
    /// The other side is gone.
    Gone,
    /// It says more than may be heard.
    TooMuch,
}

/// Says something.
pub fn say(to: &mut impl Write, kind: Kind, text: &str) -> Result<()> {
    let (mark, _) = MARKS.into_iter().find(|(_, known)| *known == kind).expect("every kind has a mark");
    let mut frame = Vec::with_capacity(text.len() + 9);
    frame.push(mark);
    frame.extend_from_slice(&(text.len() as u64).to_le_bytes());
    frame.extend_from_slice(text.as_bytes());
    to.write_all(&frame)
}

/// Hears what is said next. Text of more than so many bytes is not even read.
pub fn hear(from: &mut impl Read, bytes_max: usize) -> std::result::Result<(Kind, String), Unheard> {
    let mut head = [0; 9];
    from.read_exact(&mut head).map_err(|_| Unheard::Gone)?;
    let [mark, length @ ..] = head;
    let (_, kind) = MARKS.into_iter().find(|(known, _)| *known == mark).ok_or(Unheard::Gone)?;
    let bytes = usize::try_from(u64::from_le_bytes(length)).unwrap_or(usize::MAX);
    if bytes > bytes_max {
        return Err(Unheard::TooMuch);
    }
    let mut text = vec![0; bytes];
    from.read_exact(&mut text).map_err(|_| Unheard::Gone)?;
    String::from_utf8(text).map(|text| (kind, text)).map_err(|_| Unheard::Gone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_heard_and_what_is_too_long_is_not() {
        let mut said = Vec::new();
        say(&mut said, Kind::Json, "[1]").expect("a vector takes all");
        say(&mut said, Kind::Done, "").expect("a vector takes all");
        say(&mut said, Kind::Text, "four").expect("a vector takes all");
        let mut said = &said[..];
        assert_eq!(hear(&mut said, 3), Ok((Kind::Json, "[1]".to_owned())));
        assert_eq!(hear(&mut said, 3), Ok((Kind::Done, String::new())));
        assert_eq!(hear(&mut said, 3), Err(Unheard::TooMuch));
        assert_eq!(hear(&mut &b"t\x05\0\0\0\0\0\0\0four"[..], 9), Err(Unheard::Gone));
        assert_eq!(hear(&mut &b"?\0\0\0\0\0\0\0\0"[..], 9), Err(Unheard::Gone));
    }
}
