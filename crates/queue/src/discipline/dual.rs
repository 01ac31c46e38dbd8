//! DualPI2 (RFC 9332, sections 2 to 4 and appendix A): two queues before one link, for low latency (L) and for classic traffic (C), whose
//! signals are coupled so that flows of both kinds get about the same rate, while those of L wait next to nothing.
//!
//! ECT(1) and CE packets go to L, all others to C. The base law, PI2's ([`law::pi`](crate::aqm::law::pi)), is sampled every `t_update` with
//! the longer of the times that the two heads have waited. At each departure, by the RFC's figures 5 and 7:
//!
//! ```text
//! C:  signalled with p_C = p'^2:  ECN-capable packets are marked, others dropped
//! L:  marked with p_L = max(p'_L, p_CL),  p_CL = k p'
//!     p'_L = ramp of the packet's own wait: 0 to min_th, 1 from min_th + range on; 0 while no more than th_len packets wait in L
//! saturated (p' >= 1/k, that is p_C >= 25 % at k = 2):  packets of both bands are dropped with p_C, ECN-capable or not, and those of L that
//!     are left are marked
//! ```
//!
//! With k < 1 the bands part: packets of C are saturated at p' = 1, by the RFC's p_Cmax, and those of L never, since p_CL stays below 1.
//!
//! "With p" means by recurrence: a count grows by p at each packet, and where it exceeds 1 it falls by 1 and the packet is signalled. So
//! marks are evenly spaced, and nothing is drawn.
//!
//! Which band is served next is conditional priority for L. By weighted round robin (`wrr`, which the RFC recommends) the credit of C grows
//! by its weight for each byte of L that overtakes it, and falls by the weight of L for each byte of its own; C is served when its credit is
//! above zero. The credit changes only while both bands have packets, and starts anew in favour of L when the link falls idle, as in Linux.
//! By `time-shifted` FIFO the packet that has waited longer is served, with `tshift` added to the wait of L.
//!
//! Where the text leaves something open, or we differ:
//! - At dequeue `th_len` counts the packet that leaves, so that the last packet of a burst is the one that is exempt. With `th_len_at =
//!   "enqueue"` it counts the packet that comes, so that the first is: Linux's `min_qlen_step` is `th_len` then.
//! - The buffer is shared and full when the arriving packet does not fit; the RFC keeps an MTU free in place of the packet's own size.
//! - No base or coupled signal while less than `min_backlog` waits in both bands: Linux has that, the pseudo-code has not.

use std::collections::VecDeque;

use ecnlab_units::{Ecn, Level, Rate, Rng, Span, Time, parameters, words};

use super::{Counters, Deed, Discipline, Frame, Limit, Take};
use crate::aqm::Cause;
use crate::aqm::law::pi::{self, GAUGES, Squared};
use crate::registry::{DisciplineEntry, DisciplineKind, Holds};

pub static ENTRY: DisciplineEntry = DisciplineEntry {
    name: "dualpi2",
    title: "DualPI2",
    summary: "A low-latency and a classic queue with coupled signals: L4S flows wait next to nothing and share evenly with classic ones.",
    source: "RFC 9332",
    parameters: Settings::PARAMETERS,
    holds: Holds::Law,
    gauges: GAUGES,
    bands: &["L", "C"],
    marks: |_| Some(Level::Congested),
    check: |_, _| Vec::new(),
    busy: &[
        ("target", "1 ms"),
        ("t_update", "1 ms"),
        ("alpha", "10"),
        ("beta", "0"),
        ("min_th", "0 s"),
        ("range", "1 ms"),
        ("th_len", "0"),
        ("overload", "delay"),
    ],
    kind: DisciplineKind::Dual,
};

parameters! {
    /// DualPI2 as a scenario sets it.
    #[derive(Clone, Copy, Debug)]
    pub struct Settings {
        ..law: pi::Settings;
        /// Wait from which packets of the L band are marked for its own sake.
        #[source("RFC 9332, appendix A.1, minTh")]
        pub min_th: Span = "800 us", 0..=10, "s";
        /// How much longer a wait marks every packet of the L band; 0 makes the ramp a step.
        #[source("RFC 9332, appendix A.1")]
        pub range: Span = "400 us", 0..=10, "s";
        /// No mark for the L band's own sake while at most this many packets wait in it, the one that leaves or comes counted.
        #[source("RFC 9332, appendix A.2, Th_len")]
        pub th_len: u32 = "1", 0..=1_000_000, "packets";
        /// When the length of the L band is compared with th_len: as the packet is dequeued, which exempts the last packet of a burst, or as it
        /// is enqueued, which exempts the first. Linux compares at enqueue.
        #[source("RFC 9332, appendix A.2 with its note on Linux; Linux 7.2, sch_dualpi2, min_qlen_step")]
        pub th_len_at: ThLenAt = "dequeue";
        /// No signal of the base law while less than this waits in both bands.
        #[source("RFC 9332, appendix A.1: Linux takes two packets of the MTU")]
        pub min_backlog: u32 = "0 B", 0..=1_000_000_000, "bytes";
        /// Which band is served next: by weighted round robin, or by the time that packets have waited.
        #[source("RFC 9332, sections 4.2.2 and A.2")]
        pub scheduler: Scheduler = "wrr";
        /// Weight of the C band; L has the rest.
        #[source("RFC 9332, section 4.2.2; Linux takes 0.1")]
        #[when(scheduler = "wrr")]
        pub classic_weight: f64 = "0.0625", 0.001..=0.999;
        /// How much longer a packet of the C band may wait.
        #[source("RFC 9332, appendix A.2")]
        #[when(scheduler = "time-shifted")]
        pub tshift: Span = "50 ms", 0..=10, "s";
    }
}

