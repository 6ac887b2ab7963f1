//! The commits of a body of work, and whether they are all of it.

use tenure_core::model::limits::counted;
use tenure_core::operation::commits::{CommitList, Landed};

use super::page::cut;
use super::{Page, Show, plain, time};

/// How long a commit's name is at most: SHA-256 in hexadecimal. What is longer is no name that could be picked.
const COMMIT_WIDTH: usize = 64;

impl Show for CommitList {
    fn show(&self, page: &mut Page) {
        if !self.commits.is_empty() {
            page.table(
                ["COMMIT", "TASK", "WHEN", "BY", "TITLE"],
                &self.commits.iter().map(row).collect::<Vec<_>>(),
            );
        }
        page.goes_on(&self.commits.len().to_string(), self.cursor.as_deref());
        page.line(&told(self));
    }
}

fn row(landed: &Landed) -> [String; 5] {
    let evidence = &landed.evidence;
    let elsewhere = || evidence.pull_request.clone().or_else(|| evidence.branch.clone());
    let place = landed.commit.clone().or_else(elsewhere).unwrap_or_else(|| "-".to_owned());
    let by = landed.by.as_ref().map_or_else(String::new, ToString::to_string);
    [
        cut(&plain::line(&place), COMMIT_WIDTH),
        landed.task.to_string(),
        landed.at.map_or_else(String::new, time::moment),
        by,
        landed.title.clone(),
    ]
}

/// Whether everything landed, or what did not.
fn told(list: &CommitList) -> String {
    let all = list.landed + list.missing + list.unfinished + list.cancelled;
    if all == 0 {
        return "no tasks that could have landed; `tenure label list` and `tenure task list` show what there is"
            .to_owned();
    }
    let mut told = vec![format!("{} landed", counted(list.landed, "task"))];
    let others = [
        (list.missing, "closed without a commit (--missing lists them)"),
        (list.unfinished, "unfinished"),
        (list.cancelled, "cancelled"),
    ];
    told.extend(others.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")));
    if list.missing + list.unfinished == 0 {
        told.push("nothing is left".to_owned());
    }
    told.join(", ")
}
