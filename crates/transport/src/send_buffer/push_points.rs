//! Segments that carry PSH (RFC 9293, section 3.9.1.2): the last one of each write. Within a long write, PSH is also set whenever half of
//! the peer's largest window was written without PSH, so that the reader does not wait.

use std::collections::VecDeque;

/// Marker for the absence of a segment.
const NO_SEGMENT: u64 = u64::MAX;

/// Segments that carry PSH: `first`, and every `step`-th after it up to `last`.
#[derive(Clone, Copy, Debug)]
struct PushRun {
    first: u64,
    step: u64,
    last: u64,
}

impl PushRun {
    /// The same run one segment later.
    fn shifted(self) -> PushRun {
        PushRun { first: self.first + 1, last: self.last + 1, ..self }
    }
}

/// Segments with PSH in ascending order, and the number of bytes pushed. Bytes, since a split renumbers segments.
#[derive(Clone, Debug, Default)]
pub struct PushPoints {
    runs: VecDeque<PushRun>,
    /// All bytes before this one are pushed.
    pushed: u64,
}

/// Full segments that a write fills.
#[derive(Clone, Copy, Debug)]
pub struct FullSegmentsOfWrite {
    /// First segment, number of segments, and bytes in each.
    pub first: u64,
    pub count: u64,
    pub full: u64,
    /// Bytes written before the first segment.
    pub before: u64,
}

impl PushPoints {
    /// Adds the push points within a write; the peer's largest window is `2 half` bytes.
    pub fn add_within_write(&mut self, filled: FullSegmentsOfWrite, half: u64) {
        let FullSegmentsOfWrite { first, count, full, before } = filled;
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

    /// Adds the push point at the end of a write, after `written` bytes of all writes.
    pub fn add_write_end(&mut self, seq: u64, written: u64) {
        self.pushed = self.pushed.max(written);
        self.add_push_point(seq);
    }

    /// Adds a push point after all others.
    fn add_push_point(&mut self, seq: u64) {
        if self.runs.back().is_none_or(|run| run.last < seq) {
            self.runs.push_back(PushRun { first: seq, step: 1, last: seq });
        }
    }

    /// Removes PSH from the last segment, which is unsent and takes more data.
    pub fn remove_last(&mut self, seq: u64) {
        let Some(run) = self.runs.back_mut().filter(|run| run.last == seq) else { return };
        if run.first == seq {
            self.runs.pop_back();
        } else {
            run.last -= run.step;
        }
    }

    /// Inserts the push points of data written before the peer's window was known, ahead of the existing ones.
    pub fn insert_within_written_data(&mut self, filled: FullSegmentsOfWrite, half: u64) {
        let ends = std::mem::take(&mut self.runs);
        let pushed = std::mem::take(&mut self.pushed);
        self.add_within_write(filled, half);
        self.pushed = self.pushed.max(pushed);
        ends.iter().for_each(|run| self.add_push_point(run.first));
    }

    /// Inserts a segment without PSH before `seq`.
    pub fn insert_segment(&mut self, seq: u64) {
        let (ahead, behind) = self.take_runs_split_at(seq);
        self.runs = ahead;
        self.runs.extend(behind.into_iter().map(PushRun::shifted));
    }

    /// Removes a segment that the one before takes over, with its PSH.
    pub fn merge_into_previous_segment(&mut self, seq: u64) {
        let (ahead, behind) = self.take_runs_split_at(seq);
        self.runs = ahead;
        for PushRun { first, step, last } in behind {
            if self.runs.back().is_some_and(|run| run.last + 1 == first) && first == last {
                continue;
            }
            self.runs.push_back(PushRun { first: first - 1, step, last: last - 1 });
        }
    }

    /// Runs of the push points before `seq`, and of the others.
    fn take_runs_split_at(&mut self, seq: u64) -> (VecDeque<PushRun>, VecDeque<PushRun>) {
        let (mut ahead, mut behind) = (VecDeque::new(), VecDeque::new());
        for PushRun { first, step, last } in std::mem::take(&mut self.runs) {
            let count = (last - first) / step + 1;
            let kept = if seq > first { count.min((seq - first).div_ceil(step)) } else { 0 };
            if kept > 0 {
                ahead.push_back(PushRun { first, step, last: first + (kept - 1) * step });
            }
            if kept < count {
                behind.push_back(PushRun { first: first + kept * step, step, last });
            }
        }
        (ahead, behind)
    }

    /// Splits a segment into two that both carry PSH, and renumbers all later ones.
    pub fn split_segment_with_psh(&mut self, seq: u64) {
        let (mut ahead, from_seq) = self.take_runs_split_at(seq);
        self.runs = from_seq;
        let (_, behind) = self.take_runs_split_at(seq + 1);
        ahead.push_back(PushRun { first: seq, step: 1, last: seq + 1 });
        ahead.extend(behind.into_iter().map(PushRun::shifted));
        self.runs = ahead;
    }

    /// Releases all segments before `next`.
    pub fn release_before(&mut self, next: u64) {
        let passed = self.runs.partition_point(|run| run.last < next);
        self.runs.drain(..passed);
    }

    /// First segment from `seq` on that carries PSH.
    pub fn next_push_point(&self, seq: u64) -> u64 {
        let run = self.runs.get(self.runs.partition_point(|run| run.last < seq));
        run.map_or(NO_SEGMENT, |run| if seq <= run.first { run.first } else { run.first + (seq - run.first).div_ceil(run.step) * run.step })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL_PAYLOAD: u64 = 1448;

    fn push_points_before(pushes: &PushPoints, end: u64) -> Vec<u64> {
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
            pushes.add_within_write(FullSegmentsOfWrite { first: 1, count: 100, full: FULL_PAYLOAD, before: 0 }, window / 2);
            pushes.add_write_end(100, 100 * FULL_PAYLOAD);
            assert_eq!(expected, push_points_before(&pushes, 1000));
        }
    }

    #[test]
    fn half_a_window_counts_from_the_last_push() {
        let mut pushes = PushPoints::default();
        pushes.add_write_end(5, 5 * FULL_PAYLOAD);
        pushes
            .add_within_write(FullSegmentsOfWrite { first: 6, count: 10, full: FULL_PAYLOAD, before: 5 * FULL_PAYLOAD }, 3 * FULL_PAYLOAD);
        pushes.add_write_end(15, 15 * FULL_PAYLOAD);
        assert_eq!(vec![5, 9, 13, 15], push_points_before(&pushes, 1000));
        pushes.release_before(10);
        assert_eq!(13, pushes.next_push_point(10));
    }

    #[test]
    fn a_segment_that_takes_more_is_not_pushed_and_its_split_halves_are() {
        let mut pushes = PushPoints::default();
        pushes.add_within_write(FullSegmentsOfWrite { first: 1, count: 10, full: FULL_PAYLOAD, before: 0 }, FULL_PAYLOAD);
        assert_eq!(vec![2, 4, 6, 8, 10], push_points_before(&pushes, 1000));
        pushes.remove_last(10);
        pushes.split_segment_with_psh(5);
        assert_eq!(vec![2, 4, 5, 6, 7, 9], push_points_before(&pushes, 1000));
        pushes.split_segment_with_psh(9);
        assert_eq!(vec![2, 4, 5, 6, 7, 9, 10], push_points_before(&pushes, 1000));
    }
}
