//! A step threshold, as DCTCP's switches have it (Alizadeh and others 2010; RFC 8257, section 3.1).
//!
//! ```text
//! threshold:  mark an arriving packet if more than K packets, or bytes, wait before it
//! sojourn:    mark a leaving packet if it has waited longer than K
//! ```
//!
//! It uses neither average nor probability: a sender that measures the share of marks (DCTCP) derives the degree of congestion. Neither
//! source covers packets that are not ECN-capable. RFC 3168, section 5, drops them where others are marked, and so do switches that
//! implement the step by RED with equal thresholds; a switch that only marks passes them. Both are available.

use ecnlab_units::quantity::PacketsOrBytes;
use ecnlab_units::{CongestionLevel, Rng, Span, Value, Values, parameters, words};

use super::entry::{AqmEntry, Contradictions, Gauge};
use super::{Aqm, AqmRequirements, Arrival, Departure, DequeueVerdict, EnqueueVerdict, GaugeReport, PacketInfo, SignalCause};

/// Step threshold in the registry.
pub static ENTRY: AqmEntry = AqmEntry {
    name: "step",
    title: "Step threshold",
    summary: "Step marking for DCTCP: marks every packet while the queue length or the sojourn time is above a threshold.",
    source: "Alizadeh and others 2010; RFC 8257, section 3.1",
    parameters: Settings::PARAMETERS,
    gauges: &[Gauge::new("above", "1", "1 if the packet that was checked last found the queue above its threshold")],
    lowest_mark: AqmEntry::MARK_LEVEL_CONGESTED_IF_ECN,
    check: check_threshold_below_limit,
    test_params: &[("threshold", "2")],
    make: &|values, _| Box::new(Step::new(Settings::from_values(values))),
    ..AqmEntry::DEFAULTS
};

parameters! {
    /// A step threshold as a scenario sets it.
    #[derive(Clone, Copy, Debug)]
    pub struct Settings {
        /// Quantity compared with the threshold: the queue length at an arrival, or the sojourn time at a departure.
        #[source("RFC 8257, section 3.1; RFC 8290, section 5.2.7")]
        pub measure: ThresholdQuantity = "queue";
        /// Queue length above which each packet is marked; DCTCP needs more than a seventh of the bandwidth-delay product.
        #[source("Alizadeh and others 2010: 20 packets at 1 Gbps, 65 at 10 Gbps")]
        #[when(measure = "queue")]
        #[usual(1..=100, linear)]
        pub threshold: PacketsOrBytes = "20";
        /// Sojourn time above which each packet is marked.
        #[source("RFC 8290, section 5.2.7")]
        #[when(measure = "sojourn")]
        #[usual(0.0001..=0.02, log)]
        pub sojourn: Span = "1 ms", 0..=10, "s";
        /// Marking of ECN-capable packets instead of dropping them.
        #[source("RFC 8257, section 3.1")]
        pub ecn: bool = "true";
        /// Action on packets above the threshold that are not ECN-capable.
        #[source("RFC 3168, section 5")]
        #[when(ecn = "true")]
        pub incapable: NotEctAction = "drop";
    }
}

words! {
    /// Quantity that is compared with the threshold.
    pub enum ThresholdQuantity { Queue = "queue", Sojourn = "sojourn" }
}

words! {
    /// Action on packets that cannot be marked.
    pub enum NotEctAction { Drop = "drop", Pass = "pass" }
}

/// A threshold that the buffer never holds more than.
fn check_threshold_below_limit(values: &Values, limit: PacketsOrBytes) -> Contradictions {
    let Settings { measure, threshold, .. } = Settings::from_values(values);
    let never = match (threshold, limit) {
        (PacketsOrBytes::Packets(threshold), PacketsOrBytes::Packets(limit)) => threshold >= limit,
        (PacketsOrBytes::Bytes(threshold), PacketsOrBytes::Bytes(limit)) => threshold >= limit,
        _ => false,
    };
    if measure == ThresholdQuantity::Sojourn || !never {
        return Vec::new();
    }
    let [threshold, limit] = [threshold, limit].map(Value::Amount);
    vec![("threshold", format!("{threshold} must be below the buffer's limit {limit}, or nothing is ever signalled"))]
}

/// Step threshold at work.
pub struct Step {
    settings: Settings,
    above: bool,
}

impl Step {
    /// With these settings.
    pub fn new(settings: Settings) -> Step {
        Step { settings, above: false }
    }

    fn set_above_and_decide_signal(&mut self, above: bool, packet: &PacketInfo) -> bool {
        self.above = above;
        let Settings { ecn, incapable, .. } = self.settings;
        above && (!ecn || packet.ecn.is_capable() || incapable == NotEctAction::Drop)
    }
}

impl Aqm for Step {
    fn requirements(&self) -> AqmRequirements {
        AqmRequirements { dequeue_hook: self.settings.measure == ThresholdQuantity::Sojourn, ..AqmRequirements::default() }
    }

