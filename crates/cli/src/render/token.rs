//! Tokens.

use tenure_core::operation::token::{TokenAnswer, TokenList, TokenView};

use super::{Page, Show, time};

fn state(token: &TokenView) -> &'static str {
    match (token.counts, token.revoked_at) {
        (true, _) => "counts",
        (false, Some(_)) => "revoked",
        (false, None) => "over",
    }
}

fn extent(token: &TokenView) -> &'static str {
    if token.read_only { "asks only" } else { "asks and changes" }
}

pub(super) fn show(token: &TokenView, page: &mut Page) {
    page.line(&format!("{}: {}, {}, {}", token.name, token.kind, extent(token), state(token)));
    page.field("token", &token.token.to_string());
    page.field("ends", &time::moment(token.revoked_at.unwrap_or(token.expires_at)));
}

impl Show for TokenAnswer {
    fn show(&self, page: &mut Page) {
        show(&self.token, page);
    }
}

impl Show for TokenList {
    fn show(&self, page: &mut Page) {
        let rows: Vec<_> = self
            .tokens
            .iter()
            .map(|token| {
                let ends = time::moment(token.revoked_at.unwrap_or(token.expires_at));
                [
                    token.token.to_string(),
                    token.name.to_string(),
                    token.kind.to_string(),
                    extent(token).to_owned(),
                    state(token).to_owned(),
                    ends,
                ]
            })
            .collect();
        if rows.is_empty() {
            page.line("no tokens");
        } else {
            page.table(["TOKEN", "NAME", "KIND", "MAY", "STATE", "ENDS"], &rows);
        }
        if let (true, Some(last)) = (self.more, self.tokens.last()) {
            page.line(&format!("there is more: `tenure token list --after {}` goes on", last.token));
        }
    }
}
