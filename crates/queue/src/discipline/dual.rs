//! DualPI2 (RFC 9332, sections 2 to 4 and appendix A): two queues before one link, for low latency (L) and for classic traffic (C). Their
//! signals are coupled so that flows of both kinds get about the same rate, while the queueing delay of L is near zero.
//!
//! ECT(1) and CE packets go to L, all others to C. The base law, PI2's ([`control::pi`](crate::aqm::control::pi)), is sampled every
//! `t_update` with the longer of the times that the two heads have waited. At each departure, by the RFC's figures 5 and 7:
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
//! marks are evenly spaced, and nothing is drawn. With `signals = "random"` each packet is signalled by a draw, as in Linux.
//!
//! Which band is served next is conditional priority for L. By weighted round robin (`wrr`, which the RFC recommends) the credit of C grows
//! by its weight for each byte of L that overtakes it, and falls by the weight of L for each byte of its own; C is served when its credit
//! is above zero. The credit changes only while both bands have packets, and is reset in favour of L when the link becomes idle, as in
//! Linux. By `time-shifted` FIFO the packet that has waited longer is served, with `tshift` added to the wait of L.
//!
//! Differences from the RFC, and choices that it leaves open:
//! - At dequeue `th_len` counts the packet that leaves, so that the last packet of a burst is the one that is exempt. With `th_len_at =
//!   "enqueue"` it counts the packet that comes, so that the first is: Linux's `min_qlen_step` is `th_len` then.
//! - The buffer is shared and full when the arriving packet does not fit; the RFC keeps an MTU free instead of the packet's size.
//! - No base or coupled signal while less than `min_backlog` waits in both bands, as in Linux but not in the pseudo-code.

use std::collections::VecDeque;

use ecnlab_units::{CongestionLevel, Ecn, Rng, Span, Time, parameters, words};

use super::entry::{ChildKind, DisciplineEntry, DisciplineKind};
use super::{DequeueOutcome, Discipline, QueueCounters, QueueEvent, QueueItem};
use crate::aqm::control::pi::{self, SQUARED_PROBABILITY_GAUGES, SquaredProbability};
use crate::aqm::{GaugeReport, SignalCause};
use crate::limit::Limit;

pub static ENTRY: DisciplineEntry = DisciplineEntry {
    name: "dualpi2",
    title: "DualPI2",
    summary: "A low-latency and a classic queue with coupled signals: L4S flows have almost no queueing delay and share the link evenly \
        with classic flows.",
    source: "RFC 9332",
    parameters: Settings::PARAMETERS,
    child: ChildKind::Buffer,
    gauges: SQUARED_PROBABILITY_GAUGES,
    band_names: &["L", "C"],
    lowest_mark: |_| Some(CongestionLevel::Congested),
    test_params: &[
        ("target", "1 ms"),
        ("t_update", "1 ms"),
        ("alpha", "10"),
        ("beta", "0"),
        ("min_th", "0 s"),
        ("range", "1 ms"),
        ("th_len", "0"),
        ("signals", "random"),
        ("overload", "delay"),
    ],
    kind: DisciplineKind::Dual,
    ..DisciplineEntry::DEFAULTS
};

