//! Who calls. Pure: the environment and the process table are given.
//!
//! In this order: a name given with `--session`, `TENURE_SESSION`, the session variable of the harness that runs
//! the command, the nearest known harness process above, the session leader of a person's terminal. Agents run
//! every command in a fresh shell, so a shell is nobody; and what many agents share (a terminal multiplexer, a CI
//! runner) is never guessed.

use tenure_core::model::ids::{ConversationId, PrincipalName};
use tenure_core::model::refusal::{Code, Refusal};

use crate::processes::Process;

/// A caller: under which name, and what survives a resume of its harness.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The agent's name.
    pub name: PrincipalName,
    /// The harness's own id of the conversation.
    pub conversation: Option<ConversationId>,
    /// What runs the agent.
    pub harness: Option<String>,
    /// How it was found, for `doctor` and `config show`.
    pub origin: String,
}

/// What is looked at.
pub struct Surroundings<'a> {
    /// The name given with `--session`.
    pub explicit: Option<&'a str>,
    /// The environment.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// The process table.
    pub process: &'a dyn Fn(u32) -> Option<Process>,
    /// This process.
    pub pid: u32,
}

/// The variables in which harnesses tell their session, the most exact first for each.
const VARIABLES: [(&str, &str); 4] = [
    ("CLAUDE_CODE_SESSION_ID", "claude"),
    ("CODEX_THREAD_ID", "codex"),
    ("CODEX_SESSION_ID", "codex"),
    ("GEMINI_SESSION_ID", "gemini"),
];
/// The programs that are known to be one agent each.
const HARNESSES: [&str; 11] = [
    "claude",
    "codex",
    "gemini",
    "copilot",
    "cursor-agent",
    "opencode",
    "aider",
    "goose",
    "amp",
    "crush",
    "qwen",
];
/// The programs that many agents share: nothing above them says who calls.
const SHARED: [&str; 12] = [
    "tmux",
    "tmux: server",
    "screen",
    "SCREEN",
    "zellij",
    "sshd",
    "sshd-session",
    "systemd",
    "init",
    "Runner.Worker",
    "Runner.Listener",
    "gitlab-runner",
];
/// Programs that run a script: what they are is told by their first words.
const INTERPRETERS: [&str; 5] = ["node", "bun", "deno", "python", "python3"];
/// How far up the process tree is looked.
const ANCESTORS_MAX: usize = 64;
/// How many characters of a long conversation id make a name.
const ID_TAIL: usize = 12;

/// Finds who calls, or says how to tell.
pub fn identify(around: &Surroundings) -> Result<Identity, Refusal> {
    if let Some(name) = around.explicit {
        return named(name, "--session");
    }
    if let Some(name) = (around.variable)("TENURE_SESSION").filter(|name| !name.is_empty()) {
        return named(&name, "TENURE_SESSION");
    }
    let mut told: Vec<(&str, &str, String)> = Vec::new();
    for (variable, harness) in VARIABLES {
        let is_new = told.iter().all(|(_, known, _)| *known != harness);
        if let Some(id) = (around.variable)(variable).filter(|id| is_new && !id.is_empty()) {
            told.push((variable, harness, id));
        }
    }
    if let [(variable, harness, id)] = &told[..] {
        return conversation(variable, harness, id);
    }
    let nearest = nearest_harness(around);
    if !told.is_empty() {
        // One harness runs inside another and its variable was inherited; only the processes tell which is nearer.
        let inner = nearest.and_then(|(kind, _)| told.iter().find(|(_, harness, _)| *harness == kind));
        return match inner {
            Some((variable, harness, id)) => conversation(variable, harness, id),
            None => Err(required("several harnesses name their session and it is not clear which one calls")),
        };
    }
    if let Some((kind, process)) = nearest {
        let name = format!("{kind}-p{}.{}", process.pid, process.started);
        return valid(&name, Some(kind), None, format!("the {kind} process {}", process.pid));
    }
    terminal(around).unwrap_or_else(|| Err(required("nothing around this command says who calls")))
}

