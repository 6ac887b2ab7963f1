//! What a search found: each task on a line, and below it the part of a text that its title does not tell.

use tenure_core::operation::search::{FoundIn, FoundList, FoundTask};

use super::{Page, Show};

impl Show for FoundList {
    fn show(&self, page: &mut Page) {
        if self.tasks.is_empty() {
            page.line("nothing is found; fewer words find more");
            return;
        }
        let row = |found: &FoundTask| {
            [found.task.id.to_string(), found.task.status.to_string(), found.task.title.clone()]
        };
        let rows: Vec<_> = self.tasks.iter().map(row).collect();
        page.rows_each_with(&rows, |page, place| {
            let found = &self.tasks[place];
            let lead = match (found.found_in, found.entry) {
                (FoundIn::Title, _) => return,
                (place, Some(entry)) => format!("    {} {entry}: ", place.as_str().replace('_', " ")),
                (place, None) => format!("    {place}: "),
            };
            page.pieces(&lead, &found.excerpt);
        });
        let shown = self.tasks.len();
        if self.total > shown as u64 {
            let all = page.all_of(self.total, shown).map_or_else(String::new, |all| format!("more: {all}; "));
            page.line(&format!("{shown} of {} shown; {all}fewer with further words", self.total));
        }
    }
}
