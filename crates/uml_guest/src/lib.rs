//! The guest program: the router and its hosts as the first process of a user-mode Linux, in the kernel's own process.
//!
//! The kernel loads this library, calls [`calls::ecnlab_box`] with a function that makes system calls, and powers off when it returns.
//! Functions of libc that would enter the kernel of the machine enter the UML kernel instead (`calls`), so everything here is ordinary
//! Rust. The UML kernel has no file of the machine: the program itself reads its job and writes its results, bypassing that kernel
//! (`host_syscalls`), in the folder that the environment names:
//!
//! ```text
//!     job.json          the job (job.rs)
//!     result.json       its result, written when it is complete
//!     capture.pcapng    the packets, if requested
//!     cases.jsonl       connections as cases, a line each, if requested
//! ```

#![deny(unsafe_code)]

mod calls;
mod host_syscalls;
mod job;
mod prepare;
mod result;

use std::io::{self, BufWriter, Write};
use std::panic::{self, AssertUnwindSafe};

use ecnlab_emulator::event_loop::TimeMode;
use ecnlab_emulator::run::{CaptureOptions, RunError, RunOptions, probe_kernel, run};
use ecnlab_emulator::sys::process;
use ecnlab_scenario::Registry;
use serde_json::Value as Json;

use self::host_syscalls::HostFile;
use self::job::{Capture, Job};

/// Environment variable with the folder.
const JOB_FOLDER_VARIABLE: &str = "ECNLAB_GUEST_JOB";
const JOB_FILE: &str = "job.json";
const RESULT_FILE: &str = "result.json";
const CAPTURE_FILE: &str = "capture.pcapng";
const RECORDINGS_FILE: &str = "cases.jsonl";
/// The builds of the engine, of the router and of this crate in this program, behind a mark by which `ecnlab` finds them in the file.
#[used]
static BUILDS_IN_FILE: [[u8; 16]; 4] = [
    *b"ecnlab guest of ",
    build_digits(ecnlab_scenario::SOURCES_DIGEST),
    build_digits(ecnlab_emulator::SOURCE_DIGEST),
    build_digits(env!("ECNLAB_GUEST")),
];
/// Number of progress lines in a run.
const PROGRESS_LINES_PER_RUN: f64 = 200.0;

/// The sixteen digits of a build.
const fn build_digits(build: &str) -> [u8; 16] {
    *build.as_bytes().first_chunk().expect("a build has sixteen digits")
}

/// Runs the job, after system calls have been redirected to the UML kernel.
fn run_job_or_report_failure() {
    // The linker removes what nothing reads.
    std::hint::black_box(&BUILDS_IN_FILE);
    let done = panic::catch_unwind(AssertUnwindSafe(|| prepare::prepare_machine().and_then(|()| run_job_and_write_result())));
    match done {
        Ok(Ok(())) => {}
        Ok(Err(why)) => host_syscalls::host_write_line(&format!("guest: {why}")),
        Err(_) => host_syscalls::host_write_line("guest: the program has failed, a fault of ecnlab"),
    }
}

/// Runs the job of the folder.
fn run_job_and_write_result() -> io::Result<()> {
    let Job { scenario, seed, family, capture, record_connections } =
        Job::from_json(&HostFile::open(&job_path(JOB_FILE)?)?.read_to_string()?, &Registry::builtin())?;
    let capture = match capture {
        Some(Capture { links, keep: snaplen }) => {
            Some(CaptureOptions { links, snaplen, out: Box::new(BufWriter::new(HostFile::create(&job_path(CAPTURE_FILE)?)?)) })
        }
        None => None,
    };
    let priority = Some(process::REALTIME_PRIORITY);
    let options = RunOptions {
        seed,
        kernel: probe_kernel("uml", true),
        family,
        time_mode: TimeMode::Virtual,
        priority,
        lateness_budget: None,
        capture,
        record_connections,
    };
    let every = scenario.duration.seconds() / PROGRESS_LINES_PER_RUN;
    let mut next = every;
    let ended = run(&scenario, options, &mut |over| {
        if over >= next {
            next = over + every;
            host_syscalls::host_write_line(&format!("guest: at {over}"));
        }
        false
    });
    let result = match ended {
        Ok(outcome) => {
            if record_connections {
                write_recordings(&outcome.recordings)?;
            }
            result::run_outcome_json(&outcome)
        }
        Err(RunError::Unsupported(problems)) => result::unsupported_json(&problems),
        Err(RunError::RecordingLimitReached(reached)) => result::recording_limit_reached_json(&reached),
        Err(RunError::System(why)) => return Err(why),
        Err(RunError::Stopped) => return Err(io::Error::other("the run was stopped")),
    };
    write_result_atomically(&result)
}

fn write_recordings(recordings: &[String]) -> io::Result<()> {
    let mut out = BufWriter::new(HostFile::create(&job_path(RECORDINGS_FILE)?)?);
    recordings.iter().try_for_each(|case| writeln!(out, "{case}"))?;
    out.flush()
}

/// Writes the result atomically: under a temporary name, which it then renames.
fn write_result_atomically(result: &Json) -> io::Result<()> {
    let place = job_path(RESULT_FILE)?;
    let partial = format!("{place}.partial");
    let mut out = BufWriter::new(HostFile::create(&partial)?);
    serde_json::to_writer(&mut out, result)?;
    out.flush()?;
    drop(out);
    host_syscalls::host_rename(&partial, &place)
}

/// Path of a file of the job.
fn job_path(name: &str) -> io::Result<String> {
    let folder =
        std::env::var(JOB_FOLDER_VARIABLE).map_err(|_| io::Error::other(format!("{JOB_FOLDER_VARIABLE} does not say where the job is")))?;
    Ok(format!("{folder}/{name}"))
}
