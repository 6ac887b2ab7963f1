//! The table of who may do what, tried on the command line: every operation by somebody whom the server does not know, by
//! one who only asks, by an agent, and by people of every role at a terminal.

use serde_json::Value;
use tenure_cluster::Authority;
use tenure_core::model::account::Role;
use tenure_core::model::refusal::Code;
use tenure_core::operation::Access;
use tenure_core::operation::Operation;
use tenure_core::operation::account::{CreateAccount, SetPassword};
use tenure_core::operation::catalog::{Entry, entries};
use tenure_core::operation::example::example;
use tenure_core::operation::permission::{OF_AUTHORITY, Permission, Standing, permission};

use crate::network::{administered, by_ada, keep, token_in, using};
use crate::people::{PASSWORD, Talk};
use crate::place::Place;

/// A server with people of every role, and the workstations that use it.
struct Scene {
    host: Place,
    _server: Talk,
    stranger: Place,
    reader: Place,
    agent: Place,
    _authority: Authority,
}

impl Scene {
    fn begin() -> Self {
        let authority = Authority::new().expect("openssl");
        let (host, server, url) = administered(&authority);
        let using_token = |name: &str, options: &str| {
            let made = by_ada(&host, &format!("token create {name} {options} --reason joins"));
            let place = workstation(&url, &authority);
            keep(&place, &token_in(&made));
            place
        };
        let (reader, agent) =
            (using_token("lurker", "--kind agent --read-only"), using_token("mill", "--kind machine"));
        for role in [Role::Member, Role::Operator] {
            let words = format!("account create {role} --role {role} --reason joins --as ada");
            let new = format!("password of {role}: ");
            let talk =
                [("`account.create`: ", PASSWORD), (new.as_str(), PASSWORD), ("once more: ", PASSWORD)];
            let (text, code) = Talk::tenure(&host, &words).answers(&talk);
            assert_eq!(code, 0, "{text}");
        }
        let stranger = workstation(&url, &authority);
        Self { host, _server: server, stranger, reader, agent, _authority: authority }
    }

    /// Calls an operation as an agent of a workstation, whose session nobody has closed before: the exit code, and the
    /// code of a refusal.
    fn called(&self, place: &Place, entry: &Entry) -> (i32, Option<String>) {
        let agent = entry.spec.name.replace('.', "-");
        let ran = place.run(&agent, &["call", entry.spec.name, &example(entry).to_string(), "--json"]);
        (ran.code, (ran.code != 0).then(|| ran.problem()["code"].as_str().expect("a code").to_owned()))
    }

    /// The same as a person at a terminal of the server's machine.
    fn typed(&mut self, name: &str, entry: &Entry) -> (i32, Option<String>) {
        self.host.variables = vec![("LOGNAME".to_owned(), name.to_owned())];
        let input = example(entry);
        let asks = format!("`{}`: ", entry.spec.name);
        let whose = if entry.spec.name == SetPassword::SPEC.name { name } else { "robin" };
        let new = format!("password of {whose}: ");
        let mut talk = vec![(asks.as_str(), PASSWORD)];
        if [CreateAccount::SPEC.name, SetPassword::SPEC.name].contains(&entry.spec.name) {
            talk.extend([(new.as_str(), PASSWORD), ("once more: ", PASSWORD)]);
        }
        let words = format!("call {} '{input}' --json", entry.spec.name);
        let (text, code) = Talk::tenure(&self.host, &words).answers(&talk);
        let problem = text.lines().find_map(|line| serde_json::from_str::<Value>(line.trim()).ok());
        let refused = problem.and_then(|problem| problem["code"].as_str().map(str::to_owned));
        (code, refused)
    }
}

/// A place whose commands use a server, and somebody is logged in.
fn workstation(server: &str, authority: &Authority) -> Place {
    let mut place = using(server, authority);
    place.variables.push(("LOGNAME".to_owned(), "ada".to_owned()));
    place
}

fn is_of_authority(code: Option<&String>) -> bool {
    code.is_some_and(|code| OF_AUTHORITY.iter().any(|known| known.as_str() == code))
}

#[test]
fn every_operation_is_called_by_whom_the_table_lets() {
    let mut scene = Scene::begin();
    for entry in entries() {
        let name = entry.spec.name;
        let is_typed = entry.spec.access.is_authenticated();
        let callers = [
            (Standing::Stranger, &scene.stranger),
            (Standing::Reader, &scene.reader),
            (Standing::Session, &scene.agent),
        ];
        for (standing, place) in callers {
            let (exit, code) = scene.called(place, &entry);
            match permission(&entry.spec, standing) {
                // Where there is no terminal, nobody is asked for a password, and no server for anything.
                Permission::Refused(_) if is_typed => {
                    assert_eq!(
                        (exit, is_of_authority(code.as_ref())),
                        (5, true),
                        "{name} as {standing}: {code:?}"
                    );
                }
                Permission::Refused(refused) => {
                    // A command of a session opens one first, and hears that it may not.
                    let opens = standing == Standing::Reader && entry.spec.access == Access::Session;
                    let refused = if opens { Code::TokenReadOnly } else { refused };
                    assert_eq!((exit, code.as_deref()), (5, Some(refused.as_str())), "{name} as {standing}");
                }
                Permission::Granted | Permission::If(_) => {
                    assert!(!is_of_authority(code.as_ref()), "{name} as {standing}: {code:?}");
                }
            }
        }
        if !is_typed || entry.spec.access == Access::Console {
            continue;
        }
        for (who, standing) in
            [("member", Standing::Member), ("operator", Standing::Operator), ("ada", Standing::Administrator)]
        {
            let (exit, code) = scene.typed(who, &entry);
            match permission(&entry.spec, standing) {
                Permission::Refused(refused) => {
                    assert_eq!((exit, code.as_deref()), (5, Some(refused.as_str())), "{name} as {standing}");
                }
                Permission::Granted | Permission::If(_) => {
                    assert!(!is_of_authority(code.as_ref()), "{name} as {standing}: {code:?}");
                }
            }
        }
    }
}

#[test]
fn whoever_asks_hears_what_they_may() {
    let scene = Scene::begin();
    let told = |place: &Place, agent: &str| place.ok(agent, &["whoami", "--can"]).out;
    let stranger = scene.stranger.run("robin", &["whoami", "--can"]);
    assert_eq!(stranger.code, 5, "{}", stranger.err);
    let reader = told(&scene.reader, "");
    assert!(reader.contains("lurker: agent, asks only, counts"), "{reader}");
    assert!(!reader.contains("may, if it holds the task"), "{reader}");
    let nobody = told(&scene.agent, "robin");
    assert!(nobody.contains("needs a session: set TENURE_SESSION"), "it opens none: {nobody}");
    scene.agent.ok("robin", &["session", "open"]);
    let agent = told(&scene.agent, "robin");
    assert!(
        agent.contains("session:     robin (") && agent.contains("may, if it holds the task:"),
        "{agent}"
    );
    assert!(
        agent.contains("needs an operator's password:\n  project.policy, task.reopen, task.force-release\n"),
        "{agent}"
    );
    let can = scene.agent.json("robin", &["whoami", "--can"])["can"].as_array().expect("a list").len();
    assert_eq!(can, entries().len());
    assert!(agent.len() < 2048, "{} bytes", agent.len());
}
