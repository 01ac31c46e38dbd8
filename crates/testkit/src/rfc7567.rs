//! Requirements of RFC 7567 on AQMs, measured. An AQM may deviate on purpose, so these are figures and verdicts, not violations.

use ecnlab_units::{Ecn, Rate, Span, words};

use super::bench::QueueBench;
use super::dut::{DefaultOrTestValues, DeviceUnderTest};
use crate::aimd_flows::{BottleneckParams, BottleneckResult, Ratio, simulate_bottleneck};
use crate::checked_queue::link_rate;
use crate::packet::Packet;
use ecnlab_queue::{Limit, QueueEvent, SignalCause};

words! {
    /// A duty of RFC 7567.
    pub enum Rfc7567Requirement {
        Marks = "marks",
        NotEct = "not-ect",
        Overload = "overload",
        PacketSize = "packet-size",
        Defaults = "defaults",
    }
}

words! {
    /// Whether a duty is met.
    pub enum Compliance { Yes = "yes", Partly = "partly", No = "no" }
}

/// Result of measuring a requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequirementResult {
    pub requirement: Rfc7567Requirement,
    pub compliance: Compliance,
    /// The figures.
    pub found: String,
}

impl Rfc7567Requirement {
    /// The section of RFC 7567 that asks for it.
    pub const fn section(self) -> &'static str {
        match self {
            Rfc7567Requirement::Marks | Rfc7567Requirement::NotEct | Rfc7567Requirement::Overload => "4.2.1",
            Rfc7567Requirement::PacketSize => "4.4",
            Rfc7567Requirement::Defaults => "4.3",
        }
    }

    /// The duty in a sentence.
    pub const fn sentence(self) -> &'static str {
        match self {
            Rfc7567Requirement::Marks => "Marks ECN-capable packets where it drops others.",
            Rfc7567Requirement::NotEct => "Drops packets that are not ECN-capable instead of marking them.",
            Rfc7567Requirement::Overload => "Drops excessive traffic even if it is ECN-capable, at the latest when the buffer is full.",
            Rfc7567Requirement::PacketSize => "Signals small and large packets equally.",
            Rfc7567Requirement::Defaults => {
                "Keeps the buffer less than half full and the link busy with its default values, at 1, 10 and 100 Mbps."
            }
        }
    }

    /// Measures how far a device meets it.
    pub fn measure(self, dut: &DeviceUnderTest) -> RequirementResult {
        let (compliance, found) = match self {
            Rfc7567Requirement::Marks => measure_marks(dut),
            Rfc7567Requirement::NotEct => measure_not_ect(dut),
            Rfc7567Requirement::Overload => measure_drops_under_overload(dut),
            Rfc7567Requirement::PacketSize => measure_packet_size_bias(dut),
            Rfc7567Requirement::Defaults => measure_without_tuning(dut),
        };
        RequirementResult { requirement: self, compliance, found }
    }
}

/// Measures every duty.
pub fn measure_all_requirements(dut: &DeviceUnderTest) -> Vec<RequirementResult> {
    Rfc7567Requirement::ALL.iter().map(|requirement| requirement.measure(dut)).collect()
}

/// Signals among packets of one kind.
#[derive(Clone, Copy, Debug, Default)]
struct SignalCounts {
    offered: u64,
    marked: u64,
    dropped: u64,
    overflowed: u64,
}

impl SignalCounts {
    fn count_event(&mut self, event: &QueueEvent<Packet>) {
        match event {
            QueueEvent::Stored(_) => {}
            QueueEvent::Marked(..) => self.marked += 1,
            QueueEvent::Dropped(_, SignalCause::Overflow) => self.overflowed += 1,
            QueueEvent::Dropped(..) => self.dropped += 1,
        }
    }
}

fn measure_marks(dut: &DeviceUnderTest) -> (Compliance, String) {
    let signals = run_steady_load(dut, Ecn::Ect0);
    let compliance = match (signals.marked, signals.dropped) {
        (0, _) => Compliance::No,
        (_, 0) => Compliance::Yes,
        _ => Compliance::Partly,
    };
    (compliance, describe_marks_and_drops(&signals))
}

