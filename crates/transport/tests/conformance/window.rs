//! Windows and the receiver's ACKs (RFC 5681, sections 3.1 and 4.2; RFC 6928; RFC 9293, section 3.8.6).

use ecnlab_transport::SegmentType;
use ecnlab_units::Time;

use super::rule::{Rule, RuleResult, Scenario, check_scenario, rule};
use crate::ensure;
use crate::harness::network::TransferPlan;
use crate::harness::path::{PacketFilter, Path, PathAction};
use crate::harness::record::{ArrivedSegment, TransferRecord};
use crate::harness::{at, millis};

#[test]
fn slow_start() {
    let scenario = Scenario {
        name: "slow_start",
        text: "Nothing is lost. The first flight is the initial window (RFC 5681, section 3.1; RFC 6928); below the threshold the window grows by at\n\
               most one segment for each that is acknowledged, beyond it by about one a round trip (RFC 5681, section 3.1, equations 2 and 3).",
        members: &[],
        plan: TransferPlan::new(120, Path::clean()),
        lines: 12,
    };
    check_scenario(
        &scenario,
        &[
            rule("the first flight is the initial window", "RFC 5681, section 3.1; RFC 6928, section 2", |settings, run| {
                let first = u64::from(settings.has_syn());
                let start = run.transmission(first, 1).map(|(step, _)| step.time).ok_or("no data")?;
                let flight = run
                    .sent()
                    .filter(|(step, sent)| step.time.since(start) < millis(1) && sent.segment.segment_type == SegmentType::Plain)
                    .count() as u64;
                ensure!(flight == settings.initial_window, "{flight} segments");
                Ok(())
            }),
            rule("at most a segment for each acknowledged", "RFC 5681, section 3.1, equation 2", |settings, run| {
                let opens = |una: u64| una <= u64::from(settings.has_syn());
                for step in run.steps.iter().filter(|step| !opens(step.una)) {
                    let (grown, acked) = (step.after.cwnd - step.before.cwnd, (step.una - step.una_before) as f64);
                    ensure!(grown <= acked, "by {grown} for {acked} at {:?}", step.time);
                }
                Ok(())
            }),
            rule("nothing is sent twice", "RFC 9293, section 3.4", |_, run| {
                let again: Vec<u64> = run.retransmissions().map(|(_, sent)| sent.segment.seq).collect();
                ensure!(again.is_empty(), "{again:?}");
                Ok(())
            }),
        ],
    );
}

#[test]
fn receiver_window() {
    let scenario = Scenario {
        name: "receiver_window",
        text: "The receiver has room for 8 segments: never more are outstanding, whatever the congestion window (RFC 9293, section 3.8.6).",
        members: &[("max_rwnd", "8")],
        plan: TransferPlan::new(60, Path::clean().lose(&[30])),
        lines: 14,
    };
    check_scenario(
        &scenario,
        &[rule("the receiver's window is used", "RFC 9293, section 3.8.6", |_, run| {
            let used = run.sent().any(|(step, sent)| sent.segment.seq == step.una + 7);
            ensure!(used, "never 8 outstanding");
            Ok(())
        })],
    );
}

/// Checks that an ACK is sent by the second full segment, and within the delay (RFC 5681, section 4.2).
fn acknowledged_in_time(run: &TransferRecord, delay: Time) -> RuleResult {
    let data = |arrived: &&ArrivedSegment| arrived.segment.segment_type == SegmentType::Plain && arrived.delivered > 0;
    let arrived: Vec<&ArrivedSegment> = run.arrived.iter().filter(data).collect();
    let acked_by = |seq: u64| run.acks.iter().find(|sent| sent.ack.next > seq).map(|sent| sent.time);
    for (place, one) in arrived.iter().enumerate() {
        let acked = acked_by(one.segment.seq).ok_or("not acknowledged")?;
        ensure!(acked.since(one.time) <= delay.since(Time::ZERO), "{} waits too long", one.segment.seq);
        let second = arrived.get(place + 1).map_or(Time::NEVER, |second| second.time);
        ensure!(acked <= second, "{} waits beyond a second segment", one.segment.seq);
    }
    Ok(())
}

/// Checks that out-of-order segments, and those that fill a gap, are acknowledged at once.
fn acknowledged_at_once(run: &TransferRecord) -> RuleResult {
    let mut expected = 0;
    for arrived in &run.arrived {
        let out_of_order = arrived.segment.segment_type == SegmentType::Plain && (arrived.segment.seq > expected || arrived.delivered > 1);
        expected += arrived.delivered;
        let at_once = run.acks.iter().any(|sent| sent.time == arrived.time);
        ensure!(!out_of_order || at_once, "{} at {:?} is not", arrived.segment.seq, arrived.time);
    }
    Ok(())
}

const IN_TIME: Rule =
    rule("an ACK for every second segment, within the delay", "RFC 5681, section 4.2; RFC 9293, section 3.8.6.3", |_, run| {
        acknowledged_in_time(run, at(200))
    });

const DELAYED: &[(&str, &str)] =
    &[("delayed_ack", "true"), ("delayed_ack_rule", "fixed"), ("delayed_ack_time", "200 ms"), ("max_quickacks", "1")];

#[test]
fn delayed_acknowledgements() {
    let scenario = Scenario {
        name: "delayed_acknowledgements",
        text: "The receiver acknowledges every second segment, and a single one after 200 ms (RFC 5681, section 4.2).",
        members: DELAYED,
        plan: TransferPlan::new(25, Path::clean()),
        lines: 14,
    };
    check_scenario(
        &scenario,
        &[
            IN_TIME,
            rule("fewer ACKs than segments", "RFC 9293, section 3.8.6.3", |_, run| {
                let (acks, segments) = (run.acks.len(), run.arrived.len());
                ensure!(acks < segments * 9 / 10, "{acks} of {segments}");
                Ok(())
            }),
        ],
    );
}

#[test]
fn delayed_acknowledgements_and_gaps() {
    let path = Path::clean().lose(&[14]).data(PacketFilter::Number(22, 1), PathAction::Delay(millis(3)));
    let scenario = Scenario {
        name: "delayed_acknowledgements_and_gaps",
        text: "A delaying receiver with a loss and a late segment: what is out of order or fills a gap is acknowledged at once (RFC 5681, section 4.2).",
        members: DELAYED,
        plan: TransferPlan::new(40, path),
        lines: 0,
    };
    check_scenario(
        &scenario,
        &[IN_TIME, rule("gaps are acknowledged at once", "RFC 5681, section 4.2", |_, run| acknowledged_at_once(run))],
    );
}

#[test]
fn acknowledgements_as_hosts_have_them() {
    let path = Path::clean().lose(&[14]).data(PacketFilter::Number(22, 1), PathAction::Delay(millis(3)));
    let scenario = Scenario {
        name: "acknowledgements_as_hosts_have_them",
        text: "Each receiver delays acknowledgements by its own rule: never more than 500 ms nor beyond a second segment, and not when a segment is out\n\
               of order or fills a gap (RFC 5681, section 4.2).",
        members: &[("delayed_ack", "true")],
        plan: TransferPlan::new(40, path),
        lines: 10,
    };
    check_scenario(
        &scenario,
        &[
            rule("an ACK for every second segment, within half a second", "RFC 5681, section 4.2", |_, run| {
                acknowledged_in_time(run, at(500))
            }),
            rule("gaps are acknowledged at once", "RFC 5681, section 4.2", |_, run| acknowledged_at_once(run)),
        ],
    );
}
