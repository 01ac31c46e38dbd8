//! Which segments carry PSH (RFC 9293, section 3.9.1.2): the last one of each write, and within a long write one whenever half of the largest
//! window that the other side has offered is written and not pushed, so that its reader is not kept waiting.

use std::collections::VecDeque;

/// No segment has this number.
const NO_SEGMENT: u64 = u64::MAX;

/// Segments that carry PSH: `first`, and each `step` further up to `last`.
#[derive(Clone, Copy, Debug)]
struct PushRun {
    first: u64,
    step: u64,
    last: u64,
}

/// What is pushed, in ascending order, and how far. Counted in bytes, as segments are numbered anew when one is split.
#[derive(Clone, Debug, Default)]
pub struct PushPoints {
    runs: VecDeque<PushRun>,
    /// All bytes before this one have been pushed.
    pushed: u64,
}

/// Full segments that a write fills.
#[derive(Clone, Copy, Debug)]
pub struct FilledSegments {
    /// The first of them, how many there are, and the bytes in each.
    pub first: u64,
    pub count: u64,
    pub full: u64,
    /// Bytes written before the first.
    pub before: u64,
}

impl PushPoints {
    /// A write fills these segments, where the other side's largest window is twice `half` bytes.
    pub fn add_within_write(&mut self, filled: FilledSegments, half: u64) {
        let FilledSegments { first, count, full, before } = filled;
        let least = self.pushed.saturating_add(half);
        let skipped = least.checked_sub(before + full).map_or(0, |short| short / full + 1);
        if skipped >= count {
            return;
        }
        let step = half / full + 1;
        let more = (count - skipped - 1) / step;
        let run = PushRun { first: first + skipped, step, last: first + skipped + more * step };
        self.pushed = before.saturating_add((run.last - first + 1) * full);
        self.runs.push_back(run);
    }

    /// A write ends with this segment, after so many bytes of all writes.
    pub fn add_write_end(&mut self, seq: u64, written: u64) {
        self.pushed = self.pushed.max(written);
        self.add_push_point(seq);
    }

    /// A segment carries PSH that none of those behind it does.
    fn add_push_point(&mut self, seq: u64) {
        if self.runs.back().is_none_or(|run| run.last < seq) {
            self.runs.push_back(PushRun { first: seq, step: 1, last: seq });
        }
    }

    /// The last segment, which has not gone, carries PSH no longer: it takes more data.
    pub fn remove_last(&mut self, seq: u64) {
        let Some(run) = self.runs.back_mut().filter(|run| run.last == seq) else { return };
        if run.first == seq {
            self.runs.pop_back();
        } else {
            run.last -= run.step;
        }
    }

    /// What was written before the window was known is laid out as `add_within_write` does it, ahead of what is pushed already.
    pub fn insert_within_first_write(&mut self, filled: FilledSegments, half: u64) {
        let ends = std::mem::take(&mut self.runs);
        let pushed = std::mem::take(&mut self.pushed);
        self.add_within_write(filled, half);
        self.pushed = self.pushed.max(pushed);
        ends.iter().for_each(|run| self.add_push_point(run.first));
    }

    /// A segment is split into two, which both carry PSH; all behind it are numbered anew.
    pub fn split_segment(&mut self, seq: u64) {
        let runs = std::mem::take(&mut self.runs);
        let (mut ahead, mut behind) = (VecDeque::new(), VecDeque::new());
        for PushRun { first, step, last } in runs {
            // How many of the run lie before the segment, and how many before the one that follows it.
            let count = (last - first) / step + 1;
            let before = |end: u64| if end > first { count.min((end - first).div_ceil(step)) } else { 0 };
            let (kept, passed) = (before(seq), before(seq + 1));
            if kept > 0 {
                ahead.push_back(PushRun { first, step, last: first + (kept - 1) * step });
            }
            if passed < count {
                behind.push_back(PushRun { first: first + passed * step + 1, step, last: last + 1 });
            }
        }
        ahead.push_back(PushRun { first: seq, step: 1, last: seq + 1 });
        ahead.append(&mut behind);
        self.runs = ahead;
    }

    /// Lets go of all before `next`.
    pub fn release_before(&mut self, next: u64) {
        let passed = self.runs.partition_point(|run| run.last < next);
        self.runs.drain(..passed);
    }

    /// The first segment that carries PSH from this one on.
    pub fn next_push_point(&self, seq: u64) -> u64 {
        let run = self.runs.get(self.runs.partition_point(|run| run.last < seq));
        run.map_or(NO_SEGMENT, |run| if seq <= run.first { run.first } else { run.first + (seq - run.first).div_ceil(run.step) * run.step })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: u64 = 1448;

    fn laid(pushes: &PushPoints, end: u64) -> Vec<u64> {
        let mut found = Vec::new();
        let mut at = pushes.next_push_point(0);
        while at < end {
            found.push(at);
            at = pushes.next_push_point(at + 1);
        }
        found
    }

    #[test]
    fn a_long_write_is_pushed_at_every_half_window() {
        // Linux 6.1, windows of 65535 and 31856 bytes in the SYN-ACK: PSH on every 23rd and every 12th segment, and on the last one.
        for (window, expected) in [(65535, vec![23, 46, 69, 92, 100]), (31856, vec![12, 24, 36, 48, 60, 72, 84, 96, 100])] {
            let mut pushes = PushPoints::default();
            pushes.add_within_write(FilledSegments { first: 1, count: 100, full: FULL, before: 0 }, window / 2);
            pushes.add_write_end(100, 100 * FULL);
            assert_eq!(expected, laid(&pushes, 1000));
        }
    }

    #[test]
    fn half_a_window_counts_from_the_last_push() {
        let mut pushes = PushPoints::default();
        pushes.add_write_end(5, 5 * FULL);
        pushes.add_within_write(FilledSegments { first: 6, count: 10, full: FULL, before: 5 * FULL }, 3 * FULL);
        pushes.add_write_end(15, 15 * FULL);
        assert_eq!(vec![5, 9, 13, 15], laid(&pushes, 1000));
        pushes.release_before(10);
        assert_eq!(13, pushes.next_push_point(10));
    }

    #[test]
    fn a_segment_that_takes_more_is_not_pushed_and_its_split_halves_are() {
        let mut pushes = PushPoints::default();
        pushes.add_within_write(FilledSegments { first: 1, count: 10, full: FULL, before: 0 }, FULL);
        assert_eq!(vec![2, 4, 6, 8, 10], laid(&pushes, 1000));
        pushes.remove_last(10);
        pushes.split_segment(5);
        assert_eq!(vec![2, 4, 5, 6, 7, 9], laid(&pushes, 1000));
        pushes.split_segment(9);
        assert_eq!(vec![2, 4, 5, 6, 7, 9, 10], laid(&pushes, 1000));
    }
}
