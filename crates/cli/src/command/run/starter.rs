//! The command's own process, before it is the command: it takes the terminal first, so that not even the first key
//! goes elsewhere.

use std::ffi::OsString;
use std::io::Result;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};

use rustix::process::getpgrp;

use super::{channel, terminal};
use crate::context::Context;

/// Become a command of `run`
#[derive(clap::Args)]
pub struct Starter {
    /// The command and its arguments
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

/// Becomes the command. Returning at all means that it could not be done, which the guard is told.
pub fn run(starter: &Starter, context: &Context) -> ExitCode {
    let told = std::io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from).and_then(|socket| {
        let error = become_command(&starter.command, &socket);
        channel::say(&socket, &error.to_string())
    });
    if let Err(error) = told {
        context.screen.talk(&format!("tenure: nothing was started; only `tenure run` starts this: {error}"));
    }
    ExitCode::FAILURE
}

/// On success this process is the command, and its end of the socket is closed.
fn become_command(words: &[OsString], socket: &UnixStream) -> std::io::Error {
    match prepared(words, socket) {
        Ok(mut command) => command.exec(),
        Err(error) => error,
    }
}

fn prepared(words: &[OsString], socket: &UnixStream) -> Result<Command> {
    let (begin, input) = channel::begun(socket)?;
    if begin.foreground {
        terminal::give(&input, getpgrp());
    }
    let (program, arguments) = words.split_first().expect("a command is required");
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::from(input));
    Ok(command)
}
