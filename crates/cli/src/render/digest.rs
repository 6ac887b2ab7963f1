//! The digest, as somebody reads it in the morning.

use tenure_core::operation::digest::{Digest, Happened, Part, Waiting};

use super::{COORDINATOR, Page, Show, brief, time};

impl Show for Digest {
    fn show(&self, page: &mut Page) {
        page.line(&format!("since {}", time::moment(self.since)));
        part("landed", &self.landed, page);
        part("claimed", &self.claimed, page);
        part("changed", &self.changed, page);
        if !self.waiting.is_empty() {
            let more = if self.more_waiting { ", and more" } else { "" };
            page.line(&format!("waits for somebody: {}{more}", self.waiting.len()));
            let rows = self.waiting.iter().map(|Waiting { task, on, because }| {
                [format!("  {}", task.id), on.clone(), brief(because), task.title.clone()]
            });
            page.rows(&rows.collect::<Vec<_>>());
        }
        if let Some(all) = all_of(self, page) {
            page.line(&format!("more: {all}"));
        }
        if self.landed.total + self.claimed.total + self.changed.total == 0 && self.waiting.is_empty() {
            page.line("nothing happened, and nothing waits for anybody");
        }
    }
}

/// The command that shows all that was left out: for as many rows as the longest part has, and beyond what a page can
/// have, the record itself.
fn all_of(digest: &Digest, page: &Page) -> Option<String> {
    let parts = [&digest.landed, &digest.claimed, &digest.changed];
    let cut = parts.into_iter().filter(|part| part.total > part.tasks.len() as u64);
    let cut = cut.map(|part| (part.total, part.tasks.len()));
    let waiting = digest.more_waiting.then_some((u64::MAX, digest.waiting.len()));
    let (total, shown) = cut.chain(waiting).max()?;
    Some(page.all_of(total, shown).unwrap_or_else(|| format!("`tenure events --after {}`", digest.after)))
}

fn part(name: &str, part: &Part, page: &mut Page) {
    if part.total == 0 {
        return;
    }
    let left = part.total - part.tasks.len() as u64;
    let more = if left > 0 { format!(", {left} not shown") } else { String::new() };
    page.line(&format!("{name}: {}{more}", part.total));
    page.rows(&part.tasks.iter().map(line).collect::<Vec<_>>());
}

fn line(happened: &Happened) -> [String; 5] {
    let by = happened.by.as_ref().map_or_else(|| COORDINATOR.to_owned(), ToString::to_string);
    let evidence = happened.evidence.as_ref();
    let place = evidence.and_then(|evidence| {
        let told = [&evidence.merge_commit, &evidence.commit, &evidence.pull_request, &evidence.branch];
        told.into_iter().flatten().next().cloned()
    });
    let what = match place {
        Some(place) => format!("{} {}", happened.task.status, brief(&place)),
        None => happened.kind.as_str().trim_start_matches("task_").replace('_', " "),
    };
    [format!("  {}", happened.task.id), time::moment(happened.at), what, by, happened.task.title.clone()]
}
