//! Links that send in bursts, as Wi-Fi sends aggregates, DOCSIS uses grants and 5G uses slots.
//!
//! ```text
//! slots       begin at whole multiples of the period
//! a burst     begins at a slot at which packets wait; they leave back to back at the link's rate
//! its end     no packet waits, or it has sent the aggregate; what waits or arrives then waits for the next slot
//! bytes       the packet that exceeds the aggregate is sent whole, and the excess comes off the aggregates of the next slots
//! ```
//!
//! A burst that lasts longer than a period delays the next one to the first slot after its end. Each packet leaves its queue as its own
//! transmission begins, so an AQM decides then. All times are whole picoseconds.
//!
//! It follows that a packet that finds the link idle at time t begins at the first multiple of the period at or after t. While packets
//! always wait, n packets of which the transmission takes d leave in each ceil(n d / period) periods, and an aggregate of bytes leaves in
//! each period, on average over packets of any size, if it takes no longer together with a packet. With a period of a picosecond the link is one without bursts.

use ecnlab_units::{Span, Time};

use crate::limit::Limit;

/// When a link sends: in bursts at slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bursts {
    /// Time from one slot to the next, above zero.
    pub period: Span,
    /// Amount that one slot sends, above zero; `None` if a burst lasts until no packet waits.
    pub aggregate: Option<Limit>,
}

/// Bursts of a link during a run.
#[derive(Clone, Copy, Debug)]
pub struct BurstSchedule {
    bursts: Bursts,
    /// Number of the slot at which the last burst began.
    slot: u64,
    /// Number of the first slot at which the next burst may begin, and its allowance there. Later slots have the whole aggregate.
    next_slot: u64,
    next_allowance: u64,
    /// Packets or bytes that the burst in progress may still send; 0 between bursts.
    left: u64,
    /// End of the last transmission, at which the burst in progress continues.
    continues_at: Time,
}

impl BurstSchedule {
    /// The schedule of a link that is idle at time zero, at which the first slot begins.
    ///
    /// # Panics
    /// If the period or the aggregate is zero.
    pub fn new(bursts: Bursts) -> BurstSchedule {
        assert!(bursts.period > Span::ZERO, "a period must be above zero");
        let schedule = BurstSchedule { bursts, slot: 0, next_slot: 0, next_allowance: 0, left: 0, continues_at: Time::ZERO };
        assert!(schedule.allowance_per_burst() > 0, "an aggregate must be above zero");
        BurstSchedule { next_allowance: schedule.allowance_per_burst(), ..schedule }
    }

    /// The aggregate in its unit.
    fn allowance_per_burst(&self) -> u64 {
        match self.bursts.aggregate {
            None => u64::MAX,
            Some(Limit::Packets(packets)) => packets.into(),
            Some(Limit::Bytes(bytes)) => bytes,
        }
    }

    /// For a link whose transmitter is free and before which packets wait: the slot for which they have to wait. `None` if a packet may
    /// leave now, in the burst in progress or in one that begins.
    pub fn begin_burst_or_find_next_slot(&mut self, now: Time) -> Option<Time> {
        if self.left > 0 && now == self.continues_at {
            return None;
        }
        let slot = self.next_slot.max(now.picos().div_ceil(self.bursts.period.picos()));
        let begins = Time::from_picos(slot.saturating_mul(self.bursts.period.picos()));
        if begins > now {
            return Some(begins);
        }
        self.left = if slot == self.next_slot { self.next_allowance } else { self.allowance_per_burst() };
        (self.slot, self.next_slot, self.next_allowance) = (slot, slot + 1, self.allowance_per_burst());
        self.continues_at = now;
        None
    }

    /// A packet of the burst leaves, and its transmission ends at this time.
    pub fn on_departure(&mut self, size: u32, ends: Time) {
        self.continues_at = ends;
        match self.bursts.aggregate {
            None => {}
            Some(Limit::Packets(_)) => self.left -= 1,
            Some(Limit::Bytes(_)) if u64::from(size) < self.left => self.left -= u64::from(size),
            Some(Limit::Bytes(aggregate)) => {
                let excess = u64::from(size) - self.left;
                self.left = 0;
                self.next_slot = self.slot + 1 + excess / aggregate;
                self.next_allowance = aggregate - excess % aggregate;
            }
        }
    }

    /// No packet can leave now: the burst is over.
    pub fn end_burst(&mut self) {
        self.left = 0;
    }
}
