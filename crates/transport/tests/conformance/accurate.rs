//! Accurate ECN: negotiation, the counters of ACKs and what the sender reads from them (RFC 9768, sections 3.1 and 3.2). The RFC's text was not
//! at hand; sections and rules are those of its last drafts.

use ecnlab_transport::SegmentType;
use ecnlab_transport::settings::AccEcnRules;
use ecnlab_units::Ecn;

use super::rule::{Rule, Scenario, check_scenario, rule};
use crate::ensure;
use crate::harness::network::TransferPlan;
use crate::harness::path::{PacketFilter, Path, PathAction};

const ACCURATE: &[(&str, &str)] = &[("handshake", "three-way"), ("ecn", "true"), ("ecn_echo", "accurate")];
const ACCURATE_WITHOUT_OPTION: &[(&str, &str)] =
    &[("handshake", "three-way"), ("ecn", "true"), ("ecn_echo", "accurate"), ("accecn_option", "off"), ("max_rwnd", "40")];

const ASKS: Rule = rule("the SYN asks with 111", "RFC 9768, section 3.1.1", |_, run| {
    let (_, syn) = run.transmission(0, 1).ok_or("no SYN")?;
    ensure!(syn.segment.ace() == 0b111, "{:?}", syn.segment);
    Ok(())
});

const COUNTS: Rule = rule("the sender counts every mark", "RFC 9768, section 3.2.2.5.2", |_, run| {
    let arrived = run.arrived.iter().filter(|arrived| arrived.segment.ecn == Ecn::Ce).count() as u64;
    ensure!(arrived > 0 && run.received_ce == arrived, "{arrived} came with CE, and {} were counted", run.received_ce);
    ensure!(run.reported_ce == run.received_ce, "{} of {} are known", run.reported_ce, run.received_ce);
    Ok(())
});

#[test]
fn negotiation() {
    let scenario = Scenario {
        name: "accecn_negotiation",
        text: "The SYN asks by 111, the SYN-ACK and the third ACK reflect the ECN field that came; then ACE is 5, and all packets are capable\n\
               (RFC 9768, sections 3.1.1 and 3.2.2).",
        members: ACCURATE,
        plan: TransferPlan::new(20, Path::clean()),
        lines: 12,
    };
    check_scenario(
        &scenario,
        &[
            ASKS,
            rule("the SYN-ACK reflects the SYN", "RFC 9768, section 3.1.1", |settings, run| {
                let syn_ack = run.acks.iter().find(|sent| sent.ack.segment_type == SegmentType::Syn).ok_or("no SYN-ACK")?;
                let expected = if settings.uses_ect_on_all_packets() { 0b100 } else { 0b010 };
                ensure!(syn_ack.ack.ace() == expected, "{:?}", syn_ack.ack);
                Ok(())
            }),
            rule("the third ACK reflects the SYN-ACK", "RFC 9768, section 3.2.2.1", |_, run| {
                let syn_ack = run.acks.iter().find(|sent| sent.ack.segment_type == SegmentType::Syn).ok_or("no SYN-ACK")?;
                let third = run.sent().find(|(_, sent)| sent.segment.segment_type == SegmentType::PureAck).ok_or("no third ACK")?.1;
                let expected = if syn_ack.ack.ecn == Ecn::NotEct { 0b010 } else { 0b100 };
                ensure!(third.segment.ace() == expected, "{:?}", third.segment);
                Ok(())
            }),
            rule("ACE begins at five", "RFC 9768, section 3.2.1", |_, run| {
                let data = run.sent().filter(|(_, sent)| sent.segment.segment_type == SegmentType::Plain);
                let wrong: Vec<u64> = data.filter(|(_, sent)| sent.segment.ace() != 5).map(|(_, sent)| sent.segment.seq).collect();
                let acks = run.acks.iter().filter(|sent| sent.ack.segment_type == SegmentType::Plain && sent.ack.ace() != 5).count();
                ensure!(wrong.is_empty() && acks == 0, "data {wrong:?}, {acks} ACKs");
                Ok(())
            }),
        ],
    );
}

#[test]
fn marks() {
    let scenario = Scenario {
        name: "accecn_marks",
        text: "Single marks, and nine in a row, so that ACE wraps: the sender knows of each (RFC 9768, section 3.2.2.5.2). A mark after none is\n\
               acknowledged at once although ACKs are delayed (section 3.2.2.5.1).",
        members: &[("handshake", "three-way"), ("ecn", "true"), ("ecn_echo", "accurate"), ("delayed_ack", "true")],
        plan: TransferPlan::new(80, Path::clean().mark(&[16, 30, 31, 32, 33, 34, 35, 36, 37, 38, 50, 52])),
        lines: 12,
    };
    check_scenario(
        &scenario,
        &[
            COUNTS,
            rule("a mark after none is acknowledged at once", "RFC 9768, section 3.2.2.5.1", |_, run| {
                let mut before = Ecn::NotEct;
                for arrived in run.arrived.iter().filter(|arrived| arrived.segment.segment_type == SegmentType::Plain) {
                    let is_first = arrived.segment.ecn == Ecn::Ce && before != Ecn::Ce;
                    before = arrived.segment.ecn;
                    let answered = run.acks.iter().any(|sent| sent.time == arrived.time);
                    ensure!(!is_first || answered, "no ACK for the mark on {} at {:?}", arrived.segment.seq, arrived.time);
                }
                Ok(())
            }),
        ],
    );
}

