//! The pages themselves.

use std::time::Instant;

use tenure_core::model::ids::Digest;
use tenure_core::model::limits::{LOGIN_IDLE_MS, LOGIN_MS_MAX, LOGIN_RECENT_MS};
use tenure_core::model::refusal::Refusal;
use tenure_core::model::time::duration;
use tenure_core::operation::catalog::entries;
use tenure_core::operation::permission::{Permission, permission};
use tenure_core::server_route::ServerRoute;

use super::super::logins::{Login, LoginSecret};
use super::super::openapi::summary;

/// The style of both pages: light and dark, as the browser says.
pub(super) const STYLE: &str = include_str!("style.css");

/// The page that asks for a name and a password, with what was refused before.
pub(super) fn login(name: &str, refused: Option<&Refusal>) -> String {
    let told = refused.map(|refusal| {
        let steps: Vec<String> = refusal.next_actions.iter().map(|step| escaped(step)).collect();
        let detail = sentence(&escaped(&refusal.detail));
        format!(
            "<p class=\"refused\" id=\"refused\" role=\"alert\">{detail} {}</p>",
            sentence(&steps.join("; "))
        )
    });
    let described = if told.is_some() { " aria-describedby=\"refused\"" } else { "" };
    let (focus_name, focus_password) = if name.is_empty() { (" autofocus", "") } else { ("", " autofocus") };
    let body = format!(
        "<main class=\"narrow\"><h1>Log in to Tenure</h1>{told}\
        <form method=\"post\" action=\"{action}\">\
        <label for=\"name\">Name</label>\
        <input id=\"name\" name=\"name\" value=\"{name}\" autocomplete=\"username\" autocapitalize=\"none\" \
        spellcheck=\"false\" required{focus_name}{described}>\
        <label for=\"password\">Password</label>\
        <input id=\"password\" name=\"password\" type=\"password\" autocomplete=\"current-password\" \
        required{focus_password}{described}>\
        <button type=\"submit\">Log in</button></form>\
        <p class=\"quiet\">For people with an account. An administrator makes one with \
        <code>tenure account create</code>. Agents come with a token.</p></main>",
        told = told.unwrap_or_default(),
        action = ServerRoute::Login.path(),
        name = escaped(name),
    );
    document("Log in", &body)
}

/// The page that tells who one is and what one may do.
pub(super) fn home(secret: &LoginSecret, login: &Login, own: &[(Digest, Login)], now: Instant) -> String {
    let (name, role) = (escaped(login.name.as_str()), login.role);
    let word = secret.page_word();
    let carried = format!("<input type=\"hidden\" name=\"page\" value=\"{word}\">");
    let rows: String = own.iter().map(|(hash, one)| row(hash, one, secret, &carried, now)).collect();
    let body = format!(
        "<header><p><strong>Tenure</strong></p><form method=\"post\" action=\"{out}\">{carried}\
        <button class=\"plain\" type=\"submit\">Log out</button></form></header>\
        <main><h1>You are {name}</h1><p>Your account has the role <strong>{role}</strong>.</p>\
        <h2>What you may do</h2><p>You may ask for everything that is coordinated here.</p>{may}\
        <h2>Where you are logged in</h2>\
        <table><thead><tr><th scope=\"col\">Login</th><th scope=\"col\">Began</th><th scope=\"col\">Last used</th>\
        <th scope=\"col\"><span class=\"hidden\">End it</span></th></tr></thead><tbody>{rows}</tbody></table>\
        <p class=\"quiet\">A login ends {idle} minutes after it was last used and {most} hours after it began, when this server \
        restarts, and with every change of your account.</p></main>",
        out = ServerRoute::Logout.path(),
        may = may(login),
        idle = LOGIN_IDLE_MS / 60_000,
        most = LOGIN_MS_MAX / 3_600_000,
    );
    document(&format!("You are {name}"), &body)
}

/// What the role lets a person do that agents may not.
fn may(login: &Login) -> String {
    let of_people = entries().into_iter().filter(|entry| entry.spec.access.role().is_some());
    let own = of_people
        .filter(|entry| !matches!(permission(&entry.spec, login.role.into()), Permission::Refused(_)));
    let rows: String = own
        .map(|entry| format!("<li><code>{}</code> {}</li>", entry.spec.name, escaped(&summary(&entry))))
        .collect();
    format!(
        "<p>While your login is younger than {} minutes, also:</p><ul>{rows}</ul>",
        LOGIN_RECENT_MS / 60_000
    )
}

fn row(hash: &Digest, one: &Login, secret: &LoginSecret, carried: &str, now: Instant) -> String {
    let (began, used) = one.ages(now);
    let ago = |age: std::time::Duration| {
        format!("{} ago", duration(i64::try_from(age.as_millis()).unwrap_or(i64::MAX)))
    };
    let name = name_of(hash);
    let ends = if *hash == secret.hash() {
        "this browser".to_owned()
    } else {
        format!(
            "<form method=\"post\" action=\"{}\">{carried}<input type=\"hidden\" name=\"login\" value=\"{name}\">\
            <button class=\"plain\" type=\"submit\">End<span class=\"hidden\"> the login {name}</span></button></form>",
            ServerRoute::EndLogin.path()
        )
    };
    format!(
        "<tr><td><code>{name}</code></td><td>{}</td><td>{}</td><td>{ends}</td></tr>",
        ago(began),
        ago(used)
    )
}

/// By what a person tells their logins apart.
pub(super) fn name_of(hash: &Digest) -> String {
    hash.to_string().chars().take(8).collect()
}

fn document(title: &str, body: &str) -> String {
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
        <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
        <meta name=\"color-scheme\" content=\"light dark\"><title>{title} · Tenure</title>\
        <link rel=\"stylesheet\" href=\"{style}\"></head><body>{body}</body></html>\n",
        style = ServerRoute::Style.path()
    )
}

/// A text where none of its characters means anything to a browser.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            plain => escaped.push(plain),
        }
    }
    escaped
}

/// A text as a sentence of its own.
fn sentence(text: &str) -> String {
    let mut rest = text.chars();
    match rest.next() {
        Some(first) => format!("{}{}.", first.to_uppercase(), rest.as_str().trim_end_matches('.')),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_typed_stays_text() {
        let page = login("<script>\"'&", None);
        assert!(page.contains("value=\"&lt;script&gt;&quot;&#39;&amp;\"") && !page.contains("<script"));
    }

    #[test]
    fn pages_have_neither_scripts_nor_styles_of_their_own_nor_anything_from_elsewhere() {
        let page = login("", None);
        for wrong in ["<script", "style=", "http:", "https:", "//", "javascript", "onclick", "<img"] {
            assert!(!page.contains(wrong), "{wrong}");
        }
        assert!(!STYLE.contains("url(") && !STYLE.contains("@import"));
    }
}
