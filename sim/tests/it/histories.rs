//! The judge of histories, on histories that are known to be a lock's and on ones that are known not to be.

use tenure_sim::history::{Call, Heard, Moment, Span, What, check};

use Heard::{Done, Granted, Held, Renewed, Resumed, Stale, Unknown};
use What::{Claim, Close, Release, Renew, Write};

const LEASE_MS: i64 = 10;

fn at(ms: i64) -> Moment {
    Moment { order: ms, ms }
}

/// A call that was asked at one moment and answered at another.
fn call(client: &str, what: What, invoked: i64, returned: i64, heard: Heard) -> Call {
    let (client, task) = (client.to_owned(), "afc-1".to_owned());
    Call { client, task, what, invoked: at(invoked), returned: Some(at(returned)), heard }
}

/// A call that was never answered.
fn lost(client: &str, what: What, invoked: i64) -> Call {
    Call { returned: None, ..call(client, what, invoked, 0, Unknown) }
}

/// A grant in a moment, of a lease that ends exactly when it should.
fn grant(client: &str, ms: i64, generation: u64) -> Call {
    call(client, Claim, ms, ms, Granted(generation, exactly(ms + LEASE_MS)))
}

fn exactly(ms: i64) -> Span {
    Span { from: ms, to: ms }
}

/// Done in a moment.
fn done(client: &str, what: What, ms: i64) -> Call {
    call(client, what, ms, ms, Done)
}

