//! Memory that a target holds, counted by the allocator of each thread.
//!
//! Small blocks that are freed are kept for the next ones of their size, since a tenth to a third of what an execution takes is in the system's
//! allocator otherwise.
//!
//! Only Rust's allocations are counted. zstd's decoder is C and allocates its window itself; libFuzzer's limit of the whole process covers it.

#![allow(unsafe_code, reason = "an allocator is unsafe to write; this one counts, and keeps small blocks")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr;

/// The sizes of blocks that are kept: multiples of this, up to so many.
const SIZE_STEP: usize = 32;
const SIZES: usize = 32;
/// Blocks of a size that are kept at most.
const MAX_KEPT: u32 = 4096;
/// Alignment of all kept blocks, as the system's allocator has it in any case.
const ALIGNMENT: usize = 16;

/// Free blocks of a size; each begins with a pointer to the next.
struct FreeBlocks {
    first: Cell<*mut u8>,
    count: Cell<u32>,
}

/// Counts of a thread's allocations. It owns nothing that needs a drop, so an allocator may use it until the thread ends.
struct Allocations {
    live: Cell<isize>,
    peak: Cell<isize>,
    free: [FreeBlocks; SIZES],
}

thread_local! {
    static ALLOCATIONS: Allocations = const {
        Allocations {
            live: Cell::new(0),
            peak: Cell::new(0),
            free: [const { FreeBlocks { first: Cell::new(ptr::null_mut()), count: Cell::new(0) } }; SIZES],
        }
    };
}

/// The system's allocator, with counts and with blocks that are kept.
pub struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

impl Allocations {
    fn add(&self, bytes: usize) {
        let live = self.live.get() + bytes as isize;
        self.live.set(live);
        self.peak.set(self.peak.get().max(live));
    }

    fn subtract(&self, bytes: usize) {
        self.live.set(self.live.get() - bytes as isize);
    }
}

/// Which of the kept sizes a block has, if it is small enough.
fn size_class(layout: Layout) -> Option<usize> {
    let class = layout.size().wrapping_sub(1) / SIZE_STEP;
    (class < SIZES && layout.align() <= ALIGNMENT).then_some(class)
}

fn class_layout(class: usize) -> Layout {
    // Safety: the alignment is a power of two, and the size is a small multiple of it.
    unsafe { Layout::from_size_align_unchecked((class + 1) * SIZE_STEP, ALIGNMENT) }
}

/// # Safety
/// As [`GlobalAlloc::alloc`].
unsafe fn alloc_block(allocations: &Allocations, layout: Layout) -> *mut u8 {
    let Some(class) = size_class(layout) else { return unsafe { System.alloc(layout) } };
    let FreeBlocks { first, count } = &allocations.free[class];
    let block = first.get();
    if block.is_null() {
        return unsafe { System.alloc(class_layout(class)) };
    }
    // Safety: a free block of any size is as large as a pointer and aligned for one, and begins with one.
    first.set(unsafe { block.cast::<*mut u8>().read() });
    count.set(count.get() - 1);
    block
}

/// # Safety
/// As [`GlobalAlloc::dealloc`].
unsafe fn free_block(allocations: &Allocations, pointer: *mut u8, layout: Layout) {
    let Some(class) = size_class(layout) else { return unsafe { System.dealloc(pointer, layout) } };
    let FreeBlocks { first, count } = &allocations.free[class];
    if count.get() == MAX_KEPT {
        return unsafe { System.dealloc(pointer, class_layout(class)) };
    }
    // Safety: as above, and the block has no other owner any more.
    unsafe { pointer.cast::<*mut u8>().write(first.get()) };
    first.set(pointer);
    count.set(count.get() + 1);
}

// Safety: a block comes from the system's allocator with the layout of its class, or with its own if it has none, and goes back with the same;
// in between it is kept in one list. Counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|allocations| {
            allocations.add(layout.size());
            unsafe { alloc_block(allocations, layout) }
        })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if size_class(layout).is_none() {
            ALLOCATIONS.with(|allocations| allocations.add(layout.size()));
            return unsafe { System.alloc_zeroed(layout) };
        }
        let block = unsafe { self.alloc(layout) };
        if !block.is_null() {
            // Safety: the block has this size.
            unsafe { block.write_bytes(0, layout.size()) };
        }
        block
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        ALLOCATIONS.with(|allocations| {
            allocations.subtract(layout.size());
            unsafe { free_block(allocations, pointer, layout) }
        });
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Safety: the caller sees to it that the size, rounded up to the alignment, does not overflow.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        ALLOCATIONS.with(|allocations| {
            // Both are live while one is copied into the other.
            allocations.add(size);
            allocations.subtract(layout.size());
            match (size_class(layout), size_class(new)) {
                (None, None) => unsafe { System.realloc(pointer, layout, size) },
                (old, class) if old == class => pointer,
                _ => unsafe {
                    let block = alloc_block(allocations, new);
                    if !block.is_null() {
                        block.copy_from_nonoverlapping(pointer, layout.size().min(size));
                        free_block(allocations, pointer, layout);
                    }
                    block
                },
            }
        })
    }
}

/// Does the work; returns the most bytes that it held at one time, beyond those that this thread held before.
pub fn peak(work: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.with(|allocations| {
        allocations.peak.set(allocations.live.get());
        allocations.live.get()
    });
    work();
    (ALLOCATIONS.with(|allocations| allocations.peak.get()) - before) as usize
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

    #[test]
    fn blocks_that_grow_and_shrink_keep_what_is_in_them() {
        let mut blocks: Vec<Vec<u16>> = vec![Vec::new(); 40];
        for step in 0..3000_usize {
            let (block, length) = (&mut blocks[step % 40], step * 31 % 700);
            block.truncate(length);
            block.extend(block.len() as u16..length as u16);
            block.shrink_to_fit();
            let zeros = std::hint::black_box(vec![0_u8; length]);
            assert!(zeros.iter().all(|zero| *zero == 0));
            assert!(blocks.iter().all(|block| block.iter().enumerate().all(|(at, value)| at == usize::from(*value))), "{step}");
        }
    }
}
