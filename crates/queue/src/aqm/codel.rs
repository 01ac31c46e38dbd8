//! CoDel (RFC 8289): signals while packets have waited longer than `target` for a whole `interval`, more and more often.
//!
//! Of each packet that is about to leave, with the time w that it has waited and what waits behind it before the link:
//!
//! ```text
//! above = w >= target and more than mtu bytes wait behind it, without a break for at least interval
//! not in the drop state:   above      signal; enter it; count = what it grew by last time if that was less than 16 intervals ago, or 1
//!                                     drop_next = now + interval / sqrt(count)
//! in the drop state:       not above  leave it
//!                          above      while now >= drop_next: count += 1; signal; drop_next += interval / sqrt(count)
//! ```
//!
//! This is the pseudo-code of section 5 step by step; a test runs both side by side. There a packet leaves in one call, which may drop
//! others before it. Here each packet is decided separately, and the last drop ([`DropStatePhase`]) tells at which step of that call it is. The
//! backlog behind a packet is counted over all queues that share the buffer, as section 4.4 requires.
//!
//! Section 5 only drops. A mark takes the place of a drop as in Linux: the marked packet leaves, so one call marks once at most. Linux also
//! computes the square root in 16 bits, and starts to signal just after `interval`, not at it; here both are as in the RFC.

use ecnlab_units::parameter::OrOff;
use ecnlab_units::quantity::PacketsOrBytes;
use ecnlab_units::{CongestionLevel, Ecn, Rng, Span, Time, Values, parameters, words};

use super::entry::{AqmEntry, Contradictions, Gauge};
use super::{Aqm, AqmRequirements, Arrival, Departure, DequeueVerdict, EnqueueVerdict, GaugeReport, SignalCause};

/// CoDel in the registry.
pub static ENTRY: AqmEntry = AqmEntry {
    name: "codel",
    title: "CoDel",
    summary: "Controlled delay: signals departing packets while the sojourn time has stayed above a target for a whole interval.",
    source: "RFC 8289; Nichols and Jacobson 2012",
    parameters: Settings::PARAMETERS,
    gauges: &[
        Gauge::new("sojourn", "s", "Sojourn time of the packet that was checked last"),
        Gauge::new("count", "packets", "Signals counted for the time to the next one; 0 outside the drop state"),
    ],
    lowest_mark: |values| Settings::from_values(values).written_congestion_level(),
    marks_ect1_earlier: |values| Settings::from_values(values).is_ce_threshold_ect1_only(),
    check: check_target_below_interval,
    test_params: &[("target", "0.1 ms"), ("interval", "1 ms"), ("mtu", "100 B")],
    make: &|values, _| Box::new(Codel::new(Settings::from_values(values))),
    ..AqmEntry::DEFAULTS
};

parameters! {
    /// CoDel as a scenario sets it.
    #[derive(Clone, Copy, Debug)]
    pub struct Settings {
        /// Standing delay that is tolerated: 5 to 10 % of interval.
        #[source("RFC 8289, section 4.3")]
        #[usual(0.001..=0.05, log)]
        pub target: Span = "5 ms", 1e-6..=10, "s";
        /// Time for which the sojourn time of every packet has to exceed target before the first signal; also the time from the first
        /// signal to the second.
        #[source("RFC 8289, section 4.2")]
        #[usual(0.01..=1, log)]
        pub interval: Span = "100 ms", 1e-6..=100, "s";
        /// Backlog up to which the departing packet is not signalled; auto is the largest packet seen so far.
        #[source("RFC 8289, section 4.1")]
        pub mtu: Option<u32> = "1500 B", 1..=65_535, "bytes";
        /// Marking of ECN-capable packets instead of dropping them.
        #[source("RFC 8290, section 5.2.6; Linux, codel's option ecn")]
        pub ecn: bool = "true";
        /// Sojourn time above which every ECN-capable packet that ce_threshold_selector selects is marked, in addition to CoDel's signals.
        #[source("RFC 8290, section 5.2.7")]
        #[usual(0.0005..=0.02, log)]
        pub ce_threshold: OrOff<Span> = "off", 1e-6..=10, "s";
        /// Packets to which ce_threshold applies: all, or those with ECT(1) alone.
        #[source("Linux fq_codel, ce_threshold_selector; RFC 9331, section 5.1")]
        pub ce_threshold_selector: CeThresholdSelector = "any";
    }
}

words! {
    /// Packets to which the CE threshold applies. Linux compares the masked DS field with a value; ECT(1) is 0x01 under the mask 0x03.
    pub enum CeThresholdSelector { Any = "any", Ect1 = "ect1" }
}