parameters! {
    /// DualPI2 as a scenario sets it.
    #[derive(Clone, Copy, Debug)]
    pub struct Settings {
        ..law: pi::Pi2BaseSettings;
        /// Sojourn time from which packets of the L band are marked by its native AQM.
        #[source("RFC 9332, appendix A.1, minTh")]
        #[usual(0.0001..=0.01, log)]
        pub min_th: Span = "800 us", 0..=10, "s";
        /// Further sojourn time at which every packet of the L band is marked; 0 makes the ramp a step.
        #[source("RFC 9332, appendix A.1")]
        #[usual(0.0001..=0.01, log)]
        pub range: Span = "400 us", 0..=10, "s";
        /// Length of the L band, with the packet under test, up to which its native AQM marks none.
        #[source("RFC 9332, appendix A.2, Th_len")]
        pub th_len: u32 = "1", 0..=1_000_000, "packets";
        /// Time of the comparison with th_len: at dequeue, which exempts the last packet of a burst, or at enqueue, which exempts the
        /// first. Linux compares at enqueue.
        #[source("RFC 9332, appendix A.2 with its note on Linux; Linux 7.2, sch_dualpi2, min_qlen_step")]
        pub th_len_at: ThLenCheckTime = "dequeue";
        /// Backlog of both bands below which the base AQM signals no packet.
        #[source("RFC 9332, appendix A.1: Linux takes two packets of the MTU")]
        pub min_backlog: u32 = "0 B", 0..=1_000_000_000, "bytes";
        /// Choice of the packets that the probabilities signal: by recurrence, which spaces signals evenly, or by a random draw for each
        /// packet. Linux draws.
        #[source("RFC 9332, appendix A, recur(); Linux 7.2, sch_dualpi2, dualpi2_roll")]
        pub signals: SignalChoice = "recurrence";
        /// Scheduler of the bands: weighted round robin, or time-shifted FIFO by sojourn time.
        #[source("RFC 9332, sections 4.2.2 and A.2")]
        pub scheduler: BandScheduler = "wrr";
        /// Weight of the C band; L has the rest.
        #[source("RFC 9332, section 4.2.2; Linux takes 0.1")]
        #[when(scheduler = "wrr")]
        #[usual(0.01..=0.5, log)]
        pub classic_weight: f64 = "0.0625", 0.001..=0.999;
        /// Time shift: additional sojourn time of the C band's packets before they are served first.
        #[source("RFC 9332, appendix A.2")]
        #[when(scheduler = "time-shifted")]
        #[usual(0.005..=0.2, log)]
        pub tshift: Span = "50 ms", 0..=10, "s";
    }
}

words! {
    /// Which band is served next.
    pub enum BandScheduler { Wrr = "wrr", TimeShifted = "time-shifted" }
}

words! {
    /// When the length of the L band is compared with `th_len`.
    pub enum ThLenCheckTime { Dequeue = "dequeue", Enqueue = "enqueue" }
}

words! {
    /// How the packets to signal are chosen.
    pub enum SignalChoice { Recurrence = "recurrence", Random = "random" }
}

/// The two bands before one link.
pub struct DualPi2<F> {
    settings: Settings,
    limit: Limit,
    probability: SquaredProbability,
    low_latency: Box<Band<F>>,
    classic: Box<Band<F>>,
    /// Weighted bytes that the C band may send before the L band.
    credit: f64,
    next_update: Time,
}

/// A band: a FIFO, the count of its recurrence, and what happened in it.
struct Band<F> {
    waiting: VecDeque<BandPacket<F>>,
    bytes: u64,
    recur_count: f64,
    counters: QueueCounters,
}

struct BandPacket<F> {
    packet: F,
    enqueued_at: Time,
    /// Whether more than `th_len` packets waited in the band once this one was enqueued.
    exceeded_th_len: bool,
}

/// Verdict on a packet that is about to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BandVerdict {
    Send,
    Mark,
    Drop(SignalCause),
}

impl<F: QueueItem> DualPi2<F> {
    pub fn new(settings: Settings, limit: Limit) -> DualPi2<F> {
        let mut dual = DualPi2 {
            settings,
            limit,
            probability: SquaredProbability::new(&settings.law),
            low_latency: Box::new(Band::new()),
            classic: Box::new(Band::new()),
            credit: 0.0,
            next_update: Time::ZERO + settings.law.t_update,
        };
        dual.reset_credit();
        dual
    }

    fn band_mut(&mut self, low_latency: bool) -> &mut Band<F> {
        if low_latency { &mut self.low_latency } else { &mut self.classic }
    }

    fn would_overflow(&self, size: u32) -> bool {
        match self.limit {
            Limit::Packets(packets) => self.len() >= packets as usize,
            Limit::Bytes(bytes) => self.bytes() + u64::from(size) > bytes,
        }
    }

    /// Whether the L band is served next; both may not be empty.
    fn serves_low_latency(&self, now: Time) -> bool {
        if self.low_latency.waiting.is_empty() || self.classic.waiting.is_empty() {
            return !self.low_latency.waiting.is_empty();
        }
        match self.settings.scheduler {
            BandScheduler::Wrr => self.credit <= 0.0,
            BandScheduler::TimeShifted => self.low_latency.head_sojourn(now) + self.settings.tshift >= self.classic.head_sojourn(now),
        }
    }

    /// Charges a packet of this size that is sent while the other band waits.
    fn charge_credit(&mut self, low_latency: bool, size: u32) {
        let weight = self.settings.classic_weight;
        self.credit += f64::from(size) * if low_latency { weight } else { weight - 1.0 };
    }

