//! The job of the program in the box, which is compiled in from its crate: that is a library for the box's kernel alone.

#[allow(dead_code, reason = "a job is read here and not done")]
#[path = "../../../crates/guest/src/job.rs"]
mod job_file;

pub fn job(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data)
        && let Err(why) = job_file::Job::read(text)
    {
        assert!(!why.to_string().is_empty(), "a job is refused without a reason");
    }
}
