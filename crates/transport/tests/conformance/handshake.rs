//! Opening of a connection and negotiation of ECN (RFC 9293, section 3.5; RFC 3168, section 6.1.1; RFC 6298, section 5.7).

use ecnlab_transport::SegmentType;
use ecnlab_units::Span;

use super::rule::{Rule, Scenario, check_scenario, rule};
use super::timer::wheel_slack;
use crate::ensure;
use crate::harness::network::TransferPlan;
use crate::harness::path::{PacketFilter, Path, PathAction};
use crate::harness::{at, millis};

const ECN: &[(&str, &str)] = &[("handshake", "three-way"), ("ecn", "true")];

/// ECN was not negotiated: data is sent without it.
const NO_ECN: Rule = rule("no ECN on data", "RFC 3168, section 6.1.1", |_, run| {
    let shows = run.sent().filter(|(_, sent)| sent.segment.segment_type != SegmentType::Syn);
    let shows: Vec<u64> =
        shows.filter(|(_, sent)| sent.segment.ecn.is_capable() || sent.segment.cwr).map(|(_, sent)| sent.segment.seq).collect();
    ensure!(shows.is_empty(), "{shows:?}");
    Ok(())
});

const OFFERS: Rule = rule("the SYN offers ECN with both bits and is not capable itself", "RFC 3168, section 6.1.1", |_, run| {
    let (_, syn) = run.transmission(0, 1).ok_or("no SYN")?;
    let syn = &syn.segment;
    ensure!(syn.segment_type == SegmentType::Syn && syn.ece && syn.cwr && !syn.ecn.is_capable(), "{syn:?}");
    Ok(())
});

#[test]
fn negotiation() {
    let scenario = Scenario {
        name: "ecn_negotiation",
        text: "ECN is offered by ECE and CWR on the SYN and agreed on by ECE alone on the SYN-ACK; data is capable, SYN, FIN and pure ACKs are not\n\
               (RFC 3168, sections 6.1.1 and 6.1.4).",
        members: ECN,
        plan: TransferPlan::new(20, Path::clean()),
        lines: 12,
    };
    check_scenario(
        &scenario,
        &[
            OFFERS,
            rule("all data is capable and nothing else", "RFC 3168, sections 6.1.1 and 6.1.4", |settings, run| {
                for (_, sent) in run.sent().filter(|(_, sent)| !sent.segment.retransmission) {
                    let segment = &sent.segment;
                    let data = segment.segment_type == SegmentType::Plain
                        || segment.segment_type == SegmentType::Fin && segment.size > settings.quirks.ack_size;
                    ensure!(segment.ecn.is_capable() == data, "{segment:?}");
                }
                Ok(())
            }),
            rule("the SYN-ACK agrees with ECE and without CWR", "RFC 3168, section 6.1.1", |_, run| {
                let syn_ack = run.acks.iter().find(|sent| sent.ack.segment_type == SegmentType::Syn).ok_or("no SYN-ACK")?;
                ensure!(syn_ack.ack.ece && !syn_ack.ack.cwr, "{:?}", syn_ack.ack);
                Ok(())
            }),
            rule("no data before the SYN-ACK", "RFC 9293, section 3.5", |_, run| {
                let data = run.sent().find(|(_, sent)| sent.segment.segment_type != SegmentType::Syn).map(|(step, _)| step.time);
                ensure!(data.is_some_and(|data| data > at(100)), "{data:?}");
                Ok(())
            }),
        ],
    );
}

#[test]
fn refused() {
    let scenario = Scenario {
        name: "ecn_refused",
        text: "The receiver does not agree to ECN: no segment is capable (RFC 3168, section 6.1.1).",
        members: &[("handshake", "three-way"), ("ecn", "true"), ("receiver_ecn", "false")],
        plan: TransferPlan::new(20, Path::clean().mark(&[5]).lose(&[8])),
        lines: 0,
    };
    check_scenario(&scenario, &[OFFERS, NO_ECN]);
}

#[test]
fn bits_cleared() {
    let scenario = Scenario {
        name: "ecn_bits_cleared",
        text: "A middlebox clears the bits on the SYN: the receiver sees no offer (RFC 3168, section 6.1.1).",
        members: ECN,
        plan: TransferPlan::new(20, Path::clean().data(PacketFilter::Syn, PathAction::ClearFlags)),
        lines: 0,
    };
    check_scenario(&scenario, &[OFFERS, NO_ECN]);
}

