//! A step threshold, as DCTCP's switches have it (Alizadeh and others 2010; RFC 8257, section 3.1).
//!
//! ```text
//! threshold:  mark an arriving packet if more than K packets, or bytes, wait before it
//! sojourn:    mark a leaving packet if it has waited longer than K
//! ```
//!
//! There is no average, no probability and no memory: a sender that reads the share of marks (DCTCP) learns how much there is too much.
//! The texts say nothing of packets that are not ECN-capable. RFC 3168, section 5, has them dropped where others are marked, and so have
//! switches that build the step from RED with equal thresholds; a switch that only marks lets them pass. Both are here.

use ecnlab_units::quantity::Amount;
use ecnlab_units::{Level, Rng, Span, Value, Values, parameters, words};

use super::{Aqm, Arrival, Cause, Departure, Fate, Glimpse, Needs, Target, Victim, Wish};
use crate::registry::{AqmEntry, Contradictions, Gauge};

/// Step threshold in the registry.
pub static ENTRY: AqmEntry = AqmEntry {
    name: "step",
    title: "Step threshold",
    summary: "Marks every packet while the queue is longer, or the wait is, than a threshold, as DCTCP needs it.",
    source: "Alizadeh and others 2010; RFC 8257, section 3.1",
    parameters: Settings::PARAMETERS,
    gauges: &[Gauge {
        name: "above",
        unit: "1",
        doc: "Whether the packet that was judged last met the queue above its threshold",
        symbol: "",
    }],
    marks: |values| Settings::of(values).ecn.then_some(Level::Congested),
    check,
    busy: &[("threshold", "2")],
    make: &|values, _| Box::new(Step::new(Settings::of(values))),
    ..AqmEntry::PLAIN
};

parameters! {
    /// A step threshold as a scenario sets it.
    #[derive(Clone, Copy, Debug)]
    pub struct Settings {
        /// What is held against the threshold: the queue that an arriving packet meets, or the time that a leaving packet has waited.
        #[source("RFC 8257, section 3.1; RFC 8290, section 5.2.7")]
        pub measure: Measure = "queue";
        /// Packets or bytes above which each packet is marked; DCTCP asks for more than a seventh of the bandwidth-delay product.
        #[source("Alizadeh and others 2010: 20 packets at 1 Gbps, 65 at 10 Gbps")]
        #[when(measure = "queue")]
        pub threshold: Amount = "20";
        /// Wait above which each packet is marked.
        #[source("RFC 8290, section 5.2.7")]
        #[when(measure = "sojourn")]
        pub sojourn: Span = "1 ms", 0..=10, "s";
        /// Mark packets that are ECN-capable instead of dropping them.
        #[source("RFC 8257, section 3.1")]
        pub ecn: bool = "true";
        /// What becomes of packets above the threshold that are not ECN-capable.
        #[source("RFC 3168, section 5")]
        #[when(ecn = "true")]
        pub incapable: Incapable = "drop";
    }
}

words! {
    /// What is held against the threshold.
    pub enum Measure { Queue = "queue", Sojourn = "sojourn" }
}

words! {
    /// What becomes of packets that cannot be marked.
    pub enum Incapable { Drop = "drop", Pass = "pass" }
}

