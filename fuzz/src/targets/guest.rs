//! The job of the guest program, which is compiled in from its crate: that is a library for the UML kernel alone.

use ecnlab_scenario::Scenario;

use super::scenario::{network_bytes, registry};

#[allow(dead_code, reason = "a job is read here and not done")]
#[path = "../../../crates/uml_guest/src/job.rs"]
mod job_file;

pub fn job(data: &[u8]) -> usize {
    let Ok(text) = std::str::from_utf8(data) else { return 0 };
    match read(text) {
        Ok(scenario) => network_bytes(&scenario),
        Err(why) => {
            assert!(!why.is_empty(), "a job is refused without a reason");
            0
        }
    }
}

/// The scenario of a job, or why there is none.
pub fn read(text: &str) -> Result<Scenario, String> {
    job_file::Job::from_json(text, registry()).map(|job| job.scenario).map_err(|why| why.to_string())
}
