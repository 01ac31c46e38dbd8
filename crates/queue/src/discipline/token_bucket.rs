//! A token bucket that shapes what leaves another queue, as `tc` configures it (tc-tbf(8); the arithmetic of RFC 2697, section 3).
//!
//! Tokens come at `rate` into a bucket that holds `burst` bytes of them and is full at the beginning; a packet takes as many as it has
//! bytes, and waits until they are there. So in any time t at most burst + rate t leaves. With `peakrate` a second bucket of `mtu` bytes
//! says how fast a burst may leave; without it that is the link's own rate.
//!
//! ```text
//! tokens <- min(tokens + rate (now - last), burst)
//! tokens >= size:  tokens <- tokens - size, send;   else wait (size - tokens) / rate
//! ```
//!
//! Tokens are whole numbers of a millionth of a millionth of a bit, which is what one bps brings in a picosecond: nothing is rounded away.
//!
//! To know its size, the bucket takes the next packet out of the queue inside. Packet and queue stand to each other as they do at a
//! transmitter of that rate: the packet is no longer in the inner buffer, whose AQM has judged it. Here it still waits, and is counted so.
//! A packet larger than the bucket waits for as many tokens as it has bytes; Linux drops it.

use ecnlab_units::quantity::PacketsOrBytes;
use ecnlab_units::{Rate, Rng, Span, Time, Values, parameters};

use super::entry::{ChildKind, DisciplineEntry, DisciplineKind};
use super::{DequeueOutcome, Discipline, Queue, QueueCounters, QueueEvent, QueueItem};
use crate::aqm::GaugeReport;
use crate::aqm::entry::{Contradictions, Gauge};

/// The token bucket in the registry.
pub static ENTRY: DisciplineEntry = DisciplineEntry {
    name: "tbf",
    title: "Token bucket",
    summary: "Shapes another queue to a rate, with bursts of a given size.",
    source: "tc-tbf(8); RFC 2697, section 3",
    parameters: Settings::PARAMETERS,
    child: ChildKind::Queue,
    gauges: &[Gauge::new("tokens", "bytes", "Tokens in the bucket when a packet was last dequeued or had to wait")],
    check: Settings::check_peak_rate,
    kind: DisciplineKind::TokenBucket,
    ..DisciplineEntry::DEFAULTS
};

parameters! {
    /// A token bucket as a scenario sets it.
    #[derive(Clone, Copy, Debug)]
    pub struct Settings {
        /// Rate of the tokens.
        #[source("tc-tbf(8), rate")]
        #[required]
        #[usual(1e5..=1e9, log)]
        pub rate: Rate = "1.5 Mbps";
        /// Capacity of the bucket: bytes that may leave at once after a pause.
        #[source("tc-tbf(8), burst")]
        #[required]
        #[usual(1500..=1e6, log)]
        pub burst: u64 = "10 KB", 1..=1e13, "bytes";
        /// Rate at which a burst leaves; auto is the link's.
        #[source("tc-tbf(8), peakrate")]
        pub peakrate: Option<Rate> = "auto";
        /// Capacity of the peak rate's bucket, with peakrate.
        #[source("tc-tbf(8), mtu")]
        pub mtu: u64 = "1500 B", 1..=1e13, "bytes";
    }
}

impl Settings {
    fn check_peak_rate(values: &Values, _limit: Option<PacketsOrBytes>) -> Contradictions {
        let Settings { rate, peakrate, .. } = Settings::from_values(values);
        let wrong = |peakrate: Rate| ("peakrate", format!("{} bps must be above rate {} bps", peakrate.bps(), rate.bps()));
        peakrate.filter(|&peakrate| peakrate <= rate).map(wrong).into_iter().collect()
    }
}

/// A token bucket before a queue.
pub struct TokenBucket<F> {
    inner: Box<Queue<F>>,
    rate: Rate,
    bucket: Bucket,
    peak: Option<Bucket>,
    pending: Option<PendingPacket<F>>,
    /// Counters of the pending packet's band before its departure.
    pending_band_counters: QueueCounters,
}

/// The packet that waits for its tokens.
struct PendingPacket<F> {
    packet: F,
    band: u8,
    /// How long it waited in the queue inside, and since when it waits here.
    sojourn: Span,
    since: Time,
}

struct Bucket {
    rate: Rate,
    /// Tokens it holds.
    depth: u128,
    tokens: u128,
    refilled_at: Time,
}

/// Tokens for one byte: a bit has 10^12.
const TOKENS_PER_BYTE: u128 = 8_000_000_000_000;

impl Bucket {
    fn new(rate: Rate, bytes: u64) -> Bucket {
        let depth = u128::from(bytes) * TOKENS_PER_BYTE;
        Bucket { rate, depth, tokens: depth, refilled_at: Time::ZERO }
    }

    /// Adds the tokens until now, up to the bucket size or to what the pending packet needs.
    fn refill(&mut self, now: Time, needed_tokens: u128) {
        let new_tokens = u128::from(self.rate.bps()) * u128::from(now.since(self.refilled_at).picos());
        self.tokens = (self.tokens + new_tokens).min(self.depth.max(needed_tokens));
        self.refilled_at = now;
    }