/// A threshold that the buffer never holds more than.
fn check(values: &Values, limit: Amount) -> Contradictions {
    let Settings { measure, threshold, .. } = Settings::of(values);
    let never = match (threshold, limit) {
        (Amount::Packets(threshold), Amount::Packets(limit)) => threshold >= limit,
        (Amount::Bytes(threshold), Amount::Bytes(limit)) => threshold >= limit,
        _ => false,
    };
    if measure == Measure::Sojourn || !never {
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

    fn signals(&mut self, above: bool, packet: &Glimpse) -> bool {
        self.above = above;
        let Settings { ecn, incapable, .. } = self.settings;
        above && (!ecn || packet.ecn.is_capable() || incapable == Incapable::Drop)
    }
}

impl Aqm for Step {
    fn needs(&self) -> Needs {
        Needs { departures: self.settings.measure == Measure::Sojourn, ..Needs::default() }
    }

    fn arrive(&mut self, arrival: &Arrival, _rng: &mut Rng) -> Wish {
        let above = match (self.settings.measure, self.settings.threshold) {
            (Measure::Sojourn, _) => return Wish::Pass,
            (Measure::Queue, Amount::Packets(threshold)) => f64::from(arrival.backlog.packets) > threshold,
            (Measure::Queue, Amount::Bytes(threshold)) => arrival.backlog.bytes as f64 > threshold,
        };
        match self.signals(above, &arrival.packet) {
            false => Wish::Pass,
            true if self.settings.ecn => Wish::Signal { level: Level::Congested, target: Target::Arriving, cause: Cause::Early },
            true => Wish::Drop { victim: Victim::Arriving, cause: Cause::Early },
        }
    }

    fn depart(&mut self, departure: &Departure, _rng: &mut Rng) -> Fate {
        match self.signals(departure.waited > self.settings.sojourn, &departure.packet) {
            false => Fate::Pass,
            true if self.settings.ecn => Fate::Signal { level: Level::Congested, cause: Cause::Early },
            true => Fate::Drop { cause: Cause::Early },
        }
    }

    fn gauges(&self, show: &mut dyn FnMut(&'static str, f64)) {
        show("above", f64::from(u8::from(self.above)));
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_units::Ecn;

    use super::*;
    use crate::aqm::Backlog;

    fn step(settings: &[(&str, &str)]) -> Step {
        let mut values = Values::defaults(Settings::PARAMETERS);
        for (name, text) in settings {
            values.read(name, text).unwrap();
        }
        Step::new(Settings::of(&values))
    }

    fn wish(step: &mut Step, ecn: Ecn, backlog: Backlog) -> Wish {
        step.arrive(&Arrival { packet: Glimpse { ecn, ..Glimpse::PLAIN }, backlog, ..Arrival::PLAIN }, &mut Rng::for_role(1, "step"))
    }

    const MARK: Wish = Wish::Signal { level: Level::Congested, target: Target::Arriving, cause: Cause::Early };
    const DROP: Wish = Wish::Drop { victim: Victim::Arriving, cause: Cause::Early };

    #[test]
    fn a_packet_is_marked_that_meets_more_packets_than_the_threshold() {
        let mut step = step(&[]);
        assert_eq!([Wish::Pass, Wish::Pass, MARK, MARK], [0, 20, 21, 1_000].map(|n| wish(&mut step, Ecn::Ect0, Backlog::of(n))));
    }

    #[test]
    fn the_threshold_may_be_bytes() {
        let mut step = step(&[("threshold", "30 KB")]);
        let wishes = [30_000, 30_001].map(|bytes| wish(&mut step, Ecn::Ect0, Backlog { packets: 1, bytes }));
        assert_eq!([Wish::Pass, MARK], wishes);
    }

    #[test]
    fn a_wait_is_judged_as_the_packet_leaves() {
        let mut step = step(&[("measure", "sojourn"), ("sojourn", "2 ms")]);
        assert!(step.needs().departures);
        assert_eq!(Wish::Pass, wish(&mut step, Ecn::Ect0, Backlog::of(1_000)));
        let mut fate = |ms| {
            let departure = Departure { waited: Span::from_millis(ms), ..Departure::PLAIN };
            step.depart(&departure, &mut Rng::for_role(1, "step"))
        };
        assert_eq!([Fate::Pass, Fate::Signal { level: Level::Congested, cause: Cause::Early }], [2, 3].map(&mut fate));
    }

    #[test]
    fn who_cannot_be_marked_is_dropped_or_let_pass() {
        for (settings, expected) in
            [(&[][..], [MARK, MARK]), (&[("incapable", "pass")], [MARK, Wish::Pass]), (&[("ecn", "false")], [DROP, DROP])]
        {
            let mut step = step(settings);
            assert_eq!(expected, [Ecn::Ect0, Ecn::NotEct].map(|ecn| wish(&mut step, ecn, Backlog::of(50))), "{settings:?}");
        }
    }

    #[test]
    fn a_threshold_that_the_buffer_never_holds_more_than_is_refused() {
        let mut values = Values::defaults(Settings::PARAMETERS);
        let refused = |values: &Values, limit| !check(values, Amount::Packets(limit)).is_empty();
        assert_eq!([true, false], [20.0, 21.0].map(|limit| refused(&values, limit)));
        values.read("measure", "sojourn").unwrap();
        assert!(!refused(&values, 1.0));
    }
}
