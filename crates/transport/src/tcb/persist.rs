//! The window that the other side offers, in bytes, and the timer that probes one which stays too small (RFC 9293, sections 3.8.6 and 3.8.6.1).
//!
//! ```text
//! fits      segments that end within `offered` bytes of the first that is not acknowledged; none is cut to fit
//! probes    while nothing is outstanding and the next segment does not fit:
//!           the first after a retransmission timeout, the next after twice that, and so on; an answer starts the wait anew
//! a probe   is what fits of the next segment, or, where nothing does, a segment without data before all that is not acknowledged,
//!           which is answered at once                                  (Linux tcp_write_wakeup, tcp_probe0_when, tcp_ack_probe)
//! ```
//!
//! What is offered grows and shrinks with acknowledgements of more; one that acknowledges nothing new can only widen it.

use ecnlab_units::Time;

use super::{Output, Tcb};
use crate::segment::{Ack, Segment};

/// Most doublings of the wait, and most that are counted (Linux tcp_probe0_when, tcp_retries2).
const MOST_DOUBLINGS: u32 = 10;
const MOST_COUNTED: u32 = 15;

/// What the other side offers, and the probes of it.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    /// Bytes beyond the first segment that is not acknowledged; [`Ack::ANY`] as long as the other side says nothing of it.
    bytes: u32,
    /// The last acknowledgement that told of it brought news.
    updated: bool,
    /// When to probe.
    probe_at: Option<Time>,
    /// Probes without an answer that opened the window.
    probes: u32,
}

impl Default for Offer {
    fn default() -> Offer {
        Offer { bytes: Ack::ANY, updated: false, probe_at: None, probes: 0 }
    }
}

impl Tcb {
    /// Takes the offered window from an acknowledgement, before anything else of it.
    #[inline]
    pub fn take_window(&mut self, ack: &Ack, now: Time, out: &mut impl Output) {
        if ack.window != Ack::ANY {
            self.hear_window(ack, now, out);
        }
    }

    fn hear_window(&mut self, ack: &Ack, now: Time, out: &mut impl Output) {
        self.offer.updated = ack.next > self.una || ack.next == self.una && (!self.hears_window || ack.window > self.offer.bytes);
        if self.offer.updated {
            self.take_offer(ack, now, out);
        }
    }

    fn take_offer(&mut self, ack: &Ack, now: Time, out: &mut impl Output) {
        self.hears_window = true;
        let changed = self.offer.bytes != ack.window;
        self.offer.bytes = ack.window;
        if ack.next > self.una {
            self.offer.probes = 0;
        }
        self.plan.hear(ack.window, self.high);
        self.room = ack.next + self.plan.segments_within(ack.next, ack.window);
        if changed && self.outstanding() == 0 && self.high < self.available() {
            self.restart_after_idle(now, out);
        }
    }

    /// Whether an acknowledgement, which is at hand, has told of the window, or of more than was acknowledged.
    pub fn is_window_update(&self, ack: &Ack) -> bool {
        if ack.window == Ack::ANY { ack.next > self.una } else { self.offer.updated }
    }

    /// What there is to send has changed: how much of it fits.
    pub(super) fn find_room(&mut self) {
        if self.hears_window {
            self.room = self.una + self.plan.segments_within(self.una, self.offer.bytes);
        }
    }

    /// When the window is to be probed.
    pub fn probe_at(&self) -> Option<Time> {
        self.offer.probe_at
    }

    /// Whether the next segment waits for the window while nothing is outstanding.
    fn is_shut(&self) -> bool {
        self.outstanding() == 0 && self.high < self.available() && self.high >= self.room
    }

    /// What might be sent has been: sets the timer of the probes, or ends it. `was_idle` says that an acknowledgement came with nothing
    /// outstanding, so that it answers a probe or opens the window.
    #[inline]
    pub fn watch_window(&mut self, was_idle: bool, now: Time) {
        if self.hears_window {
            self.set_probe_timer(was_idle, now);
        }
    }

    fn set_probe_timer(&mut self, was_idle: bool, now: Time) {
        if !self.is_shut() {
            self.offer.probe_at = None;
            if was_idle {
                self.offer.probes = 0;
            }
        } else if was_idle {
            self.offer.probe_at = Some(self.probe_time(self.offer.probes, now));
        } else if self.offer.probe_at.is_none() {
            self.offer.probe_at = Some(self.probe_time(0, now));
        }
    }

    fn probe_time(&self, doublings: u32, now: Time) -> Time {
        let wait = self.timeout().max(self.settings.rto_min) * (1 << doublings.min(MOST_DOUBLINGS));
        self.estimator.clock().expiry(now, wait.min(self.settings.rto_max))
    }

    /// A probe is due. If there is room for a part of the next segment, that part is made a segment, which is for recovery to send; returns
    /// whether it is. Else a segment without data goes.
    pub fn probe(&mut self, now: Time, out: &mut impl Output) -> bool {
        self.offer.probe_at = None;
        if !self.is_shut() {
            return false;
        }
        if self.offer.bytes > 0 {
            self.plan.split(self.high, self.offer.bytes.min(self.plan.payload(self.high)), self.high);
            self.find_room();
            self.offer.probes = 0;
            return true;
        }
        out.send(Segment::probe(self.una, self.settings.ack_size));
        self.counters.sent += 1;
        self.offer.probes = (self.offer.probes + 1).min(MOST_COUNTED);
        self.offer.probe_at = Some(self.probe_time(self.offer.probes, now));
        false
    }
}
