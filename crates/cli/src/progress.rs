//! How far long work is: one line for a person at a terminal, which comes after a second, is drawn anew while the work
//! goes on, and is gone at its end. Everybody else sees nothing of it.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tenure_engine::{backup, copy, restored};

use crate::screen::Screen;

/// What is done sooner is not told about.
const SILENCE: Duration = Duration::from_secs(1);
/// How often the line is drawn anew: often enough to be seen moving.
const REDRAW: Duration = Duration::from_millis(250);

/// Work that goes on. It is over when this is dropped.
pub struct Progress {
    /// Nothing where nobody looks.
    shown: Option<Shown>,
    screen: Screen,
}

struct Shown {
    work: Arc<Work>,
    drawer: Option<JoinHandle<()>>,
}

/// What the thread that draws is told.
struct Work {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    text: String,
    is_over: bool,
}

impl Progress {
    /// Begins work of which this is to be told.
    pub fn of(screen: &Screen, text: &str) -> Self {
        let shown = screen.shows_passing().then(|| {
            let state = Mutex::new(State { text: text.to_owned(), is_over: false });
            let work = Arc::new(Work { state, changed: Condvar::new() });
            let (drawn, screen) = (work.clone(), screen.clone());
            // Without a thread the work goes on untold.
            let drawer = std::thread::Builder::new().spawn(move || drawn.draw(&screen)).ok();
            Shown { work, drawer }
        });
        Self { shown, screen: screen.clone() }
    }

    /// Work inside the daemon, whose extent only the daemon knows.
    pub fn of_daemon(screen: &Screen) -> Self {
        Self::of(screen, "the daemon is still at it")
    }

    /// Says how far it is by now. The words are only made where somebody reads them.
    pub fn tell(&self, text: impl FnOnce() -> String) {
        if let Some(Shown { work, .. }) = &self.shown {
            work.state().text = text();
        }
    }

    /// The same for work on a backup.
    pub fn tell_backup(&self, progress: backup::Progress) {
        match progress {
            backup::Progress::Compared { done, all } => {
                self.tell(|| format!("comparing the backup with its manifest: {}", part(done, all)));
            }
            backup::Progress::Walking => self.tell(|| "checking its pages and its record".to_owned()),
            backup::Progress::Copied { done, all } => {
                self.tell(|| format!("copying the backup: {}", part(done, all)));
            }
            backup::Progress::Reached(_) => {}
        }
    }

    /// The same for a store that was restored.
    pub fn tell_restored(&self, progress: restored::Progress) {
        match progress {
            restored::Progress::Upgrading => self.tell(|| "bringing it up to this version".to_owned()),
            restored::Progress::Walked(events) => {
                self.tell(|| format!("checking its record: {events} events"));
            }
        }
    }

    /// The same for a copy of a store.
    pub fn tell_copy(&self, progress: copy::Progress) {
        match progress {
            copy::Progress::Written { done, all } => {
                self.tell(|| format!("writing the copy: {done} of {all} rows"));
            }
            copy::Progress::Following => self.tell(|| "indexing its labels and words".to_owned()),
            copy::Progress::Compared { done, all } => {
                self.tell(|| format!("comparing it with the source: {done} of {all} rows"));
            }
            copy::Progress::Walked(events) => {
                self.tell(|| format!("checking its record: {events} events"));
            }
        }
    }
}

/// So much of so much.
pub fn part(done: u64, all: u64) -> String {
    format!("{} of {} MiB", done >> 20, all >> 20)
}

impl Work {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Draws until the work is over.
    fn draw(&self, screen: &Screen) {
        let began = Instant::now();
        let (mut state, mut pause) = (self.state(), SILENCE);
        loop {
            let waited = self.changed.wait_timeout_while(state, pause, |state| !state.is_over);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            if state.is_over {
                return;
            }
            screen.passing(&line(&state.text, began.elapsed()));
            pause = REDRAW;
        }
    }
}

fn line(text: &str, since: Duration) -> String {
    format!("{text} … {} s", since.as_secs())
}

impl Drop for Progress {
    fn drop(&mut self) {
        let Some(Shown { work, drawer }) = self.shown.take() else { return };
        work.state().is_over = true;
        work.changed.notify_all();
        if let Some(drawer) = drawer {
            drawer.join().ok();
        }
        self.screen.passed();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_goes_on_how_far_it_is_and_since_when() {
        let text = format!("copying: {}", part(3 << 20, (9 << 20) + 1));
        assert_eq!(line(&text, Duration::from_millis(12_900)), "copying: 3 of 9 MiB … 12 s");
    }

    #[test]
    fn where_nobody_looks_no_words_are_made_and_no_thread_draws() {
        let mut screen = Screen::default();
        screen.quiet = true;
        let progress = Progress::of(&screen, "work");
        progress.tell(|| unreachable!("nobody reads it"));
        assert!(progress.shown.is_none());
    }
}