    fn reset_credit(&mut self) {
        self.credit = f64::from(CREDIT_RESET_PACKET_BYTES) * (2.0 * self.settings.classic_weight - 1.0).min(0.0);
    }

    fn decide(&mut self, low_latency: bool, leaving: &BandPacket<F>, sojourn: Span, rng: &mut Rng) -> BandVerdict {
        if low_latency { self.decide_low_latency(leaving, sojourn, rng) } else { self.decide_classic(&leaving.packet, rng) }
    }

    /// Whether a packet of a band is signalled with this probability.
    fn chooses(&mut self, low_latency: bool, probability: f64, rng: &mut Rng) -> bool {
        match self.settings.signals {
            SignalChoice::Recurrence => self.band_mut(low_latency).recur(probability),
            SignalChoice::Random => probability > 0.0 && rng.uniform() < probability,
        }
    }

    fn decide_low_latency(&mut self, leaving: &BandPacket<F>, sojourn: Span, rng: &mut Rng) -> BandVerdict {
        let has_min_backlog = self.has_min_backlog(&leaving.packet);
        let exceeds = match self.settings.th_len_at {
            ThLenCheckTime::Dequeue => self.exceeds_th_len(self.low_latency.waiting.len()),
            ThLenCheckTime::Enqueue => leaving.exceeded_th_len,
        };
        let native = if exceeds { self.native_probability(sojourn) } else { 0.0 };
        let coupled = if has_min_backlog { self.probability.coupled_probability() } else { 0.0 };
        let drops = has_min_backlog && self.probability.is_dropping_scalable();
        if drops && self.chooses(true, self.probability.classic_probability(), rng) {
            return BandVerdict::Drop(SignalCause::Forced);
        }
        if self.chooses(true, native.max(coupled), rng) { BandVerdict::Mark } else { BandVerdict::Send }
    }

    fn decide_classic(&mut self, packet: &F, rng: &mut Rng) -> BandVerdict {
        if !self.has_min_backlog(packet) || !self.chooses(false, self.probability.classic_probability(), rng) {
            return BandVerdict::Send;
        }
        match (packet.ecn().is_capable(), self.probability.is_dropping_ecn_classic()) {
            (true, false) => BandVerdict::Mark,
            (true, true) => BandVerdict::Drop(SignalCause::Forced),
            (false, _) => BandVerdict::Drop(SignalCause::Early),
        }
    }

    /// Whether so many packets and one more are above `th_len`.
    fn exceeds_th_len(&self, others: usize) -> bool {
        others as u64 + 1 > u64::from(self.settings.th_len)
    }

    /// Whether the backlog, with the packet that leaves, reaches `min_backlog`, from which the base law signals.
    fn has_min_backlog(&self, leaving: &F) -> bool {
        self.bytes() + u64::from(leaving.size()) >= u64::from(self.settings.min_backlog)
    }

    /// p'_L.
    fn native_probability(&self, sojourn: Span) -> f64 {
        let Settings { min_th, range, .. } = self.settings;
        if sojourn >= min_th + range {
            1.0
        } else if sojourn > min_th {
            (sojourn - min_th).seconds() / range.seconds()
        } else {
            0.0
        }
    }

    /// Applies the verdict; returns the packet unless it was dropped.
    fn apply_verdict(
        &mut self,
        verdict: BandVerdict,
        low_latency: bool,
        mut packet: F,
        on_event: &mut impl FnMut(QueueEvent<F>),
    ) -> Option<F> {
        let counters = &mut self.band_mut(low_latency).counters;
        match verdict {
            BandVerdict::Send => {}
            BandVerdict::Mark if packet.can_be_marked(CongestionLevel::Congested) => {
                packet.mark(CongestionLevel::Congested);
                counters.marked[SignalCause::Early] += 1;
                on_event(QueueEvent::Marked(&packet, SignalCause::Early));
            }
            BandVerdict::Mark => {}
            BandVerdict::Drop(cause) => {
                counters.dropped[cause].count_packet(packet.size());
                on_event(QueueEvent::Dropped(packet, cause));
                return None;
            }
        }
        Some(packet)
    }
}

