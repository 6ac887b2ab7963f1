//! What is read from real exports and from lines that were made to say one thing each.

use std::collections::{BTreeMap, BTreeSet};

use tenure_core::import::beads;
use tenure_core::import::proposal::{Proposal, ProposedRecord, ProposedState};
use tenure_core::model::attempt::EntryKind;
use tenure_core::model::dependency::DependencyKind;
use tenure_core::model::task::{BlockerKind, Kind, Resolution};

use crate::oracle::{FILES, child_and, file, issue, on, proposal, ready, record, right_answers};

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
    for (name, count) in FILES {
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
    assert_eq!(state("gate"), ProposedState::Over(Resolution::Done));
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