fn measure_not_ect(dut: &DeviceUnderTest) -> (Compliance, String) {
    let signals = run_steady_load(dut, Ecn::NotEct);
    (if signals.marked == 0 { Compliance::Yes } else { Compliance::No }, describe_marks_and_drops(&signals))
}

fn describe_marks_and_drops(signals: &SignalCounts) -> String {
    match (signals.marked, signals.dropped) {
        (0, 0) => "no signal before the buffer is full".to_owned(),
        (marked, 0) => format!("{} % marked", rounded_percentage(marked, signals.offered)),
        (0, dropped) => format!("{} % dropped", rounded_percentage(dropped, signals.offered)),
        (marked, dropped) => {
            format!("{} % marked, {} % dropped", rounded_percentage(marked, signals.offered), rounded_percentage(dropped, signals.offered))
        }
    }
}

/// Arrivals of such packets at the link's rate under busy values. About ten packets wait: while fewer do, only every other packet is made up for.
fn run_steady_load(dut: &DeviceUnderTest, ecn: Ecn) -> SignalCounts {
    let mut bench = QueueBench::new(dut, &dut.parameter_values_of_set(DefaultOrTestValues::TestParams), link_rate(), Limit::Packets(20));
    let plain = Packet { ecn, ecn_semantics: dut.ecn_semantics(DefaultOrTestValues::TestParams), ..Packet::ECT0_1000_BYTES };
    let mut signals = SignalCounts::default();
    for number in 0..2000 {
        if bench.len() >= 10 || number % 2 == 0 {
            bench.dequeue(&mut |event| signals.count_event(&event));
        }
        signals.offered += 1;
        bench.enqueue(Packet { number, flow: number % FLOW_COUNT, ..plain }, &mut |event| signals.count_event(&event));
        bench.wait(link_rate().transmission_time(plain.size));
    }
    signals
}

fn measure_drops_under_overload(dut: &DeviceUnderTest) -> (Compliance, String) {
    let mut bench = QueueBench::new(
        dut,
        &dut.parameter_values_of_set(DefaultOrTestValues::Defaults),
        link_rate(),
        Limit::Packets(OVERLOAD_BUFFER_PACKETS),
    );
    let ecn_semantics = dut.ecn_semantics(DefaultOrTestValues::Defaults);
    let (mut signals, mut longest) = (SignalCounts::default(), 0);
    for number in 0..30_000 {
        signals.offered += 1;
        bench.enqueue(Packet { number, flow: number % FLOW_COUNT, ecn_semantics, ..Packet::ECT0_1000_BYTES }, &mut |event| {
            signals.count_event(&event)
        });
        longest = longest.max(bench.len());
        if number % 3 == 0 {
            bench.dequeue(&mut |event| signals.count_event(&event));
        }
        bench.wait(link_rate().transmission_time(1000) / 3);
    }
    let dropped = signals.dropped + signals.overflowed;
    let compliance = if dropped > 0 { Compliance::Yes } else { Compliance::No };
    let how = match (signals.dropped, signals.overflowed) {
        (0, _) => "dropped by the full buffer only",
        (_, 0) => "dropped by the AQM only",
        _ => "dropped by the AQM and the full buffer",
    };
    (compliance, format!("{how}; at most {longest} of {OVERLOAD_BUFFER_PACKETS} packets wait"))
}

/// Flows of packets of two sizes. Two shares count as equal unless chance alone would separate them so far less than once in a thousand
/// times.
fn measure_packet_size_bias(dut: &DeviceUnderTest) -> (Compliance, String) {
    let network = BottleneckParams { sizes: &[100, 1500], ..medium_congestion(50, 800.0) };
    let [small, large] = simulate_bottleneck(dut, &network).by_size[..] else { unreachable!("two sizes were given") };
    let all = Ratio { part: small.part + large.part, whole: small.whole + large.whole }.value();
    let spread = (all * (1.0 - all) * (1.0 / small.whole as f64 + 1.0 / large.whole as f64)).sqrt();
    let alike = (small.value() - large.value()).abs() <= 3.29 * spread;
    let compliance = if alike { Compliance::Yes } else { Compliance::No };
    (compliance, format!("signalled {:.2} % of 100 B, {:.2} % of 1500 B", 100.0 * small.value(), 100.0 * large.value()))
}

