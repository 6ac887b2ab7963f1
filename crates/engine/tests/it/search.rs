//! Search: what is found, in which order, where, and that no input is anything but words.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tenure_core::model::limits::QUERY_BYTES;
use tenure_core::model::refusal::Code;
use tenure_engine::execute::prepare_telling;

use crate::world::{Agent, SECOND_SCHEMA, World, on_every_store, operation, text};

fn begun(world: &mut World, tasks: &[(&str, &str)]) -> Agent {
    let bob = Agent::new("bob", 1);
    world.done(bob.open());
    world.done(bob.command(operation("project.create", json!({ "key": "afc" }))));
    for (title, description) in tasks {
        let create = json!({ "project": "afc", "title": title, "description": description });
        world.done(bob.command(operation("task.create", create)));
    }
    bob
}

fn search(world: &mut World, query: &str, mut more: Value) -> Value {
    more["query"] = query.into();
    world.ask(operation("search", more))
}

/// The tasks that are found, the best first.
fn found(world: &mut World, query: &str) -> Vec<String> {
    ids(&search(world, query, json!({})))
}

fn ids(answer: &Value) -> Vec<String> {
    answer["tasks"].as_array().expect("a list").iter().map(|task| text(task, "id").to_owned()).collect()
}

/// Where the first task was found, and what is shown of that, its hits in brackets.
fn shown(answer: &Value) -> (String, String) {
    let task = &answer["tasks"][0];
    let pieces = task["excerpt"].as_array().expect("a list").iter().map(|piece| {
        if piece["hit"] == true {
            format!("[{}]", text(piece, "text"))
        } else {
            text(piece, "text").to_owned()
        }
    });
    (text(task, "found_in").to_owned(), pieces.collect())
}

/// A note to a task by whoever claims it for that.
fn note(world: &mut World, agent: &Agent, task: &str, words: &str) {
    let held = world.done(agent.command(operation("claim", json!({ "task": task, "another": true }))));
    world.done(agent.fenced(operation("note", json!({ "task": task, "text": words })), &held));
    world.done(agent.fenced(operation("release", json!({ "task": task })), &held));
}

#[test]
fn a_title_weighs_most_and_of_equals_unfinished_work_comes_first() {
    on_every_store(|mut world| {
        let bob = begun(
            &mut world,
            &[
                ("something else", "a word about the parser"),
                ("Rewrite the Parser", ""),
                ("noted only", ""),
                ("Rewrite the Parser", ""),
                ("unrelated", ""),
            ],
        );
        note(&mut world, &bob, "afc-3", "the parser loops for ever");
        assert_eq!(found(&mut world, "parser"), ["afc-4", "afc-2", "afc-1", "afc-3"]);
        world.done(bob.command(operation("close", json!({ "task": "afc-4", "revision": 1 }))));
        assert_eq!(found(&mut world, "parser"), ["afc-2", "afc-4", "afc-1", "afc-3"]);

        let one = search(&mut world, "parser", json!({ "limit": 1 }));
        assert_eq!((ids(&one).len(), &one["total"]), (1, &json!(4)), "the others are counted");
        assert_eq!(shown(&one), ("title".to_owned(), "Rewrite the [Parser]".to_owned()));
        let described = search(&mut world, "word parse", json!({}));
        assert_eq!(shown(&described), ("description".to_owned(), "a [word] about the [parser]".to_owned()));
        let noted = search(&mut world, "loops", json!({}));
        assert_eq!(shown(&noted), ("note".to_owned(), "the parser [loops] for ever".to_owned()));
        assert!(noted["tasks"][0]["entry"].as_u64().is_some_and(|number| number > 0), "{noted}");
        assert_eq!(found(&mut world, "noted loops"), ["afc-3"], "words may stand in several texts of a task");
    });
}

#[test]
fn lists_of_what_was_found_are_filtered_as_other_lists_are() {
    on_every_store(|mut world| {
        let bob = begun(&mut world, &[("parser one", ""), ("parser two", ""), ("parser three", "")]);
        world.done(bob.command(operation("project.create", json!({ "key": "other" }))));
        let elsewhere = json!({ "project": "other", "title": "parser four", "planned": true });
        world.done(bob.command(operation("task.create", elsewhere)));
        for task in ["afc-2", "afc-3"] {
            world.done(
                bob.command(operation("close", json!({ "task": task, "revision": 1, "note": "ended well" }))),
            );
        }
        world.done(bob.command(operation("task.archive", json!({ "task": "afc-3" }))));
        let mut sorted = |more: Value| {
            let mut found = ids(&search(&mut world, "parser", more));
            found.sort();
            found
        };
        assert_eq!(sorted(json!({})), ["afc-1", "afc-2", "other-1"]);
        assert_eq!(sorted(json!({ "archived": true })), ["afc-1", "afc-2", "afc-3", "other-1"]);
        assert_eq!(sorted(json!({ "project": "afc" })), ["afc-1", "afc-2"]);
        assert_eq!(sorted(json!({ "lifecycle": "done" })), ["afc-2"]);
        assert_eq!(sorted(json!({ "lifecycle": "planned" })), ["other-1"]);
        let ended = search(&mut world, "\"ended well\"", json!({}));
        assert_eq!(shown(&ended), ("completion".to_owned(), "[ended well]".to_owned()));
        assert_eq!(found(&mut world, "parser -well -four"), ["afc-1"]);
    });
}

