//! `tenure`: what you type. Everything it can do is an operation of the coordinator; it has no power of its own.

mod arguments;
mod command;
mod context;
mod duration;
mod fields;
mod interrupt;
mod long_text;
mod misuse;
mod on_task;
mod on_work;
mod project_key;
mod render;
mod screen;
mod shell;
mod stop;
mod topic;

fn main() -> std::process::ExitCode {
    arguments::run(std::env::args_os())
}
