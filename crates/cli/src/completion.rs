//! What a shell asks for when somebody presses the tab key: the words of the tree of commands, and the names that the
//! coordinator knows. A completion is no command: it starts nothing, writes nothing but candidates, keeps nothing, and
//! gives up soon where nobody answers.
//!
//! The engine and the scripts of the shells are clap's. It is pinned, because it may still change.

use std::any::TypeId;
use std::ffi::{OsStr, OsString};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use clap::{Arg, Command, ValueHint};
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter};
use tenure_client::call::Client;
use tenure_client::place::{self, Wish};
use tenure_client::repository;
use tenure_core::model::glyphs::is_ignorable;
use tenure_core::model::ids::{PrincipalName, ProjectKey, TaskId};
use tenure_core::model::limits::{COMPLETION_MS, COMPLETIONS, PAGE_ROWS, counted};
use tenure_core::model::task::Lifecycle;
use tenure_core::operation::catalog;
use tenure_core::operation::label::ListLabels;
use tenure_core::operation::project::ResolveProject;
use tenure_core::operation::session::{ListSessions, SessionView};
use tenure_core::operation::task::ListTasks;

use crate::environment::variable;
use crate::projects::every;
use crate::render::{cut, plain};
use crate::topic::TOPICS;

/// In this variable a shell's script says that it wants candidates, and for which shell.
pub const VARIABLE: &str = "TENURE_COMPLETE";
/// How much of a title stands beside a task's id, where a shell shows it.
const TITLE_COLUMNS: usize = 50;

/// A name and what it is.
type Name = (String, String);

/// Answers a shell, if it is one that asks.
pub fn answer(words: &[OsString], tree: impl Fn() -> Command) -> Option<ExitCode> {
    let folder = std::env::current_dir().ok();
    let named = || with_names(tree());
    let asked = CompleteEnv::with_factory(named).var(VARIABLE).try_complete(words, folder.as_deref());
    match asked {
        Ok(true) => Some(ExitCode::SUCCESS),
        Ok(false) => None,
        // Whatever went wrong, words on standard error would stand in the middle of what somebody types.
        Err(_) => Some(ExitCode::FAILURE),
    }
}

/// The tree with the names that only the coordinator knows.
fn with_names(mut tree: Command) -> Command {
    tree.build();
    let topics = topics(&tree);
    named(tree, &topics)
}

fn named(command: Command, topics: &[Name]) -> Command {
    let name = command.get_name().to_owned();
    command
        .mut_args(|argument| with_candidates(argument, &name, topics))
        .mut_subcommands(|command| named(command, topics))
}

fn with_candidates(argument: Arg, command: &str, topics: &[Name]) -> Arg {
    let is = |kind: TypeId| argument.get_value_parser().type_id() == kind;
    let source: fn(&mut Found) = match (argument.get_id().as_str(), command) {
        ("task", _) => tasks,
        ("label" | "labels", _) => labels,
        ("session_name", _) => session_names,
        ("session", "show") => session_handles,
        ("operation", "call") => operations,
        ("words", "help") => {
            let topics = topics.to_vec();
            return argument.add(ArgValueCompleter::new(move |typed: &OsStr| {
                let topics = topics.clone();
                candidates(typed, move |found| {
                    topics.iter().all(|(name, what)| found.offer(name, what));
                })
            }));
        }
        (_, _) if is(TypeId::of::<TaskId>()) => tasks,
        (_, _) if is(TypeId::of::<ProjectKey>()) => projects,
        (_, _) if is(TypeId::of::<PrincipalName>()) => session_names,
        (_, _) => return with_files(argument),
    };
    argument.add(ArgValueCompleter::new(move |typed: &OsStr| candidates(typed, source)))
}

/// Files by the words of the same rule as all names: what a repository calls its files is somebody else's text too.
fn with_files(argument: Arg) -> Arg {
    let files = match argument.get_value_hint() {
        ValueHint::AnyPath => PathCompleter::any(),
        ValueHint::FilePath => PathCompleter::file(),
        ValueHint::DirPath => PathCompleter::dir(),
        // open set: the hints are clap's.
        _ => return argument,
    };
    argument.add(ArgValueCompleter::new(move |typed: &OsStr| {
        let mut found = files.complete(typed);
        found.retain(|candidate| candidate.get_value().to_str().is_some_and(is_inert));
        found
    }))
}

/// Whether a word means itself in every shell wherever it is put. Most of the scripts put a candidate into the line as
/// it is, so whatever a shell would expand, run, split or take for an option is not offered.
fn is_inert(word: &str) -> bool {
    let means_itself = |c: char| (c.is_alphanumeric() && !is_ignorable(c)) || "_./-:+=@".contains(c);
    word.starts_with(|c: char| c.is_alphanumeric() || "_./".contains(c)) && word.chars().all(means_itself)
}

/// What a source has found until its time was up, as far as it continues what was typed.
fn candidates(typed: &OsStr, source: impl FnOnce(&mut Found) + Send + 'static) -> Vec<CompletionCandidate> {
    let Some(typed) = typed.to_str().map(str::to_owned) else { return Vec::new() };
    let deadline = Instant::now() + Duration::from_millis(COMPLETION_MS);
    let (sender, names): (SyncSender<Name>, Receiver<Name>) = sync_channel(COMPLETIONS as usize);
    std::thread::spawn(move || source(&mut Found { typed, sender, left: COMPLETIONS }));
    let next = || names.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok();
    std::iter::from_fn(next)
        .map(|(name, what)| CompletionCandidate::new(name).help((!what.is_empty()).then(|| what.into())))
        .collect()
}

