-- What is found by its label. The labels of a task stand in its body; these rows are an index of them, written with it.
CREATE TABLE label (
    task TEXT NOT NULL REFERENCES task (id),
    label TEXT NOT NULL,
    project TEXT NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (task, label)
) STRICT, WITHOUT ROWID;
CREATE INDEX label_tasks ON label (project, label, number);

-- How each task was closed last: the entry that tells it, and the commit if it names one. An index of the entries,
-- written with them.
CREATE TABLE completion (
    task TEXT NOT NULL PRIMARY KEY REFERENCES task (id),
    entry INTEGER NOT NULL,
    landed_in TEXT
) STRICT, WITHOUT ROWID;

-- A text that is searched as one: a task's title and description (no entry), or one entry of its record. The ids are
-- those of each database's own index of words.
CREATE TABLE passage (
    id INTEGER NOT NULL PRIMARY KEY,
    task TEXT NOT NULL REFERENCES task (id),
    entry INTEGER
) STRICT;
CREATE UNIQUE INDEX passage_body ON passage (task) WHERE entry IS NULL;
