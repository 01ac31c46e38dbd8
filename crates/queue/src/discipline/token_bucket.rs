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

use ecnlab_units::quantity::Amount;
use ecnlab_units::{Rate, Rng, Span, Time, Values, parameters};

use super::{Counters, Deed, Discipline, Frame, Queue, Take};
use crate::registry::{Contradictions, DisciplineEntry, DisciplineKind, Gauge, Holds};

/// The token bucket in the registry.
pub static ENTRY: DisciplineEntry = DisciplineEntry {
    name: "tbf",
    title: "Token bucket",
    summary: "Shapes another queue to a rate, and lets bursts of a given size pass.",
    source: "tc-tbf(8); RFC 2697, section 3",
    parameters: Settings::PARAMETERS,
    holds: Holds::Queue,
    gauges: &[Gauge { name: "tokens", unit: "bytes", doc: "Tokens in the bucket when a packet was last taken or had to wait", symbol: "" }],
    bands: &[],
    marks: |_| None,
    check: Settings::check,
    busy: &[],
    kind: DisciplineKind::TokenBucket,
};

parameters! {
    /// A token bucket as a scenario sets it.
    #[derive(Clone, Copy, Debug)]
    pub struct Settings {
        /// Rate at which tokens come.
        #[source("tc-tbf(8), rate")]
        #[must be given]
        pub rate: Rate = "1.5 Mbps";
        /// Tokens that the bucket holds: how much may leave at once after a pause.
        #[source("tc-tbf(8), burst")]
        #[must be given]
        pub burst: u64 = "10 KB", 1..=1e13, "bytes";
        /// Rate at which a burst may leave; auto is the link's.
        #[source("tc-tbf(8), peakrate")]
        pub peakrate: Option<Rate> = "auto";
        /// Tokens that the bucket of the peak rate holds, if there is one.
        #[source("tc-tbf(8), mtu")]
        pub mtu: u64 = "1500 B", 1..=1e13, "bytes";
    }
}

impl Settings {
    fn check(values: &Values, _limit: Option<Amount>) -> Contradictions {
        let Settings { rate, peakrate, .. } = Settings::of(values);
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
    held: Option<Held<F>>,
    /// What the held packet's band has counted, that packet not as departed.
    counted: Counters,
}

/// The packet that waits for its tokens.
struct Held<F> {
    frame: F,
    band: u8,
    /// How long it waited in the queue inside, and since when it waits here.
    waited: Span,
    since: Time,
}

struct Bucket {
    rate: Rate,
    /// Tokens it holds.
    depth: u128,
    tokens: u128,
    filled: Time,
}

/// Tokens for one byte: a bit has 10^12.
const BYTE: u128 = 8_000_000_000_000;

impl Bucket {
    fn new(rate: Rate, bytes: u64) -> Bucket {
        let depth = u128::from(bytes) * BYTE;
        Bucket { rate, depth, tokens: depth, filled: Time::ZERO }
    }

    /// Tokens come in until now, as many as fit; there is room for those that a packet waits for.
    fn fill(&mut self, now: Time, wanted: u128) {
        let came = u128::from(self.rate.bps()) * u128::from(now.since(self.filled).picos());
        self.tokens = (self.tokens + came).min(self.depth.max(wanted));
        self.filled = now;
    }

    /// When it will hold these tokens, if it does not now.
    fn holds_at(&self, wanted: u128) -> Option<Time> {
        let missing = wanted.checked_sub(self.tokens).filter(|&missing| missing > 0)?;
        let picos = missing.div_ceil(u128::from(self.rate.bps()));
        Some(self.filled + Span::from_picos(u64::try_from(picos).unwrap_or(u64::MAX)))
    }
}

impl<F: Frame> TokenBucket<F> {
    /// Shapes a queue that was made for a line of no more than the bucket's rate.
    pub fn new(settings: &Settings, inner: Queue<F>) -> TokenBucket<F> {
        let Settings { rate, burst, peakrate, mtu } = *settings;
        TokenBucket {
            inner: Box::new(inner),
            rate,
            bucket: Bucket::new(rate, burst),
            peak: peakrate.map(|peakrate| Bucket::new(peakrate, mtu)),
            held: None,
            counted: Counters::default(),
        }
    }