impl Settings {
    /// Whether its CE threshold applies to ECT(1) alone.
    fn is_ce_threshold_ect1_only(&self) -> bool {
        self.ce_threshold.0.is_some() && self.ce_threshold_selector == CeThresholdSelector::Ect1
    }

    /// The mark that it writes.
    fn written_congestion_level(&self) -> Option<CongestionLevel> {
        (self.ecn || self.ce_threshold.0.is_some()).then_some(CongestionLevel::Congested)
    }
}

/// A target that no shorter interval can tell from a passing burst.
fn check_target_below_interval(values: &Values, _limit: PacketsOrBytes) -> Contradictions {
    let Settings { target, interval, .. } = Settings::from_values(values);
    if target < interval {
        return Vec::new();
    }
    vec![("target", format!("{} s must be below interval {} s", target.seconds(), interval.seconds()))]
}

/// CoDel at work.
pub struct Codel {
    settings: Settings,
    /// So much may always stay in the buffer: what is given, or the largest packet seen so far.
    mtu: u32,
    /// When the wait will have been above target for a whole interval; nothing while it is below.
    first_above_time: Option<Time>,
    dropping: bool,
    drop_next: Time,
    /// Signals since the drop state began, and where the count stood when it did.
    count: u32,
    last_count: u32,
    /// How the packet before this one was dropped, as long as the link has got none in its place.
    last_drop: Option<DropStatePhase>,
    sojourn: Span,
}

/// State of the RFC's `dequeue` in which a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DropStatePhase {
    /// It began the drop state; the next packet leaves.
    Entering,
    /// It fell in the drop state; the next packet may be dropped as well.
    Within,
}

const SIGNAL_VERDICT: DequeueVerdict = DequeueVerdict::Signal { level: CongestionLevel::Congested, cause: SignalCause::Early };

impl Codel {
    /// With these settings.
    pub fn new(settings: Settings) -> Codel {
        Codel {
            settings,
            mtu: settings.mtu.unwrap_or_default(),
            first_above_time: None,
            dropping: false,
            drop_next: Time::ZERO,
            count: 0,
            last_count: 0,
            last_drop: None,
            sojourn: Span::ZERO,
        }
    }

    /// Whether the wait has been above target for a whole interval (`dodequeue`).
    fn should_drop(&mut self, departure: &Departure) -> bool {
        if departure.sojourn < self.settings.target || departure.shared_backlog.bytes <= u64::from(self.mtu) {
            self.first_above_time = None;
            return false;
        }
        match self.first_above_time {
            Some(time) => departure.now >= time,
            None => {
                self.first_above_time = Some(departure.now + self.settings.interval);
                false
            }
        }
    }

    fn codel_verdict(&mut self, departure: &Departure) -> DequeueVerdict {
        let above = self.should_drop(departure);
        match self.last_drop.take() {
            Some(DropStatePhase::Entering) => DequeueVerdict::Pass,
            None if self.dropping => self.stay_in_drop_state(above, departure),
            None if above => self.enter_drop_state(departure),
            None => DequeueVerdict::Pass,
            Some(DropStatePhase::Within) => {
                if above {
                    self.drop_next = self.control_law(self.drop_next);
                }
                self.stay_in_drop_state(above, departure)
            }
        }
    }

    fn enter_drop_state(&mut self, departure: &Departure) -> DequeueVerdict {
        let grown = self.count - self.last_count;
        let recent = departure.now.since(self.drop_next) < self.settings.interval * 16;
        self.count = if grown > 1 && recent { grown } else { 1 };
        self.last_count = self.count;
        self.dropping = true;
        self.drop_next = self.control_law(departure.now);
        if self.can_mark(departure) { SIGNAL_VERDICT } else { self.drop_and_record_phase(DropStatePhase::Entering, departure) }
    }

    fn stay_in_drop_state(&mut self, above: bool, departure: &Departure) -> DequeueVerdict {
        self.dropping = above;
        if !above || departure.now < self.drop_next {
            return DequeueVerdict::Pass;
        }
        self.count += 1;
        if self.can_mark(departure) {
            self.drop_next = self.control_law(self.drop_next);
            return SIGNAL_VERDICT;
        }
        self.drop_and_record_phase(DropStatePhase::Within, departure)
    }

    /// Without another packet to leave, the empty queue is seen at once: its delay is below target.
    fn drop_and_record_phase(&mut self, drop: DropStatePhase, departure: &Departure) -> DequeueVerdict {
        if departure.backlog.packets > 0 {
            self.last_drop = Some(drop);
        } else {
            self.first_above_time = None;
            self.dropping = drop == DropStatePhase::Entering;
        }
        DequeueVerdict::Drop { cause: SignalCause::Early }
    }

    fn can_mark(&self, departure: &Departure) -> bool {
        self.settings.ecn && departure.packet.ecn.is_capable()
    }

