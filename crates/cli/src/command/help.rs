//! `tenure help`: of a command, or a topic.

use serde_json::json;

use crate::context::Context;
use crate::stop::{Stop, usage};
use crate::topic::TOPICS;

/// Show help of a command, or a topic: exit-codes, sessions
#[derive(clap::Args)]
pub struct Help {
    /// The command's words, or the topic
    words: Vec<String>,
}

/// Shows it.
pub fn run(help: &Help, context: &Context, mut tree: clap::Command) -> Result<(), Stop> {
    if let [topic] = &help.words[..]
        && let Some((_, text)) = TOPICS.iter().find(|(name, _)| name == topic)
    {
        return context.print_value(&json!({ "help": text() }), &text());
    }
    tree.build();
    let mut command = &mut tree;
    for word in &help.words {
        command = command.find_subcommand_mut(word).ok_or_else(|| {
            let topics: Vec<&str> = TOPICS.iter().map(|(name, _)| *name).collect();
            usage(
                format!("there is no command or topic `{word}`"),
                format!("`tenure help` lists the commands; topics: {}", topics.join(", ")),
            )
        })?;
    }
    let text = command.render_long_help().to_string();
    context.print_value(&json!({ "help": text }), &text)
}
