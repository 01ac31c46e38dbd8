//! The suite over everything in the registry, and over AQMs that violate its invariants.

use std::sync::atomic::{AtomicU64, Ordering};

use ecnlab_queue::registry::{AQMS, DISCIPLINES};
use ecnlab_queue::{
    Aqm, AqmEntry, AqmRequirements, Arrival, ChildKind, Departure, DequeueVerdict, DropTarget, EnqueueVerdict, MarkTarget, SignalCause,
    TimerContext,
};
use ecnlab_testkit::rfc7567::{Compliance, Rfc7567Requirement};
use ecnlab_testkit::{DeviceUnderTest, Invariant, Report, check, check_aqm, check_discipline, check_excluding_rejected_cases};
use ecnlab_units::{CongestionLevel, Rng, Span, Time};

#[test]
fn every_aqm_keeps_the_invariants() {
    for entry in AQMS {
        assert_passed(&check_aqm(entry));
    }
}

#[test]
fn every_other_discipline_keeps_the_invariants_with_every_aqm() {
    for discipline in DISCIPLINES.iter().filter(|discipline| discipline.name != "fifo") {
        let inside: Vec<_> = if discipline.child == ChildKind::Buffer { vec![None] } else { AQMS.iter().map(|aqm| Some(*aqm)).collect() };
        for aqm in inside {
            assert_passed(&check(&DeviceUnderTest { discipline, aqm }));
        }
    }
}

#[test]
fn every_aqm_marks_as_declared_and_never_not_ect_packets() {
    for entry in AQMS {
        let declared = (entry.lowest_mark)(&entry.test_values()).is_some();
        assert_eq!(declared, compliance(entry, Rfc7567Requirement::Marks) != Compliance::No, "{}", entry.name);
        assert_eq!(
            [Compliance::Yes; 2],
            [Rfc7567Requirement::NotEct, Rfc7567Requirement::Overload].map(|requirement| compliance(entry, requirement)),
            "{}",
            entry.name
        );
    }
}

fn assert_passed(report: &Report) {
    let violations: Vec<String> = report.violations().map(ToString::to_string).collect();
    assert!(report.passed(), "{}:\n{}", report.name, violations.join("\n"));
    assert!(report.checks.iter().all(|check| check.completed), "{}: an invariant was not checked", report.name);
}

/// With another AQM inside, the case of the reports does not test the AQM under test.
#[test]
fn reports_of_packets_are_checked_only_for_disciplines_with_an_aqm() {
    let checks_reports = |report: Report| report.checks.iter().any(|check| check.invariant == Invariant::Reports);
    for entry in DISCIPLINES {
        assert_eq!(entry.child != ChildKind::Buffer, checks_reports(check_discipline(entry)), "{}", entry.name);
    }
    let red = AQMS.iter().find(|entry| entry.name == "red").unwrap();
    assert!(!checks_reports(check_aqm(red)));
}

/// Without an accepted case no invariant is checked.
#[test]
fn rejected_cases_check_no_invariant() {
    for entry in DISCIPLINES {
        let report = check_excluding_rejected_cases(&DeviceUnderTest::from_discipline_with_default_aqm(entry), &mut || false);
        assert!(report.checks.iter().all(|check| !check.completed && check.violation.is_none()), "{}", entry.name);
    }
}

/// An AQM with one thing wrong.
struct FaultyAqm {
    violates: Invariant,
    deadline: Option<Time>,
    arrivals: u64,
}

/// Arrivals at all queues together, which no AQM may depend on.
static TOTAL_ARRIVALS: AtomicU64 = AtomicU64::new(0);

/// The invariants that `FaultyAqm` violates, as an entry for each.
macro_rules! faulty_aqms {
    ($($Invariant:ident),+) => {
        [$({
            static ENTRY: AqmEntry = AqmEntry { name: "wrong", make: &|_, _| Box::new(FaultyAqm { violates: Invariant::$Invariant, deadline: None, arrivals: 0 }), ..AqmEntry::DEFAULTS };
            (Invariant::$Invariant, &ENTRY)
        }),+]
    };
}

impl Aqm for FaultyAqm {
    fn requirements(&self) -> AqmRequirements {
        AqmRequirements { groups: 0, dequeue_hook: self.violates == Invariant::Timers }
    }

