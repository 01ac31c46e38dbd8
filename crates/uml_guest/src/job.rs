//! The job as JSON, with these keys.
//!
//! ```text
//!     scenario     the scenario as JSON, resolved
//!     seed         a whole number
//!     family       4 or 6 (default 4)
//!     cases        true to record connections
//!     capture      { links = [names], keep = bytes }, to capture packets
//! ```

use std::io;

use ecnlab_emulator::address::AddressFamily;
use ecnlab_scenario::{Registry, Scenario, no_files};
use serde::Deserialize;
use serde_json::Value as Json;

/// A job.
pub struct Job {
    pub scenario: Scenario,
    pub seed: u64,
    pub family: AddressFamily,
    pub capture: Option<Capture>,
    pub record_connections: bool,
}

/// The packets to capture.
#[derive(Deserialize)]
pub struct Capture {
    pub links: Vec<String>,
    /// Bytes of each packet.
    pub keep: u32,
}

#[derive(Deserialize)]
struct JobFile {
    scenario: Json,
    seed: u64,
    family: Option<u32>,
    #[serde(default)]
    cases: bool,
    capture: Option<Capture>,
}

impl Job {
    /// Parses a job.
    ///
    /// # Errors
    /// If it is not a job, or the scenario is invalid, which the sender should have detected.
    pub fn from_json(text: &str, registry: &Registry) -> io::Result<Job> {
        let JobFile { scenario, seed, family, cases, capture } = serde_json::from_str(text)?;
        let scenario = Scenario::from_json(&scenario.to_string(), &[], registry, &no_files).map_err(|problems| {
            let lines: Vec<_> = problems.iter().map(|problem| format!("{}: {}", problem.place, problem.message)).collect();
            io::Error::new(io::ErrorKind::InvalidData, lines.join("\n"))
        })?;
        Ok(Job { scenario, seed, family: AddressFamily::from_ip_version_or_v4(family.unwrap_or(4)), capture, record_connections: cases })
    }
}
