//! Accounts: the first administrator, who may change what, and that somebody always can.

use serde_json::{Value, json};
use tenure_core::envelope::Envelope;
use tenure_core::model::account::{Account, PasswordHash};
use tenure_core::model::event::EventKind;
use tenure_core::model::refusal::Code;
use tenure_core::model::session::PrincipalKind;
use tenure_core::operation::account::{RecordAuthentications, RehashPassword};
use tenure_core::operation::catalog::AnyOperation;

use crate::world::{World, from};

fn hash(text: &str) -> PasswordHash {
    format!("$argon2id$v=19$m=8,t=1,p=1$c2FsdA${text}").parse().expect("a hash")
}

impl World {
    /// Runs an operation as an authenticated person, with the hash of a new password.
    pub fn by(
        &mut self,
        person: Option<&str>,
        password: &str,
        operation: &AnyOperation,
    ) -> Result<Value, Code> {
        let operation_id = Some(self.next_operation());
        let envelope = Envelope { operation_id, new_password: Some(hash(password)), ..Envelope::default() };
        let mut call = self.call(None, envelope);
        call.account = person.map(|name| self.account(name));
        let answer = self.settle(&call, operation).map_err(|refusal| refusal.code)?;
        Ok(serde_json::from_str(&answer).expect("an answer is JSON"))
    }

    fn account(&self, name: &str) -> Account {
        let name = name.parse().expect("a name");
        self.set.accounts.get(&name).flatten().expect("an account").clone()
    }

    fn with_administrator() -> Self {
        let mut world = Self::new();
        world.by(None, "first", &from(json!({ "name": "ada" }), "account.bootstrap")).expect("made");
        world
    }
}

fn create(name: &str, role: &str) -> AnyOperation {
    from(json!({ "name": name, "role": role, "reason": "joins the team" }), "account.create")
}

fn edit(name: &str, more: &Value) -> AnyOperation {
    let input = json!({ "name": name, "reason": "because" });
    from(crate::world::with(&input, more), "account.edit")
}

fn password(name: Option<&str>, reason: Option<&str>) -> AnyOperation {
    from(json!({ "name": name, "reason": reason }), "account.password")
}

#[test]
fn the_first_administrator_is_made_once() {
    let mut world = World::new();
    let bootstrap = |name: &str| from(json!({ "name": name }), "account.bootstrap");
    let made = world.by(None, "first", &bootstrap("ada")).expect("made");
    assert_eq!(made["account"]["role"], "administrator");
    assert!(!made.to_string().contains("argon2"), "no hash is told: {made}");
    assert_eq!(world.by(None, "first", &bootstrap("eve")), Err(Code::StateConflict));
    assert_eq!(world.by(None, "first", &bootstrap("ada")), Err(Code::StateConflict));
    let ada = "ada".parse().expect("a name");
    assert_eq!(world.set.principals.get(&ada).flatten().expect("known").kind, PrincipalKind::Person);
    let event = &world.set.events.last().expect("recorded").event;
    assert_eq!(event.kind, EventKind::AccountCreated);
    assert_eq!(event.actor.principal.as_ref(), Some(&ada));
    assert_eq!(event.data["row"], world.account("ada").digest().to_string());
}

#[test]
fn an_account_has_a_new_name_and_a_password() {
    let mut world = World::with_administrator();
    let made = world.by(Some("ada"), "second", &create("bob", "operator")).expect("made");
    assert_eq!(made["account"]["role"], "operator");
    assert_eq!(world.by(Some("ada"), "third", &create("bob", "member")), Err(Code::AlreadyExists));
    let envelope = Envelope { operation_id: Some(world.next_operation()), ..Envelope::default() };
    let call = world.call(None, envelope);
    let refused = world.settle(&call, &create("carol", "member")).expect_err("no password came");
    assert_eq!(refused.code, Code::InvalidInput);
}

#[test]
fn a_name_that_had_sessions_becomes_the_persons() {
    let mut world = World::with_administrator();
    world.agent("bob");
    let before = world.set.events.len();
    world.by(Some("ada"), "second", &create("bob", "member")).expect("made");
    assert_eq!(world.set.events.len(), before + 1, "the principal is not seen for the first time");
    let bob = "bob".parse().expect("a name");
    assert_eq!(world.set.principals.get(&bob).flatten().expect("known").kind, PrincipalKind::Person);
}