words! {
    /// Which band is served next.
    pub enum Scheduler { Wrr = "wrr", TimeShifted = "time-shifted" }
}

words! {
    /// When the length of the L band is compared with `th_len`.
    pub enum ThLenAt { Dequeue = "dequeue", Enqueue = "enqueue" }
}

/// The two bands before one link.
pub struct DualPi2<F> {
    settings: Settings,
    limit: Limit,
    law: Squared,
    low: Box<Band<F>>,
    classic: Box<Band<F>>,
    /// What the C band may send before the L band, in weighted bytes.
    credit: f64,
    due: Time,
}

/// A band: a FIFO, the count of its recurrence, and what happened in it.
struct Band<F> {
    waiting: VecDeque<Stored<F>>,
    bytes: u64,
    count: f64,
    counters: Counters,
}

struct Stored<F> {
    frame: F,
    arrived: Time,
    /// Whether more than `th_len` packets waited in the band once this one was enqueued.
    exceeded_th_len: bool,
}

/// What is done to a packet that is about to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Send,
    Mark,
    Drop(Cause),
}

impl<F: Frame> DualPi2<F> {
    pub fn new(settings: Settings, limit: Limit) -> DualPi2<F> {
        let mut dual = DualPi2 {
            settings,
            limit,
            law: Squared::new(&settings.law),
            low: Box::new(Band::new()),
            classic: Box::new(Band::new()),
            credit: 0.0,
            due: Time::ZERO + settings.law.t_update,
        };
        dual.reset_credit();
        dual
    }

    fn band(&mut self, low: bool) -> &mut Band<F> {
        if low { &mut self.low } else { &mut self.classic }
    }

    fn is_full(&self, size: u32) -> bool {
        match self.limit {
            Limit::Packets(packets) => self.len() >= packets as usize,
            Limit::Bytes(bytes) => self.bytes() + u64::from(size) > bytes,
        }
    }

    /// Whether the L band is served next; both may not be empty.
    fn serves_low(&self, now: Time) -> bool {
        if self.low.waiting.is_empty() || self.classic.waiting.is_empty() {
            return !self.low.waiting.is_empty();
        }
        match self.settings.scheduler {
            Scheduler::Wrr => self.credit <= 0.0,
            Scheduler::TimeShifted => self.low.head_waited(now) + self.settings.tshift >= self.classic.head_waited(now),
        }
    }

    /// A packet of this size goes while the other band has to wait.
    fn charge(&mut self, low: bool, size: u32) {
        let weight = self.settings.classic_weight;
        self.credit += f64::from(size) * if low { weight } else { weight - 1.0 };
    }

    fn reset_credit(&mut self) {
        self.credit = f64::from(MTU) * (2.0 * self.settings.classic_weight - 1.0).min(0.0);
    }

    fn judge(&mut self, low: bool, leaving: &Stored<F>, waited: Span) -> Verdict {
        if low { self.judge_low(leaving, waited) } else { self.judge_classic(&leaving.frame) }
    }

    fn judge_low(&mut self, leaving: &Stored<F>, waited: Span) -> Verdict {
        let applies = self.applies(&leaving.frame);
        let exceeds = match self.settings.th_len_at {
            ThLenAt::Dequeue => self.exceeds_th_len(self.low.waiting.len()),
            ThLenAt::Enqueue => leaving.exceeded_th_len,
        };
        let native = if exceeds { self.ramp(waited) } else { 0.0 };
        let coupled = if applies { self.law.coupled() } else { 0.0 };
        if applies && self.law.low_saturated() && self.low.recurs(self.law.classic()) {
            return Verdict::Drop(Cause::Forced);
        }
        if self.low.recurs(native.max(coupled)) { Verdict::Mark } else { Verdict::Send }
    }

    fn judge_classic(&mut self, frame: &F) -> Verdict {
        if !self.applies(frame) || !self.classic.recurs(self.law.classic()) {
            return Verdict::Send;
        }
        match (frame.ecn().is_capable(), self.law.saturated()) {
            (true, false) => Verdict::Mark,
            (true, true) => Verdict::Drop(Cause::Forced),
            (false, _) => Verdict::Drop(Cause::Early),
        }
    }

    /// Whether so many packets and one more are above `th_len`.
    fn exceeds_th_len(&self, others: usize) -> bool {
        others as u64 + 1 > u64::from(self.settings.th_len)
    }