#[test]
fn bits_reflected() {
    let scenario = Scenario {
        name: "ecn_bits_reflected",
        text: "A host sends reserved bits back as they came: a SYN-ACK with both ECE and CWR agrees to nothing (RFC 3168, section 6.1.1).",
        members: ECN,
        plan: TransferPlan::new(20, Path::clean().acks(PacketFilter::Syn, PathAction::SetFlags)),
        lines: 0,
    };
    check_scenario(&scenario, &[OFFERS, NO_ECN]);
}

#[test]
fn syn_blocked() {
    let scenario = Scenario {
        name: "ecn_syn_blocked",
        text: "A firewall drops every SYN that offers ECN. The sender offers it no more (RFC 3168, section 6.1.1.1), begins with one segment\n\
               (RFC 5681, section 3.1) and a timeout of at least 3 s (RFC 6298, section 5.7).",
        members: ECN,
        plan: TransferPlan::new(20, Path::clean().data(PacketFilter::Ece, PathAction::Drop)),
        lines: 14,
    };
    check_scenario(
        &scenario,
        &[
            NO_ECN,
            rule("the second SYN offers nothing", "RFC 3168, section 6.1.1.1", |_, run| {
                let (_, syn) = run.transmission(0, 2).ok_or("no second SYN")?;
                ensure!(syn.segment.segment_type == SegmentType::Syn && !syn.segment.ece && !syn.segment.cwr, "{:?}", syn.segment);
                Ok(())
            }),
            rule("the second SYN goes after the initial timeout", "RFC 6298, sections 2.1 and 5.5", |settings, run| {
                let (step, _) = run.transmission(0, 2).ok_or("no second SYN")?;
                let late = step.time.since(at(0)).seconds() - settings.rto_initial.seconds();
                ensure!((0.0..=wheel_slack(settings, settings.rto_initial.seconds())).contains(&late), "at {:?}", step.time);
                Ok(())
            }),
            rule("one segment after a lost SYN", "RFC 5681, section 3.1", |_, run| {
                let (first, _) = run.transmission(1, 1).ok_or("no data")?;
                let flight = run
                    .sent()
                    .filter(|(step, sent)| step.time.since(first.time) < millis(1) && sent.segment.segment_type == SegmentType::Plain)
                    .count();
                ensure!(flight == 1, "{flight} segments");
                Ok(())
            }),
            rule("a timeout of 3 s for data", "RFC 6298, section 5.7", |settings, run| {
                let (first, _) = run.transmission(1, 1).ok_or("no data")?;
                let timer = first.timer.map_or(Span::ZERO, |timer| timer.since(first.time));
                ensure!(timer >= Span::from_secs(3) || settings.tlp, "{} s", timer.seconds());
                Ok(())
            }),
        ],
    );
}

#[test]
fn syn_ack_lost() {
    let scenario = Scenario {
        name: "syn_ack_lost",
        text: "The SYN-ACK is lost: it is sent again (RFC 9293, section 3.8.1), and the connection opens.",
        members: ECN,
        plan: TransferPlan::new(20, Path::clean().acks(PacketFilter::Index(0), PathAction::Drop)),
        lines: 14,
    };
    check_scenario(
        &scenario,
        &[rule("one segment after a lost SYN-ACK", "RFC 5681, section 3.1", |_, run| {
            let (first, _) = run.transmission(1, 1).ok_or("no data")?;
            let flight = run
                .sent()
                .filter(|(step, sent)| step.time.since(first.time) < millis(1) && sent.segment.segment_type == SegmentType::Plain)
                .count();
            ensure!(flight == 1, "{flight} segments");
            Ok(())
        })],
    );
}

#[test]
fn closing() {
    let scenario = Scenario {
        name: "closing",
        text: "The FIN takes a number, is retransmitted like data and answered by the receiver's own (RFC 9293, section 3.6).",
        members: &[("handshake", "three-way"), ("fin", "true"), ("fin_on_data", "false")],
        plan: TransferPlan::new(
            20,
            Path::clean()
                .data(PacketFilter::Number(21, 1), PathAction::Drop)
                .acks(PacketFilter::During(at(0), at(0) + millis(1)), PathAction::Drop),
        ),
        lines: 20,
    };
    check_scenario(
        &scenario,
        &[rule("the FIN is sent until it is acknowledged", "RFC 9293, section 3.6", |_, run| {
            let fins = run.sent().filter(|(_, sent)| sent.segment.segment_type == SegmentType::Fin).count();
            ensure!(fins >= 2, "{fins}");
            let acked = run.acks.iter().any(|sent| sent.ack.segment_type == SegmentType::Fin && sent.ack.next == run.total_segments);
            ensure!(acked, "the receiver does not close");
            Ok(())
        })],
    );
}
