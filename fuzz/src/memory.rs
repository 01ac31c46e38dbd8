//! Memory that a target holds, counted by the allocator of each thread.
//!
//! Only Rust's allocations are counted. zstd's decoder is C and allocates its window itself; libFuzzer's limit of the whole process covers it.

#![allow(unsafe_code, reason = "an allocator is unsafe to write; this one hands each call on and counts")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// The system's allocator, with counts.
pub struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn add(bytes: usize) {
    let live = LIVE.get() + bytes as isize;
    LIVE.set(live);
    PEAK.set(PEAK.get().max(live));
}

fn subtract(bytes: usize) {
    LIVE.set(LIVE.get() - bytes as isize);
}

// Safety: each call goes to the system's allocator as it is; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        subtract(layout.size());
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Both are live while one is copied into the other.
        add(size);
        subtract(layout.size());
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// Does the work; returns the most bytes that it held at one time, beyond those that this thread held before.
pub fn peak(work: impl FnOnce()) -> usize {
    let before = LIVE.get();
    PEAK.set(before);
    work();
    (PEAK.get() - before) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_what_was_held_at_one_time() {
        let held = peak(|| {
            drop(std::hint::black_box(vec![1_u8; 3000]));
            let kept = std::hint::black_box(vec![1_u8; 1000]);
            drop(std::hint::black_box(vec![1_u8; 1500]));
            drop(kept);
        });
        assert_eq!(3000, held);
    }
}
