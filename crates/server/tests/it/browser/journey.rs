//! What a person does in a real browser, and what a page of another site tries there.

use std::io::{Read, Write};
use std::net::TcpListener;

use serde_json::{Value, json};

use super::chromium::Chromium;
use crate::daemon::Served;
use crate::tokens::{PASSWORD, administered, by_ada};

fn url(served: &Served, path: &str) -> String {
    format!("http://localhost:{}{path}", served.address().port())
}

/// Types name and password where the page has put the cursor, and sends them.
fn log_in(browser: &mut Chromium, name: &str, password: &str) {
    browser.types(name);
    browser.presses("Tab");
    browser.types(password);
    browser.until_loaded(|browser| browser.presses("Enter"));
}

fn heading(browser: &mut Chromium) -> Value {
    browser.tell("document.querySelector('h1').textContent")
}

/// The names that are read aloud of everything of a role.
fn names(browser: &mut Chromium, role: &str) -> Vec<String> {
    let tree = browser.call("Accessibility.getFullAXTree", &json!({}));
    let nodes = tree["nodes"].as_array().expect("a tree").iter();
    let of_role = nodes.filter(|node| node["role"]["value"] == role);
    of_role.map(|node| node["name"]["value"].as_str().unwrap_or_default().to_owned()).collect()
}

/// The least contrast of a text with what is behind it.
const CONTRAST: &str = "(() => {
    const light = (color) => {
        const parts = color.match(/[0-9.]+/g).slice(0, 3).map((part) => {
            const share = part / 255;
            return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
    };
    const behind = (element) => {
        for (; element; element = element.parentElement) {
            const color = getComputedStyle(element).backgroundColor;
            if (!/, 0\\)$/.test(color)) return color;
        }
        return 'rgb(255, 255, 255)';
    };
    const texts = [...document.querySelectorAll('h1, h2, p, label, input, button, td, th, li, code')];
    return Math.min(...texts.map((text) => {
        const [one, other] = [light(getComputedStyle(text).color), light(behind(text))];
        return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    }));
})()";

fn is_readable(browser: &mut Chromium, page: &str) {
    for scheme in ["light", "dark"] {
        let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        browser.call("Emulation.setEmulatedMedia", &media);
        let contrast = browser.tell(CONTRAST).as_f64().expect("a number");
        assert!(contrast >= 4.5, "{page}, {scheme}: {contrast}");
        keep_picture(browser, &format!("{page}-{scheme}"));
    }
    browser.call("Emulation.setEmulatedMedia", &json!({ "features": [] }));
}

/// Leaves a picture for people, beside what was built.
fn keep_picture(browser: &mut Chromium, name: &str) {
    let picture = browser.picture();
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.png.base64"));
    std::fs::write(file, picture).expect("written");
}

#[test]
fn a_person_logs_in_reads_who_they_are_and_logs_out() {
    let served = administered();
    by_ada(&served, "account.create", json!({ "name": "olga", "role": "operator", "reason": "joins" }));
    let mut browser = Chromium::start();
    browser.go(&url(&served, "/"));
    assert_eq!(browser.tell("location.pathname"), "/login");
    assert_eq!(names(&mut browser, "textbox"), ["Name", "Password"]);
    assert_eq!(names(&mut browser, "button"), ["Log in"]);
    is_readable(&mut browser, "login");
    log_in(&mut browser, "olga", "not-the-password");
    assert_eq!(browser.tell("location.pathname"), "/browser/login");
    let told = browser.tell("document.querySelector('[role=alert]').textContent");
    assert!(told.as_str().is_some_and(|told| told.contains("password is wrong")), "{told}");
    assert_eq!(browser.tell("document.getElementById('name').value"), "olga");
    is_readable(&mut browser, "refused");
    // The name is there already, and the cursor where the password goes.
    browser.types(PASSWORD);
    browser.until_loaded(|browser| browser.presses("Enter"));
    assert_eq!(
        (browser.tell("location.pathname"), heading(&mut browser)),
        ("/".into(), "You are olga".into())
    );
    is_readable(&mut browser, "home");
    assert_eq!(browser.tell("document.cookie"), "", "no script reads it");
    let cookies = browser.call("Network.getCookies", &json!({}));
    let cookie = &cookies["cookies"][0];
    assert_eq!((&cookie["name"], &cookie["sameSite"]), (&json!("__Host-tenure"), &json!("Strict")));
    assert_eq!((&cookie["httpOnly"], &cookie["secure"]), (&json!(true), &json!(true)));
    browser.until_loaded(|browser| drop(browser.tell("document.querySelector('header button').click()")));
    assert_eq!(browser.tell("location.pathname"), "/login");
    browser.go(&url(&served, "/"));
    assert_eq!(browser.tell("location.pathname"), "/login", "the cookie is gone");
    let complaints: Vec<&Value> = browser.complaints();
    let expected = |complaint: &&&Value| {
        // A browser says so of every answer that is none of the good ones, and asks for a picture that there is not.
        complaint["params"]["entry"]["text"].as_str().is_some_and(|text| text.contains("status of 401"))
    };
    assert_eq!(complaints.iter().filter(expected).count(), complaints.len(), "{complaints:?}");
}

