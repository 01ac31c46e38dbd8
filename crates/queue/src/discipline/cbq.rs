//! Class-based queueing with one class that may not borrow (Floyd and Jacobson 1995): a queue that is held to a rate by an estimator.
//!
//! This is how the testbed of RFC 2884 made a 1.5 Mbps pipe of an Ethernet. A class is over its limit when the time between its packets,
//! less what they would take at its rate, has been below zero on average; then it waits until that average would be zero again.
//!
//! ```text
//! a packet of s bytes has left at time f, the last one at last; link rate C, the class's rate r, w = 2^-ewma:
//!   avgidle <- (1 - w) avgidle + w (f - last - s/r)              at most maxidle, at least -minidle
//!   avgidle > 0:  under the limit
//!   else:         undertime <- f + s (1/r - 1/C) + (1/w - 1) (-avgidle)
//! the first time that it must wait for undertime:
//!   undertime <- undertime + offtime - (1/w - 1) (-avgidle)      at least now
//! maxidle = max((1 - g) a/C, a (1/r - 1/C) (g^-maxburst - 1))    g = 1 - w, a = avpkt
//! offtime = a (1/r - 1/C) (1 + (g^-(minburst-1) - 1) / (1 - g))  a (1/r - 1/C) (1/g - 1) for minburst 1, none for 0
//! ```
//!
//! The second assignment to undertime takes back what the average had added to the wait: a class that sleeps is forgiven what it had sent
//! too much, as in Linux and ns-2. So while there is always something to send, packets of one size leave at the rate exactly, once the
//! first `maxburst` have left. Packets of many sizes leave at about 1 % more: idle times then vary, now and then the average is above
//! zero, and what leaves at once is forgiven. With `minburst` m the bursts are of m + 1 packets and the rate is less, by 1 % at 2 and
//! 11 % at 10. A token bucket (`tbf`) is exact.
//!
//! Like in Linux and unlike in ns-2 the average begins at maxidle; ns-2's weight is `ewma = 4`.

use ecnlab_units::{Rate, Rng, Span, Time, math, parameters};

use super::entry::{ChildKind, DisciplineEntry, DisciplineKind};
use super::{DequeueOutcome, Discipline, Queue, QueueCounters, QueueEvent, QueueItem};
use crate::aqm::GaugeReport;
use crate::aqm::entry::Gauge;

/// The bounded class in the registry.
pub static ENTRY: DisciplineEntry = DisciplineEntry {
    name: "cbq",
    title: "Class-based queueing, one bounded class",
    summary: "Limits another queue to a rate by an average of its idle times, as RFC 2884's testbed did.",
    source: "Floyd and Jacobson 1995; Linux, sch_cbq",
    parameters: Settings::PARAMETERS,
    child: ChildKind::Queue,
    gauges: &[Gauge::new("avgidle", "s", "Average idle time between packets; the class is over its limit if it is not above 0")],
    kind: DisciplineKind::Cbq,
    ..DisciplineEntry::DEFAULTS
};

parameters! {
    /// A bounded class as a scenario sets it.
    #[derive(Clone, Copy, Debug)]
    pub struct Settings {
        /// Rate of the class.
        #[source("tc-cbq(8), rate; RFC 2884, section 4.1")]
        #[required]
        #[usual(1e5..=1e9, log)]
        pub rate: Rate = "1.5 Mbps";
        /// Packets of the average size that may leave at once after a pause.
        #[source("tc-cbq(8), maxburst; Linux, the root's default")]
        pub maxburst: u32 = "20", 0..=10_000, "packets";
        /// Packets of the average size that leave at once after each wait while the class is backlogged.
        #[source("tc-cbq(8), minburst")]
        #[off("0", "packets leave one by one")]
        pub minburst: u32 = "0", 0..=10_000, "packets";
        /// Lower bound of the average of idle times, as a distance below zero; auto is no bound.
        #[source("tc-cbq(8), minidle")]
        pub minidle: Option<Span> = "auto", 0..=1000, "s";
        /// Exponent of the newest idle time's weight, 2^-ewma.
        #[source("tc-cbq(8), ewma; Linux, the default")]
        pub ewma: u8 = "5", 1..=31;
        /// Average packet size, by which the bursts are measured.
        #[source("tc-cbq(8), avpkt")]
        pub avpkt: u32 = "1000 B", 1..=65_535, "bytes";
    }
}

/// A bounded class around a queue.
pub struct Cbq<F> {
    inner: Box<Queue<F>>,
    settings: Settings,
    link: Rate,
    /// Bound of the average, and what is added to a wait; times in picoseconds.
    maxidle: f64,
    offtime: f64,
    avgidle: f64,
    undertime: Time,
    /// When the last packet began to leave, and how long it took.
    last_departure: Time,
    last_transmission_picos: f64,
    /// Whether the wait that it is in has been counted.
    delayed: bool,
}

impl<F: QueueItem> Cbq<F> {
    /// Holds a queue to the class's rate on a link of this one.
    pub fn new(settings: &Settings, link: Rate, inner: Queue<F>) -> Cbq<F> {
        let mut cbq = Cbq {
            inner: Box::new(inner),
            settings: *settings,
            link,
            maxidle: 0.0,
            offtime: 0.0,
            avgidle: 0.0,
            undertime: Time::ZERO,
            last_departure: Time::ZERO,
            last_transmission_picos: 0.0,
            delayed: false,
        };
        cbq.set_link_dependent_values(link);
        cbq.avgidle = cbq.maxidle;
        cbq
    }

