//! Tail loss probe (RFC 8985, section 7): when acknowledgements stop, one segment is sent to draw one, before the retransmission timer
//! would cut the window.

use ecnlab_units::{Span, Time};

use crate::segment::Ack;

/// The probe's timeout before the first sample.
const UNKNOWN_RTT: Span = Span::from_secs(1);

#[derive(Debug, Default)]
pub struct TailProbe {
    at: Option<Time>,
    /// One past the highest segment sent when the probe went, and whether it was a retransmission.
    out: Option<(u64, bool)>,
}

impl TailProbe {
    pub fn deadline(&self) -> Option<Time> {
        self.at
    }

    pub fn cancel(&mut self) {
        self.at = None;
    }

    pub fn forget(&mut self) {
        *self = TailProbe::default();
    }

    /// Sets the probe's timer: two round trips, and the receiver's delay where one segment is in flight; never beyond the retransmission
    /// timer.
    pub fn schedule(&mut self, now: Time, srtt: Span, outstanding: u64, ack_delay: Span, rto_at: Option<Time>) {
        if self.out.is_some() || outstanding == 0 {
            self.at = None;
            return;
        }
        let wait = match srtt {
            Span::ZERO => UNKNOWN_RTT,
            srtt if outstanding == 1 => srtt * 2 + ack_delay,
            srtt => srtt * 2,
        };
        self.at = Some(rto_at.map_or(now + wait, |rto| rto.min(now + wait)));
    }

    /// The probe went.
    pub fn sent(&mut self, high: u64, retransmission: bool) {
        *self = TailProbe { at: None, out: Some((high, retransmission)) };
    }

    /// An acknowledgement came, a `duplicate` one if it brought nothing new: whether it shows that the probe has repaired a loss, which is to be
    /// answered as one (section 7.4.2).
    pub fn acknowledged(&mut self, ack: &Ack, duplicate: bool) -> bool {
        let Some((end, retransmission)) = self.out.filter(|&(end, _)| ack.next >= end) else { return false };
        let twice = dsack(ack).is_some_and(|(_, to)| to == end);
        let repaired = retransmission && !twice && ack.next > end;
        if !retransmission || twice || repaired || duplicate && ack.sacks.is_empty() {
            self.out = None;
        }
        repaired
    }
}

/// The segments that an acknowledgement reports to have come twice (RFC 2883).
pub fn dsack(ack: &Ack) -> Option<(u64, u64)> {
    let blocks = ack.sacks.as_slice();
    let first = *blocks.first()?;
    let inside = |outer: &(u64, u64)| outer.0 <= first.0 && first.1 <= outer.1;
    (first.1 <= ack.next || blocks.get(1).is_some_and(inside)).then_some(first)
}
