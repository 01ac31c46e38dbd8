//! What a source has sent and what of it is acknowledged: round-trip times, and why a segment is sent again.
//!
//! A round-trip time is taken from a segment that was sent once (Karn and Partridge 1987), the last one that an acknowledgement newly
//! covers. A retransmission that follows no acknowledgement was called for by a timer; one that does was called for by duplicate
//! acknowledgements or SACK blocks, and so are those of the same window, until an acknowledgement covers all that was sent before.

use std::collections::VecDeque;

use ecnlab_units::{Span, Time};
use ecnlab_wire::Tcp;

use crate::room::Room;

/// Segments of a flow that may be outstanding.
const MOST: usize = 1 << 16;

/// Segments that a source may send before anything is acknowledged (RFC 6928, section 2).
const INITIAL_WINDOW: usize = 10;

/// Duplicate acknowledgements that call for a retransmission (RFC 5681, section 3.2).
const DUPLICATES: u32 = 3;

/// No host's retransmission timer is shorter (Linux: 200 ms); a shorter pause between an acknowledgement and what it calls for is the
/// path's or the host's.
const SHORTEST_TIMEOUT: Span = Span::from_millis(180);

/// ns-2 and the simulator act in the instant of an acknowledgement, and ns-2 rounds to a microsecond.
const SAME_INSTANT: Span = Span::from_micros(1);

/// Why a segment is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    Duplicates,
    Timeout,
}

/// What a segment is that a source sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    New,
    Again(Cause),
    /// It was overtaken before it was seen.
    Late,
}

/// What an acknowledgement says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acknowledged {
    pub is_new: bool,
    pub rtt: Option<Span>,
    /// An original was acknowledged by its timestamp after it had been sent again (Eifel, RFC 3522).
    pub was_needless: bool,
    /// A segment arrived twice (DSACK, RFC 2883).
    pub arrived_twice: bool,
}

/// How a flow's acknowledgements and segments are seen.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// The source's own actions are seen in their instant: the file is of a simulation and shows the source.
    pub is_exact: bool,
    pub min_rtt: Span,
}

#[derive(Clone, Debug, Default)]
pub struct Sending {
    outstanding: VecDeque<Segment>,
    /// All below is acknowledged.
    una: u64,
    /// All from here on was never sent.
    high: u64,
    duplicates: u32,
    has_sacks: bool,
    /// What was sent before duplicates or blocks last called for a retransmission.
    called_below: u64,
    last_ack: Option<Time>,
    /// Until when retransmissions have the cause of the first.
    episode: Option<(Cause, u64)>,
    pub timeouts: u64,
    last_timeout: Option<Time>,
    /// The latest timestamp that a segment had.
    stamp: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    start: u64,
    end: u64,
    sent: Time,
    stamp: Option<u32>,
    was_again: bool,
}

impl Sending {
    /// Whether something is sent and not acknowledged.
    pub fn is_outstanding(&self) -> bool {
        self.una < self.high
    }

    /// Takes a segment `[start, end)` in.
    pub fn sent(&mut self, (start, end): (u64, u64), tcp: &Tcp, now: Time, view: View, room: &mut Room) -> Sent {
        let stamp = tcp.timestamps.map(|stamps| stamps.value);
        if !self.was_overtaken(stamp) {
            self.stamp = stamp;
        }
        if self.high == 0 || start >= self.high {
            self.push(Segment { start, end, sent: now, stamp, was_again: false }, room);
            self.una = if self.high == 0 { start } else { self.una };
            self.high = end;
            return Sent::New;
        }
        if !view.is_exact && self.was_overtaken(stamp) {
            return Sent::Late;
        }
        let at = self.outstanding.partition_point(|segment| segment.end <= start);
        let known = self.outstanding.get(at).is_some_and(|segment| segment.start < end);
        if !known && start >= self.una && !view.is_exact && self.is_late(at, stamp, now, view) {
            return Sent::Late;
        }
        for segment in self.outstanding.iter_mut().skip(at).take_while(|segment| segment.start < end) {
            (segment.was_again, segment.sent, segment.stamp) = (true, now, stamp);
        }
        self.high = self.high.max(end);
        Sent::Again(self.cause(start, now, view))
    }

