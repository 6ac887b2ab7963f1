//! Whose the terminal is: the command's while it runs, so that what is typed there reaches it.

use std::io::IsTerminal;
use std::os::fd::AsFd;

use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use rustix::process::{Pid, getpgrp};
use rustix::termios::{tcgetpgrp, tcsetpgrp};

/// Whether standard input is a terminal, and in the foreground there is this process.
pub fn is_ours() -> bool {
    let input = std::io::stdin();
    input.is_terminal() && tcgetpgrp(&input).is_ok_and(|group| group == getpgrp())
}

/// Puts a process group into the foreground, also from the background, where asking for it is answered by SIGTTOU.
pub fn give(terminal: impl AsFd, group: Pid) {
    let mut set = SigSet::empty();
    set.add(Signal::SIGTTOU);
    let Ok(before) = set.thread_swap_mask(SigmaskHow::SIG_BLOCK) else { return };
    // A terminal that has gone needs no foreground.
    tcsetpgrp(terminal, group).ok();
    before.thread_set_mask().ok();
}

/// Puts this process into the foreground again.
pub fn take_back() {
    give(std::io::stdin(), getpgrp());
}
