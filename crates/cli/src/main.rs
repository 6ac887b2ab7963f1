//! `tenure`: what you type. Everything it can do is an operation of the coordinator; it has no power of its own.

mod arguments;
mod command;
mod completion;
mod context;
mod duration;
mod environment;
mod fields;
mod interrupt;
mod jq;
mod long_text;
mod misuse;
mod near;
mod on_task;
mod on_work;
mod pager;
mod person;
mod progress;
mod project_key;
mod projects;
mod render;
mod screen;
mod shell;
mod stop;
mod terminal;
mod topic;
mod typing;

fn main() -> std::process::ExitCode {
    arguments::run(std::env::args_os())
}
