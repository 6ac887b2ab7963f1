//! What an interrupt does: it ends the process with one exit code, whoever looks at it. A mutation that was on its way
//! stays in the session's file and is resolved by the next one.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::consts::SIGINT;

/// The exit code of a command that was interrupted.
pub const EXIT: u8 = 130;

/// Whether an interrupt ends the process.
static ENDS: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Ends the process at once when it is interrupted.
pub fn ends_the_process() -> io::Result<()> {
    let ends = ENDS.get_or_init(|| Arc::new(AtomicBool::new(true)));
    signal_hook::flag::register_conditional_shutdown(SIGINT, i32::from(EXIT), ends.clone()).map(|_| ())
}

/// From now on an interrupt is for the program that has the terminal.
pub fn is_for_another() {
    if let Some(ends) = ENDS.get() {
        ends.store(false, Ordering::SeqCst);
    }
}

/// From now on an interrupt ends the process again.
pub fn ends_again() {
    if let Some(ends) = ENDS.get() {
        ends.store(true, Ordering::SeqCst);
    }
}

/// A flag that an interrupt raises, for a process that cleans up before it ends.
pub fn flag() -> io::Result<Arc<AtomicBool>> {
    let raised = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGINT, raised.clone())?;
    Ok(raised)
}
