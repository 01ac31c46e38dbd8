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

/// libFuzzer learns from comparisons which numbers to try next. A target that makes its values from single bytes gains nothing by that, and
/// a run of the engine spends more than half of its time there; these functions replace libFuzzer's for such a target.
#[cfg(feature = "without-comparisons")]
#[allow(unsafe_code, reason = "the compiler calls them by these names")]
mod comparisons {
    macro_rules! ignored {
        ($($name:ident: $number:ty),*) => { $(#[unsafe(no_mangle)] extern "C" fn $name(_: $number, _: $number) {})* };
    }
    ignored!(
        __sanitizer_cov_trace_cmp1: u8, __sanitizer_cov_trace_const_cmp1: u8,
        __sanitizer_cov_trace_cmp2: u16, __sanitizer_cov_trace_const_cmp2: u16,
        __sanitizer_cov_trace_cmp4: u32, __sanitizer_cov_trace_const_cmp4: u32,
        __sanitizer_cov_trace_cmp8: u64, __sanitizer_cov_trace_const_cmp8: u64
    );
    #[unsafe(no_mangle)]
    extern "C" fn __sanitizer_cov_trace_switch(_: u64, _: *const u64) {}
}
