//! Functions of the module, and its memory as the page sees it.
//!
//! A text goes in as address and length of bytes that [`alloc`] has given. A function that answers with a text returns the text's length;
//! [`answer`] is its address until the next such function. Each function first sets the hook that keeps a panic's text.

#![allow(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::panic;

use ecnlab_scenario::SOURCES_DIGEST;
use ecnlab_units::math;

use crate::host;
use crate::lab::{self, Labs};

thread_local! {
    static LABS: RefCell<Labs> = RefCell::default();
    static ANSWER: RefCell<String> = const { RefCell::new(String::new()) };
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
    static HAS_HOOK: Cell<bool> = const { Cell::new(false) };
}

/// Length of the digest of the engine's sources.
const BUILD_LEN: usize = SOURCES_DIGEST.len();

/// The digest of the engine's sources in a section that `ecnlab lab` reads without running the module.
#[used]
#[unsafe(link_section = "ecnlab-build")]
static BUILD_SECTION: [u8; BUILD_LEN] = *SOURCES_DIGEST.as_bytes().first_chunk::<BUILD_LEN>().expect("it has this length");

/// Sets the hook that keeps the text of a panic.
fn set_panic_hook() {
    if HAS_HOOK.replace(true) {
        return;
    }
    panic::set_hook(Box::new(|about| PANIC.with_borrow_mut(|text| *text = about.to_string())));
}

fn with_labs<T>(call: impl FnOnce(&mut Labs) -> T) -> T {
    set_panic_hook();
    LABS.with_borrow_mut(call)
}

fn set_answer(text: String) -> usize {
    ANSWER.set(text);
    ANSWER.with_borrow(String::len)
}

/// Memory for a text of so many bytes, to be passed to a function that takes a text, which frees it.
#[unsafe(no_mangle)]
pub extern "C" fn alloc(len: usize) -> *mut u8 {
    Box::into_raw(vec![0_u8; len].into_boxed_slice()).cast()
}

/// Takes over a text that the page has written into memory from [`alloc`]; numbers as the page passes them.
pub fn take_text(ptr: f64, len: f64) -> String {
    string_from_raw_parts(ptr as usize as *mut u8, len as usize)
}

fn string_from_raw_parts(ptr: *mut u8, len: usize) -> String {
    // SAFETY: the page passes an address from `alloc` with its length, once: `web/engine.js` does so, the only user of the module.
    let bytes = unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(ptr, len)) };
    String::from_utf8(bytes.into_vec()).unwrap_or_else(|why| panic!("the page passed a text that is not UTF-8: {why}"))
}

#[unsafe(no_mangle)]
pub extern "C" fn answer() -> *const u8 {
    ANSWER.with_borrow(|text| text.as_ptr())
}

#[unsafe(no_mangle)]
pub extern "C" fn panic_text() -> *const u8 {
    PANIC.with_borrow(|text| text.as_ptr())
}

#[unsafe(no_mangle)]
pub extern "C" fn panic_len() -> usize {
    PANIC.with_borrow(String::len)
}

#[unsafe(no_mangle)]
pub extern "C" fn catalog() -> usize {
    set_panic_hook();
    set_answer(lab::catalog().to_string())
}

#[unsafe(no_mangle)]
pub extern "C" fn open(ptr: *mut u8, len: usize) -> usize {
    let request = string_from_raw_parts(ptr, len);
    set_answer(with_labs(|labs| labs.open(&request)).to_string())
}

#[unsafe(no_mangle)]
pub extern "C" fn toml(lab: u32) -> usize {
    set_answer(with_labs(|labs| labs.toml(lab)))
}

#[unsafe(no_mangle)]
pub extern "C" fn start(lab: u32, seed: f64) {
    with_labs(|labs| labs.start(lab, seed));
}

#[unsafe(no_mangle)]
pub extern "C" fn advance(lab: u32, until_s: f64, events: f64) -> f64 {
    with_labs(|labs| labs.advance(lab, until_s, events))
}

#[unsafe(no_mangle)]
pub extern "C" fn failure(lab: u32) -> usize {
    set_answer(with_labs(|labs| labs.failure(lab)).to_string())
}

#[unsafe(no_mangle)]
pub extern "C" fn fresh(lab: u32) -> usize {
    set_answer(with_labs(|labs| labs.take_new_rows(lab)).to_string())
}

#[unsafe(no_mangle)]
pub extern "C" fn finish(lab: u32) -> usize {
    set_answer(with_labs(|labs| labs.finish(lab)).to_string())
}

#[unsafe(no_mangle)]
pub extern "C" fn close(lab: u32) {
    with_labs(|labs| labs.close(lab));
}

/// A draw of the running hook's queue; NaN outside of a hook that may draw.
#[unsafe(no_mangle)]
pub extern "C" fn aqm_random() -> f64 {
    host::draw_uniform()
}

#[unsafe(no_mangle)]
pub extern "C" fn aqm_exp(x: f64) -> f64 {
    math::exp(x)
}

#[unsafe(no_mangle)]
pub extern "C" fn aqm_ln(x: f64) -> f64 {
    math::ln(x)
}

/// `base` to a power that is a whole number, at least 0.
#[unsafe(no_mangle)]
pub extern "C" fn aqm_powi(base: f64, exponent: f64) -> f64 {
    math::powi(base, exponent as u64)
}
