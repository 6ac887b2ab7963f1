//! The record: events, a task's history, imports.

use serde_json::Value;
use tenure_core::model::event::Event;
use tenure_core::model::limits::counted;
use tenure_core::operation::record::{EventList, HistoryList, ImportAnswer};

use super::{COORDINATOR, Page, Show, joined, task, time};

fn event(event: &Event) -> [String; 5] {
    let about = match (&event.attempt, &event.task, &event.project) {
        (Some(attempt), ..) => attempt.to_string(),
        (None, Some(task), _) => task.to_string(),
        (None, None, Some(project)) => project.to_string(),
        // Of what is about an account or a token, whose it is.
        (None, None, None) => {
            let whose =
                event.data.get("account").or_else(|| event.data.get("token").and(event.data.get("name")));
            whose.and_then(Value::as_str).unwrap_or_default().to_owned()
        }
    };
    let actor = &event.actor;
    let mut who = match (&actor.principal, &actor.session) {
        (Some(name), Some(_)) => name.to_string(),
        // Who acts without a session has typed a password.
        (Some(name), None) => format!("{name} in person"),
        (None, _) => COORDINATOR.to_owned(),
    };
    if let Some(machine) = &actor.machine {
        who.push_str(&format!(" on {machine}"));
    }
    [event.number.to_string(), time::moment(event.wall_time), event.kind.to_string(), about, who]
}

/// An event on a line of its own, for who follows the record.
impl Show for Event {
    fn show(&self, page: &mut Page) {
        let [number, when, what, about, who] = event(self);
        page.line(&format!("{number:>6}  {when}  {what:<20}  {about:<14}  {who}"));
    }
}

impl Show for EventList {
    fn show(&self, page: &mut Page) {
        if self.events.is_empty() {
            page.line("no events");
        } else {
            let rows: Vec<_> = self.events.iter().map(event).collect();
            page.table(["#", "WHEN", "WHAT", "ABOUT", "WHO"], &rows);
        }
        if self.more {
            page.line(&format!(
                "there is more: `tenure events --after {}` goes on, `tenure events --newest` shows the end",
                self.cursor
            ));
        }
    }
}

impl Show for HistoryList {
    fn show(&self, page: &mut Page) {
        if self.entries.is_empty() {
            page.line("nothing is recorded");
        }
        for entry in &self.entries {
            task::entry(entry, page);
        }
        let shown = self.entries.len();
        if self.total > shown as u64 {
            let all = page.all_of(self.total, shown).map_or_else(String::new, |all| format!("; more: {all}"));
            page.line(&format!("{shown} of {} shown{all}", self.total));
        }
    }
}

/// Most names that a line of the report lists.
const NAMES_MAX: usize = 8;

fn some(names: &[String]) -> String {
    if names.is_empty() {
        return String::new();
    }
    let more = names.len().saturating_sub(NAMES_MAX);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}: {}{rest}", names.len(), joined(&names[..names.len().min(NAMES_MAX)]))
}

impl Show for ImportAnswer {
    fn show(&self, page: &mut Page) {
        let report = &self.report;
        let is_new = report.created > 0 || !report.projects.is_empty();
        page.line(match (self.applied, is_new) {
            (_, false) => "nothing new",
            (true, true) => "imported",
            (false, true) => "nothing was changed; this is what --apply would do",
        });
        let ids = counted(report.unique_ids, "different id");
        page.field("lines", &format!("{} ({ids})", report.lines));
        page.field("new projects", &joined(&report.projects));
        page.field("created", &report.created.to_string());
        page.field("ready", &report.ready.to_string());
        page.field("done there", &report.done.to_string());
        for (name, count) in [
            ("here already", report.already_here),
            ("tombstones", report.tombstones),
            ("to tombstone", report.edges_to_tombstones),
            ("skipped", report.skipped_lines),
        ] {
            if count > 0 {
                page.field(name, &count.to_string());
            }
        }
        page.field("left alone", &some(&report.left_alone));
        page.field("dangling", &some(&report.dangling));
        page.field(
            "cycles",
            &some(&report.cycles.iter().map(|cycle| cycle.join(" -> ")).collect::<Vec<_>>()),
        );
        page.field("twice", &some(&report.duplicates));
        page.field("odd status", &some(&report.unknown_statuses));
        page.field("pinned", &some(&report.pinned));
        for (kind, count) in &report.not_work {
            page.field("not work", &format!("{count} {kind}"));
        }
        for remark in &report.remarks {
            page.field("look at", remark);
        }
        if !self.applied && is_new {
            page.field("next", "repeat with --apply to import");
        }
    }
}
