//! Why the rules said no. A refusal is a value: a stable code, a sentence, and what to do next.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::text_enum::text_enum;

/// Declares the refusal codes with everything that follows from a code alone.
macro_rules! codes {
    ($($variant:ident = $text:literal, $status:literal, $exit:literal, $retryable:literal, $means:literal, $remedy:literal;)+) => {
        text_enum! {
            /// The stable name of a refusal. Scripts and agents may rely on it.
            Code { $(#[doc = $means] $variant = $text),+ }
        }

        impl Code {
            /// The HTTP status that carries it.
            #[must_use]
            pub const fn status(self) -> u16 {
                match self { $(Self::$variant => $status,)+ }
            }

            /// The exit code of the command line: see `tenure help exit-codes`.
            #[must_use]
            pub const fn exit(self) -> u8 {
                match self { $(Self::$variant => $exit,)+ }
            }

            /// Whether the same request can succeed later without being changed.
            #[must_use]
            pub const fn retryable(self) -> bool {
                match self { $(Self::$variant => $retryable,)+ }
            }

            /// What it means, in a sentence.
            #[must_use]
            pub const fn means(self) -> &'static str {
                match self { $(Self::$variant => $means,)+ }
            }

            /// What to do about it, in a sentence.
            #[must_use]
            pub const fn remedy(self) -> &'static str {
                match self { $(Self::$variant => $remedy,)+ }
            }
        }
    };
}

