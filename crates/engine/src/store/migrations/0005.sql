-- Accounts of people. A password is kept as its hash alone, and what the record says of a row is compared with it.
CREATE TABLE account (
    name TEXT NOT NULL PRIMARY KEY REFERENCES principal (name),
    role TEXT NOT NULL,
    password TEXT NOT NULL,
    disabled INTEGER NOT NULL CHECK (disabled IN (0, 1)),
    created_at INTEGER NOT NULL,
    password_changed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX account_enabled ON account (role) WHERE disabled = 0;

-- Tokens of agents and machines, of which only the hash is kept, in the same way.
CREATE TABLE token (
    id TEXT NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL,
    principal TEXT NOT NULL REFERENCES principal (name),
    hash TEXT NOT NULL,
    read_only INTEGER NOT NULL CHECK (read_only IN (0, 1)),
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    revoked_at INTEGER
) STRICT, WITHOUT ROWID;
-- A machine's agents are its own: nobody else comes under their names, nor into their sessions, by the network.
ALTER TABLE principal ADD COLUMN machine TEXT;
ALTER TABLE session ADD COLUMN machine TEXT;

-- What agents may change of a project's policy is said apart from it, and nothing from the beginning.
ALTER TABLE project ADD COLUMN agents_may TEXT NOT NULL DEFAULT '[]';

-- Reporters: helpers that renew the lease of one attempt within a window, known by the hash of a secret in the same way.
CREATE TABLE reporter (
    id TEXT NOT NULL PRIMARY KEY,
    attempt TEXT NOT NULL REFERENCES attempt (id),
    session TEXT NOT NULL REFERENCES session (id),
    principal TEXT NOT NULL REFERENCES principal (name),
    token TEXT REFERENCES token (id),
    hash TEXT NOT NULL,
    watches TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    until INTEGER NOT NULL,
    ended_at INTEGER,
    renewed_at INTEGER,
    renewed_operation TEXT
) STRICT, WITHOUT ROWID;
-- The one that was made last.
ALTER TABLE attempt ADD COLUMN reporter TEXT;
