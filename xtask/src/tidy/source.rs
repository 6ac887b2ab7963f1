//! Rust text as the rules need it: each line's code without comments and without the contents of strings, the
//! comment beside it, and whether it belongs to a test. An approximation that holds for formatted source.

/// One line.
#[derive(Default)]
pub struct Line {
    /// The line without comments; strings and characters are emptied.
    pub code: String,
    /// The text of the comments on it.
    pub comment: String,
    /// Whether it belongs to a test.
    pub test: bool,
}

/// The lines of a Rust file.
pub struct Source {
    /// From the first.
    pub lines: Vec<Line>,
}

#[derive(Clone, Copy)]
enum State {
    Code,
    LineComment,
    BlockComment(usize),
    Text,
    RawText(usize),
}

impl Source {
    /// Reads a file; `test` says that all of it is test.
    pub fn read(text: &str, test: bool) -> Self {
        let mut source = Self { lines: scan(text) };
        if test {
            source.lines.iter_mut().for_each(|line| line.test = true);
        } else {
            source.mark_tests();
        }
        source
    }

    /// The lines of product code, numbered from 1.
    pub fn product(&self) -> impl Iterator<Item = (usize, &Line)> {
        self.numbered().filter(|(_, line)| !line.test)
    }

    /// All lines, numbered from 1.
    pub fn numbered(&self) -> impl Iterator<Item = (usize, &Line)> {
        self.lines.iter().enumerate().map(|(index, line)| (index + 1, line))
    }

    /// The lines of product code in which a text occurs once white space is taken out, so that a chain of calls is
    /// found however it was wrapped.
    pub fn product_lines_with(&self, squeezed: &str) -> Vec<usize> {
        let mut text = String::new();
        let mut numbers = Vec::new();
        for (number, line) in self.product() {
            for character in line.code.chars().filter(|character| !character.is_whitespace()) {
                text.push(character);
                numbers.extend(std::iter::repeat_n(number, character.len_utf8()));
            }
        }
        text.match_indices(squeezed).map(|(start, found)| numbers[start + found.len() - 1]).collect()
    }

    /// Whether the line, or the unbroken comment above it, carries a comment that begins like this.
    pub fn explained(&self, number: usize, beginning: &str) -> bool {
        let says = |line: &Line| line.comment.trim_start_matches(['/', '!', ' ']).starts_with(beginning);
        let above = self.lines[..number - 1].iter().rev();
        says(&self.lines[number - 1])
            || above.take_while(|line| line.code.trim().is_empty() && !line.comment.is_empty()).any(says)
    }

    /// Marks every item under `#[cfg(test)]`.
    fn mark_tests(&mut self) {
        let mut depth: Option<(usize, bool)> = None;
        for line in &mut self.lines {
            if depth.is_none() && line.code.trim_start().starts_with("#[cfg(test)]") {
                depth = Some((0, false));
            }
            let Some((mut open, mut entered)) = depth else { continue };
            line.test = true;
            for character in line.code.chars() {
                match character {
                    '{' => (open, entered) = (open + 1, true),
                    '}' => open = open.saturating_sub(1),
                    ';' if open == 0 => entered = true,
                    _ => {}
                }
            }
            depth = if entered && open == 0 { None } else { Some((open, entered)) };
        }
    }
}

