//! Calls of the page's JavaScript: one imported function for all hooks of all its AQMs, and the random stream that a hook may draw from.
//!
//! Arguments and results beside the answer are numbers in [`Slots`], at an address that the call passes.

#![allow(unsafe_code)]

use std::cell::Cell;

use ecnlab_units::Rng;

/// Groups of packets that an AQM may have.
pub const MAX_AQM_GROUPS: usize = 16;

/// Numbers that a call passes; `web/engine.js` has the same places.
pub type Slots = [f64; FIRST_GROUP + 2 * MAX_AQM_GROUPS];

pub const NOW_S: usize = 0;
pub const NOW_PS: usize = 1;
pub const SIZE: usize = 2;
pub const ECN: usize = 3;
pub const CAPABLE: usize = 4;
pub const FLOW: usize = 5;
pub const RTT_S: usize = 6;
/// Sojourn time of the head packet, or of the departing one.
pub const SOJOURN_S: usize = 7;
pub const WOULD_OVERFLOW_SLOT: usize = 8;
pub const BACKLOG_PACKETS: usize = 9;
pub const BACKLOG_BYTES: usize = 10;
/// The gauge `average`, which the hook for arrivals writes.
pub const AVERAGE: usize = 11;
/// Packets and bytes of each group.
pub const FIRST_GROUP: usize = 12;

/// Places of a creation and of a check: the class, the link, the parameters as JSON, and in a check the answer as JSON.
pub const AQM_CLASS_SLOT: usize = 0;
pub const RATE_BPS: usize = 1;
pub const LIMIT_PACKETS: usize = 2;
pub const LIMIT_BYTES: usize = 3;
pub const TEXT_PTR: usize = 4;
pub const TEXT_LEN: usize = 5;

pub const INITIAL_SLOT_VALUES: Slots = [0.0; FIRST_GROUP + 2 * MAX_AQM_GROUPS];

/// Function of the page that a call is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Hook {
    Create = 0,
    Arrival = 1,
    Departure = 2,
    Deadline = 3,
    Idle = 4,
    Rate = 5,
    Group = 6,
    Gauges = 7,
    Check = 8,
    Drop = 9,
}

/// Answer of a hook that has thrown; the page keeps the exception.
pub const THROWN: f64 = -1.0;

#[link(wasm_import_module = "ecnlab")]
unsafe extern "C" {
    /// # Safety
    /// `slots` is the address of [`Slots`] that nothing else accesses during the call.
    fn aqm(hook: u32, instance: u32, slots: *mut f64) -> f64;
}

/// Calls the page.
pub fn call(hook: Hook, instance: u32, slots: &mut Slots) -> f64 {
    // SAFETY: the slots are borrowed mutably for the call, and the page keeps no address.
    unsafe { aqm(hook as u32, instance, slots.as_mut_ptr()) }
}

thread_local! {
    static RANDOM_STREAM: Cell<Option<Rng>> = const { Cell::new(None) };
}

/// Calls the page with the queue's random stream lent to the hook.
pub fn call_with_stream(hook: Hook, instance: u32, slots: &mut Slots, rng: &mut Rng) -> f64 {
    RANDOM_STREAM.set(Some(rng.clone()));
    let answer = call(hook, instance, slots);
    if let Some(advanced) = RANDOM_STREAM.take() {
        *rng = advanced;
    }
    answer
}

/// Uniform in [0, 1) from the stream that is lent to the running hook; NaN if none is.
pub fn draw_uniform() -> f64 {
    let mut stream = RANDOM_STREAM.take();
    let drawn = stream.as_mut().map_or(f64::NAN, Rng::uniform);
    RANDOM_STREAM.set(stream);
    drawn
}
