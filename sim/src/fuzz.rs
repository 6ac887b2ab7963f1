//! Inputs that nobody would send on purpose: committed examples first, then the same cut, spliced, doubled and filled
//! with what is known to hurt. Everything follows from a seed; a failure prints it, and the input.
//!
//! `TENURE_FUZZ_SECONDS` says how long a target is tried, `TENURE_FUZZ_SEED` repeats a run.

use std::path::Path;
use std::time::{Duration, Instant};

/// How long a target is tried unless the environment says otherwise.
const SECONDS: u64 = 3;
/// Most changes that are made to one example.
const CHANGES_MAX: u64 = 4;
/// An input never grows beyond this.
const BYTES_MAX: usize = 64 * 1024;

/// What hurts readers of text and JSON, and what hurts a terminal.
pub(crate) const TOKENS: &[&str] = &[
    "\0",
    "\\u0000",
    "\\ud800",
    "\u{1b}[2J",
    "\u{1b}]0;title\u{7}",
    "\u{9b}31m",
    "\u{202e}",
    "\u{2066}",
    "\u{200f}",
    "\u{feff}",
    "\u{2028}",
    "\u{200d}",
    "👩\u{200d}👧",
    "家",
    "e\u{301}\u{301}",
    "\r\n",
    "\n",
    "\t",
    "\"",
    "\\",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "null",
    "true",
    "-1",
    "0",
    "1e999",
    "9223372036854775808",
    "18446744073709551616",
    "0.1",
    "\"\"",
    "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
    "{\"a\":{\"a\":{\"a\":",
    "%00",
    "%ff",
    "../..",
    "' OR 1=1 --",
    "afc-1",
    "afc-0",
    "afc-99999999999999999999",
    "afc-1@1",
    "key",
    "💥",
];

/// Chance that can be repeated (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % end.max(1) as u64) as usize
    }
}

/// The committed examples of a target, in the order of their names.
#[must_use]
pub fn examples(folder: &Path) -> Vec<Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    files.sort();
    let examples: Vec<_> =
        files.iter().map(|file| std::fs::read(file).expect("it was just listed")).collect();
    assert!(!examples.is_empty(), "{} holds no examples", folder.display());
    examples
}

/// What the environment says of a number.
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// The seed of this run, which is printed.
#[must_use]
pub fn seed() -> u64 {
    let drawn = std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(1, |since| since.subsec_nanos().into());
    let seed = number("TENURE_FUZZ_SEED").unwrap_or(drawn);
    eprintln!("repeat with TENURE_FUZZ_SEED={seed}");
    seed
}

/// Goes on for a while with inputs that are drawn, and says with how many.
pub fn draw_for_a_while(mut draw: impl FnMut() -> Vec<u8>, mut try_one: impl FnMut(&[u8])) -> u64 {
    let limit = Duration::from_secs(number("TENURE_FUZZ_SECONDS").unwrap_or(SECONDS));
    let begun = Instant::now();
    let mut tried = 0;
    while begun.elapsed() < limit {
        told(&draw(), &mut try_one);
        tried += 1;
    }
    tried
}

/// Tries all examples and then changed ones for a while, and says how many.
pub fn try_for_a_while(examples: &[Vec<u8>], mut try_one: impl FnMut(&[u8])) -> u64 {
    let mut random = Random(seed());
    examples.iter().for_each(|example| told(example, &mut try_one));
    examples.len() as u64 + draw_for_a_while(|| changed(examples, &mut random), try_one)
}

fn told(input: &[u8], try_one: &mut impl FnMut(&[u8])) {
    let _telling = Telling(input);
    try_one(input);
}

/// Prints the input when trying it panics.
struct Telling<'a>(&'a [u8]);

impl Drop for Telling<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the input was {:?}", String::from_utf8_lossy(self.0));
        }
    }
}

fn changed(examples: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut input = examples[random.below(examples.len())].clone();
    for _ in 0..=random.below(CHANGES_MAX as usize) {
        change(&mut input, examples, random);
    }
    input.truncate(BYTES_MAX);
    input
}

/// One change: a bit, a token, a part taken out, doubled or taken from elsewhere, or a whole quoted text exchanged.
fn change(input: &mut Vec<u8>, examples: &[Vec<u8>], random: &mut Random) {
    let at = random.below(input.len() + 1);
    let end = (at + random.below(20)).min(input.len());
    let token = TOKENS[random.below(TOKENS.len())].as_bytes();
    match random.below(14) {
        0 if at < input.len() => input[at] ^= 1 << random.below(8),
        0 | 1 => drop(input.splice(at..at, token.iter().copied())),
        2 => drop(input.splice(at..end, token.iter().copied())),
        3 => drop(input.drain(at..end)),
        4 => input.truncate(at),
        5 => {
            let part = input[at..end].repeat(1 + random.below(50));
            input.splice(at..at, part);
        }
        6 => {
            let other = &examples[random.below(examples.len())];
            input.truncate(at);
            input.extend(&other[random.below(other.len() + 1)..]);
        }
        _ => exchange_quoted(input, token, random),
    }
}

/// Exchanges what stands between two quotes, so that the rest is still read.
fn exchange_quoted(input: &mut Vec<u8>, token: &[u8], random: &mut Random) {
    let quotes: Vec<usize> = (0..input.len()).filter(|at| input[*at] == b'"').collect();
    let pairs = quotes.len() / 2;
    if pairs > 0 {
        let pair = 2 * random.below(pairs);
        let token = token.repeat([1, 1, 1, 40][random.below(4)]);
        input.splice(quotes[pair] + 1..quotes[pair + 1], token);
    }
}
