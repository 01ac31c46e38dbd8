//! An AQM that adds up what its queue reports, to compare the sum with the backlog that the discipline shows.

use std::collections::BTreeMap;
use std::panic::resume_unwind;

use ecnlab_units::{Rng, Span, Time};

use crate::invariants::{Invariant, Violation};
use ecnlab_queue::AqmEntry;
use ecnlab_queue::{Aqm, AqmRequirements, Arrival, Backlog, Departure, DequeueVerdict, EnqueueVerdict, PacketInfo, TimerContext};

/// The checker as an AQM. It signals nothing, and unwinds with a [`Violation`] where the backlog shown differs from the sum of the reports.
pub static ENTRY: AqmEntry =
    AqmEntry { name: "backlog-checker", make: &|_, _| Box::new(BacklogCheckingAqm::default()), ..AqmEntry::DEFAULTS };

/// The backlog of each flow by the reports, and the time of the last comparison at a deadline.
#[derive(Default)]
struct BacklogCheckingAqm {
    flows: BTreeMap<u64, Backlog>,
    last_comparison: Time,
}

impl BacklogCheckingAqm {
    fn add(&mut self, packet: &PacketInfo) {
        let flow = self.flows.entry(packet.flow).or_default();
        *flow = *flow + one_packet(packet);
    }

    fn subtract(&mut self, packet: &PacketInfo) {
        let known = self.flows.get_mut(&packet.flow).filter(|flow| flow.packets > 0 && flow.bytes >= u64::from(packet.size));
        let flow = known.unwrap_or_else(|| {
            unwind_with_violation(format!("a packet of flow {} left the buffer without a report of its arrival", packet.flow))
        });
        *flow = *flow - one_packet(packet);
    }

    fn compare(&self, backlog: Backlog) {
        let sum_of_reports = self.flows.values().fold(Backlog::EMPTY, |sum, &flow| sum + flow);
        if sum_of_reports != backlog {
            unwind_with_violation(format!(
                "the discipline shows {}, and its reports add up to {}",
                backlog_text(backlog),
                backlog_text(sum_of_reports)
            ));
        }
    }
}

/// Ends the test case with a violation, without the panic hook's text.
fn unwind_with_violation(message: String) -> ! {
    resume_unwind(Box::new(Violation::new(Invariant::Reports, message)))
}

fn backlog_text(backlog: Backlog) -> String {
    format!("{} packets of {} bytes", backlog.packets, backlog.bytes)
}

fn one_packet(packet: &PacketInfo) -> Backlog {
    Backlog { packets: 1, bytes: u64::from(packet.size) }
}

impl Aqm for BacklogCheckingAqm {
    fn requirements(&self) -> AqmRequirements {
        AqmRequirements { dequeue_hook: true, ..AqmRequirements::default() }
    }

    fn on_enqueue(&mut self, arrival: &Arrival, _rng: &mut Rng) -> EnqueueVerdict {
        self.compare(arrival.backlog);
        if !arrival.would_overflow {
            self.add(&arrival.packet);
        }
        EnqueueVerdict::Pass
    }

    fn on_dequeue(&mut self, departure: &Departure, _rng: &mut Rng) -> DequeueVerdict {
        self.subtract(&departure.packet);
        self.compare(departure.backlog);
        DequeueVerdict::Pass
    }

    fn on_overflow_drop(&mut self, packet: &PacketInfo, _now: Time) {
        self.subtract(packet);
    }

    fn on_moved_out(&mut self, packet: &PacketInfo, _now: Time) {
        self.subtract(packet);
    }

    fn on_moved_in(&mut self, packet: &PacketInfo, _now: Time) {
        self.add(packet);
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.last_comparison + Span::from_millis(10))
    }

    fn on_timer(&mut self, expiry: &TimerContext, _rng: &mut Rng) {
        self.compare(expiry.backlog);
        self.last_comparison = expiry.now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ecnlab_units::Ecn;

    use crate::catch_violation;

    const PACKET: PacketInfo = PacketInfo { size: 1000, ecn: Ecn::Ect0, flow: 0, rtt: Span::ZERO };

    fn violation_of(report: impl FnOnce(&mut BacklogCheckingAqm, &PacketInfo)) -> Result<(), Violation> {
        let (mut checker, packet) = (BacklogCheckingAqm::default(), PACKET);
        catch_violation(|| {
            report(&mut checker, &packet);
            Ok(())
        })
    }

    #[test]
    fn a_backlog_that_differs_from_the_reports_is_a_violation() {
        let size = PACKET.size;
        let message = format!("the discipline shows 0 packets of 0 bytes, and its reports add up to 1 packets of {size} bytes");
        let found = violation_of(|checker, packet| {
            checker.add(packet);
            checker.compare(Backlog::EMPTY);
        });
        assert_eq!(Err(Violation::new(Invariant::Reports, message)), found);
        assert_eq!(
            Ok(()),
            violation_of(|checker, packet| {
                checker.on_moved_in(packet, Time::ZERO);
                checker.compare(one_packet(packet));
                checker.on_moved_out(packet, Time::ZERO);
                checker.compare(Backlog::EMPTY);
            })
        );
    }

    #[test]
    fn a_departure_without_a_reported_arrival_is_a_violation() {
        let flow = PACKET.flow;
        let message = format!("a packet of flow {flow} left the buffer without a report of its arrival");
        assert_eq!(
            Err(Violation::new(Invariant::Reports, message)),
            violation_of(|checker, packet| checker.on_overflow_drop(packet, Time::ZERO))
        );
    }
}
