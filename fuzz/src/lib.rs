//! Fuzz targets: a function for each parser of unchecked bytes, and for each pair of computations that must agree.
//!
//! A target takes any bytes and panics if something is wrong. `fuzz/run` compiles one at a time with libFuzzer and has it try inputs that
//! reach new code; `tests/corpus.rs` runs the inputs in `corpus/NAME` through the same functions, without libFuzzer. An input fails a
//! target by a panic, by holding more memory than the target's bound, or by taking longer than libFuzzer's limit of time.

#![deny(unsafe_code)]

mod edit;
pub mod input;
pub mod memory;
mod targets;

#[cfg(target_os = "linux")]
use targets::{emulator, guest};
use targets::{engine, kernel, scenario, store, trace, wire};

/// A target; returns how many bytes more than its bound it may hold for what it has found, such as the flows of a scenario.
type Run = fn(&[u8]) -> usize;

/// A function to be fuzzed, and its bounds.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    pub name: &'static str,
    run: Run,
    /// Creates state that all executions share and that is not charged to any of them.
    prepare: fn(),
    /// Bytes that it may hold at one time: so many, and so many for each byte of the input.
    bound: (usize, usize),
    /// The longest input that is tried: a quarter more than the longest sound one in the corpus, or longer. Sound ones have every section of
    /// their format; what is longer says the same again and takes as much longer.
    pub longest: usize,
}

const fn target(name: &'static str, run: Run, prepare: fn(), bound: (usize, usize), longest: usize) -> Target {
    Target { name, run, prepare, bound, longest }
}

fn nothing() {}

/// A target that finds nothing that takes memory.
macro_rules! plain {
    ($run:path) => {
        |data| {
            $run(data);
            0
        }
    };
}

const KB: usize = 1 << 10;
const MB: usize = 1 << 20;

/// Every target.
pub const TARGETS: &[Target] = &[
    target("scenario_toml", scenario::toml, scenario::prepare, (4 * MB, 4 * KB), 2048),
    target("scenario_json", scenario::json, scenario::prepare, (4 * MB, 4 * KB), 2048),
    target("scenario_fields", scenario::fields, scenario::prepare, (4 * MB, 64 * KB), 64),
    target("overrides", scenario::overrides, scenario::prepare, (4 * MB, 4 * KB), 256),
    target("ns2", plain!(wire::ns2), nothing, (600 * KB, 64), 1024),
    target("pcap", plain!(wire::pcap), nothing, (600 * KB, 64), 1024),
    target("pcapng", plain!(wire::pcapng), nothing, (600 * KB, 64), 1024),
    target("compressed", plain!(wire::compressed), nothing, (2 * MB, 64), 512),
    target("pcapng_twice", plain!(wire::pcapng_twice), store::panic::install_hook, (600 * KB, 64), 1024),
    target("headers", plain!(wire::headers), nothing, (MB, 64), 128),
    target("trace_file", plain!(trace::file), nothing, (2 * MB, 1024), 2048),
    target("trace_events", plain!(trace::events), nothing, (2 * MB, 1024), 512),
    target("kernel_case", plain!(kernel::case), kernel::prepare, (16 * MB, 4 * KB), 6144),
    target("kernel_fields", plain!(kernel::fields), kernel::prepare, (64 * MB, 4 * KB), 64),
    // A page of 2 MB may be a dictionary of half a million texts of 32 bytes.
    target("parquet", plain!(store::parquet), store::panic::install_hook, (20 * MB, 1024), 2048),
    #[cfg(target_os = "linux")]
    target("emulator", plain!(emulator::packets), nothing, (512 * KB, 64), 1024),
    #[cfg(target_os = "linux")]
    target("guest_job", guest::job, scenario::prepare, (4 * MB, 4 * KB), 2048),
    target("engine", plain!(engine::ways), engine::prepare, (32 * MB, 4 * KB), 64),
];

/// The target of this name.
///
/// # Panics
/// If there is none.
pub const fn named(name: &str) -> Target {
    let mut at = 0;
    while at < TARGETS.len() {
        if is_same(TARGETS[at].name, name) {
            return TARGETS[at];
        }
        at += 1;
    }
    panic!("there is no target of this name")
}

const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

impl Target {
    /// Once, before the first execution.
    pub fn prepare(&self) {
        (self.prepare)();
    }

    /// Executes the target; returns the most bytes that it held at one time.
    ///
    /// # Panics
    /// If the input fails it.
    pub fn execute(&self, data: &[u8]) -> usize {
        let mut more = 0;
        let held = memory::peak(|| more = (self.run)(data));
        let bound = self.bound.0 + self.bound.1 * data.len() + more;
        assert!(held <= bound, "{}: an input of {} bytes held {held} bytes, bound {bound}", self.name, data.len());
        held
    }
}