#[test]
fn an_edit_replaces_what_is_found_and_nothing_else_changes_it() {
    on_every_store(|mut world| {
        let bob = begun(&mut world, &[("former title", "old words"), ("another", "")]);
        let edit = json!({ "task": "afc-1", "revision": 1, "title": "new title" });
        world.done(bob.command(operation("task.edit", edit)));
        world.done(bob.command(operation("task.defer", json!({ "task": "afc-1", "reason": "later" }))));
        assert_eq!(found(&mut world, "former"), [""; 0]);
        assert_eq!(found(&mut world, "\"new title\" \"old words\""), ["afc-1"]);
        assert_eq!(world.number("SELECT count(*) FROM passage"), 2);
    });
}

#[test]
fn a_store_of_the_second_schema_is_searched_as_if_it_had_always_been() {
    let mut world = World::in_memory();
    let bob = begun(&mut world, &[("first", "with words")]);
    let create = |n: u32| json!({ "project": "afc", "title": format!("task {n}") });
    world
        .batch((0..950).map(|n| bob.command(operation("task.create", create(n)))).collect())
        .expect("stored");
    note(&mut world, &bob, "afc-400", "needle");
    let queries = ["first words", "task 449", "needle", "tas -449"];
    let all = |world: &mut World| {
        queries.map(|query| search(world, query, json!({ "limit": 100 }))["tasks"].clone())
    };
    let before = all(&mut world);
    world.driver.migrate(2, SECOND_SCHEMA).expect("as it was");
    let mut told = 0;
    prepare_telling(&mut *world.driver, &*world.clocks, || unreachable!(), &mut || told += 1)
        .expect("brought up to date");
    assert_eq!(told, 1, "who waits hears of it");
    assert_eq!(all(&mut world), before);
}

#[test]
fn whatever_is_typed_finds_something_or_is_refused_with_a_remedy() {
    let mut world = World::in_memory();
    begun(
        &mut world,
        &[("漢字とかな NEAR title: é fts5 🚀", "a \"quoted\" * AND (text) NOT {x} - ^b"), ("b", "")],
    );
    let kilobytes = "word ".repeat(2_000);
    let long_word = "x".repeat(QUERY_BYTES);
    let typed = [
        "\"",
        "\"\"",
        "'",
        "''",
        "(",
        ")",
        "((((",
        "NEAR(a b, 3)",
        "NEAR",
        "AND",
        "OR OR",
        "NOT x",
        "*",
        "a*",
        "*a",
        "^a",
        "a^",
        "title:x",
        "title : x",
        "{title entry}: x",
        "- title:",
        "-x",
        "--x",
        "a -",
        "a -\"",
        "+a",
        "a+b",
        "\\",
        "\\\"",
        "%",
        "_",
        ";",
        "'; DROP TABLE task; --",
        "a\"b",
        "\"a\"b\"",
        "\"a\" * \"b",
        "漢",
        "漢字",
        "\"漢字と",
        "🚀",
        "👩‍👩‍👧 é",
        "e\u{301}",
        "\u{301}",
        "\u{202e}abc",
        "\u{feff}",
        "a\0b",
        "\0",
        "",
        " ",
        "\n\t",
        "\u{3000}",
        "rowid",
        "passage_words",
        "bm25(x)",
        &kilobytes,
        &long_word,
    ];
    for query in typed {
        match world.asked(operation("search", json!({ "query": query }))) {
            Ok(answer) => assert!(answer["tasks"].is_array(), "{query:?}"),
            Err(refusal) => {
                assert_eq!(refusal.code, Code::InvalidInput, "{query:?}");
                assert!(refusal.detail.contains("query") && !refusal.steps().is_empty(), "{refusal:?}");
            }
        }
    }
    for query in ["字と", "NEAR title", "e\u{301} FTS5", "text not", "quoted"] {
        assert_eq!(found(&mut world, query), ["afc-1"], "{query:?}");
    }
}

/// Numbers that look random, from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % end
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    fn text(&mut self, most: usize) -> String {
        let words = [
            "cat",
            "category",
            "CAT",
            "dog",
            "do",
            "café",
            "cafe\u{301}",
            "foo_bar",
            "foo",
            "bar",
            "漢字",
            "字",
            "漢",
            "v2",
            "x1y",
            "ß",
        ];
        let gaps = [" ", " ", " ", "-", ", ", "/", "\n", "_", " \u{202e}", ". "];
        (0..self.below(most)).map(|_| format!("{}{}", self.one(&words), self.one(&gaps))).collect()
    }

    fn title(&mut self) -> String {
        self.text(4).replace('\n', "|")
    }

    fn query(&mut self) -> String {
        let terms = [
            "cat",
            "categ",
            "do",
            "dog",
            "cafe",
            "CAFÉ",
            "foo",
            "foo_bar",
            "bar-foo",
            "漢",
            "漢字",
            "字漢",
            "x1",
            "x1y",
            "ss",
            "none",
            "\"cat\"",
            "\"cat dog\"",
            "\"foo bar\"",
            "\"bar dog cat\"",
            "-cat",
            "-\"dog cat\"",
            "-漢",
            "-do",
            "cat*",
            "(dog)",
        ];
        (0..=self.below(3)).map(|_| self.one(&terms)).collect::<Vec<_>>().join(" ")
    }
}

