-- Neighbours in time are neighbours on disk: what one commit changes lies on few pages.

-- A claim takes tasks in the order of their numbers, and the text of an id sorts 1000 before 101. Unfinished tasks
-- stand together, however many finished ones there are; lists walk through one stage at a time.
CREATE TABLE moved AS SELECT * FROM task;
DROP TABLE task;
CREATE TABLE task (
    id TEXT NOT NULL UNIQUE,
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
    requires TEXT,
    PRIMARY KEY (project, stage, number)
) STRICT, WITHOUT ROWID;
INSERT INTO task
    SELECT id, project, number, stage, queue, lifecycle, resolution, successor, kind, priority, archived, revision,
        generation, held, own_blockers, outer_blockers, inherited_blockers, ready_at, deferred_until, reserved_for,
        reserved_until, requires
    FROM moved ORDER BY project, stage, number;
DROP TABLE moved;
CREATE INDEX task_ready ON task (project, priority, ready_at, number) WHERE queue = 'ready';
CREATE INDEX task_deferred ON task (project, deferred_until) WHERE queue = 'deferred';

-- Clients draw operation ids that begin with the time, so receipts come in the order of this key.
CREATE TABLE moved AS SELECT * FROM receipt ORDER BY at, operation_id;
DROP TABLE receipt;
CREATE TABLE receipt (
    operation_id TEXT NOT NULL,
    principal TEXT NOT NULL,
    operation TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    at INTEGER NOT NULL,
    answer TEXT,
    PRIMARY KEY (operation_id, principal)
) STRICT;
INSERT INTO receipt
    SELECT operation_id, principal, operation, fingerprint, epoch, at, answer FROM moved ORDER BY at, operation_id;
DROP TABLE moved;
CREATE INDEX receipt_age ON receipt (at) WHERE answer IS NOT NULL;