/// Where a source puts what it finds.
struct Found {
    typed: String,
    sender: SyncSender<Name>,
    left: u32,
}

impl Found {
    /// Takes a name if it continues what was typed and can be put into a line as it is, and says whether more are wanted.
    fn offer(&mut self, name: &str, what: &str) -> bool {
        if name.starts_with(&self.typed) && is_inert(name) && self.left > 0 {
            self.left -= 1;
            let what = cut(&plain::line(what), TITLE_COLUMNS);
            return self.sender.send((name.to_owned(), what)).is_ok() && self.left > 0;
        }
        self.left > 0
    }
}

/// A caller that starts no daemon and says nothing.
fn client() -> Option<Client> {
    let place = place::find(&Wish::default(), &variable).ok()?;
    Client::at(&place, None, Box::new(|_| ())).ok()
}

/// The project that a task's beginning names, else the one that this checkout is bound to.
fn project(typed: &str, client: &Client) -> Option<ProjectKey> {
    if let Some((key, _)) = typed.rsplit_once('-')
        && let Ok(key) = key.parse()
    {
        return Some(key);
    }
    bound(client)
}

/// The project that this checkout is bound to.
fn bound(client: &Client) -> Option<ProjectKey> {
    let checkout = repository::checkout(&std::env::current_dir().ok()?)?;
    let question = ResolveProject { repositories: checkout.identities, folder: checkout.folder };
    Some(client.call(&question, None).ok()?.value.binding.project)
}

/// Tasks that are not finished, with their titles.
fn tasks(found: &mut Found) {
    let Some(client) = client() else { return };
    let Some(project) = project(&found.typed, &client) else { return };
    for lifecycle in [Lifecycle::Open, Lifecycle::Planned] {
        let mut cursor = None;
        loop {
            let question = ListTasks {
                project: project.clone(),
                lifecycle: Some(lifecycle),
                labels: Vec::new(),
                archived: false,
                limit: Some(PAGE_ROWS),
                cursor,
            };
            let Ok(page) = client.call(&question, None) else { return };
            if !page.value.tasks.iter().all(|task| found.offer(&task.id.to_string(), &task.title)) {
                return;
            }
            cursor = page.value.cursor;
            if cursor.is_none() {
                break;
            }
        }
    }
}

/// The labels of this checkout's project, with how much has each.
fn labels(found: &mut Found) {
    let Some(client) = client() else { return };
    let Some(project) = bound(&client) else { return };
    let mut cursor = None;
    loop {
        let question = ListLabels { project: project.clone(), limit: Some(PAGE_ROWS), cursor };
        let Ok(page) = client.call(&question, None) else { return };
        let offered = page.value.labels.iter().all(|label| {
            let unfinished = counted(label.unfinished, "unfinished task");
            found.offer(&label.label, &unfinished)
        });
        cursor = page.value.cursor.filter(|_| offered);
        if cursor.is_none() {
            return;
        }
    }
}

fn projects(found: &mut Found) {
    let Some(client) = client() else { return };
    // Those that were found before a question failed are offered.
    every(&client, &mut |project| found.offer(project.key.as_str(), &project.name)).ok();
}

fn session_names(found: &mut Found) {
    sessions().iter().all(|session| found.offer(session.name.as_str(), ""));
}

fn session_handles(found: &mut Found) {
    sessions().iter().all(|session| found.offer(&session.handle.to_string(), session.name.as_str()));
}

fn sessions() -> Vec<SessionView> {
    let listed =
        client().and_then(|client| client.call(&ListSessions { limit: Some(COMPLETIONS) }, None).ok());
    listed.map(|list| list.value.sessions).unwrap_or_default()
}

fn operations(found: &mut Found) {
    catalog::entries().iter().all(|entry| found.offer(entry.spec.name, ""));
}

/// The topics of the help, and the commands that have a help of their own.
fn topics(tree: &Command) -> Vec<Name> {
    let topics = TOPICS.iter().map(|(name, _)| ((*name).to_owned(), "a topic".to_owned()));
    let commands = tree.get_subcommands().filter(|command| !command.is_hide_set());
    let about = |command: &Command| command.get_about().map(ToString::to_string).unwrap_or_default();
    topics.chain(commands.map(|command| (command.get_name().to_owned(), about(command)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_means_itself_in_every_shell_is_offered() {
        for word in ["afc-1", "area:ui", "v1.2+rc=3", "team@home", ".net", "_x", "src/a.rs", "家", "größe"]
        {
            assert!(is_inert(word), "{word}");
        }
        let harmful = " \t\n\r\\\"'`$&|;<>(){}[]*?!#~^%,\u{0}\u{1b}\u{9b}\u{7f}\u{a0}\u{2028}\u{202e}\u{2018}\u{201d}\u{3164}";
        for c in harmful.chars() {
            for word in [format!("{c}a"), format!("a{c}"), format!("a{c}b")] {
                assert!(!is_inert(&word), "{word:?}");
            }
        }
        for word in ["", "-rf", "--all", "=ls", "@args", ":x", "+x"] {
            assert!(!is_inert(word), "{word}: a shell or `tenure` takes its beginning for something else");
        }
    }
}
