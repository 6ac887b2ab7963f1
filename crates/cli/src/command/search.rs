//! Finding work again.

use clap::Args;
use schemars::SchemaGenerator;
use tenure_core::operation::search;

use crate::context::Context;
use crate::render::{Page, Show};
use crate::stop::Stop;

// Its help is the operation's own comment, which a doc comment here would replace.
#[derive(Args)]
#[group(skip)]
#[command(after_help = "Examples:\n  \
    tenure search parser crash\n  \
    tenure search \"src/main.rs panics\" --lifecycle open\n  \
    tenure search parser --everywhere -- -flaky\n\n\
    A shell takes quotes away; for words side by side put others around them: '\"exact words\"'.\n\
    In a checkout that is bound to a project only that one is searched; elsewhere all of them are.")]
pub struct Search {
    /// What to look for: words, "words side by side", and -words that must not be there
    #[arg(required = true, value_name = "WORDS")]
    words: Vec<String>,
    #[command(flatten)]
    search: search::Search,
    /// In every project, also where a checkout is bound to one
    #[arg(long, conflicts_with = "project")]
    everywhere: bool,
}

/// Searches.
pub fn run(command: Search, context: &Context) -> Result<(), Stop> {
    let mut search = search::Search { query: command.words.join(" "), ..command.search };
    let mut is_narrowed = false;
    if search.project.is_none() && !command.everywhere {
        let binding = context.checkout().map(|checkout| context.binding(&checkout)).transpose()?;
        search.project = binding.flatten().map(|binding| binding.project);
        is_narrowed = search.project.is_some();
    }
    context.check_fields(SchemaGenerator::subschema_for::<search::FoundList>)?;
    let answered = context.call(&search)?;
    let mut page = Page::new();
    answered.value.show(&mut page);
    if is_narrowed && answered.value.tasks.is_empty() {
        page.field("next", &format!("`{}` looks in all projects", page.also("--everywhere")));
    }
    context.print_as(&answered, &page.finish())
}
