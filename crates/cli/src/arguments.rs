//! The command line: one tree of commands, the same options everywhere.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use tenure_client::place::Wish;

use crate::command::{
    account, agent, audit, backup, blocker, call, commits, completion as completion_script, config, connect,
    demo, dependency, digest, doctor, export, help, import, init, instructions, keep, label, login, man, mcp,
    onboard, ownership, project, queue, record, restore, run, search, serve, session, start, store, task,
    token, version, wait, whoami,
};
use crate::completion;
use crate::context::Context;
use crate::interrupt;
use crate::jq::{self, Filter};
use crate::misuse;
use crate::screen::Screen;
use crate::stop::Stop;
use crate::terminal::{self, Colour};
use tenure_core::operation::whoami::WhoAmI;

/// The coordinator for fleets of coding agents
///
/// An agent holds a piece of work only while its lease is alive; one place decides who holds what, records what
/// happened, and can prove it. Without a command: what is ready here.
#[derive(Parser)]
#[command(name = "tenure", version, disable_help_subcommand = true, infer_long_args = false)]
#[command(after_help = "The loop: ready, claim, heartbeat, note, checkpoint, then close or handoff.\n\
    More: `tenure help exit-codes`, `tenure help sessions`, `tenure demo`.")]
pub struct Arguments {
    #[command(flatten)]
    options: Options,
    #[command(subcommand)]
    command: Option<Command>,
}

/// What every command takes.
#[derive(Args)]
struct Options {
    /// Answer in JSON; with names, only these fields of the rows
    #[arg(long, global = true, value_name = "FIELDS", num_args = 0..=1, require_equals = true,
          default_missing_value = "", value_delimiter = ',', display_order = 900)]
    json: Option<Vec<String>>,
    /// Answer with what this jq expression makes of the JSON: texts as they are, one result a line
    #[arg(long, global = true, value_name = "EXPR", display_order = 900)]
    jq: Option<String>,
    /// Call as this session, under a name of your own
    #[arg(id = "session_name", long = "session", global = true, value_name = "NAME", display_order = 901)]
    session: Option<String>,
    /// The server to use
    #[arg(long, global = true, value_name = "URL", display_order = 902)]
    server: Option<String>,
    /// Use the store of this machine although a server is configured
    #[arg(long, global = true, display_order = 903)]
    local: bool,
    /// Leave out remarks on standard error
    #[arg(long, short, global = true, display_order = 904)]
    quiet: bool,
    /// Leave out the pager that shows what is taller than the terminal
    #[arg(long, global = true, display_order = 905)]
    no_pager: bool,
    /// Whether to colour what is read by people
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_default_value = true,
        display_order = 906
    )]
    color: Colour,
}