    fn buckets(&mut self) -> impl Iterator<Item = &mut Bucket> {
        std::iter::once(&mut self.bucket).chain(&mut self.peak)
    }

    /// The time at which a packet may leave that may not leave now.
    fn later(&mut self, tokens: u128) -> Option<Time> {
        self.buckets().filter_map(|bucket| bucket.holds_at(tokens)).max()
    }

    /// Counts anew after the queue inside has counted.
    fn recount(&mut self) {
        let Some(held) = &self.held else { return };
        self.counted = *self.inner.counters(held.band);
        self.counted.departed.packets -= 1;
        self.counted.departed.bytes -= u64::from(held.frame.size());
    }

    /// The packet that waits for its tokens, or the next one of the queue inside.
    fn next(&mut self, now: Time, rng: &mut Rng, tell: &mut impl FnMut(Deed<F>)) -> Result<Held<F>, Take<F>> {
        if let Some(held) = self.held.take() {
            return Ok(held);
        }
        self.buckets().for_each(|bucket| bucket.fill(now, 0));
        match self.inner.take(now, rng, tell) {
            Take::Packet { frame, waited, band } => Ok(Held { frame, band, waited, since: now }),
            nothing => Err(nothing),
        }
    }
}

impl<F: Frame> Discipline<F> for TokenBucket<F> {
    #[inline(never)]
    fn offer(&mut self, frame: F, now: Time, rng: &mut Rng, tell: &mut impl FnMut(Deed<F>)) {
        self.inner.offer(frame, now, rng, tell);
        self.recount();
    }

    #[inline(never)]
    fn take(&mut self, now: Time, rng: &mut Rng, tell: &mut impl FnMut(Deed<F>)) -> Take<F> {
        let next = match self.next(now, rng, tell) {
            Ok(next) => next,
            Err(nothing) => return nothing,
        };
        let tokens = u128::from(next.frame.size()) * BYTE;
        self.buckets().for_each(|bucket| bucket.fill(now, tokens));
        if let Some(time) = self.later(tokens) {
            self.held = Some(next);
            self.recount();
            return Take::Later(time);
        }
        self.buckets().for_each(|bucket| bucket.tokens -= tokens);
        Take::Packet { waited: next.waited + now.since(next.since), frame: next.frame, band: next.band }
    }

    fn deadline(&self) -> Option<Time> {
        self.inner.deadline()
    }

    fn expire(&mut self, now: Time, rng: &mut Rng) {
        self.inner.expire(now, rng);
    }

    fn retune(&mut self, rate: Rate) {
        self.inner.retune(rate.min(self.rate));
    }

    fn len(&self) -> usize {
        self.inner.len() + usize::from(self.held.is_some())
    }

    fn bytes(&self) -> u64 {
        self.inner.bytes() + self.held.as_ref().map_or(0, |held| u64::from(held.frame.size()))
    }

    fn frames(&self, show: &mut dyn FnMut(&F)) {
        self.held.iter().for_each(|held| show(&held.frame));
        self.inner.frames(show);
    }

    fn bands(&self) -> u8 {
        self.inner.bands()
    }

    fn counters(&self, band: u8) -> &Counters {
        match &self.held {
            Some(held) if held.band == band => &self.counted,
            _ => self.inner.counters(band),
        }
    }

    fn average(&self) -> Option<f64> {
        self.inner.average()
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("tokens", self.bucket.tokens as f64 / BYTE as f64);
        self.inner.gauges(show);
    }

    fn assert_conservation(&self) {
        self.inner.assert_conservation();
        self.total().assert_conservation(self.len(), self.bytes());
    }
}
