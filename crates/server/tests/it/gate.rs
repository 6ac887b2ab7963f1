//! A clock that can be held: the writer reads it inside its transaction, so a commit takes as long as a test wants.

use std::sync::{Condvar, Mutex};

use tenure_engine::clock::{Clocks, MachineClocks};

#[derive(Default)]
pub struct Gate {
    shut: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    pub fn shut(&self) {
        *self.shut.lock().expect("no panic while held") = true;
    }

    pub fn open(&self) {
        *self.shut.lock().expect("no panic while held") = false;
        self.opened.notify_all();
    }
}

impl Clocks for Gate {
    fn monotonic_ms(&self) -> i64 {
        let shut = self.shut.lock().expect("no panic while held");
        let _open = self.opened.wait_while(shut, |shut| *shut).expect("no panic while held");
        MachineClocks.monotonic_ms()
    }

    fn wall_ms(&self) -> i64 {
        MachineClocks.wall_ms()
    }
}
