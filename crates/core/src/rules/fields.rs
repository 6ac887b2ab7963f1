//! The fields of a task that people write, and their limits.

use crate::model::limits::{LIST_ITEMS, TEXT_BYTES, TITLE_BYTES, check_count, check_line, check_text};
use crate::model::refusal::Refusal;
use crate::model::task::{Criterion, Details};

/// Refuses a list whose entries are too many, empty, too long or have control characters.
pub fn check_lines(field: &str, lines: &[String]) -> Result<(), Refusal> {
    check_count(field, lines.len(), LIST_ITEMS)?;
    lines.iter().try_for_each(|line| check_line(field, line))
}

/// Refuses criteria that are too many, empty or too long.
pub fn check_criteria(criteria: &[String]) -> Result<(), Refusal> {
    check_count("criteria", criteria.len(), LIST_ITEMS)?;
    criteria.iter().try_for_each(|text| check_text("criteria", text, TEXT_BYTES, false))
}

/// Refuses a title that is empty, too long or has more than one line.
pub fn check_title(title: &str) -> Result<(), Refusal> {
    check_text("title", title, TITLE_BYTES, false)?;
    if title.contains(['\n', '\r']) {
        return Err(Refusal::field("title", "has more than one line", "move the rest to the description"));
    }
    Ok(())
}

/// Replaces the criteria; one whose text stays keeps its id, and an id is never given twice: `next` counts on.
pub fn set_criteria(details: &mut Details, texts: &[String], next: impl Fn(u64) -> u64) {
    let old = std::mem::take(&mut details.criteria);
    for text in texts {
        let kept = old.iter().find(|criterion| {
            criterion.text == *text && !details.criteria.iter().any(|taken| taken.id == criterion.id)
        });
        let criterion = match kept {
            Some(criterion) => criterion.clone(),
            None => {
                details.criteria_given = next(details.criteria_given);
                Criterion { id: format!("c{}", details.criteria_given), text: text.clone() }
            }
        };
        details.criteria.push(criterion);
    }
}
