//! What is to be done, as it comes in: JSON with these keys.
//!
//! ```text
//!     scenario     the scenario as JSON, resolved
//!     seed         a whole number
//!     family       4 or 6 (default 4)
//!     cases        true, if connections are to be recorded
//!     capture      { links = [names], keep = bytes }, if packets are to be written
//! ```

use std::io;

use ecnlab_emulator::address::AddressFamily;
use ecnlab_scenario::{Registry, Scenario, no_files};
use serde_json::Value as Json;

/// A job.
pub struct Job {
    pub scenario: Scenario,
    pub seed: u64,
    pub family: AddressFamily,
    /// Names of links, and bytes of each packet.
    pub capture: Option<(Vec<String>, u32)>,
    pub record_connections: bool,
}

impl Job {
    /// Reads one.
    ///
    /// # Errors
    /// If it is none, or the scenario is unsound, which its sender should have seen.
    pub fn from_json(text: &str, registry: &Registry) -> io::Result<Job> {
        let job: Json = serde_json::from_str(text)?;
        let invalid_data = |problems: Vec<ecnlab_scenario::Problem>| {
            let lines: Vec<_> = problems.iter().map(|problem| format!("{}: {}", problem.place, problem.message)).collect();
            io::Error::new(io::ErrorKind::InvalidData, lines.join("\n"))
        };
        let scenario = Scenario::from_json(&job["scenario"].to_string(), &[], registry, &no_files).map_err(invalid_data)?;
        let capture = job.get("capture").filter(|capture| capture.is_object()).map(|capture| {
            let links = capture["links"].as_array().into_iter().flatten().filter_map(|link| Some(link.as_str()?.to_owned())).collect();
            (links, capture["keep"].as_u64().unwrap_or(u64::MAX).min(u64::from(u32::MAX)) as u32)
        });
        Ok(Job {
            scenario,
            seed: job["seed"].as_u64().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the job has no seed"))?,
            family: AddressFamily::from_version(job["family"].as_u64().unwrap_or(4) as u32),
            capture,
            record_connections: job["cases"] == true,
        })
    }
}
