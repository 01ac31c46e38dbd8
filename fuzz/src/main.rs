//! libFuzzer with one target, the one that `ECNLAB_FUZZ_TARGET` names when it is compiled: a program with one target has no counters of
//! the others, which libFuzzer would have to look at after each execution.

#![no_main]

use std::sync::atomic::{AtomicUsize, Ordering};

use ecnlab_fuzz::{Target, named};

const TARGET: Target = named(env!("ECNLAB_FUZZ_TARGET"));

/// The most bytes that an execution has held.
static MOST: AtomicUsize = AtomicUsize::new(0);

libfuzzer_sys::fuzz_target!(
    init: {
        // libFuzzer's own hook ends the process at a panic, also at one that is caught.
        drop(std::panic::take_hook());
        TARGET.prepare();
    },
    |data: &[u8]| {
        let held = TARGET.execute(data);
        if held > MOST.fetch_max(held, Ordering::Relaxed) {
            eprintln!("holds {held} bytes with an input of {}", data.len());
        }
    }
);
