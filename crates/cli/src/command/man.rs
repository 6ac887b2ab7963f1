//! `tenure man`: the help of every command as pages for `man`.

use std::path::{Path, PathBuf};

use clap_mangen::Man as Page;
use schemars::JsonSchema;
use serde::Serialize;
use tenure_client::failure::Failure;
use tenure_core::model::limits::counted;

use crate::context::Context;
use crate::stop::{Stop, usage};

/// Write the help of every command as a page for `man`
///
/// For packages, and for whoever has only the program: `man -l FOLDER/tenure-claim.1` shows a page, and pages below
/// ~/.local/share/man/man1 are found by name.
#[derive(clap::Args)]
pub struct Man {
    /// The folder to write the pages into; it is created when it is missing
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// The words of one command, whose page is printed instead; `tenure` itself when absent
    #[arg(conflicts_with = "output")]
    words: Vec<String>,
}

/// What was written.
#[derive(Serialize, JsonSchema)]
struct Written<'a> {
    /// The folder.
    folder: &'a Path,
    /// The pages.
    pages: Vec<String>,
}

/// Prints one page, or writes them all.
pub fn run(man: &Man, context: &Context, mut tree: clap::Command) -> Result<(), Stop> {
    tree.build();
    let Some(folder) = &man.output else {
        let command = super::help::find(&tree, &man.words)?;
        let (name, text) = page(command);
        return context.print_value(&serde_json::json!({ "name": name, "page": text }), &text);
    };
    context.check_own::<Written<'_>>()?;
    std::fs::create_dir_all(folder).map_err(|error| {
        usage(format!("{} cannot be created: {error}", folder.display()), "name another folder with --output")
    })?;
    let mut pages = Vec::new();
    write_all(&tree, folder, &mut pages)?;
    let human = format!(
        "{} in {}",
        counted(pages.len() as u64, "page"),
        crate::render::plain::line(&folder.display().to_string())
    );
    context.print_own(&Written { folder, pages }, &human)
}

/// Writes the pages of a command and of those below it.
fn write_all(command: &clap::Command, folder: &Path, pages: &mut Vec<String>) -> Result<(), Stop> {
    let (name, text) = page(command);
    let file = folder.join(&name);
    std::fs::write(&file, text).map_err(|error| Failure::file("write", &file, &error))?;
    pages.push(name);
    let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
    shown.into_iter().try_for_each(|command| write_all(command, folder, pages))
}

/// The file of a command's page and its text.
fn page(command: &clap::Command) -> (String, String) {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    let command = command.clone().version(env!("CARGO_PKG_VERSION"));
    let source = concat!("tenure ", env!("CARGO_PKG_VERSION"));
    let page = Page::new(command).title(name.to_uppercase()).source(source).manual("Tenure");
    let mut text = Vec::new();
    page.render(&mut text).expect("a page is written into memory");
    (format!("{name}.1"), in_ascii(&String::from_utf8_lossy(&text)))
}

/// The page for every locale: groff takes other bytes than ASCII for Latin-1.
fn in_ascii(page: &str) -> String {
    let mut text = String::with_capacity(page.len());
    for c in page.chars() {
        match c {
            c if c.is_ascii() => text.push(c),
            c => text.push_str(&format!("\\[u{:04X}]", u32::from(c))),
        }
    }
    text
}
