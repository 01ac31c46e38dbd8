//! Segments that a source has sent, and their acknowledgements: round-trip times, and the causes of retransmissions.
//!
//! A round-trip time is taken from a segment that was sent once (Karn and Partridge 1987), the last one that an acknowledgement newly
//! covers. A retransmission that does not follow an ACK was caused by a timer. One that does was caused by duplicate ACKs or SACK blocks,
//! and so are those of the same window, until an ACK covers all data sent before.

use std::collections::VecDeque;

use ecnlab_units::{Span, Time};
use ecnlab_wire::Tcp;

use crate::memory_budget::MemoryBudget;

/// Segments of a flow that may be outstanding.
const MAX_SEGMENTS: usize = 1 << 16;

/// Segments that a source may send before anything is acknowledged (RFC 6928, section 2).
const INITIAL_WINDOW_SEGMENTS: usize = 10;

/// Duplicate acknowledgements that call for a retransmission (RFC 5681, section 3.2).
const DUP_THRESH: u32 = 3;

/// No host's retransmission timer is shorter (Linux: 200 ms); a shorter pause between an acknowledgement and what it calls for is the
/// path's or the host's.
const MIN_RTO: Span = Span::from_millis(180);

/// ns-2 and the simulator act in the instant of an acknowledgement, and ns-2 rounds to a microsecond.
const SAME_INSTANT: Span = Span::from_micros(1);

/// Cause of a retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetransmissionCause {
    DupAcks,
    Timeout,
}

/// Kind of a segment that a source sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentKind {
    New,
    Retransmission(RetransmissionCause),
    /// It was overtaken before it was seen, and is not a retransmission.
    Reordered,
}

/// Information in an acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckOutcome {
    pub is_new: bool,
    pub rtt: Option<Span>,
    /// An original was acknowledged by its timestamp after it had been sent again (Eifel, RFC 3522).
    pub is_spurious: bool,
    /// A segment arrived twice (DSACK, RFC 2883).
    pub is_dsack: bool,
}

/// The place from which a flow is observed.
#[derive(Clone, Copy, Debug)]
pub struct ObservationTiming {
    /// Actions of the source are recorded at their exact time: the file is of a simulation and shows the source.
    pub is_exact: bool,
    pub min_rtt: Span,
}

#[derive(Clone, Debug, Default)]
pub struct SegmentTracker {
    outstanding: VecDeque<Segment>,
    /// Everything below is acknowledged.
    snd_una: u64,
    /// Nothing from here on has been sent.
    snd_max: u64,
    dup_acks: u32,
    has_sacks: bool,
    /// `snd_max` when duplicate ACKs or SACK blocks last called for a retransmission.
    recovery_point: u64,
    last_ack_at: Option<Time>,
    /// Cause of the current episode of retransmissions, and the number at which it ends.
    episode: Option<(RetransmissionCause, u64)>,
    pub timeouts: u64,
    last_timeout: Option<Time>,
    /// The latest TSval of a segment.
    tsval: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    start: u64,
    end: u64,
    sent_at: Time,
    tsval: Option<u32>,
    is_retransmitted: bool,
}

impl SegmentTracker {
    /// Whether data is sent and not acknowledged.
    pub fn has_outstanding_data(&self) -> bool {
        self.snd_una < self.snd_max
    }

    /// Processes a segment `[start, end)` of the source.
    pub fn on_segment(
        &mut self,
        (start, end): (u64, u64),
        tcp: &Tcp,
        now: Time,
        view: ObservationTiming,
        memory: &mut MemoryBudget,
    ) -> SegmentKind {
        let tsval = tcp.timestamps.map(|stamps| stamps.value);
        if !self.is_older_timestamp(tsval) {
            self.tsval = tsval;
        }
        if self.snd_max == 0 || start >= self.snd_max {
            self.push(Segment { start, end, sent_at: now, tsval, is_retransmitted: false }, memory);
            self.snd_una = if self.snd_max == 0 { start } else { self.snd_una };
            self.snd_max = end;
            return SegmentKind::New;
        }
        if !view.is_exact && self.is_older_timestamp(tsval) {
            return SegmentKind::Reordered;
        }
        let at = self.outstanding.partition_point(|segment| segment.end <= start);
        let is_known = self.outstanding.get(at).is_some_and(|segment| segment.start < end);
        if !is_known && start >= self.snd_una && !view.is_exact && self.is_reordered(at, tsval, now, view) {
            return SegmentKind::Reordered;
        }
        for segment in self.outstanding.iter_mut().skip(at).take_while(|segment| segment.start < end) {
            (segment.is_retransmitted, segment.sent_at, segment.tsval) = (true, now, tsval);
        }
        self.snd_max = self.snd_max.max(end);
        SegmentKind::Retransmission(self.classify_cause(start, now, view))
    }

