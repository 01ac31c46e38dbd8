//! The job of the program in the box, which is compiled in from its crate: that is a library for the box's kernel alone.

use super::scenario::network_bytes;

#[allow(dead_code, reason = "a job is read here and not done")]
#[path = "../../../crates/guest/src/job.rs"]
mod job_file;

pub fn job(data: &[u8]) -> usize {
    let Ok(text) = std::str::from_utf8(data) else { return 0 };
    match job_file::Job::read(text) {
        Ok(job) => network_bytes(&job.scenario),
        Err(why) => {
            assert!(!why.to_string().is_empty(), "a job is refused without a reason");
            0
        }
    }
}
