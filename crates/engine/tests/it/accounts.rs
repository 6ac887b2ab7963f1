//! Who may act as a person is judged under the lock, by the account as it is then; and whoever changes an account in the
//! store shows in the record.

use serde_json::json;
use tenure_core::envelope::{Authentication, Envelope};
use tenure_core::model::account::PasswordHash;
use tenure_core::model::ids::OperationId;
use tenure_core::model::refusal::Code;
use tenure_core::mutant::Mutant;
use tenure_core::operation::catalog::AnyOperation;
use tenure_engine::Command;
use tenure_engine::chain::{FlawKind, verify};

use crate::world::{Agent, World, on_every_store, operation, operation_id};

pub fn hash(text: &str) -> PasswordHash {
    format!("$argon2id$v=19$m=8,t=1,p=1$c2FsdA${text}").parse().expect("a hash")
}

/// A command of somebody who proved a password.
pub fn by(name: &str, proven: &str, operation: AnyOperation) -> Command {
    let authentication =
        Authentication::Password { name: name.parse().expect("a name"), hash: hash(proven).digest() };
    let envelope = Envelope {
        operation_id: Some(operation_id()),
        authentication: Some(authentication),
        ..Envelope::default()
    };
    Command { operation, envelope }
}

/// Runs commands in one batch, and tells why each was refused.
pub fn codes(world: &mut World, commands: Vec<Command>) -> Vec<Option<Code>> {
    let answers = world.batch(commands).expect("the store works").answers;
    answers.into_iter().map(|answer| answer.err().map(|refusal| refusal.code)).collect()
}

pub fn events(world: &mut World) -> Vec<serde_json::Value> {
    let page = world.ask(operation("events", json!({ "limit": 1000 })));
    page["events"].as_array().expect("events").clone()
}

/// What the check of the record finds once a store that it called whole was changed by other means: what is wrong, and
/// with which kind of event.
pub fn flaw_after(world: &mut World, sql: &str) -> Option<(FlawKind, String)> {
    assert_eq!(verify(&mut *world.driver, &mut |_| ()).expect("verified").flaw, None);
    world.driver.begin_write().expect("begun");
    world.driver.execute(sql, &[]).expect("changed");
    world.driver.commit().expect("committed");
    let report = verify(&mut *world.driver, &mut |_| ()).expect("verified");
    let events = events(world);
    report.flaw.map(|flaw| {
        let event = events.iter().find(|event| event["number"] == flaw.event.0).expect("an event");
        (flaw.kind, event["kind"].as_str().expect("a kind").to_owned())
    })
}

pub fn bootstrap(name: &str, password: &str) -> Command {
    let envelope = Envelope {
        operation_id: Some(operation_id()),
        authentication: Some(Authentication::Console),
        new_password: Some(hash(password)),
        ..Envelope::default()
    };
    Command { operation: operation("account.bootstrap", json!({ "name": name })), envelope }
}

fn create(by_whom: (&str, &str), name: &str, role: &str, password: &str) -> Command {
    let input = json!({ "name": name, "role": role, "reason": "joins" });
    with(by(by_whom.0, by_whom.1, operation("account.create", input)), password)
}

fn with(mut command: Command, password: &str) -> Command {
    command.envelope.new_password = Some(hash(password));
    command
}

fn set_password(by_whom: (&str, &str), password: &str) -> Command {
    with(by(by_whom.0, by_whom.1, operation("account.password", json!({}))), password)
}

fn edit(by_whom: (&str, &str), name: &str, more: &serde_json::Value) -> Command {
    let mut input = json!({ "name": name, "reason": "because" });
    input.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    by(by_whom.0, by_whom.1, operation("account.edit", input))
}

/// A finished task, and an operator `bob` beside the administrator `ada`.
fn scene(world: &mut World) {
    let agent = Agent::new("worker", 1);
    world.done(agent.open());
    world.done(agent.command(operation("project.create", json!({ "key": "p" }))));
    world.done(agent.command(operation("task.create", json!({ "project": "p", "title": "work" }))));
    let claim = world.done(agent.command(operation("claim", json!({ "task": "p-1" }))));
    world.done(agent.fenced(operation("close", json!({ "task": "p-1", "note": "done" })), &claim));
    world.done(bootstrap("ada", "first"));
    world.done(create(("ada", "first"), "bob", "operator", "second"));
}

