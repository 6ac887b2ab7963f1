//! An agent at a command line: every step is a real `tenure` process in a hermetic environment.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Mutex;

use serde_json::Value;

use crate::log::{End, Log};
use crate::program;

/// Where and as whom commands are run.
#[derive(Debug, Clone)]
pub struct Shell {
    program: PathBuf,
    state: PathBuf,
    folder: PathBuf,
    variables: Vec<(String, String)>,
}

/// What a command gave.
#[derive(Debug)]
pub struct Ran {
    /// The exit code; -1 when it was killed.
    pub code: i32,
    /// Its standard output.
    pub out: String,
    /// Its standard error.
    pub err: String,
}

impl Ran {
    /// What a process gave.
    #[must_use]
    pub fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).expect("commands print text"),
            err: String::from_utf8(output.stderr).expect("commands print text"),
        }
    }

    /// Its output as JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}{}", self.out, self.err))
    }

    /// How it ended, as a log knows it.
    #[must_use]
    pub fn end(&self) -> End {
        match self.code {
            0 => End::Ok { answer: self.json() },
            -1 => End::Unknown { detail: "the client was killed".to_owned() },
            2 => End::Unknown { detail: self.err.clone() },
            _ => {
                let problem = self.json();
                let code = serde_json::from_value(problem["code"].clone()).expect("a problem has a code");
                End::Refused { code, facts: problem["facts"].clone() }
            }
        }
    }
}

impl Shell {
    /// Commands on the store of a state folder, given in another folder.
    #[must_use]
    pub fn new(state: &Path, folder: &Path) -> Self {
        let program = program::tenure().to_owned();
        let variables = vec![("HOME".to_owned(), folder.to_string_lossy().into_owned())];
        Self { program, state: state.to_owned(), folder: folder.to_owned(), variables }
    }

    /// The same as a named agent.
    #[must_use]
    pub fn named(&self, agent: &str) -> Self {
        self.with("TENURE_SESSION", agent)
    }

    /// The same with a further variable.
    #[must_use]
    pub fn with(&self, name: &str, value: &str) -> Self {
        let mut shell = self.clone();
        shell.variables.push((name.to_owned(), value.to_owned()));
        shell
    }

    /// The same with another executable.
    #[must_use]
    pub fn running(&self, program: &Path) -> Self {
        Self { program: program.to_owned(), ..self.clone() }
    }

    /// A command that has not been started.
    #[must_use]
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        self.dress(command.args(words));
        command
    }

    /// Gives a command of any kind this shell's surroundings.
    pub fn dress(&self, command: &mut Command) {
        command.env_clear().current_dir(&self.folder).env("TENURE_STATE_DIR", &self.state);
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin").envs(self.variables.iter().cloned());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    }

    /// Starts a command and does not wait.
    #[must_use]
    pub fn spawn(&self, words: &[&str]) -> Child {
        self.command(words).spawn().expect("the program under test runs")
    }

    /// Runs a command to its end.
    #[must_use]
    pub fn run(&self, words: &[&str]) -> Ran {
        Ran::of(self.command(words).output().expect("the program under test runs"))
    }

    /// Runs a command that must end well, and reads its answer.
    pub fn json(&self, words: &[&str]) -> Value {
        let ran = self.run(&[words, &["--json"]].concat());
        assert_eq!(ran.code, 0, "{words:?}: {}{}", ran.out, ran.err);
        ran.json()
    }

    /// Runs a mutation and writes it down. As long as it runs, its process lies in `running` and may be killed there.
    pub fn logged(
        &self,
        log: &Log,
        operation: &str,
        input: &Value,
        words: &[&str],
        running: &Mutex<Option<Child>>,
    ) -> Ran {
        let call = log.invoke(operation, input);
        let mut child = self.spawn(&[words, &["--json"]].concat());
        let (mut out, mut err) = (child.stdout.take(), child.stderr.take());
        *running.lock().expect("no holder panics") = Some(child);
        let ran = Ran { code: 0, out: whole(&mut out), err: whole(&mut err) };
        // Both outputs have ended, so the process has as good as ended too.
        let mut child = running.lock().expect("no holder panics").take().expect("it was put there");
        let status = child.wait().expect("it is our child");
        let ran = Ran { code: status.code().unwrap_or(-1), ..ran };
        log.heard(call, ran.end());
        ran
    }
}

fn whole(output: &mut Option<impl Read>) -> String {
    let mut text = String::new();
    output.as_mut().expect("it is piped").read_to_string(&mut text).expect("commands print text");
    text
}