fn measure_without_tuning(dut: &DeviceUnderTest) -> (Compliance, String) {
    let results = [1, 10, 100].map(|mbps| (mbps, simulate_bottleneck(dut, &medium_congestion(mbps, 1500.0))));
    let well = results.iter().filter(|(_, result)| missed_bounds(result) == [false; 3]).count();
    let compliance = [Compliance::No, Compliance::Partly, Compliance::Partly, Compliance::Yes][well];
    (compliance, results.map(|(mbps, result)| format!("{mbps} Mbps: {}", describe_bottleneck_result(&result))).join("; "))
}

/// Whether the mean fill, the utilization and the share of overflow miss their bounds.
fn missed_bounds(result: &BottleneckResult) -> [bool; 3] {
    [result.mean_fill >= MAX_MEAN_FILL, result.utilization <= MIN_UTILIZATION, result.overflow_share >= MAX_OVERFLOW_SHARE]
}

/// RFC 7928's medium congestion (section 8.2.3) at a round-trip time of 100 ms, with a buffer of the bandwidth-delay product
/// (section 3.2), but of 50 packets at least.
fn medium_congestion(mbps: u32, mean_size: f64) -> BottleneckParams<'static> {
    let product = f64::from(mbps) * 1e6 * 0.1 / (8.0 * mean_size);
    let buffer = product.max(50.0).round();
    BottleneckParams {
        rate: Rate::from_bps(u64::from(mbps) * 1_000_000).expect("above zero"),
        buffer: buffer as u32,
        flows: (0.081 * (product + buffer)).round() as usize,
        sizes: &[1500],
        duration: Span::from_secs(40),
    }
}

/// The figures, each missed one with its bound and one more digit.
fn describe_bottleneck_result(result: &BottleneckResult) -> String {
    let [too_full, too_idle, overflows] = missed_bounds(result);
    let [fill, utilization] = [result.mean_fill, result.utilization].map(|share| 100.0 * share);
    let fill = if too_full { format!("{fill:.1} % full (must be < {} %)", 100.0 * MAX_MEAN_FILL) } else { format!("{fill:.0} % full") };
    let used = if too_idle {
        format!("{utilization:.1} % used (must be > {} %)", 100.0 * MIN_UTILIZATION)
    } else {
        format!("{utilization:.0} % used")
    };
    let overflow = match 100.0 * result.overflow_share {
        share if overflows => format!(", {share:.2} % overflow (must be < {} %)", 100.0 * MAX_OVERFLOW_SHARE),
        0.0 => String::new(),
        share => format!(", {share:.3} % overflow"),
    };
    format!("{fill}, {used}{overflow}")
}

fn rounded_percentage(part: u64, whole: u64) -> f64 {
    (1000.0 * part as f64 / whole as f64).round() / 10.0
}

/// The ECN fields of a mix of traffic: three packets in five are ECN-capable, one of them marked already.
pub(super) fn mixed_ecn(number: u64) -> Ecn {
    [Ecn::Ect0, Ecn::NotEct, Ecn::Ect1, Ecn::NotEct, Ecn::Ce][(number % 5) as usize]
}

const FLOW_COUNT: u64 = 7;
const OVERLOAD_BUFFER_PACKETS: u32 = 200;

/// Bounds of [`Rfc7567Requirement::Defaults`].
const MAX_MEAN_FILL: f64 = 0.5;
const MIN_UTILIZATION: f64 = 0.9;
const MAX_OVERFLOW_SHARE: f64 = 1e-4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missed_bound_is_in_the_figures() {
        let within = BottleneckResult { mean_fill: 0.03, utilization: 0.95, overflow_share: 0.0, by_size: Vec::new() };
        let missed = BottleneckResult { mean_fill: 0.5, utilization: 0.8996, overflow_share: 0.0262, by_size: Vec::new() };
        assert_eq!("3 % full, 95 % used", describe_bottleneck_result(&within));
        assert_eq!(
            "50.0 % full (must be < 50 %), 90.0 % used (must be > 90 %), 2.62 % overflow (must be < 0.01 %)",
            describe_bottleneck_result(&missed)
        );
    }
}
