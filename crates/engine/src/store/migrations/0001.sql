-- The first schema. Written for SQLite; the PostgreSQL driver reads the same file and replaces what stands at the
-- end of a table ("STRICT", "WITHOUT ROWID") by nothing, INTEGER by BIGINT and TEXT by TEXT COLLATE "C".
-- Times are milliseconds, flags are 0 or 1, structured fields are JSON.
-- Small rows that are found by a short key alone are kept WITHOUT ROWID: one tree instead of two. Rows with long
-- texts keep their rowid, so that they are appended in the order they are written and only a small index is scattered.

CREATE TABLE fleet (
    id TEXT NOT NULL PRIMARY KEY,
    epoch INTEGER NOT NULL,
    time INTEGER NOT NULL,
    wall INTEGER NOT NULL,
    event INTEGER NOT NULL,
    head TEXT NOT NULL
) STRICT;

CREATE TABLE project (
    key TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    policy TEXT NOT NULL,
    revision INTEGER NOT NULL,
    tasks_issued INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE binding (
    repository TEXT NOT NULL,
    folder TEXT NOT NULL,
    project TEXT NOT NULL REFERENCES project (key),
    PRIMARY KEY (repository, folder)
) STRICT, WITHOUT ROWID;

CREATE TABLE tally (
    project TEXT NOT NULL REFERENCES project (key),
    queue TEXT NOT NULL,
    count INTEGER NOT NULL CHECK (count >= 0),
    PRIMARY KEY (project, queue)
) STRICT, WITHOUT ROWID;

CREATE TABLE principal (
    name TEXT NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE session (
    id TEXT NOT NULL PRIMARY KEY,
    handle TEXT NOT NULL,
    principal TEXT NOT NULL REFERENCES principal (name),
    conversation TEXT,
    parent TEXT,
    proof_hash TEXT NOT NULL,
    harness TEXT,
    workstation TEXT,
    capabilities TEXT NOT NULL,
    open INTEGER NOT NULL CHECK (open IN (0, 1)),
    opened_at INTEGER NOT NULL,
    present_until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- A handle means exactly one session, for ever.
CREATE UNIQUE INDEX session_handle ON session (handle);
-- Is this name in use? Which sessions does a resumed conversation replace? Who is here, newest first?
CREATE INDEX session_open_principal ON session (principal) WHERE open = 1;
CREATE INDEX session_open_conversation ON session (conversation) WHERE open = 1;
CREATE INDEX session_open_newest ON session (opened_at, id) WHERE open = 1;

CREATE TABLE served (
    session TEXT NOT NULL,
    project TEXT NOT NULL,
    event INTEGER NOT NULL,
    PRIMARY KEY (session, project)
) STRICT, WITHOUT ROWID;

-- The deciding row: small, because every claim touches it. `queue` and `stage` follow from the other columns.
-- `stage` is 0 for unfinished tasks, 1 for finished and 2 for archived ones.
CREATE TABLE task (
    id TEXT NOT NULL PRIMARY KEY,
    project TEXT NOT NULL REFERENCES project (key),
    number INTEGER NOT NULL,
    stage INTEGER NOT NULL,
    queue TEXT NOT NULL,
    lifecycle TEXT NOT NULL,
    resolution TEXT,
    successor TEXT,
    kind TEXT NOT NULL,
    priority INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 4),
    archived INTEGER NOT NULL CHECK (archived IN (0, 1)),
    revision INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    held INTEGER NOT NULL CHECK (held IN (0, 1)),
    own_blockers INTEGER NOT NULL CHECK (own_blockers >= 0),
    outer_blockers INTEGER NOT NULL CHECK (outer_blockers >= 0),
    inherited_blockers INTEGER NOT NULL CHECK (inherited_blockers >= 0),
    ready_at INTEGER NOT NULL,
    deferred_until INTEGER,
    reserved_for TEXT,
    reserved_until INTEGER,
    requires TEXT
) STRICT, WITHOUT ROWID;
-- The ready queue in its order.
CREATE INDEX task_ready ON task (project, priority, ready_at, number) WHERE queue = 'ready';
-- Deferrals whose date has passed.
CREATE INDEX task_deferred ON task (project, deferred_until) WHERE queue = 'deferred';
-- Lists by number, without walking through the finished ones. A claim does not move a row here.
CREATE INDEX task_stage ON task (project, stage, number);

-- What people read. `title_key` is a digest of the project and the title in lower case: likely duplicates.
CREATE TABLE body (
    task TEXT NOT NULL PRIMARY KEY REFERENCES task (id),
    title_key INTEGER NOT NULL,
    title TEXT NOT NULL,
    description TEXT NOT NULL,
    details TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX body_title ON body (title_key);

CREATE TABLE alias (
    project TEXT NOT NULL,
    alias TEXT NOT NULL,
    task TEXT NOT NULL REFERENCES task (id),
    PRIMARY KEY (project, alias)
) STRICT, WITHOUT ROWID;
CREATE INDEX alias_task ON alias (task);

CREATE TABLE dependency (
    task TEXT NOT NULL REFERENCES task (id),
    kind TEXT NOT NULL,
    on_task TEXT NOT NULL REFERENCES task (id),
    optional INTEGER NOT NULL CHECK (optional IN (0, 1)),
    PRIMARY KEY (task, kind, on_task)
) STRICT, WITHOUT ROWID;
CREATE INDEX dependency_on ON dependency (on_task);

CREATE TABLE blocker (
    task TEXT NOT NULL REFERENCES task (id),
    number INTEGER NOT NULL,
    kind TEXT NOT NULL,
    reason TEXT NOT NULL,
    reopening TEXT,
    principal TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    resolved_at INTEGER,
    PRIMARY KEY (task, number)
) STRICT, WITHOUT ROWID;

-- `stops_at` is from when on a current attempt gives no authority: its deadline while it is active, else always.
CREATE TABLE attempt (
    id TEXT NOT NULL PRIMARY KEY,
    task TEXT NOT NULL REFERENCES task (id),
    project TEXT NOT NULL,
    session TEXT NOT NULL,
    current INTEGER NOT NULL CHECK (current IN (0, 1)),
    principal TEXT NOT NULL,
    mode TEXT NOT NULL,
    token_hash TEXT NOT NULL,
    claim_operation TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    recovers INTEGER,
    state TEXT NOT NULL,
    stops_at INTEGER NOT NULL,
    lease_ms INTEGER NOT NULL,
    deadline INTEGER NOT NULL,
    heartbeat_at INTEGER NOT NULL,
    heartbeat_operation TEXT,
    progress_at INTEGER NOT NULL,
    task_digest TEXT NOT NULL,
    disposition TEXT,
    cancel_requested INTEGER NOT NULL CHECK (cancel_requested IN (0, 1)),
    ended_at INTEGER
) STRICT, WITHOUT ROWID;
-- The second net behind the rules: a task has at most one current attempt.
CREATE UNIQUE INDEX attempt_current ON attempt (task) WHERE current = 1;
-- What does this session hold?
CREATE INDEX attempt_session ON attempt (session) WHERE current = 1;
-- What is held in this project, and which of it has expired?
CREATE INDEX attempt_stops ON attempt (project, stops_at) WHERE current = 1;

CREATE TABLE entry (
    number INTEGER NOT NULL PRIMARY KEY,
    task TEXT NOT NULL REFERENCES task (id),
    attempt TEXT,
    kind TEXT NOT NULL,
    principal TEXT NOT NULL,
    at INTEGER NOT NULL,
    text TEXT NOT NULL,
    data TEXT NOT NULL
) STRICT;
CREATE INDEX entry_task ON entry (task, number);

-- The record. `body` is hashed as it stands; the columns beside it only find it.
CREATE TABLE event (
    number INTEGER NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL,
    project TEXT,
    task TEXT,
    body TEXT NOT NULL,
    hash TEXT NOT NULL
) STRICT;
CREATE INDEX event_task ON event (task, number) WHERE task IS NOT NULL;

CREATE TABLE receipt (
    principal TEXT NOT NULL,
    operation_id TEXT NOT NULL,
    operation TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    at INTEGER NOT NULL,
    answer TEXT,
    PRIMARY KEY (principal, operation_id)
) STRICT;
-- Answers old enough to be forgotten. Receipts come in the order of time, so this index only grows at its end.
CREATE INDEX receipt_age ON receipt (at) WHERE answer IS NOT NULL;
