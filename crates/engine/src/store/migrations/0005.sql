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
