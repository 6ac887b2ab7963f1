//! Accounts.

use tenure_core::operation::account::{AccountAnswer, AccountList, AccountView};

use super::{Page, Show, time};

fn state(account: &AccountView) -> &'static str {
    if account.disabled { "disabled" } else { "enabled" }
}

impl Show for AccountAnswer {
    fn show(&self, page: &mut Page) {
        let account = &self.account;
        page.line(&format!("{}: {}, {}", account.name, account.role, state(account)));
        page.field("password set", &time::moment(account.password_changed_at));
    }
}

impl Show for AccountList {
    fn show(&self, page: &mut Page) {
        let rows: Vec<_> = self
            .accounts
            .iter()
            .map(|account| {
                let set = time::moment(account.password_changed_at);
                [account.name.to_string(), account.role.to_string(), state(account).to_owned(), set]
            })
            .collect();
        if rows.is_empty() {
            page.line("no accounts");
        } else {
            page.table(["NAME", "ROLE", "STATE", "PASSWORD SET"], &rows);
        }
        if let (true, Some(last)) = (self.more, self.accounts.last()) {
            page.line(&format!("there is more: `tenure account list --after {}` goes on", last.name));
        }
    }
}