codes! {
    InvalidInput = "invalid_input", 400, 1, false,
        "A field of the request is missing, unknown, malformed or beyond its limit.",
        "Correct the field that the message names.";
    NotYetBuilt = "not_yet_built", 422, 1, false,
        "The request names something that this version does not do.",
        "Leave it out, or use a version that does it.";
    CannotTell = "cannot_tell", 503, 2, true,
        "The coordinator could not find out or could not store the answer; nothing is known to have happened.",
        "Ask again with the same operation id; run `tenure doctor` if it persists.";
    Overloaded = "overloaded", 503, 2, true,
        "Too much waits already: for the writer, for the room of imports' texts, or for something to happen.",
        "Wait a moment and send the same request again.";
    RateLimited = "rate_limited", 429, 2, true,
        "It was asked for too often in a short time.",
        "Wait as long as the message says, and send the same request again.";
    Behind = "behind", 503, 2, true,
        "The store that this server reaches has not come to the event that the question wants it to have.",
        "Ask again in a moment, or ask the server that told the event.";
    DiskFull = "disk_full", 507, 4, true,
        "The disk has no room for what was asked for; nothing was changed.",
        "Make room on the disk that the message names, and repeat the command.";
    InUse = "in_use", 409, 3, true,
        "Another process uses this file or folder.",
        "Wait until it is done, or end it, and repeat the command.";
    ProtocolMismatch = "protocol_mismatch", 400, 2, false,
        "Client and daemon speak different protocol versions.",
        "Use the same version of `tenure` on both sides; `tenure doctor` names them.";
    LeaseHeld = "lease_held", 409, 3, true,
        "Another session holds the task.",
        "Take other work with `tenure claim`, or wait until the lease ends.";
    Reserved = "reserved", 409, 3, true,
        "The task was handed to a named agent and is kept for it.",
        "Take other work, or wait until the window ends.";
    LimitReached = "limit_reached", 409, 4, true,
        "A concurrency limit of the project is reached.",
        "Finish or release work there first, or ask for a higher limit.";
    SessionRequired = "session_required", 401, 5, false,
        "The call needs a session and named none.",
        "Set TENURE_SESSION to a name of your own and repeat the command.";
    SessionUnknown = "session_unknown", 401, 5, false,
        "The session does not exist here, or its proof does not match.",
        "Open a session anew; work held by the old one is recovered after its lease ends.";
    SessionClosed = "session_closed", 401, 5, false,
        "The session was closed, or a later session of its conversation replaced it.",
        "Open a session anew.";
    NameInUse = "name_in_use", 409, 5, true,
        "A live session already uses this name.",
        "Choose another name, or use the session's own secret file, or wait until its presence ends.";
    OperatorRequired = "operator_required", 403, 5, false,
        "Only an operator may do this.",
        "Ask a person who has an operator's account: they type their password at a terminal, for each action.";
    AuthenticationFailed = "authentication_failed", 401, 5, false,
        "The name or the password is wrong, or the account is disabled.",
        "Type both again; an administrator sets another password with `tenure account password NAME`.";
    PeerRefused = "peer_refused", 403, 5, false,
        "The caller runs as another user of the operating system.",
        "Call as the user who owns the store.";
    Unauthenticated = "unauthenticated", 401, 5, false,
        "The server does not know who is asking.",
        "Show your human the steps of the message: they ask whoever runs the server for a token.";
    TokenReadOnly = "token_read_only", 403, 5, false,
        "The token that the request came with asks and changes nothing.",
        "Use a token that may change things: an administrator makes one with `tenure token create`.";
    TokenMismatch = "token_mismatch", 403, 5, false,
        "The session's name is not the token's: an agent's token opens sessions under its own name, a machine's under \
         names that are free or its own.",
        "Use the name that `tenure whoami` tells, or a free one on a machine; or ask for a token for this name.";
    LocalOnly = "local_only", 403, 5, false,
        "This is done on the server's own machine alone, and never by the network.",
        "Run the command on the machine of the server, as the user who runs it.";
    EncryptionRequired = "encryption_required", 403, 5, false,
        "A password came over a connection that others can read.",
        "Use a URL with https://, or the server's own machine; and set another password if somebody may have read along.";
    ReporterLimited = "reporter_limited", 403, 5, false,
        "A reporter's secret renews the lease of one attempt and opens nothing else.",
        "Ask as the session that holds the task, or with a token.";
    HostRefused = "host_refused", 421, 5, false,
        "The request names a host that this server does not answer to.",
        "Use a name that the server goes by, or let whoever runs it add this one: `tenure serve --host NAME`.";
    OriginRefused = "origin_refused", 403, 5, false,
        "The request comes from a web page of another origin.",
        "Let whoever runs the server allow that origin, if it is to be trusted: `tenure serve --origin URL`.";
    NotHolder = "not_holder", 403, 6, false,
        "The caller does not hold this attempt.",
        "Stop changing this work; claim it anew if it is free.";
    LeaseExpired = "lease_expired", 409, 6, false,
        "The attempt's lease ended before this call.",
        "Stop, reconcile: store a recovery note and claim the task anew.";
    Superseded = "superseded", 409, 6, false,
        "The attempt is over or another claim has followed it.",
        "Stop, reconcile: read the task's history and take the result that stands.";
    ReporterEnded = "reporter_ended", 409, 6, false,
        "The reporter was ended, or the window that its holder declared is over.",
        "Stop renewing: the holder renews by itself, or declares another window while it still holds the task.";
    EpochChanged = "epoch_changed", 409, 6, false,
        "The fleet was restored or copied since this was handed out.",
        "Reconcile: keep your work, read the present state (`tenure show TASK`), and claim anew what is still to do.";
    NotFound = "not_found", 404, 7, false,
        "There is no such record.",
        "Check the id; `tenure task list` and `tenure project list` show what exists.";
    RevisionConflict = "revision_conflict", 409, 8, false,
        "The record changed since the revision that the request names.",
        "Read it again and repeat the edit on the new revision.";
    OperationConflict = "operation_conflict", 409, 8, false,
        "The operation id was used before for a different request.",
        "Use a new operation id for a new request.";
    ReceiptExpired = "receipt_expired", 409, 8, false,
        "The operation id was used so long ago that its answer is no longer kept.",
        "Read the present state; use a new operation id if something is still to do.";
    DependencyCycle = "dependency_cycle", 409, 8, false,
        "The dependency would make tasks wait for each other for ever.",
        "Remove one of the edges that the message names.";
    NotReady = "not_ready", 409, 8, true,
        "The task cannot be claimed yet.",
        "Run `tenure explain` on it and do what blocks it first.";
    StateConflict = "state_conflict", 409, 8, false,
        "The record's state does not allow this.",
        "Read the record; the message names the state that is in the way.";
    AlreadyExists = "already_exists", 409, 8, false,
        "A record with this name exists.",
        "Use the existing one or choose another name.";
    DependentsUndecided = "dependents_undecided", 409, 8, false,
        "Other tasks wait for this one and it is not said what becomes of them.",
        "Repeat with `--dependents keep`, `release` or `cancel`.";
    RequirementsMissing = "requirements_missing", 409, 8, false,
        "Something that must be there before this step is not.",
        "Supply what the message lists.";
    TaskChanged = "task_changed", 409, 8, false,
        "The task's criteria or description changed while it was held.",
        "Read the task, then `tenure reconcile` with the digest you saw.";
    ManualRecovery = "manual_recovery", 409, 8, false,
        "The project recovers expired work by hand and no operator has released it.",
        "Ask an operator to release it, or set the project's recovery to auto.";
    AmbiguousProject = "ambiguous_project", 409, 8, false,
        "It is not clear which project is meant.",
        "Name it with `--project KEY`, or bind this checkout with `tenure init`.";
    NothingEligible = "nothing_eligible", 409, 9, true,
        "There is no work that this session can take now.",
        "A normal stop: the reasons and the next thing to check are in the answer.";
    NotYet = "not_yet", 409, 9, true,
        "What is waited for has not happened yet.",
        "A normal stop: wait again, or run `tenure explain` on the task.";
}

