//! Real exports against the right answers that a separate script computed (`testdata/beads/README.md`), and hostile
//! ones against the promise that a reader never panics.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;
use proptest::sample::Index;
use tenure_core::import::beads;
use tenure_core::import::proposal::{Proposal, ProposedRecord, ProposedState};
use tenure_core::model::attempt::EntryKind;
use tenure_core::model::dependency::DependencyKind;
use tenure_core::model::task::{BlockerKind, Kind};
use tenure_core::model::time::WallTime;

/// 2026-11-29T12:00:00Z, the moment of the right answers.
const EVALUATED_AT: WallTime = WallTime(1_795_953_600_000);

fn file(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/beads").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn proposal(name: &str) -> Proposal {
    beads::read(&file(name)).expect(name)
}

fn record<'a>(proposal: &'a Proposal, id: &str) -> &'a ProposedRecord {
    proposal.records.iter().find(|record| record.source == id).expect(id)
}

/// Everything that a node reaches.
fn reach<'a>(edges: &BTreeMap<&'a str, BTreeSet<&'a str>>, from: &str) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    let mut open: Vec<&str> = edges.get(from).into_iter().flatten().copied().collect();
    while let Some(node) = open.pop() {
        if seen.insert(node) {
            open.extend(edges.get(node).into_iter().flatten());
        }
    }
    seen
}

/// The naive oracle: the definition of ready in words, as sets, sharing nothing with the rules.
fn ready(proposal: &Proposal) -> Vec<String> {
    let mut blocks: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut parents: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for edge in &proposal.edges {
        let edges = match edge.kind {
            DependencyKind::Blocks => &mut blocks,
            DependencyKind::Parent => &mut parents,
            _ => continue,
        };
        edges.entry(&edge.from).or_default().insert(&edge.to);
    }
    let records: BTreeMap<&str, &ProposedRecord> =
        proposal.records.iter().map(|record| (record.source.as_str(), record)).collect();
    let done = |id: &str| records[id].state == ProposedState::Done;
    let waits_for = |id: &str| -> BTreeSet<&str> {
        blocks.get(id).into_iter().flatten().copied().filter(|on| !done(on)).collect()
    };
    let blocked_outside = |ancestor: &str| {
        let outside = |on: &&str| *on == ancestor || !reach(&parents, on).contains(ancestor);
        !records[ancestor].blockers.is_empty() || waits_for(ancestor).iter().any(outside)
    };
    let is_ready = |record: &&ProposedRecord| {
        record.state == ProposedState::Open
            && record.kind != Kind::Objective
            && record.blockers.is_empty()
            && record.deferral.and_then(|deferral| deferral.until_at(EVALUATED_AT)).is_none()
            && waits_for(&record.source).is_empty()
            && reach(&parents, &record.source).into_iter().all(|up| done(up) || !blocked_outside(up))
    };
    let mut ready: Vec<String> =
        proposal.records.iter().filter(is_ready).map(|record| record.source.clone()).collect();
    ready.sort();
    ready
}

fn right_answers(name: &str) -> Vec<String> {
    if name == "tiny.jsonl" {
        return serde_json::from_str(&file("tiny-ready.json")).expect("a list");
    }
    let mut all: BTreeMap<String, Vec<String>> =
        serde_json::from_str(&file("ready-ids.json")).expect("lists");
    all.remove(name).expect(name)
}

#[test]
fn every_file_gives_the_right_numbers() {
    //  file                   lines  ids    tombstones done dangling to tombstones in cycles
    for (name, expected) in [
        ("beads-2026-01.jsonl", [2464, 2464, 342, 2013, 0, 241, 0]),
        ("gastown-dangling.jsonl", [1861, 1861, 0, 1624, 348, 0, 0]),
        ("relay-cycle.jsonl", [439, 439, 0, 223, 0, 0, 9]),
        ("boring-ui-dups.jsonl", [268, 247, 0, 87, 0, 0, 0]),
        ("tiny.jsonl", [37, 36, 1, 3, 2, 1, 2]),
    ] {
        let Proposal { report, records, .. } = proposal(name);
        let cyclic: usize = report.cycles.iter().map(Vec::len).sum();
        let found = [
            report.lines,
            report.unique_ids,
            report.tombstones,
            report.done,
            report.dangling.len() as u64,
            report.edges_to_tombstones,
            cyclic as u64,
        ];
        assert_eq!(found, expected, "{name}");
        assert_eq!(records.len() as u64, report.unique_ids - report.tombstones, "{name}");
    }
}