fn scan(text: &str) -> Vec<Line> {
    let characters: Vec<char> = text.chars().collect();
    let mut lines = vec![Line::default()];
    let mut state = State::Code;
    let mut at = 0;
    while let Some(&character) = characters.get(at) {
        let next = characters.get(at + 1).copied();
        let line = lines.last_mut().expect("it begins with one line");
        if character == '\n' {
            if matches!(state, State::LineComment) {
                state = State::Code;
            }
            lines.push(Line::default());
            at += 1;
            continue;
        }
        let mut width = 1;
        match state {
            State::Code => match (character, next) {
                ('/', Some('/')) => (state, width) = (State::LineComment, 2),
                ('/', Some('*')) => (state, width) = (State::BlockComment(1), 2),
                ('"', _) => {
                    line.code.push('"');
                    state = State::Text;
                }
                ('r', Some('"' | '#')) if raw_hashes(&characters[at + 1..]).is_some() => {
                    let hashes = raw_hashes(&characters[at + 1..]).unwrap_or(0);
                    line.code.push('"');
                    (state, width) = (State::RawText(hashes), hashes + 2);
                }
                ('\'', Some('\\')) => {
                    let rest = characters[at + 3..].iter().position(|&c| c == '\'');
                    line.code.push_str("''");
                    width = 4 + rest.unwrap_or(0);
                }
                ('\'', Some(_)) if characters.get(at + 2) == Some(&'\'') => {
                    line.code.push_str("''");
                    width = 3;
                }
                _ => line.code.push(character),
            },
            State::LineComment => line.comment.push(character),
            State::BlockComment(depth) => match (character, next) {
                ('*', Some('/')) if depth == 1 => (state, width) = (State::Code, 2),
                ('*', Some('/')) => (state, width) = (State::BlockComment(depth - 1), 2),
                ('/', Some('*')) => (state, width) = (State::BlockComment(depth + 1), 2),
                _ => line.comment.push(character),
            },
            State::Text => match character {
                // An escaped end of line is left for the next turn, which begins a line.
                '\\' => width = if next == Some('\n') { 1 } else { 2 },
                '"' => {
                    line.code.push('"');
                    state = State::Code;
                }
                _ => {}
            },
            State::RawText(hashes) => {
                let after = &characters[at + 1..];
                if character == '"' && after.iter().take_while(|&&c| c == '#').count() >= hashes {
                    line.code.push('"');
                    (state, width) = (State::Code, hashes + 1);
                }
            }
        }
        at += width;
    }
    lines
}

/// How many hashes stand between an `r` and the quote that begins a raw string; `None` if no raw string begins.
fn raw_hashes(after: &[char]) -> Option<usize> {
    let hashes = after.iter().take_while(|&&character| character == '#').count();
    (after.get(hashes) == Some(&'"')).then_some(hashes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> Vec<String> {
        scan(text).into_iter().map(|line| line.code).collect()
    }

    #[test]
    fn comments_and_the_contents_of_strings_are_no_code() {
        assert_eq!(code("a(\"x // y\"); // z"), ["a(\"\"); "]);
        assert_eq!(code("a /* b /* c */ d */ e"), ["a  e"]);
        assert_eq!(code("r#\"a \" b\"# c"), ["\"\" c"]);
        assert_eq!(code("'\"' '\\'' 'a' &'a str"), ["'' '' '' &'a str"]);
        assert_eq!(code("\"a\\\n  b\" c"), ["\"", "\" c"]);
        assert_eq!(scan("x // why").remove(0).comment, " why");
    }

    #[test]
    fn a_test_module_ends_where_its_braces_do() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\nfn c() {}\n#[cfg(test)]\nuse x;\nfn d() {}";
        let source = Source::read(text, false);
        let test: Vec<bool> = source.lines.iter().map(|line| line.test).collect();
        assert_eq!(test, [false, true, true, true, true, false, true, true, false]);
    }

    #[test]
    fn a_wrapped_chain_is_found_at_its_last_line() {
        let source = Source::read("set.attempts\n    .put(x)\n", false);
        assert_eq!(source.product_lines_with(".attempts.put("), [2]);
    }

    #[test]
    fn an_explanation_may_stand_beside_or_above() {
        let source = Source::read(
            "// waits because: the kernel does\n// (really)\na();\nb(); // waits because: c\nd();\n",
            false,
        );
        assert!(source.explained(3, "waits because:"));
        assert!(source.explained(4, "waits because:"));
        assert!(!source.explained(5, "waits because:"));
    }
}
