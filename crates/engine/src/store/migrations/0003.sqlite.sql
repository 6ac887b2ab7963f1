-- The part of the third migration that is SQLite's own: full text. Another database keeps its own kind of index for
-- store/search.rs, under its own file here.

-- Folded words in the place of texts, so the tokenizer has nothing left to decide but where the spaces are. The texts
-- stand in `body` and `entry` and are not kept twice.
CREATE VIRTUAL TABLE passage_words USING fts5 (
    title, description, entry, content = '', contentless_delete = 1, tokenize = 'ascii'
);