    /// Processes an acknowledgement of everything below `ack`; `is_pure` if it carries no data.
    pub fn on_ack(
        &mut self,
        ack: u64,
        blocks: &[(u64, u64)],
        tcp: &Tcp,
        is_pure: bool,
        now: Time,
        memory: &mut MemoryBudget,
    ) -> AckOutcome {
        let is_dsack = blocks
            .first()
            .is_some_and(|&(start, end)| end <= ack || blocks.get(1).is_some_and(|&(other, other_end)| other <= start && end <= other_end));
        let blocks = &blocks[usize::from(is_dsack)..];
        self.last_ack_at = Some(now);
        if ack <= self.snd_una {
            let is_duplicate = ack == self.snd_una && is_pure && self.has_outstanding_data();
            self.dup_acks += u32::from(is_duplicate);
            self.has_sacks |= !blocks.is_empty();
            if self.has_sacks || self.dup_acks >= DUP_THRESH {
                self.recovery_point = self.snd_max;
            }
            return AckOutcome { is_dsack, ..AckOutcome::default() };
        }
        (self.snd_una, self.dup_acks, self.has_sacks) = (ack, 0, !blocks.is_empty());
        self.snd_max = self.snd_max.max(ack);
        if self.episode.is_some_and(|(_, until)| until <= ack) {
            self.episode = None;
        }
        let (rtt, is_spurious) = self.remove_acked(ack, tcp, now, memory);
        AckOutcome { is_new: true, rtt, is_spurious, is_dsack }
    }

    /// Whether more has been sent than a source may send at first, and no acknowledgement was seen: then the file shows none.
    pub fn lacks_acks(&self) -> bool {
        self.last_ack_at.is_none() && self.outstanding.len() > INITIAL_WINDOW_SEGMENTS
    }

    /// Removes all segments and releases their memory.
    pub fn release_memory(&mut self, memory: &mut MemoryBudget) {
        memory.release(self.outstanding.len());
        self.outstanding.clear();
    }

    /// Whether a segment was sent before one that has been seen already, by its timestamp.
    fn is_older_timestamp(&self, tsval: Option<u32>) -> bool {
        matches!((tsval, self.tsval), (Some(tsval), Some(latest)) if (tsval.wrapping_sub(latest) as i32) < 0)
    }

    fn push(&mut self, segment: Segment, memory: &mut MemoryBudget) {
        if self.outstanding.len() < MAX_SEGMENTS && memory.try_reserve() {
            self.outstanding.push_back(segment);
        }
    }

    /// Removes acknowledged segments. Returns the round-trip time of the last one, and whether the retransmission of the first was spurious.
    fn remove_acked(&mut self, ack: u64, tcp: &Tcp, now: Time, memory: &mut MemoryBudget) -> (Option<Span>, bool) {
        let (mut rtt, mut is_spurious, mut is_first) = (None, false, true);
        while let Some(segment) = self.outstanding.front().copied().filter(|segment| segment.end <= ack) {
            self.outstanding.pop_front();
            memory.release(1);
            rtt = (!segment.is_retransmitted).then(|| now.since(segment.sent_at));
            is_spurious |= is_first && segment.is_retransmitted && echoes_older(tcp, segment.tsval);
            is_first = false;
        }
        (rtt, is_spurious)
    }

    /// Whether a segment that was not seen before was reordered, rather than retransmitted after a loss before the observation point.
    fn is_reordered(&self, at: usize, tsval: Option<u32>, now: Time, view: ObservationTiming) -> bool {
        let Some(next_segment) = self.outstanding.get(at) else { return false };
        let is_resent = matches!((tsval, next_segment.tsval), (Some(tsval), Some(next_segment)) if tsval != next_segment);
        !is_resent && self.dup_acks < DUP_THRESH && now.since(next_segment.sent_at) < view.min_rtt
    }

    fn classify_cause(&mut self, start: u64, now: Time, view: ObservationTiming) -> RetransmissionCause {
        let is_in_recovery = self.has_sacks || start < self.recovery_point;
        let min_timer_pause = if view.is_exact { SAME_INSTANT } else { MIN_RTO + view.min_rtt };
        let is_by_timer = self.last_ack_at.is_none_or(|last| now.since(last) > min_timer_pause);
        let cause = match self.episode {
            _ if is_by_timer => RetransmissionCause::Timeout,
            // Go-back-N after a timeout moves on with each acknowledgement; the fast retransmission of `snd_una` interrupts it.
            _ if self.dup_acks == DUP_THRESH && start == self.snd_una => RetransmissionCause::DupAcks,
            Some((cause, until)) if start < until => cause,
            _ if is_in_recovery => RetransmissionCause::DupAcks,
            _ => RetransmissionCause::Timeout,
        };
        if is_by_timer && self.last_timeout != Some(now) {
            self.timeouts += 1;
            self.last_timeout = Some(now);
        }
        let until = self.episode.map_or(self.snd_max, |(_, until)| if is_by_timer { self.snd_max } else { until.max(start + 1) });
        self.episode = Some((cause, until));
        cause
    }
}

/// Whether an acknowledgement answers a segment that was sent before the copy with this timestamp (RFC 3522, section 3.2).
fn echoes_older(tcp: &Tcp, tsval: Option<u32>) -> bool {
    match (tcp.timestamps, tsval) {
        (Some(stamps), Some(tsval)) if stamps.echo != 0 => (stamps.echo.wrapping_sub(tsval) as i32) < 0,
        _ => false,
    }
}
