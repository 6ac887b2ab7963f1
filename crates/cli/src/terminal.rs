//! What the terminal is like: how wide and tall, whether it shows colour, and whether somebody sits there. The one place
//! where that is decided; `tenure help output` tells the rules.

use std::io::IsTerminal;
use std::sync::OnceLock;

use clap::ValueEnum;
use clap::builder::PossibleValue;

/// The size of a terminal that does not say it.
const SIZE_DEFAULT: (usize, usize) = (80, 24);

/// Whether to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    Auto,
    Always,
    Never,
}

impl ValueEnum for Colour {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Auto, Self::Always, Self::Never]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            Self::Auto => {
                PossibleValue::new("auto").help("On a terminal, unless NO_COLOR or TERM=dumb is set")
            }
            Self::Always => PossibleValue::new("always"),
            Self::Never => PossibleValue::new("never"),
        })
    }
}

/// What a colour stands for. The words say the same.
#[derive(Debug, Clone, Copy)]
pub enum Style {
    /// What names the things below or behind it.
    Heading,
    /// What was looked for.
    Found,
    /// As it should be.
    Good,
    /// Not as it should be.
    Bad,
}

impl Style {
    /// The text in this style.
    pub fn paint(self, text: &str) -> String {
        let code = match self {
            Self::Heading | Self::Found => "1",
            Self::Good => "32",
            Self::Bad => "1;31",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

static CHOICE: OnceLock<Colour> = OnceLock::new();

/// Takes the choice of the command line.
pub fn choose(colour: Colour) {
    CHOICE.set(colour).ok();
}

fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty())
}

fn is_dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb")
}

/// Whether colour is shown there. As everywhere, NO_COLOR comes before CLICOLOR_FORCE, and what the command line says
/// before both.
fn is_coloured(place: &impl IsTerminal) -> bool {
    match CHOICE.get() {
        Some(Colour::Always) => true,
        Some(Colour::Never) => false,
        Some(Colour::Auto) | None => {
            let is_forced =
                std::env::var_os("CLICOLOR_FORCE").is_some_and(|value| !value.is_empty() && value != "0");
            !is_set("NO_COLOR") && (is_forced || (place.is_terminal() && !is_dumb()))
        }
    }
}

/// Whether what is written to standard output is coloured.
pub fn shows_colour() -> bool {
    is_coloured(&std::io::stdout())
}

/// Words for standard error, in a style where colour is shown there.
pub fn on_stderr(style: Style, text: &str) -> String {
    if is_coloured(&std::io::stderr()) { style.paint(text) } else { text.to_owned() }
}

/// How wide lines are to be: nothing where no terminal shows them. COLUMNS is what a person may set against the size that
/// the terminal tells.
pub fn width() -> Option<usize> {
    std::io::stdout().is_terminal().then(|| {
        let wished = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        wished.filter(|columns| *columns > 0).unwrap_or_else(|| size().0)
    })
}

/// Columns and rows of the terminal.
pub fn size() -> (usize, usize) {
    let told = terminal_size::terminal_size();
    told.map_or(SIZE_DEFAULT, |(width, height)| (usize::from(width.0), usize::from(height.0)))
}

/// Whether a person reads along: standard output is a terminal that can do more than print, and neither a continuous
/// integration nor a known harness has opened it.
pub fn has_reader(is_harness: impl FnOnce() -> bool) -> bool {
    std::io::stdout().is_terminal()
        && std::io::stdin().is_terminal()
        && !is_dumb()
        && !is_set("CI")
        && !is_harness()
}
