//! Waiting for a state that another thread or process brings about, and never for time alone.

use std::time::{Duration, Instant};

/// Longest wait for anything. A state that never comes fails the test instead of hanging it.
const PATIENCE: Duration = Duration::from_secs(60);

/// Asks again until it is so.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    some(what, || is_so().then_some(()));
}

/// Asks again until there is an answer.
pub fn some<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < deadline, "it never came to this: {what}");
        // waits because: the state is another process's and is only known by asking; a pause leaves it a processor.
        std::thread::sleep(Duration::from_millis(3));
    }
}
