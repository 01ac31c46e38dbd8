//! An AQM that adds up what its queue reports, to compare the sum with the backlog that the discipline shows.

use std::collections::BTreeMap;
use std::panic::resume_unwind;

use ecnlab_units::{Rng, Span, Time};

use super::rule::{Fault, Rule};
use crate::aqm::{Aqm, Arrival, Backlog, Departure, Expiry, Fate, Glimpse, Needs, Wish};
use crate::registry::AqmEntry;

/// The checker as an AQM. It signals nothing, and unwinds with a [`Fault`] where the backlog shown differs from the sum of the reports.
pub static ENTRY: AqmEntry = AqmEntry { name: "backlog-checker", make: &|_, _| Box::new(BacklogChecker::default()), ..AqmEntry::PLAIN };

/// The backlog of each flow by the reports, and the time of the last comparison at a deadline.
#[derive(Default)]
struct BacklogChecker {
    flows: BTreeMap<u64, Backlog>,
    compared: Time,
}

impl BacklogChecker {
    fn add(&mut self, packet: &Glimpse) {
        let flow = self.flows.entry(packet.flow).or_default();
        *flow = *flow + one(packet);
    }

    fn subtract(&mut self, packet: &Glimpse) {
        let known = self.flows.get_mut(&packet.flow).filter(|flow| flow.packets > 0 && flow.bytes >= u64::from(packet.size));
        let flow =
            known.unwrap_or_else(|| fail(format!("a packet of flow {} left the buffer without a report of its arrival", packet.flow)));
        *flow = *flow - one(packet);
    }

    fn compare(&self, shown: Backlog) {
        let heard = self.flows.values().fold(Backlog::NONE, |sum, &flow| sum + flow);
        if heard != shown {
            fail(format!("the discipline shows {}, and its reports add up to {}", packets_of(shown), packets_of(heard)));
        }
    }
}

/// Ends the trial with a breach, without the panic hook's text.
fn fail(what: String) -> ! {
    resume_unwind(Box::new(Fault::new(Rule::Reports, what)))
}

fn packets_of(backlog: Backlog) -> String {
    format!("{} packets of {} bytes", backlog.packets, backlog.bytes)
}

fn one(packet: &Glimpse) -> Backlog {
    Backlog { packets: 1, bytes: u64::from(packet.size) }
}

impl Aqm for BacklogChecker {
    fn needs(&self) -> Needs {
        Needs { departures: true, ..Needs::default() }
    }

    fn arrive(&mut self, arrival: &Arrival, _rng: &mut Rng) -> Wish {
        self.compare(arrival.backlog);
        if !arrival.full {
            self.add(&arrival.packet);
        }
        Wish::Pass
    }

    fn depart(&mut self, departure: &Departure, _rng: &mut Rng) -> Fate {
        self.subtract(&departure.packet);
        self.compare(departure.backlog);
        Fate::Pass
    }

    fn lost(&mut self, packet: &Glimpse, _now: Time) {
        self.subtract(packet);
    }

    fn on_moved_out(&mut self, packet: &Glimpse, _now: Time) {
        self.subtract(packet);
    }

    fn on_moved_in(&mut self, packet: &Glimpse, _now: Time) {
        self.add(packet);
    }

    fn deadline(&self) -> Option<Time> {
        Some(self.compared + Span::from_millis(10))
    }

    fn expire(&mut self, expiry: &Expiry, _rng: &mut Rng) {
        self.compare(expiry.backlog);
        self.compared = expiry.now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::caught;

    fn checked(report: impl FnOnce(&mut BacklogChecker, &Glimpse)) -> Result<(), Fault> {
        let (mut checker, packet) = (BacklogChecker::default(), Arrival::PLAIN.packet);
        caught(|| {
            report(&mut checker, &packet);
            Ok(())
        })
    }

    #[test]
    fn a_backlog_that_differs_from_the_reports_is_a_fault_in_words() {
        let size = Arrival::PLAIN.packet.size;
        let what = format!("the discipline shows 0 packets of 0 bytes, and its reports add up to 1 packets of {size} bytes");
        let found = checked(|checker, packet| {
            checker.add(packet);
            checker.compare(Backlog::NONE);
        });
        assert_eq!(Err(Fault::new(Rule::Reports, what)), found);
        assert_eq!(
            Ok(()),
            checked(|checker, packet| {
                checker.on_moved_in(packet, Time::ZERO);
                checker.compare(one(packet));
                checker.on_moved_out(packet, Time::ZERO);
                checker.compare(Backlog::NONE);
            })
        );
    }

    #[test]
    fn a_packet_that_leaves_without_a_report_of_its_arrival_is_a_fault() {
        let flow = Arrival::PLAIN.packet.flow;
        let what = format!("a packet of flow {flow} left the buffer without a report of its arrival");
        assert_eq!(Err(Fault::new(Rule::Reports, what)), checked(|checker, packet| checker.lost(packet, Time::ZERO)));
    }
}