    /// Sets what follows from the link's rate.
    fn set_link_dependent_values(&mut self, link: Rate) {
        let Settings { maxburst, minburst, avpkt, .. } = self.settings;
        let w = self.ewma_weight();
        let growth = |packets: u32| math::powi(1.0 - w, u64::from(packets)).recip().min(MAX_WAIT_PICOS) - 1.0;
        self.link = link;
        let extra_transmission_time = self.class_minus_link_transmission_picos(avpkt);
        let offtime = match minburst {
            0 => 0.0,
            1 => extra_transmission_time * growth(1),
            packets => extra_transmission_time * (1.0 + growth(packets - 1) / w),
        };
        self.maxidle = (w * transmission_picos(avpkt, link)).max(extra_transmission_time * growth(maxburst)).min(MAX_WAIT_PICOS);
        self.offtime = offtime.min(MAX_WAIT_PICOS);
    }

    fn ewma_weight(&self) -> f64 {
        math::powi(0.5, u64::from(self.settings.ewma))
    }

    /// How much longer a packet takes at the class's rate than at the link's; a class above the link's rate never waits.
    fn class_minus_link_transmission_picos(&self, size: u32) -> f64 {
        math::positive_part(transmission_picos(size, self.settings.rate) - transmission_picos(size, self.link))
    }

    /// Wait time that the average adds.
    fn avgidle_wait_picos(&self) -> f64 {
        (1.0 / self.ewma_weight() - 1.0) * math::positive_part(-self.avgidle)
    }

    /// A packet begins to leave. A wait is cut to whole picoseconds, so that none makes an idle time that the average would notice.
    fn on_departure(&mut self, size: u32, now: Time) {
        let can_be_marked = transmission_picos(size, self.link);
        let apart = now.since(self.last_departure).picos() as f64 + can_be_marked - self.last_transmission_picos;
        let idle = apart - transmission_picos(size, self.settings.rate);
        let least = self.settings.minidle.map_or(f64::NEG_INFINITY, |minidle| -(minidle.picos() as f64));
        self.avgidle = (self.avgidle + self.ewma_weight() * (idle - self.avgidle)).min(self.maxidle).max(least);
        let wait = can_be_marked + self.class_minus_link_transmission_picos(size) + self.avgidle_wait_picos();
        self.undertime = if self.avgidle > 0.0 { Time::ZERO } else { now + Span::from_picos(wait as u64) };
        (self.last_departure, self.last_transmission_picos, self.delayed) = (now, can_be_marked, false);
    }

    /// It must wait. The overdraft is forgiven once, when the wait begins.
    fn start_delay(&mut self, now: Time) -> Time {
        if !self.delayed {
            self.delayed = true;
            let wait = self.undertime.since(now).picos() as f64 + self.offtime - self.avgidle_wait_picos();
            self.undertime = now + Span::from_picos(wait.max(1.0) as u64);
        }
        self.undertime
    }
}

impl<F: QueueItem> Discipline<F> for Cbq<F> {
    #[inline(never)]
    fn enqueue(&mut self, packet: F, now: Time, rng: &mut Rng, on_event: &mut impl FnMut(QueueEvent<F>)) {
        self.inner.enqueue(packet, now, rng, on_event);
    }

    #[inline(never)]
    fn dequeue(&mut self, now: Time, rng: &mut Rng, on_event: &mut impl FnMut(QueueEvent<F>)) -> DequeueOutcome<F> {
        if self.undertime > now && !self.inner.is_empty() {
            return DequeueOutcome::RetryAt(self.start_delay(now));
        }
        let outcome = self.inner.dequeue(now, rng, on_event);
        if let DequeueOutcome::Packet { packet, .. } = &outcome {
            self.on_departure(packet.size(), now);
        }
        outcome
    }

    fn next_timer(&self) -> Option<Time> {
        self.inner.next_timer()
    }

    fn on_timer(&mut self, now: Time, rng: &mut Rng) {
        self.inner.on_timer(now, rng);
    }

    fn set_link_rate(&mut self, rate: Rate) {
        self.set_link_dependent_values(rate);
        self.inner.set_link_rate(rate.min(self.settings.rate));
    }

    fn len(&self) -> usize {
        self.inner.len()
    }

    fn bytes(&self) -> u64 {
        self.inner.bytes()
    }

    fn for_each_packet(&self, visit: &mut dyn FnMut(&F)) {
        self.inner.for_each_packet(visit);
    }

    fn band_count(&self) -> u8 {
        self.inner.band_count()
    }

    fn band_len(&self, band: u8) -> usize {
        self.inner.band_len(band)
    }

    fn band_counters(&self, band: u8) -> &QueueCounters {
        self.inner.band_counters(band)
    }

    fn average_queue_length(&self) -> Option<f64> {
        self.inner.average_queue_length()
    }

    fn report_gauges(&self, report: GaugeReport) {
        report("avgidle", self.avgidle / PICOS_PER_SECOND);
        self.inner.report_gauges(report);
    }

    fn assert_conservation(&self) {
        self.inner.assert_conservation();
    }
}

/// How long so many bytes take at a rate, in picoseconds with their fraction.
fn transmission_picos(bytes: u32, rate: Rate) -> f64 {
    f64::from(bytes) * 8.0 * PICOS_PER_SECOND / rate.bps() as f64
}

const PICOS_PER_SECOND: f64 = 1e12;

/// Longer than any run, in picoseconds: what the powers of large bursts are cut to.
const MAX_WAIT_PICOS: f64 = 1e19;
