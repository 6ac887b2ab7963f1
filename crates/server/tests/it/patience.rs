//! Waiting for a state that another thread or process brings about.

use std::time::{Duration, Instant};

/// Asks again until it is so. A state that never comes fails the test instead of hanging it.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(Instant::now() < deadline, "it never came to this: {what}");
        // waits because: the state is a daemon's and is only known by asking; a pause leaves it a core.
        std::thread::sleep(Duration::from_millis(5));
    }
}