#[test]
fn every_file_has_the_right_ready_tasks() {
    for (name, count) in [
        ("beads-2026-01.jsonl", 65),
        ("gastown-dangling.jsonl", 162),
        ("relay-cycle.jsonl", 168),
        ("boring-ui-dups.jsonl", 9),
        ("tiny.jsonl", 11),
    ] {
        let ready = ready(&proposal(name));
        assert_eq!(ready, right_answers(name), "{name}");
        assert_eq!(ready.len(), count, "{name}");
    }
}

#[test]
fn nothing_is_dropped_silently() {
    let beads = proposal("beads-2026-01.jsonl").report;
    assert_eq!(beads.imported_to_tombstones.len(), 3);
    assert!(beads.recovery.len() <= 17 && !beads.recovery.is_empty());

    let dangling = proposal("gastown-dangling.jsonl").report.dangling;
    let targets: BTreeSet<&str> = dangling.iter().filter_map(|arrow| arrow.split(" -> ").nth(1)).collect();
    assert_eq!(targets.len(), 279);
    assert_eq!(dangling.iter().filter(|arrow| arrow.contains("-> external:")).count(), 6);

    let relay = proposal("relay-cycle.jsonl");
    assert_eq!(relay.report.unknown_statuses.len(), 5);
    let blocked = |record: &&ProposedRecord| {
        record.blockers.iter().any(|blocker| blocker.kind == BlockerKind::DependencyCycle)
    };
    assert_eq!(relay.records.iter().filter(blocked).count(), 2);
    assert_eq!(relay.report.cycles.len(), 1);

    for name in ["beads-2026-01.jsonl", "gastown-dangling.jsonl", "relay-cycle.jsonl", "boring-ui-dups.jsonl"]
    {
        let remarks = proposal(name).report.remarks;
        assert!(!remarks.iter().any(|remark| remark.contains("wait for each other")), "{name}: {remarks:?}");
    }

    let boring = proposal("boring-ui-dups.jsonl").report;
    assert_eq!(boring.duplicates.len(), 21);
    assert_eq!(boring.unknown_statuses.len(), 1);

    let tiny = proposal("tiny.jsonl").report;
    assert_eq!(tiny.edges_to_pinned, ["y-a8 -> y-pin"]);
    assert_eq!(tiny.pinned, ["y-pin"]);
    assert_eq!(tiny.not_work, BTreeMap::from([("ephemeral".to_owned(), 1), ("event".to_owned(), 1)]));
    assert_eq!(tiny.recovery, ["y-prog"]);
    assert_eq!(tiny.duplicates, ["y-i1"]);
}

/// Every text of every issue is found again byte for byte, and every other field as it was written.
#[test]
fn no_text_is_lost_and_none_is_changed() {
    for name in [
        "beads-2026-01.jsonl",
        "gastown-dangling.jsonl",
        "relay-cycle.jsonl",
        "boring-ui-dups.jsonl",
        "tiny.jsonl",
    ] {
        let text = file(name);
        let lines: Vec<&str> = text.lines().collect();
        for record in proposal(name).records {
            let place = usize::try_from(record.line - 1).expect("a small number");
            let issue: serde_json::Value = serde_json::from_str(lines[place]).expect("an issue");
            let issue = issue.as_object().expect("an object");
            let imported = record.details.imported.as_ref().expect("left over fields");
            for (field, value) in issue {
                let kept = match field.as_str() {
                    "id" => record.source.as_str() == value,
                    "title" => record.title.as_str() == value,
                    "description" => record.description.as_str() == value,
                    "priority" => record.priority.get() == value.as_u64().expect("a number") as u8,
                    "labels" => &serde_json::json!(record.details.labels) == value,
                    "acceptance_criteria" => record.details.criteria[0].text.as_str() == value,
                    "external_ref" => record.details.references[0].as_str() == value,
                    "notes" => record.entries[0].text.as_str() == value,
                    "close_reason" => {
                        let last = record.entries.last();
                        last.is_some_and(|entry| {
                            entry.kind == EntryKind::Completion && entry.text.as_str() == value
                        }) || &imported[field] == value
                    }
                    "comments" => value.as_array().into_iter().flatten().all(|comment| {
                        record.entries.iter().any(|entry| entry.text.as_str() == comment["text"])
                    }),
                    _ => &imported[field] == value,
                };
                assert!(kept, "{name}: {} of {}", field, record.source);
            }
        }
    }
}