#[test]
fn pages_work_without_scripts_and_on_narrow_screens() {
    let served = administered();
    let mut browser = Chromium::start();
    browser.call("Emulation.setScriptExecutionDisabled", &json!({ "value": true }));
    let narrow = json!({ "width": 320, "height": 640, "deviceScaleFactor": 1, "mobile": true });
    browser.call("Emulation.setDeviceMetricsOverride", &narrow);
    browser.go(&url(&served, "/login"));
    log_in(&mut browser, "ada", PASSWORD);
    assert_eq!(heading(&mut browser), "You are ada");
    let wide = browser.tell("document.documentElement.scrollWidth").as_u64().expect("a number");
    keep_picture(&mut browser, "narrow");
    assert!(wide <= 320, "{wide}");
}

/// A site of somebody else on this machine, which is the same site to a browser and another origin.
fn site(page: String) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\nContent-Length:";
            let _ = stream.write_all(format!("{head} {}\r\n\r\n{page}", page.len()).as_bytes());
        }
    });
    port
}

#[test]
fn a_page_of_another_origin_neither_reads_nor_changes_anything() {
    let served = administered();
    let mut browser = Chromium::start();
    browser.go(&url(&served, "/login"));
    log_in(&mut browser, "ada", PASSWORD);
    let form = format!(
        "<form method=post action={}><input name=page value=x></form>",
        url(&served, "/browser/logout")
    );
    let port = site(form);
    let read = format!(
        "fetch('{}', {{ credentials: 'include' }}).then(() => 'read', () => 'refused')",
        url(&served, "/api/v1/accounts")
    );
    let change = format!(
        "fetch('{}', {{ method: 'POST', mode: 'no-cors', credentials: 'include', body: '{{}}' }})\
        .then((answer) => answer.type + answer.status, () => 'refused')",
        url(&served, "/api/v1/tokens")
    );
    let number = || served.engine.as_ref().expect("open").info().expect("open").event;
    browser.go(&format!("http://localhost:{port}/"));
    let before = number();
    assert_eq!(browser.tell(&read), "refused");
    assert_ne!(browser.tell(&change), "basic200");
    browser.until_loaded(|browser| drop(browser.tell("document.forms[0].submit()")));
    assert!(
        browser
            .tell("document.body.textContent")
            .as_str()
            .is_some_and(|text| text.contains("origin_refused"))
    );
    assert_eq!(number(), before, "nothing was changed");
    browser.go(&url(&served, "/"));
    assert_eq!(heading(&mut browser), "You are ada", "and nobody was logged out");
    // It is not shown inside of another page either.
    let framed = site(format!("<iframe src={}></iframe>", url(&served, "/login")));
    browser.go(&format!("http://localhost:{framed}/"));
    let inside = "(() => { try { return document.querySelector('iframe').contentDocument === null; } catch { return true; } })()";
    assert_eq!(browser.tell(inside), true);
    assert!(browser.complaints().iter().any(|complaint| complaint.to_string().contains("frame-ancestors")));
}
