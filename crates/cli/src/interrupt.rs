//! What an interrupt does: it ends the process with one exit code, whoever looks at it. A mutation that was on its way
//! stays in the session's file and is resolved by the next one.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::SIGINT;

/// The exit code of a command that was interrupted.
pub const EXIT: u8 = 130;

/// Ends the process at once when it is interrupted.
pub fn ends_the_process() -> io::Result<()> {
    let always = Arc::new(AtomicBool::new(true));
    signal_hook::flag::register_conditional_shutdown(SIGINT, i32::from(EXIT), always).map(|_| ())
}

/// A flag that an interrupt raises, for a process that cleans up before it ends.
pub fn flag() -> io::Result<Arc<AtomicBool>> {
    let raised = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGINT, raised.clone())?;
    Ok(raised)
}
