-- What the fourth migration is for here: rows lie in the order of their writing whatever their key is, so only the keys
-- change.
DROP INDEX task_stage;
ALTER TABLE task ADD CONSTRAINT task_place UNIQUE (project, stage, number);
ALTER TABLE receipt DROP CONSTRAINT receipt_pkey;
ALTER TABLE receipt ADD PRIMARY KEY (operation_id, principal);
