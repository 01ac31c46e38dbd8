//! What RFC 7567 asks of an AQM, measured. An AQM may do otherwise on purpose, so these are figures and verdicts, not faults.

use ecnlab_units::{Ecn, Rate, Span, words};

use super::packet::Packet;
use super::responsive::{Held, Network, Share, hold};
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
}

fn marks(subject: &Subject) -> (Verdict, String) {
    let signals = steady(subject, Ecn::Ect0);
    let verdict = match (signals.marked, signals.dropped) {
        (0, _) => Verdict::No,
        (_, 0) => Verdict::Yes,
        _ => Verdict::Partly,
    };
    (verdict, before_overflow(&signals))
}

fn incapable(subject: &Subject) -> (Verdict, String) {
    let signals = steady(subject, Ecn::NotEct);
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

/// Arrivals of such packets at the link's rate under busy values. About ten packets wait: while fewer do, only every other packet is made up for.
fn steady(subject: &Subject, ecn: Ecn) -> Signals {
    let mut stand = Stand::new(subject, &subject.values(Setting::Busy), rate(), Limit::Packets(20));
    let plain = Packet { ecn, dialect: subject.dialect(Setting::Busy), ..Packet::PLAIN };
    let mut signals = Signals::default();
    for number in 0..2000 {
        if stand.len() >= 10 || number % 2 == 0 {
            stand.take(&mut |deed| signals.count(&deed));
        }
        signals.offered += 1;
        stand.offer(Packet { number, flow: number % FLOWS, ..plain }, &mut |deed| signals.count(&deed));
        stand.wait(rate().transmission(plain.size));
    }
    signals
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

/// Flows of packets of two sizes. Two shares are taken as alike if chance alone would part them so far more than once in a thousand times.
fn size(subject: &Subject) -> (Verdict, String) {
    let network = Network { sizes: &[100, 1500], ..medium(50, 800.0) };
    let [small, large] = hold(subject, &network).by_size[..] else { unreachable!("two sizes were given") };
    let all = Share { part: small.part + large.part, whole: small.whole + large.whole }.of_one();
    let spread = (all * (1.0 - all) * (1.0 / small.whole as f64 + 1.0 / large.whole as f64)).sqrt();
    let alike = (small.of_one() - large.of_one()).abs() <= 3.29 * spread;
    let verdict = if alike { Verdict::Yes } else { Verdict::No };
    (verdict, format!("{:.2} % of 100 B, {:.2} % of 1500 B", 100.0 * small.of_one(), 100.0 * large.of_one()))
}

fn untuned(subject: &Subject) -> (Verdict, String) {
    let held = [1, 10, 100].map(|mbps| hold(subject, &medium(mbps, 1500.0)));
    let well = held.iter().filter(|held| held.filled < 0.5 && held.used > 0.9 && held.overflowed < 1e-4).count();
    let verdict = [Verdict::No, Verdict::Partly, Verdict::Partly, Verdict::Yes][well];
    (verdict, held.map(|held| describe(&held)).join("; "))
}

/// RFC 7928's medium congestion (section 8.2.3) at a round-trip time of 100 ms, with a buffer of the bandwidth-delay product
/// (section 3.2), but of 50 packets at least.
fn medium(mbps: u32, mean_size: f64) -> Network<'static> {
    let product = f64::from(mbps) * 1e6 * 0.1 / (8.0 * mean_size);
    let buffer = product.max(50.0).round();
    Network {
        rate: Rate::from_bps(u64::from(mbps) * 1_000_000).expect("above zero"),
        buffer: buffer as u32,
        flows: (0.081 * (product + buffer)).round() as usize,
        sizes: &[1500],
        duration: Span::from_secs(40),
    }
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

const FLOWS: u64 = 7;
const LARGE: u32 = 200;