// Only the command that was typed is built: the whole tree costs as much as a call.
#[derive(Subcommand)]
#[command(defer = true)]
enum Command {
    Ready(queue::Ready),
    Claim(Box<ownership::Claim>),
    #[command(alias = "hb")]
    Heartbeat(ownership::Heartbeat),
    Note(ownership::Note),
    Checkpoint(ownership::Checkpoint),
    #[command(name = "handoff")]
    HandOff(ownership::HandOff),
    Release(ownership::Release),
    Close(Box<ownership::Close>),
    Show(task::Show),
    Search(search::Search),
    Explain(queue::Explain),
    Next(queue::Next),
    Wait(wait::Wait),
    Run(Box<run::Run>),
    Keep(keep::Keep),
    #[command(hide = true)]
    KeepWatch(keep::watch::Watch),
    #[command(hide = true)]
    RunGuard(run::guard::Guard),
    #[command(hide = true)]
    RunStart(run::starter::Starter),
    #[command(hide = true)]
    JqEvaluate(jq::evaluator::Evaluate),
    Dispose(ownership::Dispose),
    Reconcile(ownership::Reconcile),
    Attempts(ownership::Attempts),
    History(record::History),
    /// Write tasks down, change them, end them without an attempt
    #[command(subcommand)]
    Task(Box<task::Command>),
    /// What tasks are marked with
    #[command(subcommand)]
    Label(label::Command),
    /// Say which tasks wait for which
    #[command(subcommand)]
    Dependency(dependency::Command),
    /// Say what else a task waits for
    #[command(subcommand)]
    Blocker(blocker::Command),
    /// Bodies of work, their policy, and the repositories bound to them
    #[command(subcommand)]
    Project(project::Command),
    /// People who prove who they are: their accounts, roles and passwords
    #[command(subcommand)]
    Account(account::Command),
    /// Tokens that agents and machines come with by the network
    #[command(subcommand)]
    Token(token::Command),
    /// Agents and machines on other workstations
    #[command(subcommand)]
    Agent(agent::Command),
    Connect(connect::Connect),
    Login(login::Login),
    #[command(name = "whoami")]
    WhoAmI(WhoAmI),
    /// Who works here
    #[command(subcommand)]
    Session(session::Command),
    Events(record::Events),
    Digest(digest::Digest),
    Commits(commits::Commits),
    Stats(record::Statistics),
    /// Check the record
    #[command(subcommand)]
    Audit(audit::Command),
    /// Keep a copy of the store
    #[command(subcommand)]
    Backup(backup::Command),
    Restore(restore::Restore),
    /// Move a whole store
    #[command(subcommand)]
    Store(store::Command),
    /// Write down all that is known about tasks
    #[command(subcommand)]
    Export(export::Command),
    /// Bring in another tracker's tasks, or another fleet's
    #[command(subcommand)]
    Import(import::Command),
    Init(init::Init),
    Instructions(instructions::Command),
    Mcp(mcp::Mcp),
    Onboard(onboard::Onboard),
    Demo(demo::Demo),
    Doctor(doctor::Doctor),
    Serve(serve::Serve),
    /// Where settings come from
    #[command(subcommand)]
    Config(config::Command),
    Call(call::Call),
    Completion(completion_script::Completion),
    Man(man::Man),
    Version(version::Version),
    Help(help::Help),
}

/// Reads what was typed. The tree gives every command a copy of every option that all of them take, which costs more
/// than a call; so first a tree is tried that has only the command which the words seem to name. What that one cannot
/// read, help among it, is left to the whole one.
pub fn read(words: &[OsString]) -> Result<Arguments, clap::Error> {
    let parsed = |tree: clap::Command| {
        tree.try_get_matches_from(words).and_then(|matches| Arguments::from_arg_matches(&matches))
    };
    if let Some(Ok(arguments)) = alone(words).map(parsed) {
        return Ok(arguments);
    }
    let whole = || {
        // A list of commands says what each is for.
        let mut tree = Arguments::command();
        tree.build();
        parsed(tree)
    };
    if words.iter().any(|word| word == "--help" || word == "-h") {
        return whole();
    }
    match parsed(Arguments::command()) {
        Err(error) if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => whole(),
        read => read,
    }
}

/// The tree with the one command that the first plain word names, if there is such a word and such a command.
fn alone(words: &[OsString]) -> Option<clap::Command> {
    let word = words.iter().skip(1).filter_map(|word| word.to_str()).find(|word| !word.starts_with('-'))?;
    let commands = Command::augment_subcommands(clap::Command::new("tenure"));
    let named = commands.find_subcommand(word)?.clone();
    Some(Options::augment_args(clap::Command::new("tenure").disable_help_subcommand(true)).subcommand(named))
}

