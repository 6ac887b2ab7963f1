-- The part of the third migration that is PostgreSQL's own: full text, see store/search/.

-- The words of a text. A word longer than the index takes is found by its beginning and then compared.
CREATE FUNCTION words_of(text TEXT) RETURNS TSVECTOR LANGUAGE SQL IMMUTABLE PARALLEL SAFE AS $$
    SELECT array_to_tsvector(array(
        SELECT DISTINCT left(word, 200) FROM unnest(string_to_array(text, ' ')) AS word WHERE word <> ''
    ))
$$;

-- Folded words in the place of texts. The index tells which rows have all words of a query; whether they stand side by
-- side is then read in the row.
CREATE TABLE passage_words (
    rowid BIGINT NOT NULL PRIMARY KEY,
    title TEXT COLLATE "C" NOT NULL,
    description TEXT COLLATE "C" NOT NULL,
    entry TEXT COLLATE "C" NOT NULL,
    words TSVECTOR NOT NULL GENERATED ALWAYS AS (words_of(title || ' ' || description || ' ' || entry)) STORED
);
CREATE INDEX passage_words_index ON passage_words USING gin (words);