impl<F: QueueItem> Discipline<F> for DualPi2<F> {
    fn enqueue(&mut self, packet: F, now: Time, _rng: &mut Rng, on_event: &mut impl FnMut(QueueEvent<F>)) {
        let full = self.would_overflow(packet.size());
        let exceeded_th_len = self.exceeds_th_len(self.low_latency.waiting.len());
        let band = self.band_mut(matches!(packet.ecn(), Ecn::Ect1 | Ecn::Ce));
        band.counters.arrived.count_packet(packet.size());
        if full {
            band.counters.dropped[SignalCause::Overflow].count_packet(packet.size());
            return on_event(QueueEvent::Dropped(packet, SignalCause::Overflow));
        }
        on_event(QueueEvent::Stored(&packet));
        band.bytes += u64::from(packet.size());
        band.waiting.push_back(BandPacket { packet, enqueued_at: now, exceeded_th_len });
    }

    fn dequeue(&mut self, now: Time, rng: &mut Rng, on_event: &mut impl FnMut(QueueEvent<F>)) -> DequeueOutcome<F> {
        while !self.is_empty() {
            let low_latency = self.serves_low_latency(now);
            let Some(leaving) = self.band_mut(low_latency).pop_front() else { break };
            let (size, sojourn) = (leaving.packet.size(), now.since(leaving.enqueued_at));
            let verdict = self.decide(low_latency, &leaving, sojourn, rng);
            let Some(packet) = self.apply_verdict(verdict, low_latency, leaving.packet, on_event) else { continue };
            if !self.band_mut(!low_latency).waiting.is_empty() {
                self.charge_credit(low_latency, size);
            }
            self.band_mut(low_latency).counters.departed.count_packet(size);
            return DequeueOutcome::Packet { packet, sojourn, band: u8::from(!low_latency) };
        }
        self.reset_credit();
        DequeueOutcome::Empty
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.next_update)
    }

    fn on_timer(&mut self, now: Time, _rng: &mut Rng) {
        self.next_update = now + self.settings.law.t_update;
        self.probability.update(self.low_latency.head_sojourn(now).max(self.classic.head_sojourn(now)));
    }

    fn len(&self) -> usize {
        self.low_latency.waiting.len() + self.classic.waiting.len()
    }

    fn bytes(&self) -> u64 {
        self.low_latency.bytes + self.classic.bytes
    }

    fn for_each_packet(&self, visit: &mut dyn FnMut(&F)) {
        [&self.low_latency, &self.classic].iter().flat_map(|band| &band.waiting).for_each(|queued| visit(&queued.packet));
    }

    fn band_count(&self) -> u8 {
        2
    }

    fn band_len(&self, band: u8) -> usize {
        [&self.low_latency, &self.classic][usize::from(band)].waiting.len()
    }

    fn band_counters(&self, band: u8) -> &QueueCounters {
        if band == 0 { &self.low_latency.counters } else { &self.classic.counters }
    }

    fn report_gauges(&self, report: GaugeReport) {
        self.probability.report_gauges(report);
    }

    fn assert_conservation(&self) {
        for band in [&self.low_latency, &self.classic] {
            band.counters.assert_conservation(band.waiting.len(), band.bytes);
            assert_eq!(band.bytes, band.waiting.iter().map(|queued| u64::from(queued.packet.size())).sum::<u64>());
        }
    }
}

impl<F: QueueItem> Band<F> {
    fn new() -> Band<F> {
        Band { waiting: VecDeque::new(), bytes: 0, recur_count: 0.0, counters: QueueCounters::default() }
    }

    fn pop_front(&mut self) -> Option<BandPacket<F>> {
        let front = self.waiting.pop_front()?;
        self.bytes -= u64::from(front.packet.size());
        Some(front)
    }

    fn head_sojourn(&self, now: Time) -> Span {
        self.waiting.front().map_or(Span::ZERO, |front| now.since(front.enqueued_at))
    }

    /// Deterministic signal by recurrence (RFC 9332, appendix A): true once the accumulated likelihood exceeds 1.
    fn recur(&mut self, likelihood: f64) -> bool {
        self.recur_count += likelihood;
        let hit = self.recur_count > 1.0;
        if hit {
            self.recur_count -= 1.0;
        }
        hit
    }
}

/// Size of the packet by which the initial credit of the C band is set.
const CREDIT_RESET_PACKET_BYTES: u32 = 1500;
