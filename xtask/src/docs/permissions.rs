//! The page of who may do what: the table that admission decides by.

use tenure_core::model::refusal::Code;
use tenure_core::operation::catalog::Entry;
use tenure_core::operation::permission::{Condition, Permission, Standing, permission};
use tenure_core::server_route::{Reach, ServerRoute};

use super::{GENERATED, table};

/// The refusals of the table, as its cells tell them.
const WHY_NOT: [(Code, &str); 6] = [
    (Code::ReporterLimited, "renews only"),
    (Code::Unauthenticated, "unknown"),
    (Code::TokenReadOnly, "only asks"),
    (Code::SessionRequired, "no session"),
    (Code::OperatorRequired, "no role"),
    (Code::AuthenticationFailed, "no secret"),
];

/// docs/src/reference/permissions.md
pub fn page(entries: &[Entry]) -> String {
    let mut text = format!(
        "{GENERATED}# Who may do what\n\n\
        `tenure whoami --can` tells the same of whoever asks. People prove \
        their role with a [password](../authority.md) for each call; by the network a [token](../network.md) has to let \
        them in first, as it does agents.\n\n\
        They may, or may under the condition of that number, or may not, and hear the refusal that the cell stands \
        for.\n\n"
    );
    for (number, condition) in Condition::ALL.iter().enumerate() {
        text.push_str(&format!("{}. if {}\n", number + 1, condition.told()));
    }
    text.push('\n');
    let refused: Vec<Vec<String>> = WHY_NOT
        .iter()
        .map(|(code, words)| vec![format!("*{words}*"), format!("[`{code}`](../refusals/{code}.md)")])
        .collect();
    text.push_str(&table(&["cell", "refusal"], &refused));
    text.push_str("\n## As what somebody asks\n\n");
    let standings: Vec<Vec<String>> = Standing::ALL
        .iter()
        .map(|standing| vec![format!("`{standing}`"), standing.told().to_owned()])
        .collect();
    text.push_str(&table(&["standing", "who that is"], &standings));
    text.push_str("\n## Operations\n\n");
    let heading: Vec<String> = Standing::ALL.iter().map(ToString::to_string).collect();
    let heading: Vec<&str> = std::iter::once("operation").chain(heading.iter().map(String::as_str)).collect();
    let rows: Vec<Vec<String>> = entries.iter().map(row).collect();
    text.push_str(&table(&heading, &rows));
    text.push_str("\n## Routes of the server itself\n\n");
    let rows: Vec<Vec<String>> = ServerRoute::ALL.iter().map(|route| of_the_server(*route)).collect();
    text.push_str(&table(&["route", "for"], &rows));
    text
}

fn row(entry: &Entry) -> Vec<String> {
    let cells = Standing::ALL.iter().map(|standing| cell(permission(&entry.spec, *standing)));
    std::iter::once(format!("`{}`", entry.spec.name)).chain(cells).collect()
}

fn cell(permission: Permission) -> String {
    match permission {
        Permission::Granted => "yes".to_owned(),
        Permission::If(condition) => {
            let number = Condition::ALL.iter().position(|one| *one == condition).map_or(0, |place| place + 1);
            number.to_string()
        }
        Permission::Refused(code) => format!("*{}*", why_not(code)),
    }
}

/// A refusal in two words, for a narrow column.
fn why_not(code: Code) -> &'static str {
    let known = WHY_NOT.iter().find(|(known, _)| *known == code);
    known.map_or_else(|| code.as_str(), |(_, words)| words)
}

fn of_the_server(route: ServerRoute) -> Vec<String> {
    let reach = match route.reach() {
        Reach::Everybody => "everybody",
        Reach::Known => "whoever is known: by a token, or on the server's own machine",
        Reach::OwnMachine => "the server's own machine alone",
        Reach::Browser => "browsers: a page, or what a page sends",
    };
    vec![format!("`{} {}`", route.method().as_str(), route.path()), reach.to_owned()]
}
