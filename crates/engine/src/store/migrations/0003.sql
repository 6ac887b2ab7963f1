-- What is found by its label. The labels of a task stand in its body; these rows are an index of them, written with it.
CREATE TABLE label (
    task TEXT NOT NULL REFERENCES task (id),
    label TEXT NOT NULL,
    project TEXT NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (task, label)
) STRICT, WITHOUT ROWID;
CREATE INDEX label_tasks ON label (project, label, number);