    fn on_enqueue(&mut self, arrival: &Arrival, _rng: &mut Rng) -> EnqueueVerdict {
        self.arrivals += 1;
        let drop = EnqueueVerdict::Drop { target: DropTarget::Arriving, cause: SignalCause::Early };
        match self.violates {
            Invariant::NoPanic if self.arrivals > 50 => panic!("more than fifty"),
            Invariant::Marks => {
                EnqueueVerdict::Signal { level: CongestionLevel::Congested, target: MarkTarget::Arriving, cause: SignalCause::Early }
            }
            Invariant::EmptyQueue => drop,
            Invariant::AfterIdle if self.arrivals > 60 && arrival.backlog.packets == 0 => drop,
            Invariant::Determinism if TOTAL_ARRIVALS.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 61 == 0 => drop,
            _ => EnqueueVerdict::Pass,
        }
    }

    fn on_dequeue(&mut self, departure: &Departure, _rng: &mut Rng) -> DequeueVerdict {
        self.deadline = Some(departure.now + Span::from_millis(1));
        DequeueVerdict::Pass
    }

    fn next_timer(&self) -> Option<Time> {
        self.deadline
    }

    fn on_timer(&mut self, _expiry: &TimerContext, _rng: &mut Rng) {
        self.deadline = None;
    }

    fn average_queue_length(&self) -> Option<f64> {
        (self.violates == Invariant::Gauges).then_some(f64::NAN)
    }
}

#[test]
fn a_faulty_aqm_violates_its_invariant() {
    for (invariant, entry) in faulty_aqms!(NoPanic, Marks, EmptyQueue, AfterIdle, Determinism, Timers, Gauges) {
        let report = check_aqm(entry);
        assert!(
            report.violations().any(|violation| violation.invariant == invariant),
            "{invariant} was breached: {:?}",
            report.violations().collect::<Vec<_>>()
        );
    }
}

/// An AQM that depends on packet sizes or drops ECT packets, against RFC 7567.
struct SizeBiasedAqm {
    /// Drops packets of more than this size, in bytes, one in fifty.
    size: u32,
    /// Whether ECN-capable packets are dropped now and then, and marked otherwise.
    drops_some_ect: bool,
}

static BIASED_BY_SIZE: AqmEntry =
    AqmEntry { name: "biased", make: &|_, _| Box::new(SizeBiasedAqm { size: 1200, drops_some_ect: false }), ..AqmEntry::DEFAULTS };
static DROPS_SOME_ECT: AqmEntry =
    AqmEntry { name: "biased", make: &|_, _| Box::new(SizeBiasedAqm { size: 2000, drops_some_ect: true }), ..AqmEntry::DEFAULTS };

impl Aqm for SizeBiasedAqm {
    fn on_enqueue(&mut self, arrival: &Arrival, rng: &mut Rng) -> EnqueueVerdict {
        let marks = EnqueueVerdict::Signal { level: CongestionLevel::Congested, target: MarkTarget::Arriving, cause: SignalCause::Early };
        let drops = EnqueueVerdict::Drop { target: DropTarget::Arriving, cause: SignalCause::Early };
        match rng.below(50) {
            0 if arrival.packet.size > self.size || self.drops_some_ect => drops,
            1 if self.drops_some_ect => marks,
            _ => EnqueueVerdict::Pass,
        }
    }
}

fn compliance(entry: &'static AqmEntry, requirement: Rfc7567Requirement) -> Compliance {
    requirement.measure(&DeviceUnderTest::from_aqm_in_fifo(entry)).compliance
}

#[test]
fn a_bias_by_packet_size_is_detected() {
    assert_eq!(Compliance::No, compliance(&BIASED_BY_SIZE, Rfc7567Requirement::PacketSize));
    assert_eq!(Compliance::Yes, compliance(&DROPS_SOME_ECT, Rfc7567Requirement::PacketSize));
}

#[test]
fn an_aqm_that_drops_some_ect_packets_complies_partly_with_marking() {
    assert_eq!(Compliance::Partly, compliance(&DROPS_SOME_ECT, Rfc7567Requirement::Marks));
    assert_eq!(Compliance::No, compliance(&BIASED_BY_SIZE, Rfc7567Requirement::Marks));
}