/// What each exit code of the command line means: the help and the reference page print this table.
pub const EXIT_CODES: [(&str, &str); 18] = [
    ("0", "Done."),
    ("1", "The command was used wrongly, or its input is not acceptable."),
    ("2", "It cannot be told: daemon, network, storage or version. Nothing is known to have happened."),
    ("3", "Refused because somebody holds it: a claim or a resource."),
    ("4", "Refused because a capacity is used up."),
    ("5", "Not authenticated, or not allowed."),
    ("6", "The lease was lost: expired, ended or superseded. Stop changing the work."),
    ("7", "There is no such record."),
    ("8", "A conflict: of a revision, an operation id, a cycle, or the state of the record."),
    ("9", "Nothing is eligible, or a wait timed out. The answer says why."),
    ("10", "A check failed: `audit verify` or `doctor` found something."),
    ("120", "`run`: the task could not be claimed, as the refusal tells; nothing was started."),
    ("121", "`run`: it cannot be told; nothing was started."),
    ("122", "`run`: the command could not be started; the task was released."),
    ("123", "`run`: ownership or the guard was lost, or a stop was asked for; the command was stopped."),
    ("124", "`run`: the command succeeded, but the task lacks something for a close and was handed off."),
    ("125", "`run`: the command's outcome could not be recorded. Any other code of `run` is its command's."),
    ("130", "Interrupted."),
];

/// The rules' no: nothing was changed, and the same request may be decided anew later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Refusal {
    /// The stable name of the reason.
    pub code: Code,
    /// What is wrong, naming the field or record, the limit and the holder where there is one.
    pub detail: String,
    /// What the caller can do next, each a sentence or a command.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next_actions: Vec<String>,
    /// The same facts for programs, e.g. `holder` and `expires_in_ms`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, Value>,
}

impl Refusal {
    /// A refusal without a next step of its own; `Problem` then shows the code's remedy.
    #[must_use]
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into(), next_actions: Vec::new(), facts: BTreeMap::new() }
    }

    /// A refusal of one input field: what is wrong with it and how to mend it.
    #[must_use]
    pub fn field(field: &str, wrong: &str, remedy: &str) -> Self {
        Self::new(Code::InvalidInput, format!("{field} {wrong}")).next(remedy).fact("field", field)
    }

    /// There is no such record.
    #[must_use]
    pub fn not_found(noun: &str, id: impl std::fmt::Display) -> Self {
        Self::new(Code::NotFound, format!("there is no {noun} {id}"))
    }

    /// Something is of another epoch (by its number) than the fleet: nothing that was granted then counts now.
    #[must_use]
    pub fn restored(what: &str, then: u64, now: u64) -> Self {
        let detail =
            format!("restored, reconcile: {what} is of epoch {then}, and the fleet is in epoch {now}");
        Self::new(Code::EpochChanged, detail).fact("epoch", now)
    }

    /// Adds a next step.
    #[must_use]
    pub fn next(mut self, action: impl Into<String>) -> Self {
        self.next_actions.push(action.into());
        self
    }

    /// Adds a fact for programs.
    #[must_use]
    pub fn fact(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.facts.insert(name.to_owned(), value.into());
        self
    }

    /// The next steps: the refusal's own, or the remedy that its code names.
    #[must_use]
    pub fn steps(&self) -> Vec<String> {
        if self.next_actions.is_empty() {
            vec![self.code.remedy().to_owned()]
        } else {
            self.next_actions.clone()
        }
    }
}

/// A refusal as it travels: RFC 9457 problem details.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// A reference to the page of this code.
    #[serde(rename = "type")]
    pub kind: String,
    /// What the code means.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// The stable name of the reason.
    pub code: Code,
    /// What is wrong here.
    pub detail: String,
    /// What to do next.
    pub next_actions: Vec<String>,
    /// Whether the same request can succeed later.
    pub retryable: bool,
    /// The exit code of the command line.
    pub exit_code: u8,
    /// Facts for programs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, Value>,
}

impl From<&Refusal> for Problem {
    fn from(refusal: &Refusal) -> Self {
        let code = refusal.code;
        Self {
            kind: format!("/docs/refusals/{code}"),
            title: code.means().to_owned(),
            status: code.status(),
            code,
            detail: refusal.detail.clone(),
            next_actions: refusal.steps(),
            retryable: code.retryable(),
            exit_code: code.exit(),
            facts: refusal.facts.clone(),
        }
    }
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Self {
            code: problem.code,
            detail: problem.detail,
            next_actions: problem.next_actions,
            facts: problem.facts,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_known_exit_code_a_status_and_words() {
        for code in Code::ALL {
            assert!((1..=9).contains(&code.exit()), "{code}");
            assert!((400..=507).contains(&code.status()), "{code}");
            assert!(code.means().ends_with('.') && code.remedy().ends_with('.'), "{code}");
        }
    }

    #[test]
    fn a_problem_gives_back_its_refusal() {
        let refusal =
            Refusal::new(Code::LeaseHeld, "afc-1 is held by bob").next("wait").fact("holder", "bob");
        assert_eq!(Refusal::from(Problem::from(&refusal)), refusal);
    }
}
