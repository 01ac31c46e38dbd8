//! Memory of a connection that is over, for the next one: a queue that starts empty takes the allocation of its predecessor,
//! and keeps the largest size that one of them needed. A value in a box takes the box of its predecessor.

use std::collections::VecDeque;
use std::mem;

/// Gives the allocation of `past` to an empty queue.
pub fn take_deque_allocation<T>(queue: &mut VecDeque<T>, past: &mut VecDeque<T>) {
    if queue.is_empty() {
        past.clear();
        mem::swap(queue, past);
    }
}

/// Gives the allocation of `past` to an empty list.
pub fn take_vec_allocation<T>(list: &mut Vec<T>, past: &mut Vec<T>) {
    if list.is_empty() {
        past.clear();
        mem::swap(list, past);
    }
}

/// Stores a value in the box of its predecessor, or in a new one.
pub fn reuse_box<T>(past: Option<Box<T>>, value: T) -> Box<T> {
    match past {
        Some(mut place) => {
            *place = value;
            place
        }
        None => Box::new(value),
    }
}
