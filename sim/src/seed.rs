//! Chance that can be repeated: every draw follows from a seed that is printed.

/// A small generator (xorshift64*). Good enough to choose moments and moves; for nothing secret.
#[derive(Debug, Clone)]
pub struct Seed(u64);

impl Seed {
    /// The generator of one actor in one run.
    #[must_use]
    pub fn of(run: u64, actor: u64) -> Self {
        let mixed = run.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ actor.wrapping_mul(0xbf58_476d_1ce4_e5b9);
        Self(mixed | 1)
    }

    /// A seed for this run: `TENURE_SEED`, or one that differs from run to run. It is printed.
    #[must_use]
    pub fn of_this_run() -> u64 {
        let given = std::env::var("TENURE_SEED").ok().and_then(|text| text.parse().ok());
        let seed = given.unwrap_or_else(|| u64::from_le_bytes(tenure_client::clock::random()) >> 16);
        eprintln!("repeat with TENURE_SEED={seed}");
        seed
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % limit.max(1)
    }
}

/// How many rounds a test runs: few in CI, as many as `TENURE_ROUNDS` says for a proof.
#[must_use]
pub fn rounds(usual: u32) -> u32 {
    std::env::var("TENURE_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}
