//! The words that client and server must spell alike: header names, protocol numbers and file names.

/// The protocol that this version speaks. A change that an older peer would misunderstand raises it.
pub const PROTOCOL: u32 = 1;
/// The oldest protocol that this version still serves.
pub const PROTOCOL_MIN: u32 = 1;

/// Where the operations are: their paths are below this one.
pub const API: &str = "/api/v1";

/// The calling session's id.
pub const SESSION: &str = "Tenure-Session";
/// What proves the session: 64 hexadecimal digits, a secret.
pub const PROOF: &str = "Tenure-Proof";
/// The person who asks, for what people prove with a password.
pub const PERSON: &str = "Tenure-Person";
/// That person's password: UTF-8 of which all but letters and digits are percent-encoded, a secret.
pub const PASSWORD: &str = "Tenure-Password";
/// The password that an account is to have, in the same way; a secret.
pub const NEW_PASSWORD: &str = "Tenure-New-Password";
/// The one-time secret that the server printed on its console.
pub const CONSOLE: &str = "Tenure-Console";
/// What a page of the server carries, with every change that comes with a login in a browser.
pub const PAGE: &str = "Tenure-Page";
/// The client's id of a mutation; a retry carries the same.
pub const IDEMPOTENCY_KEY: &str = "Idempotency-Key";
/// The attempt that a holder acts under: task and generation, e.g. `afc-12@3`.
pub const ATTEMPT: &str = "Tenure-Attempt";
/// The lease token of that attempt: 64 hexadecimal digits, a secret.
pub const LEASE: &str = "Tenure-Lease";
/// For a claim: the SHA-256 of the lease token that the client derived.
pub const TOKEN_HASH: &str = "Tenure-Token-Hash";
/// The fleet's incarnation in which the attempt was granted.
pub const EPOCH: &str = "Tenure-Epoch";
/// In answers of operations that looked at a state, also in refusals: the last event of that state, as `EPOCH-NUMBER`.
pub const EVENT: &str = "Tenure-Event";
/// With a question: an event, as an answer told it, that the state which answers must have.
pub const AT_LEAST: &str = "Tenure-At-Least";
/// In an export's answer: the record's last event and its hash, as `NUMBER:HASH`. It is beside the export and not in it,
/// because the same tasks give the same bytes.
pub const ANCHOR: &str = "Tenure-Anchor";
/// The protocol that the sender speaks, in requests and in answers.
pub const PROTOCOL_HEADER: &str = "Tenure-Protocol";
/// In answers: the name under which the daemon's log knows the request.
pub const REQUEST: &str = "Tenure-Request";

/// The media type of every request and answer.
pub const JSON: &str = "application/json";
/// The media type of every refusal (RFC 9457).
pub const PROBLEM_JSON: &str = "application/problem+json";
/// The media type of events that are sent as they happen.
pub const EVENT_STREAM: &str = "text/event-stream";
/// The media type of an export: one JSON object a line.
pub const JSON_LINES: &str = "application/jsonl";
/// Where a follower that lost its connection goes on: the id of the last event that it saw.
pub const LAST_EVENT_ID: &str = "Last-Event-ID";

/// Where tools for models are, beside the API.
pub const MCP: &str = "/mcp";

/// The private daemon's socket in its folder.
pub const SOCKET: &str = "tenure.sock";
/// The file beside the database that says which fleet was founded there. An empty database beside it is a loss, not a
/// beginning. It is right whenever a daemon runs, so a client need not ask for the fleet's id.
pub const FLEET_MARKER: &str = "fleet";
/// The file in a server's folder that says where its store is, if that is not in the folder.
pub const DATABASE_MARKER: &str = "database";
/// The secret that sessions are derived from of who calls tools by the socket.
pub const CALLER_KEY: &str = "caller.key";
/// The lock that a client holds while it starts a daemon and waits for its word.
pub const START_LOCK: &str = "start.lock";
/// The lock that a daemon holds while it starts or stops. It is another file than the client's, which is held just
/// then: a daemon that waited for that one would wait for its own starter.
pub const DAEMON_LOCK: &str = "daemon.lock";
/// The private daemon's log in its folder.
pub const LOG: &str = "daemon.log";
