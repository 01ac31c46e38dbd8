//! What RFC 7567 asks of an AQM, measured. An AQM may do otherwise on purpose, so these are figures and verdicts, not faults.

use ecnlab_units::{Ecn, Rate, Span, words};

use super::packet::Packet;
use super::responsive::{Held, hold};
use super::stand::Stand;
use super::subject::{Setting, Subject};
use super::watched::rate;
use crate::{Cause, Deed, Limit};

words! {
    /// A duty of RFC 7567.
    pub enum Duty {
        Marks = "marks",
        Incapable = "incapable",
        Excess = "excess",
        Size = "size",
        Untuned = "untuned",
    }
}

words! {
    /// Whether a duty is met.
    pub enum Verdict { Yes = "yes", Partly = "partly", No = "no" }
}

/// What was measured of a duty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured {
    pub duty: Duty,
    pub verdict: Verdict,
    /// The figures.
    pub found: String,
}

impl Duty {
    /// The section of RFC 7567 that asks for it.
    pub const fn section(self) -> &'static str {
        match self {
            Duty::Marks | Duty::Incapable | Duty::Excess => "4.2.1",
            Duty::Size => "4.4",
            Duty::Untuned => "4.3",
        }
    }

    /// The duty in a sentence.
    pub const fn sentence(self) -> &'static str {
        match self {
            Duty::Marks => "Marks ECN-capable packets where it would drop others.",
            Duty::Incapable => "Marks no packet that is not ECN-capable, and drops it instead.",
            Duty::Excess => "Drops excessive traffic even if it is ECN-capable, at the latest when the buffer is full.",
            Duty::Size => "Small and large packets are signalled alike.",
            Duty::Untuned => "Holds the queue below the buffer and the link busy with its default values, at 1, 10 and 100 Mbps.",
        }
    }

    fn measure(self, subject: &Subject) -> (Verdict, String) {
        match self {
            Duty::Marks => marks(subject),
            Duty::Incapable => incapable(subject),
            Duty::Excess => excess(subject),
            Duty::Size => size(subject),
            Duty::Untuned => untuned(subject),
        }
    }
}

/// Measures every duty.
pub fn duties(subject: &Subject) -> Vec<Measured> {
    let measured = |&duty: &Duty| {
        let (verdict, found) = duty.measure(subject);
        Measured { duty, verdict, found }
    };
    Duty::ALL.iter().map(measured).collect()
}

/// What was signalled among packets of one kind.
#[derive(Clone, Copy, Debug, Default)]
struct Signals {
    offered: u64,
    marked: u64,
    dropped: u64,
    overflowed: u64,
}

impl Signals {
    fn count(&mut self, deed: &Deed<Packet>) {
        match deed {
            Deed::Stored(_) => {}
            Deed::Marked(..) => self.marked += 1,
            Deed::Dropped(_, Cause::Overflow) => self.overflowed += 1,
            Deed::Dropped(..) => self.dropped += 1,
        }
    }

    fn share(&self) -> f64 {
        (self.marked + self.dropped) as f64 / self.offered.max(1) as f64
    }
}

fn marks(subject: &Subject) -> (Verdict, String) {
    let [signals] = steady(subject, ROUNDS, [Packet::PLAIN]);
    let verdict = match (signals.marked, signals.dropped) {
        (0, _) => Verdict::No,
        (_, 0) => Verdict::Yes,
        _ => Verdict::Partly,
    };
    (verdict, before_overflow(&signals))
}

fn incapable(subject: &Subject) -> (Verdict, String) {
    let [signals] = steady(subject, ROUNDS, [Packet { ecn: Ecn::NotEct, ..Packet::PLAIN }]);
    (if signals.marked == 0 { Verdict::Yes } else { Verdict::No }, before_overflow(&signals))
}

fn before_overflow(signals: &Signals) -> String {
    match (signals.marked, signals.dropped) {
        (0, 0) => "no signal before the buffer is full".to_owned(),
        (marked, 0) => format!("{} % marked", percent(marked, signals.offered)),
        (0, dropped) => format!("{} % dropped", percent(dropped, signals.offered)),
        (marked, dropped) => format!("{} % marked, {} % dropped", percent(marked, signals.offered), percent(dropped, signals.offered)),
    }
}