    /// Takes an acknowledgement in that asks for `ack` next; `is_pure` if it carries no data.
    pub fn acknowledged(&mut self, ack: u64, blocks: &[(u64, u64)], tcp: &Tcp, is_pure: bool, now: Time, room: &mut Room) -> Acknowledged {
        let arrived_twice = blocks
            .first()
            .is_some_and(|&(start, end)| end <= ack || blocks.get(1).is_some_and(|&(other, other_end)| other <= start && end <= other_end));
        let blocks = &blocks[usize::from(arrived_twice)..];
        self.last_ack = Some(now);
        if ack <= self.una {
            let is_duplicate = ack == self.una && is_pure && self.is_outstanding();
            self.duplicates += u32::from(is_duplicate);
            self.has_sacks |= !blocks.is_empty();
            if self.has_sacks || self.duplicates >= DUPLICATES {
                self.called_below = self.high;
            }
            return Acknowledged { arrived_twice, ..Acknowledged::default() };
        }
        (self.una, self.duplicates, self.has_sacks) = (ack, 0, !blocks.is_empty());
        self.high = self.high.max(ack);
        if self.episode.is_some_and(|(_, until)| until <= ack) {
            self.episode = None;
        }
        let (rtt, was_needless) = self.take_off(ack, tcp, now, room);
        Acknowledged { is_new: true, rtt, was_needless, arrived_twice }
    }

    /// Whether more has been sent than a source may send at first, and no acknowledgement was seen: then the file shows none.
    pub fn goes_unacknowledged(&self) -> bool {
        self.last_ack.is_none() && self.outstanding.len() > INITIAL_WINDOW
    }

    /// Gives its room back.
    pub fn clear(&mut self, room: &mut Room) {
        room.give(self.outstanding.len());
        self.outstanding.clear();
    }

    /// Whether a segment was sent before one that has been seen already, by its timestamp.
    fn was_overtaken(&self, stamp: Option<u32>) -> bool {
        matches!((stamp, self.stamp), (Some(stamp), Some(latest)) if (stamp.wrapping_sub(latest) as i32) < 0)
    }

    fn push(&mut self, segment: Segment, room: &mut Room) {
        if self.outstanding.len() < MOST && room.take() {
            self.outstanding.push_back(segment);
        }
    }

    /// Takes the segments off that are acknowledged: the round-trip time of the last one, and whether the first was needlessly sent again.
    fn take_off(&mut self, ack: u64, tcp: &Tcp, now: Time, room: &mut Room) -> (Option<Span>, bool) {
        let (mut rtt, mut was_needless, mut is_first) = (None, false, true);
        while let Some(segment) = self.outstanding.front().copied().filter(|segment| segment.end <= ack) {
            self.outstanding.pop_front();
            room.give(1);
            rtt = (!segment.was_again).then(|| now.since(segment.sent));
            was_needless |= is_first && segment.was_again && is_older(tcp, segment.stamp);
            is_first = false;
        }
        (rtt, was_needless)
    }

    /// Whether a segment that was not seen before was overtaken, rather than sent again after its first copy was lost on the way here.
    fn is_late(&self, at: usize, stamp: Option<u32>, now: Time, view: View) -> bool {
        let Some(beyond) = self.outstanding.get(at) else { return false };
        let is_later = matches!((stamp, beyond.stamp), (Some(stamp), Some(beyond)) if stamp != beyond);
        !is_later && self.duplicates < DUPLICATES && now.since(beyond.sent) < view.min_rtt
    }

    fn cause(&mut self, start: u64, now: Time, view: View) -> Cause {
        let is_called_for = self.has_sacks || start < self.called_below;
        let pause = if view.is_exact { SAME_INSTANT } else { SHORTEST_TIMEOUT + view.min_rtt };
        let by_timer = self.last_ack.is_none_or(|last| now.since(last) > pause);
        let cause = match self.episode {
            _ if by_timer => Cause::Timeout,
            // Going back after a timeout moves on with each acknowledgement; the segment that is asked for comes out of turn.
            _ if self.duplicates == DUPLICATES && start == self.una => Cause::Duplicates,
            Some((cause, until)) if start < until => cause,
            _ if is_called_for => Cause::Duplicates,
            _ => Cause::Timeout,
        };
        if by_timer && self.last_timeout != Some(now) {
            self.timeouts += 1;
            self.last_timeout = Some(now);
        }
        let until = self.episode.map_or(self.high, |(_, until)| if by_timer { self.high } else { until.max(start + 1) });
        self.episode = Some((cause, until));
        cause
    }
}

/// Whether an acknowledgement answers a segment that was sent before the copy with this timestamp (RFC 3522, section 3.2).
fn is_older(tcp: &Tcp, stamp: Option<u32>) -> bool {
    match (tcp.timestamps, stamp) {
        (Some(stamps), Some(stamp)) if stamps.echo != 0 => (stamps.echo.wrapping_sub(stamp) as i32) < 0,
        _ => false,
    }
}
