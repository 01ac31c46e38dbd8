//! The suite over everything in the registry, and over AQMs that breach its rules.

use std::sync::atomic::{AtomicU64, Ordering};

use ecnlab_queue::conformance::duties::{Duty, Verdict};
use ecnlab_queue::conformance::{self, Report, Rule, Subject};
use ecnlab_queue::registry::{AQMS, AqmEntry, DISCIPLINES, Holds};
use ecnlab_queue::{Aqm, Arrival, Cause, Departure, Expiry, Fate, Needs, Target, Victim, Wish};
use ecnlab_units::{Level, Rng, Span, Time};

#[test]
fn every_aqm_keeps_the_rules() {
    for entry in AQMS {
        assert_passed(&conformance::aqm(entry));
    }
}

#[test]
fn every_other_discipline_keeps_the_rules_with_every_aqm_inside() {
    for discipline in DISCIPLINES.iter().filter(|discipline| discipline.name != "fifo") {
        let inside: Vec<_> = if discipline.holds == Holds::Law { vec![None] } else { AQMS.iter().map(|aqm| Some(*aqm)).collect() };
        for aqm in inside {
            assert_passed(&conformance::subject(&Subject { discipline, aqm }));
        }
    }
}

#[test]
fn every_aqm_marks_as_it_declares_and_never_the_incapable() {
    for entry in AQMS {
        let declared = (entry.marks)(&entry.busy_values()).is_some();
        assert_eq!(declared, verdict(entry, Duty::Marks) != Verdict::No, "{}", entry.name);
        assert_eq!([Verdict::Yes; 2], [Duty::Incapable, Duty::Excess].map(|duty| verdict(entry, duty)), "{}", entry.name);
    }
}

fn assert_passed(report: &Report) {
    let faults: Vec<String> = report.faults().map(ToString::to_string).collect();
    assert!(report.passed(), "{}:\n{}", report.name, faults.join("\n"));
    assert!(report.checks.iter().all(|check| check.judged), "{}: a rule was not judged", report.name);
}

/// With another AQM inside, the trial of the reports says nothing of the AQM that is judged.
#[test]
fn reports_are_judged_of_disciplines_that_hold_an_aqm_alone() {
    let judges_reports = |report: Report| report.checks.iter().any(|check| check.rule == Rule::Reports);
    for entry in DISCIPLINES {
        assert_eq!(entry.holds != Holds::Law, judges_reports(conformance::discipline(entry)), "{}", entry.name);
    }
    let red = AQMS.iter().find(|entry| entry.name == "red").unwrap();
    assert!(!judges_reports(conformance::aqm(red)));
}

/// No trial that counts leaves no rule judged.
#[test]
fn trials_that_are_rejected_judge_no_rule() {
    for entry in DISCIPLINES {
        let report = conformance::judge(&Subject::discipline(entry), &mut || false);
        assert!(report.checks.iter().all(|check| !check.judged && check.fault.is_none()), "{}", entry.name);
    }
}

/// An AQM with one thing wrong.
struct Wrong {
    breaches: Rule,
    deadline: Option<Time>,
    arrivals: u64,
}

/// Arrivals at all queues together: what no AQM may go by.
static ASKED: AtomicU64 = AtomicU64::new(0);

/// The rules that `Wrong` breaches, as an entry for each.
macro_rules! wrong {
    ($($Rule:ident),+) => {
        [$({
            static ENTRY: AqmEntry = AqmEntry { name: "wrong", make: &|_, _| Box::new(Wrong { breaches: Rule::$Rule, deadline: None, arrivals: 0 }), ..AqmEntry::PLAIN };
            (Rule::$Rule, &ENTRY)
        }),+]
    };
}

impl Aqm for Wrong {
    fn needs(&self) -> Needs {
        Needs { groups: 0, departures: self.breaches == Rule::Timers }
    }

    fn arrive(&mut self, arrival: &Arrival, _rng: &mut Rng) -> Wish {
        self.arrivals += 1;
        let drop = Wish::Drop { victim: Victim::Arriving, cause: Cause::Early };
        match self.breaches {
            Rule::Sound if self.arrivals > 50 => panic!("more than fifty"),
            Rule::Marks => Wish::Signal { level: Level::Congested, target: Target::Arriving, cause: Cause::Early },
            Rule::Empty => drop,
            Rule::Rest if self.arrivals > 60 && arrival.backlog.packets == 0 => drop,
            Rule::Repeat if ASKED.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 61 == 0 => drop,
            _ => Wish::Pass,
        }
    }

    fn depart(&mut self, departure: &Departure, _rng: &mut Rng) -> Fate {
        self.deadline = Some(departure.now + Span::from_millis(1));
        Fate::Pass
    }

    fn deadline(&self) -> Option<Time> {
        self.deadline
    }

    fn expire(&mut self, _expiry: &Expiry, _rng: &mut Rng) {
        self.deadline = None;
    }

    fn average(&self) -> Option<f64> {
        (self.breaches == Rule::Gauges).then_some(f64::NAN)
    }
}

#[test]
fn an_aqm_that_breaches_a_rule_is_found_out() {
    for (rule, entry) in wrong!(Sound, Marks, Empty, Rest, Repeat, Timers, Gauges) {
        let report = conformance::aqm(entry);
        assert!(report.faults().any(|fault| fault.rule == rule), "{rule} was breached: {:?}", report.faults().collect::<Vec<_>>());
    }
}

/// An AQM that goes by what RFC 7567 tells it not to go by.
struct Biased {
    /// Drops packets of more than this size, in bytes, one in fifty.
    size: u32,
    /// Whether ECN-capable packets are dropped now and then, and marked otherwise.
    drops_capable: bool,
}

static BIASED_BY_SIZE: AqmEntry =
    AqmEntry { name: "biased", make: &|_, _| Box::new(Biased { size: 1200, drops_capable: false }), ..AqmEntry::PLAIN };
static DROPS_CAPABLE: AqmEntry =
    AqmEntry { name: "biased", make: &|_, _| Box::new(Biased { size: 2000, drops_capable: true }), ..AqmEntry::PLAIN };

impl Aqm for Biased {
    fn arrive(&mut self, arrival: &Arrival, rng: &mut Rng) -> Wish {
        let marks = Wish::Signal { level: Level::Congested, target: Target::Arriving, cause: Cause::Early };
        let drops = Wish::Drop { victim: Victim::Arriving, cause: Cause::Early };
        match rng.below(50) {
            0 if arrival.packet.size > self.size || self.drops_capable => drops,
            1 if self.drops_capable => marks,
            _ => Wish::Pass,
        }
    }
}

fn verdict(entry: &'static AqmEntry, duty: Duty) -> Verdict {
    duty.measure(&Subject::aqm(entry)).verdict
}

#[test]
fn a_bias_by_packet_size_is_found_out() {
    assert_eq!(Verdict::No, verdict(&BIASED_BY_SIZE, Duty::Size));
    assert_eq!(Verdict::Yes, verdict(&DROPS_CAPABLE, Duty::Size));
}

#[test]
fn an_aqm_that_drops_some_ecn_capable_packets_meets_the_duty_to_mark_partly() {
    assert_eq!(Verdict::Partly, verdict(&DROPS_CAPABLE, Duty::Marks));
    assert_eq!(Verdict::No, verdict(&BIASED_BY_SIZE, Duty::Marks));
}