type History = (&'static str, Vec<Call>);

fn good() -> Vec<History> {
    let (one, two) = (Some(1), Some(2));
    vec![
        (
            "one after the other",
            vec![grant("a", 1, 1), done("a", Write(one), 2), done("a", Release(one), 3), grant("b", 4, 2)],
        ),
        ("taken over at the very end of a lease", vec![grant("a", 1, 1), grant("b", 11, 2)]),
        (
            "renewed in time",
            vec![
                grant("a", 1, 1),
                call("a", Renew(one), 8, 8, Renewed(exactly(18))),
                call("b", Claim, 12, 12, Held),
                done("a", Write(one), 17),
                grant("b", 18, 2),
            ],
        ),
        (
            "a stale write is refused after it was taken over",
            vec![
                grant("a", 1, 1),
                grant("b", 12, 2),
                call("a", Write(one), 13, 14, Stale),
                done("b", Write(two), 15),
            ],
        ),
        (
            "a claim that nobody heard of happened late",
            vec![
                lost("a", Claim, 1),
                grant("b", 2, 1),
                done("b", Release(one), 3),
                call("c", Claim, 4, 4, Held),
                grant("c", 30, 3),
            ],
        ),
        ("a claim that nobody heard of never happened", vec![lost("a", Claim, 1), grant("b", 2, 1)]),
        (
            "a release that nobody heard of happened",
            vec![grant("a", 1, 1), lost("a", Release(one), 2), grant("b", 5, 2)],
        ),
        (
            "a release that nobody heard of never happened",
            vec![grant("a", 1, 1), lost("a", Release(one), 2), done("a", Write(one), 9), grant("b", 11, 2)],
        ),
        (
            "a renewal that nobody heard of happened",
            vec![grant("a", 1, 1), lost("a", Renew(one), 9), done("a", Write(one), 15), grant("b", 19, 2)],
        ),
        (
            "calls that overlap happen in either order",
            vec![
                call("a", Claim, 1, 9, Granted(2, exactly(19))),
                grant("b", 2, 1),
                call("b", Release(one), 3, 10, Done),
            ],
        ),
        (
            "the same session claims again, under the generation that it has",
            vec![grant("a", 1, 1), call("a", Claim, 5, 6, Resumed(1)), done("a", Close(None), 7)],
        ),
        (
            "a write at the end of a lease comes in time or not",
            vec![
                grant("a", 1, 1),
                call("a", Write(one), 10, 12, Done),
                call("a", Write(one), 10, 13, Stale),
                grant("b", 14, 2),
            ],
        ),
    ]
}

fn bad() -> Vec<History> {
    let (one, two) = (Some(1), Some(2));
    vec![
        ("two owners", vec![grant("a", 1, 1), grant("b", 5, 2)]),
        ("a generation twice", vec![grant("a", 1, 1), done("a", Release(one), 2), grant("b", 3, 1)]),
        (
            "a generation that is skipped",
            vec![grant("a", 1, 1), done("a", Release(one), 2), grant("b", 3, 3)],
        ),
        ("a stale write accepted", vec![grant("a", 1, 1), grant("b", 11, 2), done("a", Write(one), 12)]),
        ("a write accepted at the end of its lease", vec![grant("a", 1, 1), done("a", Write(one), 11)]),
        (
            "a write accepted long after a renewal",
            vec![
                grant("a", 1, 1),
                call("a", Renew(one), 8, 8, Renewed(exactly(18))),
                done("a", Write(one), 18),
            ],
        ),
        ("a close that was lost", vec![grant("a", 1, 1), done("a", Close(one), 2), grant("b", 20, 2)]),
        (
            "a lease that came back",
            vec![
                call("a", Claim, 1, 4, Granted(1, Span { from: 11, to: 14 })),
                call("a", Write(one), 11, 12, Stale),
                done("a", Write(one), 13),
            ],
        ),
        (
            "a grant before the release that made room for it",
            vec![
                grant("a", 1, 1),
                call("b", Claim, 2, 3, Granted(2, exactly(13))),
                call("a", Release(one), 4, 5, Done),
            ],
        ),
        ("a foreign write accepted", vec![grant("a", 1, 1), done("b", Write(one), 2)]),
        ("held by nobody", vec![grant("a", 1, 1), done("a", Release(one), 2), call("b", Claim, 3, 3, Held)]),
        ("a holder in time refused", vec![grant("a", 1, 1), call("a", Write(one), 2, 10, Stale)]),
        (
            "held again after a release",
            vec![grant("a", 1, 1), done("a", Release(one), 2), call("a", Claim, 3, 3, Resumed(1))],
        ),
        (
            "a claim that nobody heard of happened before it was asked",
            vec![call("b", Claim, 1, 2, Held), lost("a", Claim, 3)],
        ),
        (
            "one unanswered claim is not two",
            vec![
                lost("a", Claim, 1),
                grant("b", 2, 2),
                done("b", Release(two), 3),
                call("c", Claim, 4, 4, Held),
            ],
        ),
        (
            "an unanswered release does not make room twice",
            vec![grant("a", 1, 1), lost("a", Release(one), 2), grant("b", 3, 2), grant("c", 4, 3)],
        ),
    ]
}

#[test]
fn histories_of_a_lock_are_accepted() {
    for (what, calls) in good() {
        check(&calls, LEASE_MS).unwrap_or_else(|why| panic!("{what}: {why}"));
    }
}

#[test]
fn histories_of_no_lock_are_not_accepted() {
    for (what, calls) in bad() {
        assert!(check(&calls, LEASE_MS).is_err(), "{what} was not seen");
    }
}

#[test]
fn what_is_shown_is_the_shortest_beginning_that_cannot_be() {
    let (_, mut calls) = bad().remove(0);
    calls.extend([done("b", Release(Some(2)), 6), grant("c", 7, 3)]);
    let shown = check(&calls, LEASE_MS).expect_err("two owners");
    assert_eq!(shown.lines().skip(1).count(), 2, "{shown}");
    assert!(shown.ends_with("hears Granted(2, Span { from: 15, to: 15 })"), "{shown}");
}

#[test]
fn tasks_are_judged_each_for_itself() {
    let mut calls = vec![grant("a", 1, 1), grant("b", 2, 1)];
    assert!(check(&calls, LEASE_MS).is_err());
    calls[1].task = "afc-2".to_owned();
    check(&calls, LEASE_MS).expect("two locks");
}

/// Many clients in doubt at once, who all may or may not have had their way.
#[test]
fn much_doubt_is_decided_all_the_same() {
    let mut calls: Vec<Call> = (0..40).map(|number| lost(&format!("lost-{number}"), Claim, number)).collect();
    for turn in 0..40 {
        let (ms, generation) = (100 + turn * 10, u64::try_from(turn).expect("few") * 2 + 1);
        calls.extend([grant("a", ms, generation), lost("a", Renew(Some(generation)), ms + 1)]);
        calls.extend([done("a", Release(Some(generation)), ms + 2), grant("b", ms + 3, generation + 1)]);
        calls.push(done("b", Release(Some(generation + 1)), ms + 4));
    }
    check(&calls, LEASE_MS).expect("nobody who was in doubt had it");
}

/// Seed 201605344348186: which of a client's many claims had its way cannot be told and does not matter, but how many can
/// have had it by then does.
#[test]
fn many_unheard_claims_of_one_client_are_one_doubt() {
    let begun = |generation: u64| {
        let unheard = (0..75).map(|number| lost(&format!("lost-{}", number % 3), Claim, number / 3));
        let mut calls: Vec<Call> = unheard.collect();
        calls.extend([call("x", Claim, 30, 30, Held), grant("x", 60, generation)]);
        check(&calls, LEASE_MS)
    };
    for generation in 2..=7 {
        begun(generation).expect("so many leases have room before it");
    }
    for generation in [1, 9, 20] {
        let refused = begun(generation).expect_err("somebody held it, and nobody can have been so quick");
        assert!(refused.contains("no lock with generations"), "{refused}");
    }
}