/// Runs the command that was typed.
pub fn run(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    let words: Vec<OsString> = words.into_iter().collect();
    if std::env::var_os(completion::VARIABLE).is_some()
        && let Some(exit) = completion::answer(&words, Arguments::command)
    {
        return exit;
    }
    let (options, command) = match read(&words) {
        Ok(Arguments { options, command }) => (options, command),
        Err(error) => return misuse::end(error, Arguments::command(), &words),
    };
    terminal::choose(options.color);
    let mut screen = Screen::default();
    screen.json = options.json.map(|names| names.into_iter().filter(|name| !name.is_empty()).collect());
    screen.quiet = options.quiet;
    screen.unpaged = options.no_pager;
    if let Some(expression) = &options.jq {
        match Filter::read(expression) {
            Ok(filter) => screen.filter = Some(filter),
            Err(stop) => return screen.end(Err(stop)),
        }
        screen.json.get_or_insert_default();
    }
    let wish = Wish { server: options.server, local: options.local, ..Wish::default() };
    let context = Context::new(screen.clone(), options.session, wish);
    match command {
        Some(Command::Serve(serve)) => serve::run(serve, &context),
        Some(Command::Run(run)) => run::run(*run, &context),
        Some(Command::RunGuard(guard)) => run::guard::run(&guard, &context),
        Some(Command::RunStart(starter)) => run::starter::run(&starter, &context),
        Some(Command::KeepWatch(watch)) => keep::watch::run(&watch, &context),
        Some(Command::JqEvaluate(_)) => jq::evaluator::run(&context),
        command => {
            // The demo cleans up first when it is interrupted.
            if !matches!(command, Some(Command::Demo(_)))
                && let Err(error) = interrupt::ends_the_process()
            {
                screen.remark(&format!("tenure: an interrupt will not end with exit code 130: {error}"));
            }
            screen.end(dispatch(command, &context))
        }
    }
}