    /// When it will hold these tokens, if it does not now.
    fn time_when_tokens_suffice(&self, needed_tokens: u128) -> Option<Time> {
        let missing = needed_tokens.checked_sub(self.tokens).filter(|&missing| missing > 0)?;
        let picos = missing.div_ceil(u128::from(self.rate.bps()));
        Some(self.refilled_at + Span::from_picos(u64::try_from(picos).unwrap_or(u64::MAX)))
    }
}

impl<F: QueueItem> TokenBucket<F> {
    /// Shapes a queue that was made for a line of no more than the bucket's rate.
    pub fn new(settings: &Settings, inner: Queue<F>) -> TokenBucket<F> {
        let Settings { rate, burst, peakrate, mtu } = *settings;
        TokenBucket {
            inner: Box::new(inner),
            rate,
            bucket: Bucket::new(rate, burst),
            peak: peakrate.map(|peakrate| Bucket::new(peakrate, mtu)),
            pending: None,
            pending_band_counters: QueueCounters::default(),
        }
    }

    fn buckets(&mut self) -> impl Iterator<Item = &mut Bucket> {
        std::iter::once(&mut self.bucket).chain(&mut self.peak)
    }

    /// When all buckets have so many tokens; `None` if they have them now.
    fn earliest_departure(&mut self, tokens: u128) -> Option<Time> {
        self.buckets().filter_map(|bucket| bucket.time_when_tokens_suffice(tokens)).max()
    }

    /// Updates the counters after the child has counted.
    fn update_pending_band_counters(&mut self) {
        let Some(pending) = &self.pending else { return };
        self.pending_band_counters = *self.inner.band_counters(pending.band);
        self.pending_band_counters.departed.packets -= 1;
        self.pending_band_counters.departed.bytes -= u64::from(pending.packet.size());
    }

    /// The packet that waits for its tokens, or the next one of the queue inside.
    fn next_packet(
        &mut self,
        now: Time,
        rng: &mut Rng,
        on_event: &mut impl FnMut(QueueEvent<F>),
    ) -> Result<PendingPacket<F>, DequeueOutcome<F>> {
        if let Some(pending) = self.pending.take() {
            return Ok(pending);
        }
        self.buckets().for_each(|bucket| bucket.refill(now, 0));
        match self.inner.dequeue(now, rng, on_event) {
            DequeueOutcome::Packet { packet, sojourn, band } => Ok(PendingPacket { packet, band, sojourn, since: now }),
            nothing => Err(nothing),
        }
    }
}

impl<F: QueueItem> Discipline<F> for TokenBucket<F> {
    #[inline(never)]
    fn enqueue(&mut self, packet: F, now: Time, rng: &mut Rng, on_event: &mut impl FnMut(QueueEvent<F>)) {
        self.inner.enqueue(packet, now, rng, on_event);
        self.update_pending_band_counters();
    }

    #[inline(never)]
    fn dequeue(&mut self, now: Time, rng: &mut Rng, on_event: &mut impl FnMut(QueueEvent<F>)) -> DequeueOutcome<F> {
        let next = match self.next_packet(now, rng, on_event) {
            Ok(next) => next,
            Err(nothing) => return nothing,
        };
        let tokens = u128::from(next.packet.size()) * TOKENS_PER_BYTE;
        self.buckets().for_each(|bucket| bucket.refill(now, tokens));
        if let Some(time) = self.earliest_departure(tokens) {
            self.pending = Some(next);
            self.update_pending_band_counters();
            return DequeueOutcome::RetryAt(time);
        }
        self.buckets().for_each(|bucket| bucket.tokens -= tokens);
        DequeueOutcome::Packet { sojourn: next.sojourn + now.since(next.since), packet: next.packet, band: next.band }
    }

    fn next_timer(&self) -> Option<Time> {
        self.inner.next_timer()
    }

    fn on_timer(&mut self, now: Time, rng: &mut Rng) {
        self.inner.on_timer(now, rng);
    }

    fn set_link_rate(&mut self, rate: Rate) {
        self.inner.set_link_rate(rate.min(self.rate));
    }

    fn len(&self) -> usize {
        self.inner.len() + usize::from(self.pending.is_some())
    }

    fn bytes(&self) -> u64 {
        self.inner.bytes() + self.pending.as_ref().map_or(0, |pending| u64::from(pending.packet.size()))
    }

    fn for_each_packet(&self, visit: &mut dyn FnMut(&F)) {
        self.pending.iter().for_each(|pending| visit(&pending.packet));
        self.inner.for_each_packet(visit);
    }

    fn band_count(&self) -> u8 {
        self.inner.band_count()
    }

    fn band_len(&self, band: u8) -> usize {
        self.inner.band_len(band) + usize::from(self.pending.as_ref().is_some_and(|pending| pending.band == band))
    }

    fn band_counters(&self, band: u8) -> &QueueCounters {
        match &self.pending {
            Some(pending) if pending.band == band => &self.pending_band_counters,
            _ => self.inner.band_counters(band),
        }
    }

    fn average_queue_length(&self) -> Option<f64> {
        self.inner.average_queue_length()
    }

    fn report_gauges(&self, report: GaugeReport) {
        report("tokens", self.bucket.tokens as f64 / TOKENS_PER_BYTE as f64);
        self.inner.report_gauges(report);
    }

    fn assert_conservation(&self) {
        self.inner.assert_conservation();
        self.total_counters().assert_conservation(self.len(), self.bytes());
    }
}