    fn control_law(&self, time: Time) -> Time {
        time + Span::from_picos((self.settings.interval.picos() as f64 / f64::from(self.count).sqrt()) as u64)
    }

    fn exceeds_ce_threshold(&self, departure: &Departure) -> bool {
        let is_selected = match self.settings.ce_threshold_selector {
            CeThresholdSelector::Any => departure.packet.ecn.is_capable(),
            CeThresholdSelector::Ect1 => departure.packet.ecn == Ecn::Ect1,
        };
        is_selected && self.settings.ce_threshold.0.is_some_and(|threshold| departure.sojourn > threshold)
    }
}

impl Aqm for Codel {
    fn requirements(&self) -> AqmRequirements {
        AqmRequirements { dequeue_hook: true, ..AqmRequirements::default() }
    }

    fn on_enqueue(&mut self, arrival: &Arrival, _rng: &mut Rng) -> EnqueueVerdict {
        if self.settings.mtu.is_none() {
            self.mtu = self.mtu.max(arrival.packet.size);
        }
        EnqueueVerdict::Pass
    }

    fn on_dequeue(&mut self, departure: &Departure, _rng: &mut Rng) -> DequeueVerdict {
        self.sojourn = departure.sojourn;
        match self.codel_verdict(departure) {
            DequeueVerdict::Pass if self.exceeds_ce_threshold(departure) => SIGNAL_VERDICT,
            verdict => verdict,
        }
    }

    fn on_queue_empty(&mut self, _now: Time) {
        self.first_above_time = None;
        self.dropping = false;
    }