#[test]
fn somebody_can_always_give_accounts() {
    let mut world = World::with_administrator();
    for more in [json!({ "role": "operator" }), json!({ "disabled": true }), json!({ "role": "member" })] {
        assert_eq!(world.by(Some("ada"), "x", &edit("ada", &more)), Err(Code::StateConflict), "{more}");
    }
    world.by(Some("ada"), "second", &create("bob", "administrator")).expect("made");
    world.by(Some("ada"), "x", &edit("bob", &json!({ "disabled": true }))).expect("disabled");
    assert_eq!(
        world.by(Some("ada"), "x", &edit("ada", &json!({ "role": "member" }))),
        Err(Code::StateConflict)
    );
    world.by(Some("ada"), "x", &edit("bob", &json!({ "disabled": false }))).expect("enabled");
    world.by(Some("ada"), "x", &edit("ada", &json!({ "role": "member" }))).expect("there is another one");
    assert_eq!(world.by(Some("bob"), "x", &edit("none", &json!({ "disabled": true }))), Err(Code::NotFound));
    assert_eq!(world.by(Some("bob"), "x", &edit("ada", &json!({}))), Err(Code::InvalidInput));
}

#[test]
fn a_password_is_ones_own_or_set_by_an_administrator_with_a_reason() {
    let mut world = World::with_administrator();
    world.by(Some("ada"), "second", &create("bob", "operator")).expect("made");
    world.pass(1_000);
    world.by(Some("bob"), "third", &password(None, None)).expect("his own");
    assert_eq!(world.account("bob").password, hash("third"));
    assert_eq!(world.account("bob").password_changed_at, world.now.wall);
    world.by(Some("bob"), "fourth", &password(Some("bob"), None)).expect("his own by name");
    assert_eq!(world.by(Some("bob"), "x", &password(Some("ada"), Some("mine"))), Err(Code::OperatorRequired));
    assert_eq!(world.account("ada").password, hash("first"));
    assert_eq!(world.by(Some("ada"), "x", &password(Some("bob"), None)), Err(Code::InvalidInput));
    world.by(Some("ada"), "fifth", &password(Some("bob"), Some("forgotten"))).expect("reset");
    assert_eq!(world.account("bob").password, hash("fifth"));
    assert_eq!(world.by(Some("ada"), "x", &password(Some("none"), Some("why"))), Err(Code::NotFound));
}

#[test]
fn a_password_is_hashed_anew_only_if_it_still_is_the_one_that_was_proven() {
    let mut world = World::with_administrator();
    let rehash = |from: &PasswordHash| {
        RehashPassword { name: "ada".parse().expect("a name"), from: from.digest() }.into()
    };
    let changed_at = world.account("ada").password_changed_at;
    world.pass(1_000);
    assert_eq!(world.by(None, "dearer", &rehash(&hash("another"))), Ok(json!({ "recorded": false })));
    assert_eq!(world.account("ada").password, hash("first"));
    assert_eq!(world.by(None, "dearer", &rehash(&hash("first"))), Ok(json!({ "recorded": true })));
    assert_eq!(world.account("ada").password, hash("dearer"));
    assert_eq!(world.account("ada").password_changed_at, changed_at, "it is the same password");
}

#[test]
fn authentications_are_counted_in_the_record() {
    let mut world = World::with_administrator();
    let record = |proven, refused| RecordAuthentications { name: None, proven, refused }.into();
    assert_eq!(world.by(None, "x", &record(0, 0)), Ok(json!({ "recorded": false })));
    world.by(None, "x", &record(2, 7)).expect("recorded");
    let kinds: Vec<_> = world.set.events.iter().rev().take(2).map(|stored| stored.event.kind).collect();
    assert_eq!(kinds, [EventKind::AuthenticationRefused, EventKind::PersonAuthenticated]);
    assert_eq!(world.set.events.last().expect("recorded").event.data["times"], 7);
}

#[test]
fn accounts_are_listed_in_pages_by_name() {
    let mut world = World::with_administrator();
    for name in ["carol", "bob"] {
        world.by(Some("ada"), "second", &create(name, "member")).expect("made");
    }
    let list = |input: Value| from(input, "account.list");
    let page = world.by(Some("ada"), "x", &list(json!({ "limit": 2 }))).expect("listed");
    let names: Vec<&str> =
        page["accounts"].as_array().expect("rows").iter().filter_map(|row| row["name"].as_str()).collect();
    assert_eq!((names, &page["more"]), (vec!["ada", "bob"], &json!(true)));
    assert!(!page.to_string().contains("argon2"), "no hash is told");
    let rest = world.by(Some("ada"), "x", &list(json!({ "after": "bob" }))).expect("listed");
    assert_eq!(rest["accounts"].as_array().map(Vec::len), Some(1));
    assert_eq!(rest["more"], false);
}