fn reopen(by_whom: (&str, &str)) -> Command {
    by(by_whom.0, by_whom.1, operation("task.reopen", json!({ "task": "p-1", "reason": "not done" })))
}

#[test]
fn an_operator_reopens_a_task_and_is_recorded_and_nobody_else_does() {
    on_every_store(|mut world| {
        scene(&mut world);
        let agent = Agent::new("worker", 1);
        let input = || operation("task.reopen", json!({ "task": "p-1", "reason": "mine" }));
        assert_eq!(world.refused(agent.command(input())), Code::OperatorRequired, "an agent is no operator");
        assert_eq!(world.refused(reopen(("bob", "wrong"))), Code::AuthenticationFailed);
        assert_eq!(world.refused(reopen(("nobody", "second"))), Code::AuthenticationFailed);
        world.done(create(("ada", "first"), "mia", "member", "third"));
        assert_eq!(
            world.refused(reopen(("mia", "third"))),
            Code::OperatorRequired,
            "a member is none either"
        );
        assert_eq!(
            world.refused(create(("bob", "second"), "eve", "administrator", "x")),
            Code::OperatorRequired
        );
        let command = reopen(("bob", "second"));
        let answer = world.done(command.clone());
        assert_eq!(answer["task"]["status"], "ready");
        assert_eq!(world.done(command), answer, "the same request is answered the same");
        let events = events(&mut world);
        let event = events.iter().rfind(|event| event["kind"] == "task_reopened").expect("recorded");
        assert_eq!((&event["actor"]["principal"], &event["actor"]["session"]), (&json!("bob"), &json!(null)));
        assert_eq!(event["data"]["reason"], "not done");
    });
}

#[test]
fn who_lost_a_role_hears_again_what_was_answered_and_does_nothing_new() {
    on_every_store(|mut world| {
        scene(&mut world);
        let command = reopen(("bob", "second"));
        let answer = world.done(command.clone());
        world.done(edit(("ada", "first"), "bob", &json!({ "role": "member" })));
        assert_eq!(world.done(command), answer);
        assert_eq!(world.refused(reopen(("bob", "second"))), Code::OperatorRequired);
    });
}

#[test]
fn a_password_that_was_changed_meanwhile_counts_no_more() {
    let changed_meanwhile = || {
        let mut world = World::in_memory();
        scene(&mut world);
        // Both were compared before either was queued, and share a batch.
        codes(&mut world, vec![set_password(("bob", "second"), "third"), reopen(("bob", "second"))])
    };
    assert_eq!(changed_meanwhile(), [None, Some(Code::AuthenticationFailed)]);
    assert_eq!(
        Mutant::StalePassword.while_on(changed_meanwhile),
        [None, None],
        "the mistake would be noticed"
    );
}

#[test]
fn an_account_that_was_disabled_meanwhile_does_nothing() {
    let disabled_meanwhile = || {
        let mut world = World::in_memory();
        scene(&mut world);
        let disable = edit(("ada", "first"), "bob", &json!({ "disabled": true }));
        codes(&mut world, vec![disable, reopen(("bob", "second"))])
    };
    assert_eq!(disabled_meanwhile(), [None, Some(Code::AuthenticationFailed)]);
    assert_eq!(
        Mutant::DisabledActs.while_on(disabled_meanwhile),
        [None, None],
        "the mistake would be noticed"
    );
}

#[test]
fn of_two_who_make_the_first_administrator_one_wins() {
    let race = || {
        let mut world = World::in_memory();
        codes(&mut world, vec![bootstrap("ada", "first"), bootstrap("eve", "second")])
    };
    assert_eq!(race(), [None, Some(Code::StateConflict)]);
    assert_eq!(Mutant::BootstrapAgain.while_on(race), [None, None], "the mistake would be noticed");
}

