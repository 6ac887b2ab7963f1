//! Accounts: who may have which role, and that there is always somebody who can give them.

use serde_json::{Value, json};

use super::{Rule, as_of, page_rows};
use crate::envelope::Call;
use crate::model::account::{Account, PasswordHash, Role};
use crate::model::event::{Actor, EventKind};
use crate::model::ids::PrincipalName;
use crate::model::limits::{TEXT_BYTES, check_text};
use crate::model::refusal::{Code, Refusal};
use crate::model::session::{Principal, PrincipalKind};
use crate::mutant::Mutant;
use crate::operation::account::{
    AccountAnswer, AccountList, AccountView, BootstrapAccount, CreateAccount, EditAccount, ListAccounts,
    RecordAuthentications, Recorded, RehashPassword, SetPassword,
};
use crate::working_set::{About, Need, Page, Step, WorkingSet, together};

impl Rule for BootstrapAccount {
    fn scope(&self, _call: &Call) -> Vec<Need> {
        vec![Need::Administrators, Need::Account(self.name.clone()), Need::Principal(self.name.clone())]
    }

    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<AccountAnswer> {
        if !set.administrators()?.is_empty() && !Mutant::BootstrapAgain.is_on() {
            let detail = "this fleet has an administrator, and the first one is made only once";
            let refusal = Refusal::new(Code::StateConflict, detail);
            return Err(refusal.next("ask an administrator for `tenure account create`").into());
        }
        let actor = Actor {
            principal: Some(self.name.clone()),
            machine: None,
            reporter: None,
            session: None,
            parent: None,
            operation: None,
        };
        let facts = json!({ "by": "console" });
        create(set, call, (&self.name, Role::Administrator), facts, Some(actor))
    }
}

impl Rule for CreateAccount {
    fn scope(&self, _call: &Call) -> Vec<Need> {
        vec![Need::Account(self.name.clone()), Need::Principal(self.name.clone())]
    }

    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<AccountAnswer> {
        check_text("reason", &self.reason, TEXT_BYTES, false)?;
        create(set, call, (&self.name, self.role), json!({ "reason": self.reason }), None)
    }
}

/// Makes an account that is not there. A name under which sessions were opened before is that person's from now on.
fn create(
    set: &mut WorkingSet,
    call: &Call,
    (name, role): (&PrincipalName, Role),
    facts: Value,
    actor: Option<Actor>,
) -> Step<AccountAnswer> {
    let password = new_password(call)?;
    if set.account(name)?.is_some() {
        let detail = format!("{name} has an account already");
        return Err(Refusal::new(Code::AlreadyExists, detail).into());
    }
    let known = set.principal(name)?;
    if known.as_ref().is_some_and(|known| known.kind == PrincipalKind::Machine) {
        return Err(Refusal::new(Code::AlreadyExists, format!("{name} is the name of a machine")).into());
    }
    if known.is_none() {
        let about = About { data: json!({ "name": name }), actor: actor.clone(), ..About::default() };
        set.record(EventKind::PrincipalCreated, about);
    }
    let created_at = known.map_or(call.now.wall, |principal| principal.created_at);
    set.principals.put(Principal {
        name: name.clone(),
        kind: PrincipalKind::Person,
        created_at,
        machine: None,
    });
    let account = Account {
        name: name.clone(),
        role,
        password,
        disabled: false,
        created_at: call.now.wall,
        password_changed_at: call.now.wall,
    };
    keep(set, EventKind::AccountCreated, account, facts, actor)
}

/// Writes an account with the event that tells what it is now.
fn keep(
    set: &mut WorkingSet,
    kind: EventKind,
    account: Account,
    facts: Value,
    actor: Option<Actor>,
) -> Step<AccountAnswer> {
    let mut data = json!({
        "account": account.name, "role": account.role, "disabled": account.disabled, "row": account.digest(),
    });
    if let (Some(data), Value::Object(facts)) = (data.as_object_mut(), facts) {
        data.extend(facts);
    }
    set.record(kind, About { data, actor, ..About::default() });
    let answer = AccountAnswer { account: view(&account) };
    set.accounts.put(account);
    Ok(answer)
}

fn view(account: &Account) -> AccountView {
    AccountView {
        name: account.name.clone(),
        role: account.role,
        disabled: account.disabled,
        created_at: account.created_at,
        password_changed_at: account.password_changed_at,
    }
}

/// The hash of the password that came beside the operation.
fn new_password(call: &Call) -> Result<PasswordHash, Refusal> {
    call.envelope.new_password.clone().ok_or_else(|| {
        Refusal::field("password", "is missing", "send the password that the account is to have")
    })
}

