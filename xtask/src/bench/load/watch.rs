//! What the daemon has in use while everybody works: looked at once a second.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

use tenure_engine::store::folder::{LOG, beside, database_in};

use super::super::figure::median;
use super::super::process::Process;

const EVERY: Duration = Duration::from_secs(1);
const MIB: f64 = 1024.0 * 1024.0;

/// What was seen, in order.
#[derive(Default)]
pub struct Watch {
    memory_mib: Vec<f64>,
    log_mib: Vec<f64>,
}

/// Looks until it is over.
pub fn watch(process: &Process, folder: &Path, is_over: &AtomicBool) -> Result<Watch, String> {
    let log = beside(&database_in(folder), LOG);
    let mut watch = Watch::default();
    while !is_over.load(Ordering::Relaxed) {
        watch.memory_mib.push(process.memory_mib().ok_or("the daemon is gone")?);
        watch.log_mib.push(fs::metadata(&log).map_or(0.0, |log| log.len() as f64 / MIB));
        sleep(EVERY);
    }
    Ok(watch)
}

impl Watch {
    /// The most memory that it had in use.
    pub fn memory_mib(&self) -> Result<f64, String> {
        most(&self.memory_mib)
    }

    /// The largest that the log became.
    pub fn log_mib(&self) -> Result<f64, String> {
        most(&self.log_mib)
    }

    /// The memory in the last minute, as a multiple of that in the minute after the first tenth.
    pub fn growth(&self) -> Result<f64, String> {
        let minute = (self.memory_mib.len() / 10).clamp(1, 60);
        let nothing = "nothing was seen of the daemon's memory";
        let early = self.memory_mib.chunks(minute).nth(1).and_then(median).ok_or(nothing)?;
        let late = self.memory_mib.rchunks(minute).next().and_then(median).ok_or(nothing)?;
        Ok(late / early)
    }
}

fn most(values: &[f64]) -> Result<f64, String> {
    values.iter().copied().reduce(f64::max).ok_or_else(|| "nothing was seen of the daemon".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_compares_the_end_with_the_time_after_the_beginning() {
        let memory_mib = [vec![10.0; 10], vec![40.0; 10], vec![40.0; 70], vec![60.0; 10]].concat();
        let watch = Watch { memory_mib, log_mib: vec![1.0, 3.0, 2.0] };
        assert_eq!(watch.growth(), Ok(1.5));
        assert_eq!(watch.log_mib(), Ok(3.0));
        assert!(Watch::default().growth().is_err() && Watch::default().memory_mib().is_err());
    }
}
