//! What only a person types: passwords, on the terminal itself and with nothing shown. Standard input, arguments, the
//! environment and files are never asked, because whatever can fill those is not a person.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::thread;

use rustix::process::getpgrp;
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr,
};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};
use signal_hook::low_level::emulate_default_handler;
use tenure_core::model::limits::PASSWORD_BYTES_MAX;
use tenure_core::model::refusal::{Code, Refusal};

use crate::interrupt;
use crate::stop::{Stop, usage};

/// The terminal of this process, whatever its standard input is.
const DEVICE: &str = "/dev/tty";

/// A terminal on which something secret is typed. What it showed before is put back when this is dropped, and when a signal
/// ends the process.
pub struct Typing {
    device: File,
    before: Termios,
    signals: Handle,
}

impl Typing {
    /// The terminal that this process was started on. `what` is for whoever has none.
    pub fn on_terminal(what: &str) -> Result<Self, Stop> {
        let none = || -> Stop {
            let detail = format!("{what} is typed by a person, and there is no terminal here");
            let refusal = Refusal::new(Code::OperatorRequired, detail);
            refusal.next("ask a person to run this command in a terminal of their own").into()
        };
        // A process that leads a session must not take a terminal here that is not its own.
        let flags = rustix::fs::OFlags::NOCTTY.bits().cast_signed();
        let opened = File::options().read(true).write(true).custom_flags(flags).open(DEVICE);
        let device = opened.map_err(|_| none())?;
        // What runs in the background has no say over the terminal, and would stand still if it asked for one.
        if tcgetpgrp(&device).ok() != Some(getpgrp()) {
            return Err(none());
        }
        let before = tcgetattr(&device).map_err(|_| none())?;
        let mut hidden = before.clone();
        // Also the keys that make signals are characters meanwhile, so that none of them ends the process here.
        hidden
            .local_modes
            .remove(LocalModes::ECHO | LocalModes::ECHONL | LocalModes::ICANON | LocalModes::ISIG);
        hidden.special_codes[SpecialCodeIndex::VMIN] = 1;
        hidden.special_codes[SpecialCodeIndex::VTIME] = 0;
        interrupt::is_for_another();
        let signals = restored_by_signals(&device, &before).map_err(|_| none())?;
        let typing = Self { device, before, signals };
        // What was typed before the question was asked is no answer to it.
        tcsetattr(&typing.device, OptionalActions::Flush, &hidden).map_err(|_| none())?;
        Ok(typing)
    }

    /// Asks for a line.
    pub fn line(&mut self, question: &str) -> Result<String, Stop> {
        self.say(&format!("{question}: "))?;
        let mut line = Vec::with_capacity(PASSWORD_BYTES_MAX + 1);
        loop {
            let mut key = [0];
            match self.device.read(&mut key) {
                Ok(0) => return Err(nothing()),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return Err(nothing()),
                Ok(_) => {}
            }
            match key[0] {
                RETURN | LINE_FEED => break,
                INTERRUPT | QUIT => self.interrupted(),
                END if line.is_empty() => return Err(nothing()),
                BACKSPACE | DELETE => {
                    // A character of several bytes goes as a whole.
                    while line.pop().is_some_and(|byte: u8| byte & 0xc0 == 0x80) {}
                }
                KILL => line.clear(),
                // One byte too many says that it is too long.
                byte if line.len() <= PASSWORD_BYTES_MAX => line.push(byte),
                _ => {}
            }
        }
        self.say("\n")?;
        String::from_utf8(line).map_err(|_| usage("what was typed is not UTF-8", "type it in UTF-8"))
    }

    /// Asks for a new password, twice.
    pub fn new_password(&mut self, whose: &str) -> Result<String, Stop> {
        let first = self.line(&format!("New password of {whose}"))?;
        if self.line("The same once more")? == first {
            Ok(first)
        } else {
            Err(usage("the two passwords differ", "repeat the command, and type the same one twice"))
        }
    }

    fn say(&mut self, text: &str) -> Result<(), Stop> {
        self.device.write_all(text.as_bytes()).map_err(|_| nothing())
    }

    fn put_back(&self) {
        let _ = tcsetattr(&self.device, OptionalActions::Flush, &self.before);
    }

    fn interrupted(&self) -> ! {
        self.put_back();
        std::process::exit(i32::from(interrupt::EXIT))
    }
}

fn nothing() -> Stop {
    usage("nothing was typed", "type it, and end it with the return key")
}

const INTERRUPT: u8 = 0x03;
const END: u8 = 0x04;
const BACKSPACE: u8 = 0x08;
const LINE_FEED: u8 = b'\n';
const RETURN: u8 = b'\r';
const KILL: u8 = 0x15;
const QUIT: u8 = 0x1c;
const DELETE: u8 = 0x7f;

/// Puts the terminal back when a signal comes that ends the process, and lets it end.
fn restored_by_signals(device: &File, before: &Termios) -> std::io::Result<Handle> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM])?;
    let (device, before, handle) = (device.try_clone()?, before.clone(), signals.handle());
    thread::Builder::new().name("tenure-typing".to_owned()).spawn(move || {
        if let Some(signal) = signals.forever().next() {
            let _ = tcsetattr(&device, OptionalActions::Flush, &before);
            let _ = emulate_default_handler(signal);
        }
    })?;
    Ok(handle)
}

impl Drop for Typing {
    fn drop(&mut self) {
        self.put_back();
        self.signals.close();
        interrupt::ends_again();
    }
}