    fn report_gauges(&self, report: GaugeReport) {
        report("sojourn", self.sojourn.seconds());
        report("count", if self.dropping { f64::from(self.count) } else { 0.0 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::entry::default_values_with_overrides;
    use crate::aqm::{Backlog, PacketInfo};

    fn codel(settings: &[(&str, &str)]) -> Codel {
        Codel::new(Settings::from_values(&default_values_with_overrides("codel", Settings::PARAMETERS, settings)))
    }

    /// Packets leave every 10 us, each after the same wait, and leave so many behind; when they were not let pass.
    fn signals(codel: &mut Codel, ecn: Ecn, waited_ms: u64, behind: u32, leaving_ms: std::ops::Range<u64>) -> Vec<(f64, DequeueVerdict)> {
        let rng = &mut Rng::for_role(1, "codel");
        let backlog = Backlog::of_1000_byte_packets(behind);
        let packet = PacketInfo { ecn, ..PacketInfo::EXAMPLE_ECT0 };
        let mut judge = |us: u64| {
            let now = Time::ZERO + Span::from_micros(us);
            let departure = Departure { now, packet, sojourn: Span::from_millis(waited_ms), backlog, shared_backlog: backlog };
            (now.seconds(), codel.on_dequeue(&departure, rng))
        };
        let times = (leaving_ms.start * 100..leaving_ms.end * 100).map(|n| n * 10);
        times.map(&mut judge).filter(|(_, verdict)| *verdict != DequeueVerdict::Pass).collect()
    }

    fn count(codel: &Codel) -> f64 {
        let mut count = f64::NAN;
        codel.report_gauges(&mut |name, value| {
            if name == "count" {
                count = value
            }
        });
        count
    }

    #[test]
    fn the_first_signal_falls_an_interval_after_the_wait_went_above_target() {
        let verdicts = signals(&mut codel(&[]), Ecn::NotEct, 5, 10, 1..150);
        assert_eq!(vec![(0.101, DequeueVerdict::Drop { cause: SignalCause::Early })], verdicts);
        assert_eq!(vec![(0.101, SIGNAL_VERDICT)], signals(&mut codel(&[]), Ecn::Ect0, 5, 10, 1..150));
    }

    #[test]
    fn signals_are_spaced_by_the_interval_over_the_square_root_of_their_count() {
        let mut codel = codel(&[]);
        let times: Vec<f64> = signals(&mut codel, Ecn::Ect0, 20, 10, 1..2_000).into_iter().map(|(time, _)| time).collect();
        let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        for (count, gap) in (1..).zip(gaps) {
            let law = 0.1 / f64::from(count).sqrt();
            assert!((gap - law).abs() <= 10e-6 + 1e-9, "gap {count} is {gap}, by the law {law}");
        }
        assert_eq!(times.len() as f64, count(&codel));
        // From the first at 0.101 s there are 1.899 s: the sum of 0.1 / sqrt(k) is 1.898 s over 104 gaps and 1.908 s over 105.
        assert_eq!(105, times.len());
    }

    #[test]
    fn a_wait_below_target_ends_the_drop_state_and_starts_the_interval_anew() {
        let mut codel = codel(&[]);
        assert_eq!(2, signals(&mut codel, Ecn::Ect0, 20, 10, 0..210).len());
        assert!(signals(&mut codel, Ecn::Ect0, 4, 10, 210..211).is_empty());
        assert_eq!(0.0, count(&codel));
        assert_eq!(Some(0.311), signals(&mut codel, Ecn::Ect0, 20, 10, 211..400).first().map(|(time, _)| *time));
    }

    #[test]
    fn it_resumes_at_what_the_count_grew_by_unless_that_is_sixteen_intervals_ago() {
        for (pause_ms, resumed) in [(1_000, 9.0), (2_000, 1.0)] {
            let mut codel = codel(&[]);
            let entered = signals(&mut codel, Ecn::Ect0, 20, 10, 0..600);
            assert_eq!((10, 10.0), (entered.len(), count(&codel)));
            signals(&mut codel, Ecn::Ect0, 1, 10, 600..601);
            let back = 600 + pause_ms;
            assert_eq!(1, signals(&mut codel, Ecn::Ect0, 20, 10, back..back + 101).len());
            assert_eq!(resumed, count(&codel), "after {pause_ms} ms");
        }
    }

    #[test]
    fn nothing_is_signalled_while_no_more_than_a_largest_packet_stays_behind() {
        assert!(signals(&mut codel(&[]), Ecn::Ect0, 50, 1, 0..1_000).is_empty());
        assert!(!signals(&mut codel(&[("mtu", "999 B")]), Ecn::Ect0, 50, 1, 0..1_000).is_empty());
        let mut adaptive = codel(&[("mtu", "auto")]);
        adaptive.on_enqueue(&Arrival::PLAIN, &mut Rng::for_role(1, "codel"));
        assert!(signals(&mut adaptive, Ecn::Ect0, 50, 1, 0..1_000).is_empty());
        assert!(!signals(&mut adaptive, Ecn::Ect0, 50, 2, 1_000..2_000).is_empty());
    }

    #[test]
    fn the_ce_threshold_marks_who_can_be_marked_and_drops_nobody() {
        let settings = [("ce_threshold", "1 ms"), ("ecn", "false")];
        assert_eq!(100, signals(&mut codel(&settings), Ecn::Ect0, 2, 10, 0..1).len());
        assert!(signals(&mut codel(&settings), Ecn::Ect0, 1, 10, 0..1).is_empty(), "longer than the threshold, not as long");
        assert!(signals(&mut codel(&settings), Ecn::NotEct, 2, 10, 0..1).is_empty());
    }

    #[test]
    fn the_ce_threshold_may_apply_to_ect1_alone() {
        let settings = [("ce_threshold", "1 ms"), ("ce_threshold_selector", "ect1")];
        let marked = |ecn, waited_ms| signals(&mut codel(&settings), ecn, waited_ms, 10, 0..1).len();
        assert_eq!([100, 0, 0, 0], [Ecn::Ect1, Ecn::Ect0, Ecn::NotEct, Ecn::Ce].map(|ecn| marked(ecn, 2)));
        assert_eq!(0, marked(Ecn::Ect1, 1), "longer than the threshold, not as long");
        // CoDel's own signals come to all: the first of each an interval after the wait went above target.
        let first = |ecn| signals(&mut codel(&settings), ecn, 20, 10, 0..150).iter().map(|(time, _)| *time).find(|time| *time >= 0.1);
        assert_eq!((Some(0.1), Some(0.1)), (first(Ecn::Ect0), first(Ecn::Ect1)));
        assert_eq!(1, signals(&mut codel(&settings), Ecn::Ect0, 20, 10, 0..150).len());
    }

    #[test]
    fn without_ecn_it_drops_who_could_be_marked_and_writes_no_mark() {
        let verdicts = signals(&mut codel(&[("ecn", "false")]), Ecn::Ect0, 50, 10, 0..1_000);
        assert!(!verdicts.is_empty() && verdicts.iter().all(|(_, verdict)| *verdict == DequeueVerdict::Drop { cause: SignalCause::Early }));
        let level = |text| {
            let mut values = Values::defaults(Settings::PARAMETERS);
            values.set_from_text("ecn", text).unwrap();
            (ENTRY.lowest_mark)(&values)
        };
        assert_eq!([None, Some(CongestionLevel::Congested)], ["false", "true"].map(level));
    }

    #[test]
    fn a_target_beyond_the_interval_is_refused() {
        let mut values = Values::defaults(Settings::PARAMETERS);
        values.set_from_text("target", "100 ms").unwrap();
        assert_eq!("target", check_target_below_interval(&values, PacketsOrBytes::Packets(100.0))[0].0);
    }
}
