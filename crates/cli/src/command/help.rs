//! `tenure help`: of a command, a topic, or all commands at a glance.

use clap::Command;
use serde::Serialize;
use serde_json::json;
use tenure_core::model::limits::excerpt;

use crate::context::Context;
use crate::near;
use crate::render::Page;
use crate::render::wrap::wrapped;
use crate::stop::{Stop, usage};
use crate::terminal;
use crate::topic::TOPICS;

/// Show help of a command or a topic, or list every command
#[derive(clap::Args)]
pub struct Help {
    /// The command's words, or the topic
    words: Vec<String>,
    /// Every command with what it does, also those below another
    #[arg(long, conflicts_with = "words")]
    all: bool,
}

/// A command on a line of its own.
#[derive(Serialize)]
struct Line {
    command: String,
    about: String,
}

/// Shows it.
pub fn run(help: &Help, context: &Context, mut tree: Command) -> Result<(), Stop> {
    if let [topic] = &help.words[..]
        && let Some((_, text)) = TOPICS.iter().find(|(name, _)| name == topic)
    {
        let text = text();
        let shown = wrapped(&text, terminal::width());
        return context.print_value(&json!({ "help": text }), &shown);
    }
    tree.build();
    if help.all {
        let commands = all(&tree);
        let mut page = Page::new();
        let widest = commands.iter().map(|line| line.command.len()).max().unwrap_or_default();
        for Line { command, about } in &commands {
            page.line(&format!("{command:<widest$}  {about}"));
        }
        let shown = wrapped(&page.finish(), terminal::width());
        return context.print_value(&json!({ "commands": commands }), &shown);
    }
    let text = find(&tree, &help.words)?.clone().render_long_help().to_string();
    context.print_value(&json!({ "help": text }), &text)
}

/// The command that words name.
pub fn find<'a>(tree: &'a Command, words: &[String]) -> Result<&'a Command, Stop> {
    let mut command = tree;
    for (place, word) in words.iter().enumerate() {
        command = command.find_subcommand(word).ok_or_else(|| {
            let commands = command.get_subcommands().filter(|command| !command.is_hide_set());
            let topics = TOPICS.iter().map(|(name, _)| *name).filter(|_| place == 0);
            let known: Vec<&str> = commands.map(Command::get_name).chain(topics).collect();
            let near = near::names(word, known.iter().copied());
            let before: String = words[..place].iter().map(|word| format!("{word} ")).collect();
            let next = match near[..] {
                [] if place == 0 => {
                    let topics: Vec<&str> = TOPICS.iter().map(|(name, _)| *name).collect();
                    format!("`tenure help --all` lists the commands; topics: {}", topics.join(", "))
                }
                [] => format!("choose from: {}", known.join(", ")),
                [nearest, ..] => format!("tenure help {before}{nearest}"),
            };
            usage(format!("there is no command or topic `{before}{}`", excerpt(word)), next)
        })?;
    }
    Ok(command)
}

/// Every command that does something, with its words.
fn all(tree: &Command) -> Vec<Line> {
    fn below(command: &Command, before: &str, lines: &mut Vec<Line>) {
        for command in command.get_subcommands().filter(|command| !command.is_hide_set()) {
            let words = format!("{before}{}", command.get_name());
            if command.has_subcommands() {
                below(command, &format!("{words} "), lines);
            } else {
                let about = command.get_about().map(ToString::to_string).unwrap_or_default();
                lines.push(Line { command: words, about });
            }
        }
    }
    let mut lines = Vec::new();
    below(tree, "", &mut lines);
    lines
}