#[test]
fn lost_acknowledgements() {
    let marked: Vec<u64> = (30..60).collect();
    let lost = |path: Path| (32..44).fold(path, |path, number| path.acks(PacketFilter::Number(number, 1), PathAction::Drop));
    let scenario = Scenario {
        name: "accecn_lost_acks",
        text: "Thirty packets in a row are marked, twelve ACKs in a row are lost and there is no option: the sender assumes as many marks as there\n\
               may be (RFC 9768, appendix A.2).",
        members: ACCURATE_WITHOUT_OPTION,
        plan: TransferPlan::new(100, lost(Path::clean().mark(&marked))),
        lines: 12,
    };
    check_scenario(
        &scenario,
        &[rule("after lost ACKs no mark is missing", "RFC 9768, appendix A.2", |settings, run| {
            // A path that merges ACKs anyway is trusted by Linux.
            let trusts = settings.quirks.accecn_rules == AccEcnRules::Linux;
            ensure!(trusts || run.reported_ce >= run.received_ce, "{} of {} are known", run.reported_ce, run.received_ce);
            Ok(())
        })],
    );
}

#[test]
fn classic_server() {
    let scenario = Scenario {
        name: "accecn_classic_server",
        text: "The server knows classic ECN alone and answers 001: marks are echoed by ECE until CWR (RFC 9768, section 3.1.2).",
        members: &[("handshake", "three-way"), ("ecn", "true"), ("ecn_echo", "accurate"), ("receiver_accurate_ecn", "false")],
        plan: TransferPlan::new(80, Path::clean().mark(&[16])),
        lines: 0,
    };
    check_scenario(
        &scenario,
        &[
            ASKS,
            rule("a classic server gets classic ECN", "RFC 9768, section 3.1.2", |_, run| {
                let data = run.sent().filter(|(_, sent)| sent.segment.segment_type == SegmentType::Plain && !sent.segment.retransmission);
                let wrong: Vec<u64> =
                    data.filter(|(_, sent)| !sent.segment.ecn.is_capable() || sent.segment.ae).map(|(_, sent)| sent.segment.seq).collect();
                ensure!(wrong.is_empty(), "{wrong:?}");
                ensure!(run.acks.iter().any(|sent| sent.ack.ece && sent.ack.segment_type == SegmentType::Plain), "no echo");
                Ok(())
            }),
        ],
    );
}

#[test]
fn syn_lost_twice() {
    let scenario = Scenario {
        name: "accecn_syn_lost_twice",
        text: "Two SYNs are lost. The first repeated one asks again, the second asks for nothing (RFC 9768, section 3.1.4).",
        members: &[("handshake", "three-way"), ("ecn", "true"), ("ecn_echo", "accurate"), ("ecn_fallback", "true")],
        plan: TransferPlan::new(
            20,
            Path::clean().data(PacketFilter::Number(0, 1), PathAction::Drop).data(PacketFilter::Number(0, 2), PathAction::Drop),
        ),
        lines: 0,
    };
    check_scenario(
        &scenario,
        &[rule("the second retransmission offers nothing", "RFC 9768, section 3.1.4", |_, run| {
            let asks: Vec<Option<u8>> = (1..=3).map(|nth| run.transmission(0, nth).map(|(_, syn)| syn.segment.ace())).collect();
            ensure!(asks == [Some(0b111), Some(0b111), Some(0)], "{asks:?}");
            Ok(())
        })],
    );
}

#[test]
fn ace_cleared() {
    let scenario = Scenario {
        name: "accecn_ace_cleared",
        text: "The path clears the flags of the third ACK: the server's packets are not capable from then on (RFC 9768, section 3.2.2.4).",
        members: ACCURATE,
        plan: TransferPlan::new(20, Path::clean().data(PacketFilter::Index(1), PathAction::ClearFlags)),
        lines: 0,
    };
    check_scenario(
        &scenario,
        &[rule("after an ACE of zero nothing is capable", "RFC 9768, section 3.2.2.4", |_, run| {
            let capable = run.acks.iter().filter(|sent| sent.ack.segment_type != SegmentType::Syn && sent.ack.ecn.is_capable()).count();
            ensure!(capable == 0, "{capable} ACKs");
            Ok(())
        })],
    );
}