fn dispatch(command: Option<Command>, context: &Context) -> Result<(), Stop> {
    match command {
        None => start::run(context),
        Some(Command::Ready(ready)) => context.perform(&ready.resolve(context)?),
        Some(Command::Claim(claim)) => ownership::claim(*claim, context),
        Some(Command::Heartbeat(operation)) => context.perform_on(operation.resolve(context)?),
        Some(Command::Note(operation)) => context.perform_on(operation.resolve(context)?),
        Some(Command::Checkpoint(operation)) => context.perform_on(operation.resolve(context)?),
        Some(Command::HandOff(operation)) => context.perform_on(operation.resolve(context)?),
        Some(Command::Release(operation)) => context.perform_on(operation.resolve(context)?),
        Some(Command::Close(close)) => ownership::close(*close, context),
        Some(Command::Show(operation)) => context.perform_on(operation.resolve(context)?),
        Some(Command::Search(command)) => search::run(command, context),
        Some(Command::Explain(operation)) => context.perform_on(operation.resolve(context)?),
        Some(Command::Next(next)) => context.perform(&next.resolve(context)?),
        Some(Command::Wait(command)) => wait::run(command, context),
        Some(Command::Keep(command)) => keep::run(&command, context),
        Some(Command::Dispose(operation)) => context.perform_on(operation.resolve(context)?),
        Some(Command::Reconcile(operation)) => context.perform_on(operation.resolve(context)?),
        Some(Command::Attempts(operation)) => context.perform_on(operation.resolve(context)?),
        Some(Command::History(operation)) => context.perform_on(operation.resolve(context)?),
        Some(Command::Task(command)) => task::run(*command, context),
        Some(Command::Label(command)) => label::run(command, context),
        Some(Command::Dependency(command)) => dependency::run(command, context),
        Some(Command::Blocker(command)) => blocker::run(command, context),
        Some(Command::Project(command)) => project::run(command, context),
        Some(Command::Account(command)) => account::run(command, context),
        Some(Command::Token(command)) => token::run(command, context),
        Some(Command::Agent(command)) => agent::run(command, context),
        Some(Command::Connect(command)) => connect::run(&command, context),
        Some(Command::Login(command)) => login::run(&command, context),
        Some(Command::WhoAmI(operation)) => whoami::run(&operation, context),
        Some(Command::Session(command)) => session::run(command, context),
        Some(Command::Events(events)) => record::events(events, context),
        Some(Command::Digest(command)) => digest::run(command, context),
        Some(Command::Commits(command)) => commits::run(command, context),
        Some(Command::Stats(statistics)) => context.perform(&statistics),
        Some(Command::Audit(command)) => audit::run(command, context),
        Some(Command::Backup(command)) => backup::run(&command, context),
        Some(Command::Restore(restore)) => restore::run(&restore, context),
        Some(Command::Store(command)) => store::run(&command, context),
        Some(Command::Export(command)) => export::run(command, context),
        Some(Command::Import(command)) => import::run(&command, context),
        Some(Command::Init(init)) => init::run(init, context),
        Some(Command::Instructions(command)) => instructions::run(&command, context),
        Some(Command::Mcp(mcp)) => mcp::run(&mcp, context),
        Some(Command::Onboard(onboard)) => onboard::run(&onboard, context),
        Some(Command::Demo(demo)) => demo::run(&demo, context),
        Some(Command::Doctor(doctor)) => doctor::run(&doctor, context),
        Some(
            Command::Serve(_)
            | Command::Run(_)
            | Command::RunGuard(_)
            | Command::RunStart(_)
            | Command::KeepWatch(_)
            | Command::JqEvaluate(_),
        ) => {
            unreachable!("what has an exit code of its own is run before anything else is looked at")
        }
        Some(Command::Config(command)) => config::run(&command, context),
        Some(Command::Call(call)) => call::run(&call, context),
        Some(Command::Completion(completion)) => completion_script::run(&completion, context),
        Some(Command::Man(man)) => man::run(&man, context, Arguments::command()),
        Some(Command::Version(version)) => version::run(&version, context),
        Some(Command::Help(help)) => help::run(&help, context, Arguments::command()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_of_commands_is_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn a_value_that_is_also_a_command_misleads_nobody() {
        let read = |words: &[&str]| {
            read(&words.iter().map(OsString::from).collect::<Vec<_>>()).map_err(|error| error.kind())
        };
        let Ok(arguments) = read(&["tenure", "--session", "ready", "version"]) else { panic!("it is sound") };
        assert!(matches!(arguments.command, Some(Command::Version(_))));
        assert_eq!(arguments.options.session.as_deref(), Some("ready"));
        let Ok(arguments) = read(&["tenure", "--json=a,b", "hb", "--quiet"]) else { panic!("it is sound") };
        assert!(matches!(arguments.command, Some(Command::Heartbeat(_))));
        assert_eq!(arguments.options.json, Some(vec!["a".to_owned(), "b".to_owned()]));
        assert!(arguments.options.quiet);
        let Ok(arguments) = read(&["tenure", "--session", "ready"]) else { panic!("it is sound") };
        assert!(arguments.command.is_none());
        assert_eq!(read(&["tenure", "ready", "claim"]).err(), Some(ErrorKind::UnknownArgument));
    }

    #[test]
    fn a_group_without_a_command_tells_what_each_is_for() {
        let words: Vec<OsString> = ["tenure", "task"].map(OsString::from).into();
        let Err(error) = read(&words) else { panic!("a command is missing") };
        let help = error.to_string();
        assert!(help.contains("create ") && help.contains("Create a task"), "{help}");
    }

    #[test]
    fn commands_that_differ_say_so() {
        fn check(command: &clap::Command) {
            let mut said = std::collections::BTreeSet::new();
            for command in command.get_subcommands() {
                let about = command.get_about().map(ToString::to_string).unwrap_or_default();
                assert!(said.insert(about.clone()), "{} says what another says: {about}", command.get_name());
                check(command);
            }
        }
        let mut tree = Arguments::command();
        tree.build();
        check(&tree);
    }

    #[test]
    fn every_command_says_in_words_what_it_does() {
        fn check(command: &clap::Command) {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let begins = about.chars().next().is_some_and(char::is_uppercase);
            assert!(
                begins && about.contains(' ') && !about.ends_with('.'),
                "{}: {about:?}",
                command.get_name()
            );
            for argument in command.get_arguments() {
                let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
                assert!(!help.is_empty(), "{} {}", command.get_name(), argument.get_id());
            }
            command.get_subcommands().for_each(check);
        }
        let mut tree = Arguments::command();
        tree.build();
        check(&tree);
    }

    #[test]
    fn every_example_of_a_help_text_can_be_typed() {
        fn examples(command: &clap::Command, found: &mut Vec<String>) {
            let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            found.extend(text.lines().filter(|line| line.starts_with("  tenure ")).map(str::to_owned));
            command.get_subcommands().for_each(|command| examples(command, found));
        }
        let mut tree = Arguments::command();
        tree.build();
        let mut found = Vec::new();
        examples(&tree, &mut found);
        assert!(found.len() >= 7, "{found:?}");
        for line in found {
            assert!(line.len() <= 100, "it is wrapped: {line}");
            let (mut words, mut quoted) = (vec![String::new()], false);
            for c in line.trim().chars() {
                match c {
                    '"' => quoted = !quoted,
                    ' ' if !quoted => words.push(String::new()),
                    c => words.last_mut().expect("there is one").push(c),
                }
            }
            if let Err(error) = Arguments::try_parse_from(&words) {
                panic!("{line}: {error}");
            }
        }
    }

    /// What texts of the code call a command: in back quotes, or as a next step of its own.
    fn named_commands(source: &str) -> Vec<String> {
        let mut named = Vec::new();
        for (mark, end) in [("`tenure ", '`'), ("next(\"tenure ", '"'), ("next(format!(\"tenure ", '"')] {
            for rest in source.split(mark).skip(1) {
                named.extend(rest.split(end).next().map(|words| words.replace("///", " ")));
            }
        }
        named
    }

    /// What is wrong with a command: a word or an option that the tree does not have.
    fn wrong(tree: &clap::Command, words: &str) -> Option<String> {
        let mut command = tree;
        // What stands behind two hyphens is another program's.
        for word in words.split_whitespace().take_while(|word| *word != "--") {
            if let Some(option) = word.strip_prefix("--") {
                let name = option.split('=').next().unwrap_or(option);
                let has = |command: &clap::Command| {
                    command.get_arguments().any(|argument| argument.get_long() == Some(name))
                };
                if !has(command) && !has(tree) {
                    return Some(format!("{} has no option {word}", command.get_name()));
                }
            } else if let Some(next) = command.find_subcommand(word) {
                command = next;
            } else if command.has_subcommands() && word.starts_with(|c: char| c.is_ascii_lowercase()) {
                return Some(format!("{} has no command {word}", command.get_name()));
            }
        }
        None
    }

    #[test]
    fn every_command_that_the_code_names_exists() {
        let mut tree = Arguments::command();
        tree.build();
        let mut folders = vec![std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))];
        let (mut named, mut found) = (0, Vec::new());
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("the sources are there") {
                let path = entry.expect("the sources are there").path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|end| end == "rs") && !path.ends_with("arguments.rs") {
                    let source = std::fs::read_to_string(&path).expect("sources are text");
                    for words in named_commands(&source) {
                        named += 1;
                        found
                            .extend(wrong(&tree, &words).map(|wrong| format!("{}: {wrong}", path.display())));
                    }
                }
            }
        }
        assert!(named > 50, "only {named} were found");
        assert_eq!(found, Vec::<String>::new());
        assert_eq!(wrong(&tree, "doctor --slow").as_deref(), Some("doctor has no option --slow"));
        assert_eq!(wrong(&tree, "task creat").as_deref(), Some("task has no command creat"));
    }
}
