//! What has arrived at a sink: everything below a number, and runs beyond it.

use crate::room::Room;

/// Runs beyond the first gap that a flow may have; no window holds more.
const MOST: usize = 4096;

/// The numbers that have arrived, with the bytes that they stand for.
#[derive(Clone, Debug, Default)]
pub struct Runs {
    next: Option<u64>,
    beyond: Vec<Run>,
}

#[derive(Clone, Copy, Debug)]
struct Run {
    start: u64,
    end: u64,
    bytes: u64,
}

impl Runs {
    /// Says where the flow begins, if nothing has arrived yet.
    pub fn begin(&mut self, start: u64) {
        self.next.get_or_insert(start);
    }

    /// Whether all of `[start, end)` is here.
    pub fn holds(&self, start: u64, end: u64) -> bool {
        self.next.is_some_and(|next| end <= next) || self.beyond.iter().any(|run| run.start <= start && end <= run.end)
    }

    /// Takes `[start, end)` in, which carries `bytes`; returns how many bytes can be read newly and in order.
    pub fn arrived(&mut self, start: u64, end: u64, bytes: u64, room: &mut Room) -> u64 {
        let next = *self.next.get_or_insert(start);
        if end <= next || start >= end {
            return 0;
        }
        let bytes = bytes.saturating_sub(if start < next { share(bytes, next - start, end - start) } else { 0 });
        if start <= next && self.beyond.is_empty() {
            self.next = Some(end);
            return bytes;
        }
        self.insert(Run { start: start.max(next), end, bytes }, room);
        self.read(room)
    }

    /// What is below `number` is known to have arrived though it was not seen. Returns what can be read of what was seen, and how many
    /// numbers were not.
    pub fn skip_to(&mut self, number: u64, room: &mut Room) -> (u64, u64) {
        let next = *self.next.get_or_insert(number);
        if number <= next {
            return (0, 0);
        }
        let seen: u64 = self.beyond.iter().map(|run| run.end.min(number).saturating_sub(run.start)).sum();
        let mut bytes = 0;
        let before = self.beyond.len();
        self.beyond.retain(|run| {
            let below = run.end <= number;
            bytes += if below { run.bytes } else { 0 };
            !below
        });
        room.give(before - self.beyond.len());
        self.next = Some(number);
        (bytes + self.read(room), number - next - seen)
    }

    /// Gives its room back.
    pub fn clear(&mut self, room: &mut Room) {
        room.give(self.beyond.len());
        self.beyond.clear();
    }

    /// Puts a run into its place and joins it with those that it touches or overlaps.
    fn insert(&mut self, mut run: Run, room: &mut Room) {
        let from = self.beyond.partition_point(|other| other.end < run.start);
        let to = from + self.beyond[from..].partition_point(|other| other.start <= run.end);
        for other in &self.beyond[from..to] {
            let overlap = run.end.min(other.end).saturating_sub(run.start.max(other.start));
            run.bytes = run.bytes.saturating_sub(share(run.bytes, overlap, run.end - run.start)) + other.bytes;
            run.start = run.start.min(other.start);
            run.end = run.end.max(other.end);
        }
        if from == to && (self.beyond.len() >= MOST || !room.take()) {
            return;
        }
        room.give((to - from).saturating_sub(1));
        self.beyond.splice(from..to, [run]);
    }

    /// Reads the runs that no gap is before.
    fn read(&mut self, room: &mut Room) -> u64 {
        let Some(next) = &mut self.next else { return 0 };
        let mut bytes = 0;
        let ready = self.beyond.iter().take_while(|run| {
            let reached = run.start <= *next;
            if reached {
                *next = run.end.max(*next);
                bytes += run.bytes;
            }
            reached
        });
        let ready = ready.count();
        self.beyond.drain(..ready);
        room.give(ready);
        bytes
    }
}

/// The bytes of `part` of `whole` numbers.
fn share(bytes: u64, part: u64, whole: u64) -> u64 {
    (u128::from(bytes) * u128::from(part) / u128::from(whole.max(1))) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(arrivals: &[(u64, u64)]) -> Vec<u64> {
        let (mut runs, mut room) = (Runs::default(), Room::default());
        runs.begin(0);
        arrivals.iter().map(|&(start, end)| runs.arrived(start, end, end - start, &mut room)).collect()
    }

    #[test]
    fn what_lies_beyond_a_gap_can_be_read_when_the_gap_is_filled() {
        assert_eq!(vec![10, 0, 0, 30, 0], read(&[(0, 10), (20, 30), (30, 40), (10, 20), (20, 30)]));
    }

    #[test]
    fn bytes_that_come_twice_count_once() {
        assert_eq!(vec![10, 5, 0, 20], read(&[(0, 10), (5, 15), (20, 30), (15, 35)]));
    }

    #[test]
    fn packets_count_with_the_bytes_that_they_carry() {
        let (mut runs, mut room) = (Runs::default(), Room::default());
        runs.begin(7);
        assert_eq!(0, runs.arrived(8, 9, 1000, &mut room));
        assert!(runs.holds(8, 9) && !runs.holds(7, 8));
        assert_eq!(1040, runs.arrived(7, 8, 40, &mut room));
    }

    #[test]
    fn what_was_acknowledged_without_being_seen_is_skipped_and_counted() {
        let (mut runs, mut room) = (Runs::default(), Room::default());
        runs.begin(0);
        runs.arrived(20, 30, 10, &mut room);
        assert_eq!((10, 20), runs.skip_to(30, &mut room));
        assert!(runs.holds(20, 30) && !runs.holds(30, 31));
    }
}
