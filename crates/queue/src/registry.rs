//! The AQMs by name. Adding one is one file in `aqm/` and one entry here.

use ecnlab_units::parameter::Values;
use ecnlab_units::quantity::Amount;
use ecnlab_units::{Parameter, Rate};

use crate::aqm::red::Mode;
use crate::aqm::{Aqm, aecn, droptail, mark_front, red};

/// An AQM as users meet it: its name, what it is, its parameters and how it is made.
pub struct AqmEntry {
    pub name: &'static str,
    pub title: &'static str,
    pub summary: &'static str,
    pub source: &'static str,
    pub parameters: &'static [Parameter],
    /// Parameters of a shared table that this algorithm never reads.
    pub unread: &'static [&'static str],
    /// Whether it marks packets under these values.
    pub marks: fn(&Values) -> bool,
    /// Contradictions among the parameters and the buffer's limit: the parameter's name and what is wrong.
    pub check: fn(&Values, Amount) -> Vec<(&'static str, String)>,
    pub make: fn(&Values, Rate) -> Box<dyn Aqm>,
}

pub const AQMS: &[AqmEntry] = &[
    AqmEntry {
        name: "droptail",
        title: "Drop-tail",
        summary: "No signal before the buffer is full; then the arriving or the oldest packet is dropped.",
        source: "RFC 7567, section 2",
        parameters: droptail::Settings::PARAMETERS,
        unread: &[],
        marks: |_| false,
        check: |_, _| Vec::new(),
        make: |values, _| Box::new(droptail::DropTail::new(&droptail::Settings::of(values))),
    },
    AqmEntry {
        name: "red",
        title: "RED",
        summary: "Random early detection that drops, whether or not a packet is ECN-capable.",
        source: "Floyd and Jacobson 1993",
        parameters: red::Settings::PARAMETERS,
        unread: &["mark_limit"],
        marks: |_| false,
        check: |values, limit| red::Settings::of(values).check(limit),
        make: |values, rate| Box::new(red::Red::new(red::Settings::of(values), Mode::Drop, rate)),
    },
    AqmEntry {
        name: "ecn",
        title: "ECN",
        summary: "RED that marks ECN-capable packets on early signals and drops on forced ones.",
        source: "Floyd 1994; RFC 3168",
        parameters: red::Settings::PARAMETERS,
        unread: &[],
        marks: |_| true,
        check: |values, limit| red::Settings::of(values).check(limit),
        make: |values, rate| Box::new(red::Red::new(red::Settings::of(values), Mode::Mark, rate)),
    },
    AqmEntry {
        name: "ecnm",
        title: "ECNM",
        summary: "ECN that also marks at and above max_th and drops only when the buffer is full.",
        source: "Zheng 2001, section 4.2.2",
        parameters: red::Settings::PARAMETERS,
        unread: &["mark_limit"],
        marks: |_| true,
        check: |values, limit| red::Settings::of(values).check(limit),
        make: |values, rate| Box::new(red::Red::new(red::Settings::of(values), Mode::MarkAll, rate)),
    },
    AqmEntry {
        name: "mark-front",
        title: "Mark-front ECN",
        summary: "ECN that marks the oldest unmarked packet in the queue instead of the arriving one.",
        source: "Liu and Jain 2001; Zheng 2001, section 5.2.3",
        parameters: red::Settings::PARAMETERS,
        unread: &[],
        marks: |_| true,
        check: |values, limit| red::Settings::of(values).check(limit),
        make: |values, rate| Box::new(mark_front::MarkFront::new(red::Settings::of(values), rate)),
    },
    AqmEntry {
        name: "aecn",
        title: "Adaptive ECN",
        summary: "ECN with a marking probability for each group of round-trip times, marking at the front of the group's flow queue (AECN, AECN2, AECN3, AECN4).",
        source: "Zheng 2001, chapter 5 and appendix B",
        parameters: aecn::Settings::PARAMETERS,
        unread: &[],
        marks: |_| true,
        check: |values, limit| aecn::Settings::of(values).check(limit),
        make: |values, rate| Box::new(aecn::Aecn::new(aecn::Settings::of(values), rate)),
    },
];

pub fn find(name: &str) -> Option<&'static AqmEntry> {
    AQMS.iter().find(|entry| entry.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_declared_default_fits_its_own_kind_and_agrees_with_the_rest() {
        for entry in AQMS {
            let values = Values::defaults(entry.parameters);
            assert!((entry.check)(&values, Amount::Packets(100.0)).is_empty(), "{}", entry.name);
        }
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = AQMS.iter().map(|entry| entry.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(AQMS.len(), names.len());
    }
}
