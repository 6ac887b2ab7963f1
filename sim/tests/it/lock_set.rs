//! The lock-set workload on a fake clock: no acknowledged update is lost, and without the fence some are.

use tenure_core::mutant::Mutant;
use tenure_sim::storm::lock_set::play;

#[test]
fn no_acknowledged_update_is_lost_though_many_clients_come_too_late() {
    for seed in 1..=3 {
        let counted = play(seed);
        eprintln!("seed {seed}: {counted:?}");
        assert_eq!(counted.lost, 0, "seed {seed}: {counted:?}");
        assert!(
            counted.stale_refused > 20 && counted.acknowledged > 100,
            "too quiet to prove anything: {counted:?}"
        );
    }
}

#[test]
fn without_the_fence_the_same_run_loses_updates() {
    for seed in 1..=3 {
        let counted = Mutant::NoFence.while_on(|| play(seed));
        eprintln!("seed {seed}, without the fence: {counted:?}");
        assert!(counted.lost > 0, "seed {seed}: {counted:?}");
    }
}
