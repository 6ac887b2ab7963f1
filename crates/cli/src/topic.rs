//! `tenure help TOPIC`: what is not the help of one command.

/// The topics and what they say.
pub const TOPICS: [(&str, &str); 2] = [("exit-codes", EXIT_CODES), ("sessions", SESSIONS)];

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  usage or bad input
  2  cannot tell: daemon, network, storage or version
  3  refused by a holder (claim, resource)
  4  refused by capacity
  5  not authenticated or not allowed
  6  lease lost, expired or superseded: stop and reconcile
  7  not found
  8  conflict: revision, idempotency, cycle or state; a named task that is not ready
  9  nothing eligible, with reasons: a normal stop
 10  a check failed (audit verify, doctor)
130  interrupted

With --json the refusal is printed on standard output; its `code` says more than the exit code.
";

const SESSIONS: &str = "\
Who calls is inferred, in this order:
  --session NAME
  TENURE_SESSION
  the harness's variable (CLAUDE_CODE_SESSION_ID, CODEX_THREAD_ID, GEMINI_SESSION_ID)
  the nearest known harness process above
  the shell of a person's terminal
A CI runner or a terminal multiplexer is never guessed: export TENURE_SESSION=your-own-name.
A subagent that shares its parent's variables needs a session of its own: give it --session.
`tenure doctor` says who you are and why.
";