/// Arrivals at the link's rate with about ten packets waiting, each of a kind that is drawn evenly, under busy values.
fn steady<const KINDS: usize>(subject: &Subject, rounds: u64, kinds: [Packet; KINDS]) -> [Signals; KINDS] {
    let mut stand = Stand::new(subject, &subject.values(Setting::Busy), rate(), Limit::Packets(20));
    let dialect = subject.dialect(Setting::Busy);
    let mut draws = ecnlab_units::Rng::for_role(1, "kinds");
    let mut signals = [Signals::default(); KINDS];
    for number in 0..rounds {
        let kind = draws.below(KINDS as u64) as usize;
        signals[kind].offered += 1;
        let packet = Packet { number: number * KINDS as u64 + kind as u64, flow: draws.below(FLOWS), dialect, ..kinds[kind] };
        let mut tell = |deed: Deed<Packet>| signals[number_of(&deed) as usize % KINDS].count(&deed);
        stand.offer(packet, &mut tell);
        while stand.len() > 10 && matches!(stand.take(&mut tell), crate::Take::Packet { .. }) {}
        stand.wait(rate().transmission(packet.size));
    }
    signals
}

fn number_of(deed: &Deed<Packet>) -> u64 {
    match deed {
        Deed::Stored(packet) | Deed::Marked(packet, _) => packet.number,
        Deed::Dropped(packet, _) => packet.number,
    }
}

fn excess(subject: &Subject) -> (Verdict, String) {
    let mut stand = Stand::new(subject, &subject.values(Setting::Defaults), rate(), Limit::Packets(LARGE));
    let dialect = subject.dialect(Setting::Defaults);
    let (mut signals, mut longest) = (Signals::default(), 0);
    for number in 0..30_000 {
        signals.offered += 1;
        stand.offer(Packet { number, flow: number % FLOWS, dialect, ..Packet::PLAIN }, &mut |deed| signals.count(&deed));
        longest = longest.max(stand.len());
        if number % 3 == 0 {
            stand.take(&mut |deed| signals.count(&deed));
        }
        stand.wait(Span::from_picos(rate().transmission(1000).picos() / 3));
    }
    let dropped = signals.dropped + signals.overflowed;
    let verdict = if dropped > 0 { Verdict::Yes } else { Verdict::No };
    let how = if signals.dropped > 0 { "by its law" } else { "at the full buffer only" };
    (verdict, format!("{how}; at most {longest} of {LARGE} packets wait"))
}

/// Two shares are taken as alike if they differ by no more than chance brings about once in a thousand times.
fn size(subject: &Subject) -> (Verdict, String) {
    let kinds = [100, 1500].map(|size| Packet { size, ..Packet::PLAIN });
    let [small, large] = steady(subject, 20 * ROUNDS, kinds);
    let (a, b) = (small.share(), large.share());
    let both = (a * small.offered as f64 + b * large.offered as f64) / (small.offered + large.offered) as f64;
    let spread = (both * (1.0 - both) * (1.0 / small.offered as f64 + 1.0 / large.offered as f64)).sqrt();
    let alike = (a - b).abs() <= 3.29 * spread;
    (if alike { Verdict::Yes } else { Verdict::No }, format!("{:.1} % of 100 B, {:.1} % of 1500 B", 100.0 * a, 100.0 * b))
}

/// RFC 7928's medium congestion (section 8.2.3) with a round-trip time of 100 ms, and a buffer of the bandwidth-delay product, 50 packets at least.
fn untuned(subject: &Subject) -> (Verdict, String) {
    let held = [1, 10, 100].map(|mbps| {
        let rate = Rate::from_bps(mbps * 1_000_000).expect("above zero");
        let product = mbps as f64 * 1e6 * 0.1 / 12_000.0;
        let buffer = product.max(50.0);
        let flows = (0.081 * (product + buffer)).round();
        hold(subject, rate, buffer as u32, flows as usize, 40)
    });
    let well = held.iter().filter(|held| held.filled < 0.5 && held.used > 0.9 && held.overflowed < 1e-4).count();
    let verdict = [Verdict::No, Verdict::Partly, Verdict::Partly, Verdict::Yes][well];
    (verdict, held.map(|held| describe(&held)).join("; "))
}

fn describe(held: &Held) -> String {
    let overflow = if held.overflowed > 0.0 { format!(", {:.2} % overflow", 100.0 * held.overflowed) } else { String::new() };
    format!("{:.0} % full, {:.0} % used{overflow}", 100.0 * held.filled, 100.0 * held.used)
}

fn percent(part: u64, whole: u64) -> f64 {
    (1000.0 * part as f64 / whole as f64).round() / 10.0
}

/// The ECN fields of a mix of traffic: three packets in five are ECN-capable, one of them marked already.
pub(super) fn kind(number: u64) -> Ecn {
    [Ecn::Ect0, Ecn::NotEct, Ecn::Ect1, Ecn::NotEct, Ecn::Ce][(number % 5) as usize]
}

const ROUNDS: u64 = 2000;
const FLOWS: u64 = 7;
const LARGE: u32 = 200;
