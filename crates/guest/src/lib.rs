//! The program in the box: the router and its hosts as the first process of a user-mode Linux, in the kernel's own process.
//!
//! The kernel loads this library, calls [`calls::ecnlab_box`] with a function that does system calls, and powers off when it returns. The
//! functions of libc that would speak to the machine outside speak to the kernel inside instead (`calls`), so everything here is
//! ordinary Rust. The kernel has no file of the machine's: the program itself reads its job and writes what came of it, past the kernel
//! (`outside`), in the folder that the environment names:
//!
//! ```text
//!     job.json          what is to be done (job.rs)
//!     result.json       what came of it, written when it is whole
//!     capture.pcapng    the packets, where they were asked for
//!     cases.jsonl       connections as cases, a line each, where they were asked for
//! ```

#![deny(unsafe_code)]

mod calls;
mod job;
mod outside;
mod prepare;
mod result;

use std::io::{self, BufWriter, Write};
use std::panic::{self, AssertUnwindSafe};

use ecnlab_router::drive::Pace;
use ecnlab_router::run::{Capture, Refused, RunOptions, kernel, run};
use ecnlab_router::sys::process;
use ecnlab_scenario::Registry;
use serde_json::Value as Json;

use self::job::Job;
use self::outside::File;

/// Names the folder.
const FOLDER: &str = "ECNLAB_BOX_JOB";
const JOB: &str = "job.json";
const RESULT: &str = "result.json";
const CAPTURE: &str = "capture.pcapng";
const CASES: &str = "cases.jsonl";
/// A line to standard output for so many parts of the run.
const PARTS: f64 = 200.0;

/// What there is to do, once calls go to the kernel inside.
fn enter() {
    let done = panic::catch_unwind(AssertUnwindSafe(|| prepare::machine().and_then(|()| work())));
    match done {
        Ok(Ok(())) => {}
        Ok(Err(why)) => outside::tell(&format!("box: {why}")),
        Err(_) => outside::tell("box: the program has failed, a fault of ecnlab"),
    }
}

/// Does the job of the folder.
fn work() -> io::Result<()> {
    let Job { scenario, seed, family, capture, cases } = Job::read(&File::open(&path(JOB)?)?.text()?, &Registry::builtin())?;
    let capture = match capture {
        Some((links, keep)) => Some(Capture { links, keep, out: Box::new(BufWriter::new(File::create(&path(CAPTURE)?)?)) }),
        None => None,
    };
    let priority = Some(process::PRIORITY);
    let options = RunOptions { seed, kernel: kernel("boxed", true), family, pace: Pace::Virtual, priority, budget: None, capture, cases };
    let every = scenario.duration.seconds() / PARTS;
    let mut next = every;
    let ended = run(&scenario, options, &mut |over| {
        if over >= next {
            next = over + every;
            outside::tell(&format!("box: at {over}"));
        }
        false
    });
    let result = match ended {
        Ok(outcome) => {
            if cases {
                write_cases(&outcome.cases)?;
            }
            result::of(&outcome)
        }
        Err(Refused::Asked(problems)) => result::refused(&problems),
        Err(Refused::Full(full)) => result::full(&full),
        Err(Refused::System(why)) => return Err(why),
        Err(Refused::Stopped) => return Err(io::Error::other("the run was stopped")),
    };
    write(&result)
}

fn write_cases(cases: &[String]) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(&path(CASES)?)?);
    cases.iter().try_for_each(|case| writeln!(out, "{case}"))?;
    out.flush()
}

/// Writes the result whole: under another name, and then under its own.
fn write(result: &Json) -> io::Result<()> {
    let place = path(RESULT)?;
    let partial = format!("{place}.partial");
    let mut out = BufWriter::new(File::create(&partial)?);
    serde_json::to_writer(&mut out, result)?;
    out.flush()?;
    drop(out);
    outside::rename(&partial, &place)
}

/// A file of the job's.
fn path(name: &str) -> io::Result<String> {
    let folder = std::env::var(FOLDER).map_err(|_| io::Error::other(format!("{FOLDER} does not say where the job is")))?;
    Ok(format!("{folder}/{name}"))
}