/// Whether a harness has started what runs here, whoever calls.
pub fn is_within_harness(around: &Surroundings) -> bool {
    let tells = |(name, _): (&str, &str)| (around.variable)(name).is_some_and(|value| !value.is_empty());
    VARIABLES.into_iter().any(tells) || nearest_harness(around).is_some()
}

fn named(name: &str, origin: &str) -> Result<Identity, Refusal> {
    valid(name, None, None, origin.to_owned())
}

fn conversation(variable: &str, harness: &str, id: &str) -> Result<Identity, Refusal> {
    let conversation = id.parse::<ConversationId>().map_err(|wrong| {
        Refusal::new(Code::SessionRequired, format!("{variable} does not name a session: {wrong}"))
            .next(EXPORT)
    })?;
    // Ids that begin with the time look alike when agents start together; the end of an id is what differs.
    let plain: Vec<char> = id.chars().filter(char::is_ascii_alphanumeric).collect();
    let short: String = plain[plain.len().saturating_sub(ID_TAIL)..].iter().collect();
    valid(&format!("{harness}-{short}"), Some(harness), Some(conversation), variable.to_owned())
}

fn valid(
    name: &str,
    harness: Option<&str>,
    conversation: Option<ConversationId>,
    origin: String,
) -> Result<Identity, Refusal> {
    let name = name.parse().map_err(|wrong: String| {
        Refusal::new(Code::InvalidInput, format!("{origin}: {wrong}")).next(EXPORT).fact("field", "session")
    })?;
    Ok(Identity { name, conversation, harness: harness.map(str::to_owned), origin })
}

/// The exact line to run, for the refusal of a caller that cannot be found out.
pub const EXPORT: &str = "export TENURE_SESSION=your-own-name";

fn required(why: &str) -> Refusal {
    Refusal::new(Code::SessionRequired, why).next(EXPORT)
}

/// The processes above this one, nearest first, up to what many share.
fn ancestors<'a>(around: &'a Surroundings) -> impl Iterator<Item = Process> + 'a {
    let mut next = (around.process)(around.pid).map(|me| me.parent);
    std::iter::from_fn(move || {
        let process = (around.process)(next.filter(|pid| *pid > 0)?)?;
        next = Some(process.parent);
        Some(process)
    })
    .take(ANCESTORS_MAX)
    .take_while(|process| !SHARED.contains(&process.name.as_str()))
}

fn nearest_harness(around: &Surroundings) -> Option<(&'static str, Process)> {
    ancestors(around).find_map(|process| harness_of(&process).map(|kind| (kind, process)))
}

/// Which harness a process is: by its own name, or by the script that an interpreter runs.
fn harness_of(process: &Process) -> Option<&'static str> {
    let known = |word: &str| {
        let file = word.rsplit('/').next().unwrap_or(word);
        let stem = file.split(".js").next().unwrap_or(file);
        HARNESSES.into_iter().find(|harness| *harness == stem)
    };
    let by_name = known(&process.name);
    let first = process.words.first();
    let by_program = first.and_then(|word| known(word));
    let is_interpreter = first.is_some_and(|word| {
        let file = word.rsplit('/').next().unwrap_or(word);
        INTERPRETERS.contains(&file)
    });
    let script = || process.words.iter().skip(1).find(|word| !word.starts_with('-'));
    by_name
        .or(by_program)
        .or_else(|| if is_interpreter { script().and_then(|word| known(word)) } else { None })
}

/// The person's terminal: its session leader is a shell that stays. A leader that runs one command and goes would
/// make every command another caller.
fn terminal(around: &Surroundings) -> Option<Result<Identity, Refusal>> {
    let me = (around.process)(around.pid)?;
    let leader = (around.process)(me.leader).filter(|leader| leader.pid != me.pid)?;
    let runs_one_command = leader
        .words
        .iter()
        .skip(1)
        .any(|word| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c'));
    if me.terminal == 0 || leader.terminal != me.terminal || runs_one_command {
        return None;
    }
    let device = (me.terminal >> 12 & 0xfff00) | (me.terminal & 0xff);
    let name = format!("terminal-{device}-{}.{}", leader.pid, leader.started);
    Some(valid(&name, None, None, format!("the terminal of the shell {}", leader.pid)))
}