    fn on_enqueue(&mut self, arrival: &Arrival, _rng: &mut Rng) -> EnqueueVerdict {
        let above = match (self.settings.measure, self.settings.threshold) {
            (ThresholdQuantity::Sojourn, _) => return EnqueueVerdict::Pass,
            (ThresholdQuantity::Queue, PacketsOrBytes::Packets(threshold)) => f64::from(arrival.backlog.packets) > threshold,
            (ThresholdQuantity::Queue, PacketsOrBytes::Bytes(threshold)) => arrival.backlog.bytes as f64 > threshold,
        };
        match self.set_above_and_decide_signal(above, &arrival.packet) {
            false => EnqueueVerdict::Pass,
            true if self.settings.ecn => EnqueueVerdict::mark_arriving(SignalCause::Early),
            true => EnqueueVerdict::drop_arriving(SignalCause::Early),
        }
    }

    fn on_dequeue(&mut self, departure: &Departure, _rng: &mut Rng) -> DequeueVerdict {
        match self.set_above_and_decide_signal(departure.sojourn > self.settings.sojourn, &departure.packet) {
            false => DequeueVerdict::Pass,
            true if self.settings.ecn => DequeueVerdict::Signal { level: CongestionLevel::Congested, cause: SignalCause::Early },
            true => DequeueVerdict::Drop { cause: SignalCause::Early },
        }
    }

    fn report_gauges(&self, report: GaugeReport) {
        report("above", f64::from(u8::from(self.above)));
    }

    fn signals_arriving_packets_only(&self) -> bool {
        self.settings.measure == ThresholdQuantity::Queue
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_units::Ecn;

    use super::*;
    use crate::aqm::Backlog;
    use crate::aqm::entry::default_values_with_overrides;

    fn step(settings: &[(&str, &str)]) -> Step {
        Step::new(Settings::from_values(&default_values_with_overrides("step", Settings::PARAMETERS, settings)))
    }

    fn verdict_for(step: &mut Step, ecn: Ecn, backlog: Backlog) -> EnqueueVerdict {
        step.on_enqueue(
            &Arrival { packet: PacketInfo { ecn, ..PacketInfo::EXAMPLE_ECT0 }, backlog, ..Arrival::PLAIN },
            &mut Rng::for_role(1, "step"),
        )
    }

    const MARK: EnqueueVerdict = EnqueueVerdict::mark_arriving(SignalCause::Early);
    const DROP: EnqueueVerdict = EnqueueVerdict::drop_arriving(SignalCause::Early);

    #[test]
    fn a_packet_is_marked_that_meets_more_packets_than_the_threshold() {
        let mut step = step(&[]);
        assert_eq!(
            [EnqueueVerdict::Pass, EnqueueVerdict::Pass, MARK, MARK],
            [0, 20, 21, 1_000].map(|n| verdict_for(&mut step, Ecn::Ect0, Backlog::of_1000_byte_packets(n)))
        );
    }

    #[test]
    fn the_threshold_may_be_bytes() {
        let mut step = step(&[("threshold", "30 KB")]);
        let verdicts = [30_000, 30_001].map(|bytes| verdict_for(&mut step, Ecn::Ect0, Backlog { packets: 1, bytes }));
        assert_eq!([EnqueueVerdict::Pass, MARK], verdicts);
    }

    #[test]
    fn a_wait_is_judged_as_the_packet_leaves() {
        let mut step = step(&[("measure", "sojourn"), ("sojourn", "2 ms")]);
        assert!(step.requirements().dequeue_hook);
        assert_eq!(EnqueueVerdict::Pass, verdict_for(&mut step, Ecn::Ect0, Backlog::of_1000_byte_packets(1_000)));
        let mut verdict = |ms| {
            let departure = Departure { sojourn: Span::from_millis(ms), ..Departure::PLAIN };
            step.on_dequeue(&departure, &mut Rng::for_role(1, "step"))
        };
        assert_eq!(
            [DequeueVerdict::Pass, DequeueVerdict::Signal { level: CongestionLevel::Congested, cause: SignalCause::Early }],
            [2, 3].map(&mut verdict)
        );
    }

    #[test]
    fn who_cannot_be_marked_is_dropped_or_let_pass() {
        for (settings, expected) in
            [(&[][..], [MARK, MARK]), (&[("incapable", "pass")], [MARK, EnqueueVerdict::Pass]), (&[("ecn", "false")], [DROP, DROP])]
        {
            let mut step = step(settings);
            assert_eq!(
                expected,
                [Ecn::Ect0, Ecn::NotEct].map(|ecn| verdict_for(&mut step, ecn, Backlog::of_1000_byte_packets(50))),
                "{settings:?}"
            );
        }
    }

    #[test]
    fn a_threshold_that_the_buffer_never_holds_more_than_is_refused() {
        let mut values = Values::defaults(Settings::PARAMETERS);
        let refused = |values: &Values, limit| !check_threshold_below_limit(values, PacketsOrBytes::Packets(limit)).is_empty();
        assert_eq!([true, false], [20.0, 21.0].map(|limit| refused(&values, limit)));
        values.set_from_text("measure", "sojourn").unwrap();
        assert!(!refused(&values, 1.0));
    }
}
