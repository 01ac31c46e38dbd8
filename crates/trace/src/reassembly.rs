//! The data that has arrived at a sink: everything below `rcv_nxt`, and ranges above it.
//!
//! The ranges carry byte counts and a memory budget, which [`ecnlab_units::range_set::RangeSet`] does not have: in an ns-2 trace a number is a packet.

use crate::memory_budget::MemoryBudget;

/// Ranges above the first gap that a flow may have; no window holds more.
const MAX_OUT_OF_ORDER_RANGES: usize = 4096;

/// The sequence numbers that have arrived, with their bytes.
#[derive(Clone, Debug, Default)]
pub struct Reassembly {
    rcv_nxt: Option<u64>,
    out_of_order: Vec<SeqRangeWithBytes>,
}

#[derive(Clone, Copy, Debug)]
struct SeqRangeWithBytes {
    start: u64,
    end: u64,
    bytes: u64,
}

impl Reassembly {
    /// Sets the first sequence number of the flow, if nothing has arrived yet.
    pub fn start_at(&mut self, start: u64) {
        self.rcv_nxt.get_or_insert(start);
    }

    /// Whether all of `[start, end)` has arrived.
    pub fn contains(&self, start: u64, end: u64) -> bool {
        self.rcv_nxt.is_some_and(|rcv_nxt| end <= rcv_nxt) || self.out_of_order.iter().any(|range| range.start <= start && end <= range.end)
    }

    /// Adds `[start, end)`, which carries `bytes`; returns how many bytes are newly delivered in order.
    pub fn insert_and_deliver(&mut self, start: u64, end: u64, bytes: u64, memory: &mut MemoryBudget) -> u64 {
        let rcv_nxt = *self.rcv_nxt.get_or_insert(start);
        if end <= rcv_nxt || start >= end {
            return 0;
        }
        let bytes = bytes.saturating_sub(if start < rcv_nxt { proportional_bytes(bytes, rcv_nxt - start, end - start) } else { 0 });
        if start <= rcv_nxt && self.out_of_order.is_empty() {
            self.rcv_nxt = Some(end);
            return bytes;
        }
        self.insert_out_of_order(SeqRangeWithBytes { start: start.max(rcv_nxt), end, bytes }, memory);
        self.deliver_in_order(memory)
    }

    /// Advances `rcv_nxt` to `number`, below which all has arrived, seen or not. Returns the bytes that are delivered of what was seen, and
    /// how many numbers were not seen.
    pub fn skip_to(&mut self, number: u64, memory: &mut MemoryBudget) -> (u64, u64) {
        let rcv_nxt = *self.rcv_nxt.get_or_insert(number);
        if number <= rcv_nxt {
            return (0, 0);
        }
        let seen: u64 = self.out_of_order.iter().map(|range| range.end.min(number).saturating_sub(range.start)).sum();
        let mut bytes = 0;
        let before = self.out_of_order.len();
        self.out_of_order.retain(|range| {
            let below = range.end <= number;
            bytes += if below { range.bytes } else { 0 };
            !below
        });
        memory.release(before - self.out_of_order.len());
        self.rcv_nxt = Some(number);
        (bytes + self.deliver_in_order(memory), number - rcv_nxt - seen)
    }

    /// Releases the memory of all ranges.
    pub fn release_memory(&mut self, memory: &mut MemoryBudget) {
        memory.release(self.out_of_order.len());
        self.out_of_order.clear();
    }

    /// Inserts a range in order and joins it with those that it touches or overlaps.
    fn insert_out_of_order(&mut self, mut range: SeqRangeWithBytes, memory: &mut MemoryBudget) {
        let from = self.out_of_order.partition_point(|other| other.end < range.start);
        let to = from + self.out_of_order[from..].partition_point(|other| other.start <= range.end);
        for other in &self.out_of_order[from..to] {
            let overlap = range.end.min(other.end).saturating_sub(range.start.max(other.start));
            range.bytes = range.bytes.saturating_sub(proportional_bytes(range.bytes, overlap, range.end - range.start)) + other.bytes;
            range.start = range.start.min(other.start);
            range.end = range.end.max(other.end);
        }
        if from == to && (self.out_of_order.len() >= MAX_OUT_OF_ORDER_RANGES || !memory.try_reserve()) {
            return;
        }
        memory.release((to - from).saturating_sub(1));
        self.out_of_order.splice(from..to, [range]);
    }

    /// Removes the ranges without a gap before them, and returns their bytes.
    fn deliver_in_order(&mut self, memory: &mut MemoryBudget) -> u64 {
        let Some(rcv_nxt) = &mut self.rcv_nxt else { return 0 };
        let mut bytes = 0;
        let ready = self.out_of_order.iter().take_while(|range| {
            let is_reached = range.start <= *rcv_nxt;
            if is_reached {
                *rcv_nxt = range.end.max(*rcv_nxt);
                bytes += range.bytes;
            }
            is_reached
        });
        let ready = ready.count();
        self.out_of_order.drain(..ready);
        memory.release(ready);
        bytes
    }
}

/// The bytes of `part` of `whole` numbers.
fn proportional_bytes(bytes: u64, part: u64, whole: u64) -> u64 {
    (u128::from(bytes) * u128::from(part) / u128::from(whole.max(1))) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deliver(segments: &[(u64, u64)]) -> Vec<u64> {
        let (mut reassembly, mut memory) = (Reassembly::default(), MemoryBudget::default());
        reassembly.start_at(0);
        segments.iter().map(|&(start, end)| reassembly.insert_and_deliver(start, end, end - start, &mut memory)).collect()
    }

    #[test]
    fn what_lies_beyond_a_gap_can_be_read_when_the_gap_is_filled() {
        assert_eq!(vec![10, 0, 0, 30, 0], deliver(&[(0, 10), (20, 30), (30, 40), (10, 20), (20, 30)]));
    }

    #[test]
    fn bytes_that_come_twice_count_once() {
        assert_eq!(vec![10, 5, 0, 20], deliver(&[(0, 10), (5, 15), (20, 30), (15, 35)]));
    }

    #[test]
    fn packets_count_with_the_bytes_that_they_carry() {
        let (mut reassembly, mut memory) = (Reassembly::default(), MemoryBudget::default());
        reassembly.start_at(7);
        assert_eq!(0, reassembly.insert_and_deliver(8, 9, 1000, &mut memory));
        assert!(reassembly.contains(8, 9) && !reassembly.contains(7, 8));
        assert_eq!(1040, reassembly.insert_and_deliver(7, 8, 40, &mut memory));
    }

    #[test]
    fn what_was_acknowledged_without_being_seen_is_skipped_and_counted() {
        let (mut reassembly, mut memory) = (Reassembly::default(), MemoryBudget::default());
        reassembly.start_at(0);
        reassembly.insert_and_deliver(20, 30, 10, &mut memory);
        assert_eq!((10, 20), reassembly.skip_to(30, &mut memory));
        assert!(reassembly.contains(20, 30) && !reassembly.contains(30, 31));
    }
}