fn issue(id: &str, more: &str) -> String {
    format!(r#"{{"id":"{id}","title":"t"{more}}}"#)
}

fn on(target: &str, kind: &str) -> String {
    format!(r#"{{"depends_on_id":"{target}","type":"{kind}"}}"#)
}

#[test]
fn a_malformed_line_is_named_and_refuses_the_whole_text() {
    let text = format!("{}\r\n\n  \n{}\n{}\n", issue("a", ""), issue("b", ""), r#"{"id":"c","title":"t""#);
    let refusal = beads::read(&text).expect_err("malformed");
    assert!(refusal.detail.starts_with("line 5: not acceptable JSON"), "{}", refusal.detail);
    assert_eq!(refusal.facts["line"], 5);
}

#[test]
fn headers_memories_and_blank_lines_are_no_records() {
    let text =
        ["\u{feff}{\"_schema\":\"v1\"}", "", r#"{"_type":"memory","key":"k","value":"v"}"#, &issue("a", "")];
    let report = beads::read(&text.join("\n")).expect("fine").report;
    assert_eq!((report.lines, report.skipped_lines, report.unique_ids), (3, 2, 1));
    assert_eq!(beads::read("").expect("an empty file").records, []);
}

#[test]
fn blocked_without_a_reason_gets_one_and_with_an_edge_does_not() {
    let text = [
        issue("open", ""),
        issue("done", r#","status":"closed""#),
        issue("why", r#","status":"blocked""#),
        issue("old", &format!(r#","status":"blocked","dependencies":[{}]"#, on("done", "blocks"))),
        issue("edge", &format!(r#","status":"blocked","dependencies":[{}]"#, on("open", "blocks"))),
    ];
    let proposal = beads::read(&text.join("\n")).expect("fine");
    let kinds = |id| record(&proposal, id).blockers.iter().map(|blocker| blocker.kind).collect::<Vec<_>>();
    assert_eq!(kinds("why"), [BlockerKind::Imported]);
    assert_eq!(kinds("old"), [BlockerKind::Imported]);
    assert_eq!(kinds("edge"), []);
    assert_eq!(ready(&proposal), ["open"]);
}

#[test]
fn a_mark_never_becomes_work_and_closed_is_always_done() {
    let text = [
        issue("wisp", r#","wisp":true"#),
        issue("template", r#","is_template":true"#),
        issue("agent", r#","issue_type":"agent","status":"in_progress""#),
        issue("pin", r#","pinned":true"#),
        issue("gate", r#","issue_type":"gate","status":"closed","pinned":true"#),
        issue("epic", r#","issue_type":"epic","status":"in_progress""#),
        issue("waits", &format!(r#","dependencies":[{}]"#, on("gate", "blocks"))),
    ];
    let proposal = beads::read(&text.join("\n")).expect("fine");
    let state = |id| record(&proposal, id).state;
    for id in ["wisp", "template", "agent", "pin"] {
        assert_eq!(state(id), ProposedState::Planned, "{id}");
    }
    assert_eq!(state("gate"), ProposedState::Done);
    assert_eq!((state("epic"), record(&proposal, "epic").kind), (ProposedState::Open, Kind::Objective));
    assert_eq!(proposal.report.remarks.len(), 1);
    assert_eq!(ready(&proposal), ["waits"]);
}

#[test]
fn an_edge_is_kept_once_and_one_to_itself_is_a_cycle() {
    let edges = [
        on("b", "blocks"),
        on("b", "conditional-blocks"),
        on("a", "blocks"),
        on("a", "parent-child"),
        on("b", "tracks"),
    ];
    let text = [issue("a", &format!(r#","dependencies":[{}]"#, edges.join(","))), issue("b", "")];
    let proposal = beads::read(&text.join("\n")).expect("fine");
    let kinds: Vec<DependencyKind> = proposal.edges.iter().map(|edge| edge.kind).collect();
    assert_eq!(kinds, [DependencyKind::Blocks, DependencyKind::Blocks, DependencyKind::Related]);
    assert_eq!(proposal.report.cycles, [["a"]]);
    assert_eq!(proposal.report.other_edges["tracks"], ["a -> b"]);
}

fn child_and(id: &str, parent: &str, waits: &[&str]) -> String {
    let mut edges: Vec<String> = waits.iter().map(|target| on(target, "blocks")).collect();
    if !parent.is_empty() {
        edges.push(on(parent, "parent-child"));
    }
    issue(id, &format!(r#","dependencies":[{}]"#, edges.join(",")))
}

#[test]
fn a_circle_through_a_parent_is_told_and_the_normal_idiom_is_not() {
    let remarks = |lines: &[String]| beads::read(&lines.join("\n")).expect("fine").report.remarks;
    let idiom = [child_and("p", "", &["c"]), child_and("c", "p", &[])];
    assert_eq!(remarks(&idiom), Vec::<String>::new());
    let waits_for_ancestor = [issue("p", ""), child_and("c", "p", &["p"])];
    assert!(remarks(&waits_for_ancestor)[0].ends_with("(c, p)"));
    let through_another = [child_and("p", "", &["x"]), child_and("c", "p", &[]), child_and("x", "", &["c"])];
    assert!(remarks(&through_another)[0].ends_with("(c, p, x)"));
    let each_others_parent = [child_and("a", "b", &[]), child_and("b", "a", &[]), issue("c", "")];
    assert!(remarks(&each_others_parent)[0].ends_with("(a, b)"));
}

#[test]
fn a_file_that_nests_too_deep_is_refused_and_a_long_chain_of_waiting_is_not() {
    let chain = |kind: &str| {
        let line = |n: u32| {
            issue(&n.to_string(), &format!(r#","dependencies":[{}]"#, on(&(n + 1).to_string(), kind)))
        };
        beads::read(&(0..5000).map(line).collect::<Vec<_>>().join("\n"))
    };
    assert!(chain("parent-child").expect_err("too deep").detail.contains("too deep"));
    assert_eq!(chain("blocks").expect("fine").edges.len(), 4999);
}

#[test]
fn a_title_that_beads_accepts_is_stored_whole_and_a_longer_one_is_kept_beside_it() {
    let fits = "家".repeat(500);
    let long = format!("{fits}!");
    let titled = |id: &str, title: &str| format!(r#"{{"id":"{id}","title":"{title}"}}"#);
    let text = [titled("a", &fits), titled("b", &long)].join("\n");
    let proposal = beads::read(&text).expect("fine");
    assert_eq!(record(&proposal, "a").title, fits);
    assert_eq!(record(&proposal, "b").title, fits);
    let imported = record(&proposal, "b").details.imported.as_ref().expect("left over fields");
    assert_eq!(imported["title"], long.as_str());
    assert_eq!(proposal.report.remarks.len(), 1);
}

/// Real lines, cut, doubled and with bytes exchanged.
fn mutated(lines: &[String], cuts: &[(Index, Index, Vec<u8>)]) -> String {
    let mut lines = lines.to_vec();
    for (line, place, bytes) in cuts {
        let line = line.get_mut(&mut lines);
        let mut changed = line.clone().into_bytes();
        let at = place.index(changed.len() + 1);
        changed.splice(at..(at + bytes.len() / 2).min(changed.len()), bytes.iter().copied());
        *line = String::from_utf8_lossy(&changed).into_owned();
    }
    lines.join("\n")
}

fn fragment() -> impl Strategy<Value = String> {
    let words = [
        "{",
        "}",
        "[",
        "]",
        "\"",
        ":",
        ",",
        "\n",
        "\r",
        "\0",
        "\\u0000",
        "\\ud800",
        "null",
        "1e999",
        "-1",
        "\"id\":\"a\"",
        "\"id\":\"b\"",
        "\"title\":\"t\"",
        "\"status\":\"blocked\"",
        "\"dependencies\":[",
        "\"depends_on_id\":\"a\"",
        "\"type\":\"parent-child\"",
        "\"defer_until\":\"9999-12-31T23:59:60Z\"",
        "{\"id\":\"a\",\"title\":\"t\"}\n",
        "{\"id\":\"b\",\"title\":\"t\",\"dependencies\":[{\"depends_on_id\":\"a\"}]}\n",
        "\u{feff}",
        "\u{202e}",
    ];
    prop_oneof![4 => proptest::sample::select(words.to_vec()).prop_map(str::to_owned), 1 => ".{0,12}"]
}

/// A hostile text is refused or read, the same each time; what was read holds together.
fn holds_together(text: &str) -> Result<(), TestCaseError> {
    let read = beads::read(text);
    prop_assert_eq!(&read, &beads::read(text));
    let proposal = match read {
        Ok(proposal) => proposal,
        Err(refusal) => {
            prop_assert!(refusal.detail.starts_with("line "), "{}", refusal.detail);
            return Ok(());
        }
    };
    let ids: BTreeSet<&str> = proposal.records.iter().map(|record| record.source.as_str()).collect();
    prop_assert_eq!(ids.len(), proposal.records.len());
    for edge in &proposal.edges {
        prop_assert!(ids.contains(edge.from.as_str()) && ids.contains(edge.to.as_str()));
    }
    let report = &proposal.report;
    prop_assert_eq!(report.unique_ids, ids.len() as u64 + report.tombstones);
    for record in proposal.records.iter().filter(|record| record.state != ProposedState::Done) {
        let in_cycle = report.cycles.iter().flatten().any(|id| *id == record.source);
        let blocked = record.blockers.iter().any(|blocker| blocker.kind == BlockerKind::DependencyCycle);
        prop_assert_eq!(in_cycle, blocked);
    }
    Ok(())
}

fn real_lines() -> Vec<String> {
    let text = file("tiny.jsonl") + &file("boring-ui-dups.jsonl");
    text.lines().take(60).map(str::to_owned).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        holds_together(&String::from_utf8_lossy(&bytes))?;
    }

    #[test]
    fn random_fragments_never_panic(parts in proptest::collection::vec(fragment(), 0..40)) {
        holds_together(&parts.concat())?;
    }

    #[test]
    fn mutated_real_lines_never_panic(
        cuts in proptest::collection::vec(
            (any::<Index>(), any::<Index>(), proptest::collection::vec(any::<u8>(), 0..6)), 0..3)
    ) {
        holds_together(&mutated(&real_lines(), &cuts))?;
    }

    /// Few ids and many edges of every kind: chains, cycles, diamonds, edges to nowhere.
    #[test]
    fn random_graphs_never_panic(
        edges in proptest::collection::vec((0_u8..6, 0_u8..8, 0_usize..5), 0..30),
        statuses in proptest::collection::vec(0_usize..6, 6),
    ) {
        let kinds = ["blocks", "conditional-blocks", "parent-child", "waits-for", "related"];
        let states = ["open", "closed", "blocked", "pinned", "tombstone", "deferred"];
        let line = |id: u8| {
            let own: Vec<String> = edges.iter().filter(|edge| edge.0 == id)
                .map(|(_, target, kind)| on(&target.to_string(), kinds[*kind])).collect();
            let status = states[statuses[usize::from(id)]];
            issue(&id.to_string(), &format!(r#","status":"{status}","dependencies":[{}]"#, own.join(",")))
        };
        let text: Vec<String> = (0..6).map(line).collect();
        holds_together(&text.join("\n"))?;
    }
}
