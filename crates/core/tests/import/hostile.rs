//! Hostile exports against the promise that a reader never panics and says the same each time.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::sample::Index;
use tenure_core::import::beads;
use tenure_core::model::task::BlockerKind;

use crate::oracle::{file, issue, on, ready};
use crate::store::Store;

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
    for record in proposal.records.iter().filter(|record| record.state.resolution().is_none()) {
        let in_cycle = report.cycles.iter().flatten().any(|id| *id == record.source);
        let blocked = record.blockers.iter().any(|blocker| blocker.kind == BlockerKind::DependencyCycle);
        prop_assert_eq!(in_cycle, blocked);
    }
    let mut store = Store::new();
    let applied = store.apply(text).map_err(|refusal| TestCaseError::fail(refusal.detail))?;
    prop_assert_eq!(store.ready(), ready(&proposal));
    prop_assert_eq!(applied.report.ready, store.ready().len() as u64);
    prop_assert_eq!(store.apply(text).expect("applied before").report.created, 0);
    Ok(())
}

fn real_lines() -> Vec<String> {
    let text = file("tiny.jsonl") + &file("boring-ui-dups.jsonl");
    text.lines().take(45).map(str::to_owned).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 128, ..ProptestConfig::default() })]

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
