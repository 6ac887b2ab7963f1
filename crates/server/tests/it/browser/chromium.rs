//! A real browser without a window, driven over a pipe by its own protocol, with a profile that nobody has used.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

/// The browser with one page.
pub struct Chromium {
    process: Child,
    said: ChildStdin,
    heard: BufReader<ChildStdout>,
    session: Option<String>,
    number: u64,
    /// What happened since it was last looked at.
    events: Vec<Value>,
    _profile: TempDir,
}

impl Chromium {
    pub fn start() -> Self {
        let profile = tempfile::tempdir().expect("a folder for the test");
        // Its protocol is spoken on the third and fourth file, which the shell makes of the first two.
        let mut process = Command::new("sh")
            .args([
                "-c",
                "exec \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null 2>&1",
                "sh",
                "chromium",
                "--headless",
            ])
            .args(["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"])
            .args(["--disable-component-update", "--no-first-run", "--disable-dev-shm-usage"])
            .args(["--remote-debugging-pipe", "--window-size=900,1100"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        let said = process.stdin.take().expect("piped");
        let heard = BufReader::new(process.stdout.take().expect("piped"));
        let (session, events) = (None, Vec::new());
        let mut browser = Self { process, said, heard, session, number: 0, events, _profile: profile };
        let target = browser.call("Target.createTarget", &json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = browser.call("Target.attachToTarget", &attach);
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for part in ["Page", "Runtime", "Log", "Network", "Accessibility"] {
            browser.call(&format!("{part}.enable"), &json!({}));
        }
        browser
    }

    /// Calls a method of its protocol, and returns the result.
    pub fn call(&mut self, method: &str, params: &Value) -> Value {
        self.number += 1;
        let mut message = json!({ "id": self.number, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let sent = self.said.write_all(format!("{message}\0").as_bytes()).and_then(|()| self.said.flush());
        sent.expect("`chromium` runs: `cargo xtask ci` installs it");
        loop {
            let message = self.hear();
            if message["id"] == self.number {
                assert!(message["error"].is_null(), "{method}: {message}");
                return message["result"].clone();
            }
            self.events.push(message);
        }
    }

    fn hear(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.heard.read_until(0, &mut bytes).expect("it speaks");
        assert!(bytes.pop().is_some(), "`chromium` has ended: `cargo xtask ci` installs it");
        serde_json::from_slice(&bytes).expect("JSON")
    }

    /// Does something that shows another page, and waits until that is there.
    pub fn until_loaded(&mut self, act: impl FnOnce(&mut Self)) {
        let is_loaded = |event: &Value| event["method"] == "Page.loadEventFired";
        self.events.retain(|event| !is_loaded(event));
        act(self);
        while !self.events.iter().any(is_loaded) {
            let event = self.hear();
            self.events.push(event);
        }
    }

    pub fn go(&mut self, url: &str) {
        self.until_loaded(|browser| drop(browser.call("Page.navigate", &json!({ "url": url }))));
    }

    /// What a line of script on the page comes to.
    pub fn tell(&mut self, script: &str) -> Value {
        let asked = json!({ "expression": script, "returnByValue": true, "awaitPromise": true });
        let told = self.call("Runtime.evaluate", &asked);
        assert!(told["exceptionDetails"].is_null(), "{script}: {told}");
        told["result"]["value"].clone()
    }

    /// Types a text where the cursor is.
    pub fn types(&mut self, text: &str) {
        self.call("Input.insertText", &json!({ "text": text }));
    }

    pub fn presses(&mut self, key: &str) {
        let (code, text) = match key {
            "Enter" => (13, "\r"),
            "Tab" => (9, ""),
            _ => panic!("another key: {key}"),
        };
        for kind in ["keyDown", "keyUp"] {
            let text = if kind == "keyDown" { text } else { "" };
            let pressed =
                json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text });
            self.call("Input.dispatchKeyEvent", &pressed);
        }
    }

    /// Whether what was refused by a policy, or went wrong on a page, is among what happened.
    pub fn complaints(&self) -> Vec<&Value> {
        let of_log = |event: &&Value| {
            let entry = &event["params"]["entry"];
            event["method"] == "Log.entryAdded"
                && (entry["source"] == "security" || entry["level"] == "error")
                || event["method"] == "Runtime.exceptionThrown"
        };
        self.events.iter().filter(of_log).collect()
    }

    /// A picture of the page, as base64 of a PNG.
    pub fn picture(&mut self) -> String {
        let taken = self.call("Page.captureScreenshot", &json!({ "format": "png" }));
        taken["data"].as_str().expect("a picture").to_owned()
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // The shell has become the browser, and its helpers end with it.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