#[test]
fn the_first_administrator_is_made_at_the_console_alone_and_a_lost_answer_is_given_again() {
    on_every_store(|mut world| {
        let mut command = bootstrap("ada", "first");
        command.envelope.authentication = None;
        assert_eq!(world.refused(command), Code::AuthenticationFailed);
        let mut command = bootstrap("ada", "first");
        let answer = world.done(command.clone());
        command.envelope.new_password = Some(hash("anothersalt"));
        assert_eq!(world.done(command), answer, "another salt makes no other request");
    });
}

#[test]
fn a_changed_password_is_no_other_request_when_it_is_asked_again() {
    on_every_store(|mut world| {
        scene(&mut world);
        let id: OperationId = "op-change".parse().expect("an id");
        let mut command = set_password(("bob", "second"), "third");
        command.envelope.operation_id = Some(id.clone());
        let answer = world.done(command);
        let mut again = set_password(("bob", "third"), "thirdsalted");
        again.envelope.operation_id = Some(id);
        assert_eq!(world.done(again), answer);
        assert_eq!(world.refused(reopen(("bob", "second"))), Code::AuthenticationFailed);
        world.done(reopen(("bob", "third")));
    });
}

#[test]
fn whoever_changes_accounts_in_the_store_shows_in_the_record() {
    let altered = |sql: &str| {
        let mut world = World::in_memory();
        scene(&mut world);
        world.done(set_password(("bob", "second"), "third"));
        world.done(edit(("ada", "first"), "bob", &json!({ "role": "member" })));
        flaw_after(&mut world, sql)
    };
    let of_bob = Some((FlawKind::Account, "account_edited".to_owned()));
    assert_eq!(altered("UPDATE account SET role = 'administrator' WHERE name = 'bob'"), of_bob);
    assert_eq!(altered("UPDATE account SET disabled = 1 WHERE name = 'bob'"), of_bob);
    let planted = hash("planted");
    let plant = format!("UPDATE account SET password = '{}' WHERE name = 'bob'", planted.as_str());
    assert_eq!(altered(&plant), of_bob);
    assert_eq!(altered("DELETE FROM account WHERE name = 'bob'"), of_bob);
    assert_eq!(
        altered("UPDATE account SET role = 'root' WHERE name = 'bob'"),
        of_bob,
        "a word that nobody knows"
    );
    let of_ada = Some((FlawKind::Account, "account_created".to_owned()));
    assert_eq!(altered("UPDATE account SET password_changed_at = 0 WHERE name = 'ada'"), of_ada);
    let insert = format!(
        "INSERT INTO account (name, role, password, disabled, created_at, password_changed_at) \
         VALUES ('worker', 'administrator', '{}', 0, 1, 1)",
        planted.as_str()
    );
    let (kind, _) = altered(&insert).expect("noticed");
    assert_eq!(kind, FlawKind::UntoldAccount);
    let insert = "INSERT INTO principal (name, kind, created_at) VALUES ('eve', 'agent', 1)";
    let (kind, _) = altered(insert).expect("noticed");
    assert_eq!(kind, FlawKind::UntoldPrincipal);
}

#[test]
fn a_first_administrator_who_is_made_again_shows_in_the_record() {
    let mut world = World::in_memory();
    scene(&mut world);
    for (sql, kind) in [
        ("DELETE FROM account", FlawKind::Account),
        ("DELETE FROM principal WHERE name = 'bob'", FlawKind::Principal),
    ] {
        world.driver.begin_write().expect("begun");
        world.driver.execute(sql, &[]).expect("changed");
        world.driver.commit().expect("committed");
        let report = verify(&mut *world.driver, &mut |_| ()).expect("verified");
        assert_eq!(report.flaw.map(|flaw| flaw.kind), Some(kind), "{sql}");
    }
    // The store shows nobody, so the console is believed.
    world.done(bootstrap("ada", "mine"));
    world.done(create(("ada", "mine"), "bob", "operator", "his"));
    let report = verify(&mut *world.driver, &mut |_| ()).expect("verified");
    assert_eq!(report.flaw.map(|flaw| flaw.kind), Some(FlawKind::FoundedAgain));
}
