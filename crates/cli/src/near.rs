//! Did you mean …? The names that are nearest to one that is not there.

use serde_json::Value;
use tenure_client::call::Client;
use tenure_core::model::limits::PAGE_ROWS;
use tenure_core::operation::project::ProjectView;
use tenure_core::operation::session::ListSessions;
use tenure_core::operation::task::ListTasks;

use crate::projects;

/// From which likeness on a name may have been meant: the same bound as for words of the command line.
const LIKENESS: f64 = 0.8;
/// Most names that are suggested.
const SUGGESTED: usize = 3;

/// The known names that may have been meant, the likeliest first.
pub fn names<'a>(meant: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut near: Vec<(f64, &str)> = known
        .into_iter()
        .map(|name| (strsim::jaro_winkler(meant, name), name))
        .filter(|(likeness, _)| *likeness >= LIKENESS)
        .collect();
    near.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    near.into_iter().take(SUGGESTED).map(|(_, name)| name).collect()
}

/// The next step after a request whose project, task or session is not there: the nearest name, or where names are
/// listed. It is one more question, and only asked then.
pub fn step(input: &Value, client: &Client) -> Option<String> {
    if let Some(meant) = input["session"].as_str() {
        let list = client.call(&ListSessions { limit: Some(PAGE_ROWS) }, None).ok()?.value.sessions;
        let handles: Vec<String> = list.iter().map(|session| session.handle.to_string()).collect();
        return told(&names(meant, handles.iter().map(String::as_str)), str::to_owned)
            .or_else(|| Some("`tenure session list` shows them".to_owned()));
    }
    let (meant, number) = match (input["project"].as_str(), input["task"].as_str()) {
        (Some(project), _) => (project, None),
        (None, Some(task)) => task.rsplit_once('-').map(|(project, number)| (project, Some(number)))?,
        (None, None) => return None,
    };
    let mut keys = Vec::new();
    let keep = &mut |project: ProjectView| {
        keys.push(project.key.to_string());
        true
    };
    projects::every(client, keep).ok()?;
    let keys = keys.iter().map(String::as_str);
    if keys.clone().any(|key| key == meant) {
        let near = number.map(|number| numbers(meant, number, client))?;
        let list = format!("`tenure task list --project {meant}` shows its tasks");
        return Some(near.map_or_else(|| list.clone(), |near| format!("{near} {list}")));
    }
    told(&names(meant, keys), |key| number.map_or_else(|| key.to_owned(), |number| format!("{key}-{number}")))
}

/// The tasks of a project whose number is one slip of the finger away: a digit more, less or other, or two in turn. Of
/// a large project only a page of its tasks is looked at.
fn numbers(project: &str, number: &str, client: &Client) -> Option<String> {
    let question = ListTasks {
        project: project.parse().ok()?,
        lifecycle: None,
        labels: Vec::new(),
        archived: false,
        limit: Some(PAGE_ROWS),
        cursor: None,
    };
    let tasks = client.call(&question, None).ok()?.value.tasks;
    let known: Vec<String> = tasks.iter().map(|task| task.id.number.to_string()).collect();
    let near = slips(number, known.iter().map(String::as_str));
    told(&near, |number| format!("{project}-{number}"))
}

/// The known numbers that are one slip away from another. Of one digit every other is one away, which says nothing.
fn slips<'a>(meant: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let is_slip = |number: &&str| {
        let is_told = meant.len() > 1 || number.len() > 1;
        is_told && strsim::osa_distance(meant, number) == 1
    };
    let mut near: Vec<&str> = known.into_iter().filter(is_slip).collect();
    // A digit is rather another one than left out, and seldom the first.
    let alike = |number: &str| meant.bytes().zip(number.bytes()).take_while(|(a, b)| a == b).count();
    near.sort_by_key(|number| (number.len() != meant.len(), std::cmp::Reverse(alike(number))));
    near.truncate(SUGGESTED);
    near
}

fn told(near: &[&str], whole: impl Fn(&str) -> String) -> Option<String> {
    let near: Vec<String> = near.iter().map(|name| format!("`{}`", whole(name))).collect();
    (!near.is_empty()).then(|| format!("did you mean {}?", near.join(" or ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_mended_and_another_word_is_not() {
        let known = ["exit-codes", "output", "sessions", "task create"];
        assert_eq!(names("exit-code", known), ["exit-codes"]);
        assert_eq!(names("ouptut", known), ["output"]);
        assert_eq!(names("session", known), ["sessions"]);
        assert!(names("backup", known).is_empty());
        assert_eq!(names("afx", ["afc", "zzz"]), ["afc"]);
    }

    #[test]
    fn a_number_with_a_slip_finds_its_neighbours_and_a_digit_alone_does_not() {
        let known = ["1", "2", "3", "12", "13", "21", "112", "1234"];
        assert_eq!(slips("123", known), ["1234", "12", "13"]);
        assert_eq!(slips("31", known), ["13", "21", "3"]);
        assert_eq!(slips("11", known), ["12", "13", "21"]);
        assert!(slips("9", known).is_empty());
        assert!(slips("5678", known).is_empty());
    }
}