/// The words of a text of the alphabet above, in this test's own way.
fn plain_words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for c in text.chars() {
        let last = words.last_mut().expect("there is one");
        match c {
            'é' | 'É' => last.push('e'),
            '\u{301}' => {}
            'ß' => last.push_str("ss"),
            '漢' | '字' => words.extend([c.to_string(), String::new()]),
            c if c.is_ascii_alphanumeric() => last.push(c.to_ascii_lowercase()),
            '\u{202e}' => {}
            _ => words.push(String::new()),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Whether a text has a term, by trying every place.
fn has(text: &str, term: &str) -> bool {
    let (wanted, words) = (plain_words(term), plain_words(text));
    let last = wanted.last().expect("the terms above have words");
    let goes_on = !term.contains('"') && last.is_ascii() && last.len() >= 3;
    (0..words.len()).any(|start| {
        wanted.iter().enumerate().all(|(place, word)| {
            let is_last = place + 1 == wanted.len();
            words
                .get(start + place)
                .is_some_and(|found| found == word || (is_last && goes_on && found.starts_with(word)))
        })
    })
}

/// The terms of a query, which have no spaces but in quotes.
fn terms(query: &str) -> Vec<String> {
    let (mut terms, mut quoted) = (vec![String::new()], false);
    for c in query.chars() {
        quoted ^= c == '"';
        if c == ' ' && !quoted {
            terms.push(String::new());
        } else {
            terms.last_mut().expect("there is one").push(c);
        }
    }
    terms
}

#[test]
fn random_searches_find_what_a_plain_scan_finds() {
    let mut world = World::in_memory();
    let mut dice = Dice(7);
    let tasks: Vec<(String, String)> =
        (0..60).map(|n| (format!("t{n} {}", dice.title()), dice.text(9))).collect();
    let borrowed: Vec<(&str, &str)> =
        tasks.iter().map(|(title, text)| (title.as_str(), text.as_str())).collect();
    let bob = begun(&mut world, &borrowed);
    let mut texts: Vec<Vec<String>> = tasks.into_iter().map(|(title, text)| vec![title, text]).collect();
    for _ in 0..60 {
        let (task, words) = (dice.below(texts.len()), format!("n {}", dice.text(6)));
        note(&mut world, &bob, &format!("afc-{}", task + 1), &words);
        texts[task].push(words);
    }
    for task in (0..60).step_by(7) {
        let title = format!("edited {}", dice.title());
        let edit = json!({ "task": format!("afc-{}", task + 1), "revision": 1, "title": title });
        world.done(bob.command(operation("task.edit", edit)));
        texts[task][0] = title;
    }
    let (mut asked, mut nonempty) = (0, 0);
    for _ in 0..600 {
        let query = dice.query();
        let (unwanted, wanted): (Vec<String>, Vec<String>) =
            terms(&query).into_iter().partition(|term| term.starts_with('-'));
        if wanted.is_empty() {
            continue;
        }
        let in_some = |texts: &[String], term: &String| texts.iter().any(|text| has(text, term));
        let expected: BTreeSet<String> = texts
            .iter()
            .enumerate()
            .filter(|(_, texts)| wanted.iter().all(|term| in_some(texts, term)))
            .filter(|(_, texts)| !unwanted.iter().any(|term| in_some(texts, term)))
            .map(|(place, _)| format!("afc-{}", place + 1))
            .collect();
        let answer = search(&mut world, &query, json!({ "limit": 100 }));
        let told = ids(&answer);
        assert_eq!(told.iter().cloned().collect::<BTreeSet<_>>(), expected, "{query:?}");
        assert_eq!(
            (told.len(), answer["total"].as_u64()),
            (expected.len(), Some(expected.len() as u64).filter(|n| *n > 0).or(Some(0))),
            "each once"
        );
        for task in answer["tasks"].as_array().expect("a list") {
            let hits =
                task["excerpt"].as_array().expect("a list").iter().filter(|piece| piece["hit"] == true);
            let hits: Vec<&str> = hits.map(|piece| text(piece, "text")).collect();
            assert!(
                !hits.is_empty() && hits.iter().all(|hit| wanted.iter().any(|term| has_part(hit, term))),
                "{query:?}: {task}"
            );
        }
        asked += 1;
        nonempty += usize::from(!expected.is_empty());
    }
    assert!(asked > 400 && nonempty > 200, "{asked} asked, {nonempty} found something");
}

/// Whether a marked text begins with a word of a term: what overlaps is marked together.
fn has_part(hit: &str, term: &str) -> bool {
    let (hit, term) = (plain_words(hit), plain_words(term));
    hit.first().is_some_and(|first| term.iter().any(|word| first.starts_with(word)))
}