    /// Whether enough waits, with the packet that leaves, for the base law to be heard.
    fn applies(&self, leaving: &F) -> bool {
        self.bytes() + u64::from(leaving.size()) >= u64::from(self.settings.min_backlog)
    }

    /// p'_L.
    fn ramp(&self, waited: Span) -> f64 {
        let Settings { min_th, range, .. } = self.settings;
        if waited >= min_th + range {
            1.0
        } else if waited > min_th {
            (waited - min_th).seconds() / range.seconds()
        } else {
            0.0
        }
    }

    /// Does the verdict; nothing is left of a packet that is dropped.
    fn carry_out(&mut self, verdict: Verdict, low: bool, mut frame: F, tell: &mut impl FnMut(Deed<F>)) -> Option<F> {
        let counters = &mut self.band(low).counters;
        match verdict {
            Verdict::Send => {}
            Verdict::Mark if frame.takes(Level::Congested) => {
                frame.mark(Level::Congested);
                counters.marked[Cause::Early] += 1;
                tell(Deed::Marked(&frame, Cause::Early));
            }
            Verdict::Mark => {}
            Verdict::Drop(cause) => {
                counters.dropped[cause].add(frame.size());
                tell(Deed::Dropped(frame, cause));
                return None;
            }
        }
        Some(frame)
    }
}

impl<F: Frame> Discipline<F> for DualPi2<F> {
    fn offer(&mut self, frame: F, now: Time, _rng: &mut Rng, tell: &mut impl FnMut(Deed<F>)) {
        let full = self.is_full(frame.size());
        let exceeded_th_len = self.exceeds_th_len(self.low.waiting.len());
        let band = self.band(matches!(frame.ecn(), Ecn::Ect1 | Ecn::Ce));
        band.counters.arrived.add(frame.size());
        if full {
            band.counters.dropped[Cause::Overflow].add(frame.size());
            return tell(Deed::Dropped(frame, Cause::Overflow));
        }
        tell(Deed::Stored(&frame));
        band.bytes += u64::from(frame.size());
        band.waiting.push_back(Stored { frame, arrived: now, exceeded_th_len });
    }

    fn take(&mut self, now: Time, _rng: &mut Rng, tell: &mut impl FnMut(Deed<F>)) -> Take<F> {
        while !self.is_empty() {
            let low = self.serves_low(now);
            let Some(leaving) = self.band(low).pop() else { break };
            let (size, waited) = (leaving.frame.size(), now.since(leaving.arrived));
            let verdict = self.judge(low, &leaving, waited);
            let Some(frame) = self.carry_out(verdict, low, leaving.frame, tell) else { continue };
            if !self.band(!low).waiting.is_empty() {
                self.charge(low, size);
            }
            self.band(low).counters.departed.add(size);
            return Take::Packet { frame, waited, band: u8::from(!low) };
        }
        self.reset_credit();
        Take::Empty
    }

    fn deadline(&self) -> Option<Time> {
        Some(self.due)
    }

    fn expire(&mut self, now: Time, _rng: &mut Rng) {
        self.due = now + self.settings.law.t_update;
        self.law.sample(self.low.head_waited(now).max(self.classic.head_waited(now)));
    }

    /// All is measured in time, whatever the rate.
    fn retune(&mut self, _rate: Rate) {}

    fn len(&self) -> usize {
        self.low.waiting.len() + self.classic.waiting.len()
    }

    fn bytes(&self) -> u64 {
        self.low.bytes + self.classic.bytes
    }

    fn frames(&self, show: &mut dyn FnMut(&F)) {
        [&self.low, &self.classic].iter().flat_map(|band| &band.waiting).for_each(|stored| show(&stored.frame));
    }

    fn bands(&self) -> u8 {
        2
    }

    fn counters(&self, band: u8) -> &Counters {
        if band == 0 { &self.low.counters } else { &self.classic.counters }
    }

    fn average(&self) -> Option<f64> {
        None
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        self.law.gauges(show);
    }

    fn assert_conservation(&self) {
        for band in [&self.low, &self.classic] {
            band.counters.assert_conservation(band.waiting.len(), band.bytes);
            assert_eq!(band.bytes, band.waiting.iter().map(|stored| u64::from(stored.frame.size())).sum::<u64>());
        }
    }
}

impl<F: Frame> Band<F> {
    fn new() -> Band<F> {
        Band { waiting: VecDeque::new(), bytes: 0, count: 0.0, counters: Counters::default() }
    }

    fn pop(&mut self) -> Option<Stored<F>> {
        let front = self.waiting.pop_front()?;
        self.bytes -= u64::from(front.frame.size());
        Some(front)
    }

    fn head_waited(&self, now: Time) -> Span {
        self.waiting.front().map_or(Span::ZERO, |front| now.since(front.arrived))
    }

    /// Whether a signal of this likelihood falls on this packet.
    fn recurs(&mut self, likelihood: f64) -> bool {
        self.count += likelihood;
        let hit = self.count > 1.0;
        if hit {
            self.count -= 1.0;
        }
        hit
    }
}

/// What the credit of the C band starts from is measured in packets of this size.
const MTU: u32 = 1500;
