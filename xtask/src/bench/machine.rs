//! What a run was measured on. No names of hosts or people.

use std::fs;

use serde_json::{Value, json};
use tenure_engine::clock::{Clocks, MachineClocks};

/// The machine, the day and the versions.
pub struct Machine {
    /// How many cores.
    cores: usize,
    /// The model of the processor.
    processor: String,
    /// Memory in GiB.
    memory_gib: f64,
    /// The kernel's release.
    kernel: String,
    /// The day, in UTC.
    pub date: String,
    /// Our version, the database's and the compiler's.
    pub versions: [String; 3],
}

impl Machine {
    /// Asks the machine.
    pub fn ask() -> Result<Self, String> {
        let read = |path: &str| fs::read_to_string(path).map_err(|error| format!("{path}: {error}"));
        let field = |text: &str, name: &str| {
            let line = text.lines().find(|line| line.starts_with(name))?;
            line.split_once(':').map(|(_, value)| value.trim().to_owned())
        };
        let memory = field(&read("/proc/meminfo")?, "MemTotal").unwrap_or_default();
        let memory_kib: f64 = memory.trim_end_matches(" kB").parse().unwrap_or(0.0);
        let now =
            jiff::Timestamp::from_millisecond(MachineClocks.wall_ms()).map_err(|error| error.to_string())?;
        let compiler = std::process::Command::new("rustc").arg("--version").output();
        let compiler = compiler.map_err(|error| format!("rustc: {error}"))?.stdout;
        let compiler = String::from_utf8_lossy(&compiler);
        Ok(Self {
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            processor: field(&read("/proc/cpuinfo")?, "model name").unwrap_or_else(|| "unknown".to_owned()),
            memory_gib: memory_kib / 1024.0 / 1024.0,
            kernel: read("/proc/sys/kernel/osrelease")?.trim().to_owned(),
            date: now.strftime("%Y-%m-%d").to_string(),
            versions: [
                format!("tenure {}", env!("CARGO_PKG_VERSION")),
                format!("SQLite {}", rusqlite::version()),
                compiler.split(" (").next().unwrap_or_default().trim().to_owned(),
            ],
        })
    }

    /// For programs.
    pub fn to_json(&self) -> Value {
        json!({
            "cores": self.cores,
            "processor": self.processor,
            "memory_gib": (self.memory_gib * 10.0).round() / 10.0,
            "kernel": self.kernel,
        })
    }

    /// For people, in one line.
    pub fn line(&self) -> String {
        format!(
            "{}: {} cores ({}), {:.0} GiB, Linux {}; {}",
            self.date,
            self.cores,
            self.processor,
            self.memory_gib,
            self.kernel,
            self.versions.join(", ")
        )
    }
}
