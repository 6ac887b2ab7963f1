//! What a holder is told.

use tenure_core::model::attempt::AttemptMode;
use tenure_core::operation::ownership::{Alive, Attempts, Claimed, Ended, Recorded};
use tenure_core::operation::view::{RecoveryPacket, TaskView};

use super::{Page, Show, joined, task, time};

impl Show for Claimed {
    fn show(&self, page: &mut Page) {
        let how = match (self.resumed, self.mode) {
            (true, _) => "resumed",
            (false, AttemptMode::Recovery) => "taken over after an expired attempt",
            (false, AttemptMode::Fresh) => "claimed",
        };
        page.line(&format!(
            "{how}: {}, lease ends in {}, heartbeat every {}",
            self.attempt,
            time::duration(self.expires_in_ms),
            time::duration(self.heartbeat_ms)
        ));
        // The holder and the lease have been said.
        let task_alone = TaskView { attempt: None, ..self.task.clone() };
        task::whole(&task_alone, page);
        if let Some(handoff) = &self.handoff {
            page.line("handed off with:");
            page.block(handoff);
        }
        if let Some(intervention) = &self.intervention {
            page.line("an operator stepped in:");
            page.block(intervention);
        }
        if let Some(packet) = &self.recovery {
            recovery(packet, page);
        }
        page.field("next", &self.next);
    }
}

fn recovery(packet: &RecoveryPacket, page: &mut Page) {
    let attempt = &packet.attempt;
    page.line(&format!("what {} ({}, {}) left:", attempt.principal, attempt.id, attempt.state));
    if packet.entries.is_empty() {
        page.line("  nothing");
    }
    for entry in &packet.entries {
        task::entry(entry, page);
    }
    if packet.left_out > 0 {
        page.line(&format!("  and {} older; `tenure history` shows them", packet.left_out));
    }
}

impl Show for Alive {
    fn show(&self, page: &mut Page) {
        page.line(&format!("{}: lease ends in {}", self.attempt, time::duration(self.expires_in_ms)));
        if self.cancel_requested {
            page.line("somebody asked you to stop");
        }
        if self.task_changed {
            page.line("the task changed since you claimed it");
        }
        if self.blocked {
            page.line("something that it waits for is open");
        }
        if self.progress_overdue {
            page.line("progress is overdue: leave a note or a checkpoint");
        }
        page.field("next", self.next.as_deref().unwrap_or_default());
    }
}

impl Show for Recorded {
    fn show(&self, page: &mut Page) {
        page.line(&format!("recorded on {} as #{}", self.task, self.number));
        page.field("next", self.next.as_deref().unwrap_or_default());
    }
}

impl Show for Ended {
    fn show(&self, page: &mut Page) {
        task::headline(&self.task, page);
        page.field("status", self.task.status.as_str());
        page.field("now ready", &joined(&self.freed));
        page.field("next", &self.next);
    }
}

impl Show for Attempts {
    fn show(&self, page: &mut Page) {
        if self.attempts.is_empty() {
            page.line("nobody has tried it yet");
        }
        for attempt in &self.attempts {
            page.line(&task::holder(attempt));
        }
        if let (true, Some(last)) = (self.more, self.attempts.last()) {
            page.line(&format!(
                "older ones are left out; `tenure events --task {}` tells of them",
                last.id.task
            ));
        }
        if let Some(packet) = &self.recovery {
            recovery(packet, page);
        }
    }
}