impl Rule for ListAccounts {
    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<AccountList> {
        let rows = page_rows(self.limit)?;
        let page = Page::Accounts { after: self.after.clone(), count: rows + 1 };
        let names = set.page(&page)?.accounts();
        let accounts = together(names.iter().take(rows as usize).map(|name| set.account(name)))?;
        Ok(AccountList {
            accounts: accounts.iter().flatten().map(view).collect(),
            more: names.len() > rows as usize,
            as_of: as_of(set, call),
        })
    }
}

impl Rule for EditAccount {
    fn scope(&self, _call: &Call) -> Vec<Need> {
        vec![Need::Account(self.name.clone()), Need::Administrators]
    }

    fn decide(&self, set: &mut WorkingSet, _call: &Call) -> Step<AccountAnswer> {
        check_text("reason", &self.reason, TEXT_BYTES, false)?;
        if self.role.is_none() && self.disabled.is_none() {
            let remedy = "name a role, or say whether the account is disabled";
            return Err(Refusal::field("role", "and disabled are both missing", remedy).into());
        }
        let account = existing(set, &self.name)?;
        let role = self.role.unwrap_or(account.role);
        let disabled = self.disabled.unwrap_or(account.disabled);
        let edited = Account { role, disabled, ..account };
        let others = set.administrators()?;
        if !administers(&edited) && others.iter().all(|other| other.name == self.name) {
            let detail = format!("{} is the only administrator that is not disabled", self.name);
            let refusal = Refusal::new(Code::StateConflict, detail);
            return Err(refusal.next("make somebody else an administrator first").into());
        }
        keep(set, EventKind::AccountEdited, edited, json!({ "reason": self.reason }), None)
    }
}

/// Whether an account can give others theirs.
fn administers(account: &Account) -> bool {
    account.role == Role::Administrator && !account.disabled
}

impl Rule for SetPassword {
    fn scope(&self, _call: &Call) -> Vec<Need> {
        self.name.clone().map(Need::Account).into_iter().collect()
    }

    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<AccountAnswer> {
        let person = person(call)?;
        let name = self.name.as_ref().unwrap_or(&person.name);
        let is_own = *name == person.name;
        if !is_own && !person.role.includes(Role::Administrator) {
            let detail = format!("{} is no administrator and sets no password but their own", person.name);
            return Err(Refusal::new(Code::OperatorRequired, detail).into());
        }
        let facts = match &self.reason {
            Some(reason) => {
                check_text("reason", reason, TEXT_BYTES, false)?;
                json!({ "reason": reason })
            }
            None if is_own => Value::Null,
            None => {
                let wrong = "is missing, and it is somebody else's password";
                return Err(Refusal::field("reason", wrong, "say why it is set").into());
            }
        };
        let account = existing(set, name)?;
        let changed =
            Account { password: new_password(call)?, password_changed_at: call.now.wall, ..account };
        keep(set, EventKind::PasswordChanged, changed, facts, None)
    }
}

impl Rule for RehashPassword {
    fn scope(&self, _call: &Call) -> Vec<Need> {
        vec![Need::Account(self.name.clone())]
    }

    fn decide(&self, set: &mut WorkingSet, call: &Call) -> Step<Recorded> {
        let password = new_password(call)?;
        // The password that was proven may be another's by now.
        let account = set.account(&self.name)?.filter(|account| account.password.digest() == self.from);
        let Some(account) = account else { return Ok(Recorded { recorded: false }) };
        let facts = json!({ "rehashed": true });
        keep(set, EventKind::PasswordChanged, Account { password, ..account }, facts, None)?;
        Ok(Recorded { recorded: true })
    }
}

impl Rule for RecordAuthentications {
    fn decide(&self, set: &mut WorkingSet, _call: &Call) -> Step<Recorded> {
        for (kind, times) in
            [(EventKind::PersonAuthenticated, self.proven), (EventKind::AuthenticationRefused, self.refused)]
        {
            if times > 0 {
                let data = json!({ "account": self.name, "times": times });
                set.record(kind, About { data, ..About::default() });
            }
        }
        Ok(Recorded { recorded: self.proven + self.refused > 0 })
    }
}

fn existing(set: &WorkingSet, name: &PrincipalName) -> Step<Account> {
    set.account(name)?
        .ok_or_else(|| Refusal::not_found("account", name).next("`tenure account list` shows them").into())
}

/// The person who asks. The engine has authenticated them before any rule of a person runs.
fn person(call: &Call) -> Step<&Account> {
    call.account
        .as_ref()
        .ok_or_else(|| Refusal::new(Code::OperatorRequired, "the call names no person").into())
}
