//! Marks, their echo and the response (RFC 3168, sections 6.1.2, 6.1.3 and 6.1.5; RFC 8511; RFC 8257; Durresi et al. 2001).

use ecnlab_transport::TcpSettings;
use ecnlab_transport::settings::{EchoStyle, EcnResponseName};
use ecnlab_units::{CongestionLevel, EcnSemantics};

use super::loss::{expect_ssthresh_reduced_to, loss_beta, snd_max_before};
use super::rule::{Rule, RuleResult, Scenario, check_scenario, rule};
use crate::ensure;
use crate::harness::network::TransferPlan;
use crate::harness::path::{PacketFilter, Path, PathAction};
use crate::harness::record::{SenderStep, StepCause, TransferRecord};

const ECN: &[(&str, &str)] = &[("ecn", "true")];

/// First marked segment in every scenario of this file.
const MARKED: u64 = 16;

/// Multiplicative decrease factor for a mark, if it is a constant.
fn beta_for_mark(settings: &TcpSettings) -> Option<f64> {
    match settings.ecn_response {
        EcnResponseName::Halve => Some(loss_beta(settings)),
        EcnResponseName::Abe => Some(settings.abe_beta),
        _ => None,
    }
}

fn expect_reductions(run: &TransferRecord, expected: usize) -> RuleResult {
    let times: Vec<f64> = run.ecn_reductions().map(|step| step.time.seconds()).collect();
    ensure!(times.len() == expected, "{} cuts at {times:?}", times.len());
    Ok(())
}

const ONE_CUT: Rule = rule("one cut for a window's marks", "RFC 3168, section 6.1.2", |_, run| expect_reductions(run, 1));

const CUT_SIZE: Rule =
    rule("the window is cut as for a loss, or as the response has it", "RFC 3168, section 6.1.2; RFC 8511, section 3", |settings, run| {
        let step = run.ecn_reductions().next().ok_or("no cut")?;
        match beta_for_mark(settings) {
            Some(keep) => expect_ssthresh_reduced_to(run, step, keep),
            None => {
                let share = step.after.ssthresh / step.before.cwnd;
                ensure!((0.45..1.0).contains(&share), "{share} is left");
                Ok(())
            }
        }
    });

/// Cwnd reaches ssthresh within the RTT of the mark, at once or by PRR.
const COMES_DOWN: Rule = rule("the window is at the threshold a round trip later", "RFC 3168, section 6.1.2; RFC 6937", |_, run| {
    let cut = run.ecn_reductions().next().ok_or("no cut")?;
    let high = snd_max_before(run, cut);
    let end = run.steps.iter().find(|step| step.una > high).ok_or("the round trip does not end")?;
    let (cwnd, ssthresh) = (end.after.cwnd, end.after.ssthresh);
    ensure!((ssthresh..=ssthresh + 2.0).contains(&cwnd), "window {cwnd} and threshold {ssthresh}");
    Ok(())
});

const CWR_ONCE: Rule = rule("CWR on the first new segment after a cut, and once", "RFC 3168, section 6.1.2", |_, run| {
    let cuts = run.ecn_reductions().count();
    let with_cwr: Vec<u64> = run.segments_with_cwr().map(|(_, sent)| sent.segment.seq).collect();
    ensure!(with_cwr.len() == cuts, "{cuts} cuts and CWR on {with_cwr:?}");
    for (cut, seq) in run.ecn_reductions().zip(with_cwr) {
        let high = snd_max_before(run, cut);
        ensure!(seq == high, "on {seq} after the cut when {high} was next");
    }
    Ok(())
});

const NO_RETRANSMISSION: Rule = rule("a mark retransmits nothing", "RFC 3168, section 6.1.2", |_, run| {
    let again: Vec<u64> = run.retransmissions().map(|(_, sent)| sent.segment.seq).collect();
    ensure!(again.is_empty(), "sent again: {again:?}");
    Ok(())
});

/// Checks ECE from the first marked segment until one with CWR, in the order of arrivals. An ACK follows the arrival that causes it, so it
/// shows the state after all arrivals of its time; times with both kinds of arrivals are skipped.
fn echo_is_classic(settings: &TcpSettings, run: &TransferRecord) -> RuleResult {
    if settings.ecn_echo != EchoStyle::Classic || settings.delayed_ack {
        return Ok(());
    }
    let mut on = false;
    let mut acks = run.acks.iter().filter(|sent| sent.ack.next > 1);
    for arrived in
        run.arrived.iter().filter(|arrived| arrived.segment.seq > 0 && arrived.segment.segment_type == ecnlab_transport::SegmentType::Plain)
    {
        on &= !arrived.segment.cwr;
        on |= EcnSemantics::Classic.level_of(arrived.segment.ecn).is_some();
        let Some(ack) = acks.next() else { break };
        ensure!(ack.ack.ece == on || ack.time != arrived.time, "ECE {} on {:?}, expected {on}", ack.ack.ece, ack.ack);
    }
    Ok(())
}

const ECHO: Rule = rule("ECE until CWR comes", "RFC 3168, section 6.1.3", echo_is_classic);

const NO_GROWTH: Rule = rule("no growth on an ACK with ECE", "RFC 3168, section 6.1.2", |settings, run| {
    let echoes =
        run.steps.iter().filter(|step| step.ack().is_some_and(|ack| ack.ece && ack.segment_type == ecnlab_transport::SegmentType::Plain));
    // The very first echo only confirms ECN to an ns-2 sender.
    for step in echoes.filter(|step| settings.ecn_echo == EchoStyle::Classic && step.una > 1) {
        ensure!(step.after.cwnd <= step.before.cwnd, "from {} to {} at {:?}", step.before.cwnd, step.after.cwnd, step.time);
    }
    Ok(())
});

#[test]
fn one_mark() {
    let scenario = Scenario {
        name: "one_mark",
        text: "One segment is marked. The receiver echoes it on every ACK until CWR (RFC 3168, section 6.1.3); the sender cuts once, says CWR on its\n\
               next new segment and sends nothing again (section 6.1.2).",
        members: ECN,
        plan: TransferPlan::new(80, Path::clean().mark(&[MARKED])),
        lines: 12,
    };
    check_scenario(&scenario, &[ONE_CUT, CUT_SIZE, COMES_DOWN, CWR_ONCE, NO_RETRANSMISSION, ECHO, NO_GROWTH]);
}

#[test]
fn several_marks_in_a_window() {
    let scenario = Scenario {
        name: "several_marks_in_a_window",
        text: "Four segments of a window are marked: one cut, as for one (RFC 3168, section 6.1.2).",
        members: ECN,
        plan: TransferPlan::new(80, Path::clean().mark(&[MARKED, 17, 18, 20])),
        lines: 12,
    };
    check_scenario(&scenario, &[ONE_CUT, CUT_SIZE, COMES_DOWN, CWR_ONCE, NO_RETRANSMISSION, ECHO, NO_GROWTH]);
}

#[test]
fn marks_in_two_windows() {
    let scenario = Scenario {
        name: "marks_in_two_windows",
        text: "Two segments are marked that are more than a window apart: a cut for each (RFC 3168, section 6.1.2).",
        members: ECN,
        plan: TransferPlan::new(120, Path::clean().mark(&[MARKED, 70])),
        lines: 16,
    };
    check_scenario(
        &scenario,
        &[rule("a cut for each window", "RFC 3168, section 6.1.2", |_, run| expect_reductions(run, 2)), CWR_ONCE, NO_RETRANSMISSION, ECHO],
    );
}

/// A loss and a mark of one window are one congestion event.
const ONE_THRESHOLD: Rule = rule("a loss and a mark of one window cut once", "RFC 3168, section 6.1.2", |_, run| {
    let cuts: Vec<&SenderStep> = run.ssthresh_reductions().collect();
    ensure!(cuts.len() == 1, "{} cuts at {:?}", cuts.len(), cuts.iter().map(|step| step.time.seconds()).collect::<Vec<_>>());
    Ok(())
});

const REPAIRED_FAST: Rule = rule("the loss is repaired without a timeout", "RFC 5681, section 3.2", |_, run| {
    ensure!(run.timeouts() == 0, "{} timeouts", run.timeouts());
    Ok(())
});

const NOT_CAPABLE_AGAIN: Rule = rule("retransmissions are not capable", "RFC 3168, section 6.1.5", |_, run| {
    ensure!(run.retransmissions().count() > 0, "no retransmission");
    let capable = run.retransmissions().find(|(_, sent)| sent.segment.ecn.is_capable());
    ensure!(capable.is_none(), "{:?}", capable.map(|(_, sent)| sent.segment));
    Ok(())
});

const CWR_ON_NEW: Rule = rule("CWR goes on new data", "RFC 3168, section 6.1.2", |_, run| {
    let again = run.segments_with_cwr().find(|(_, sent)| sent.segment.retransmission);
    ensure!(again.is_none(), "{:?}", again.map(|(_, sent)| sent.segment));
    Ok(())
});

#[test]
fn mark_before_a_loss_is_known() {
    let scenario = Scenario {
        name: "mark_before_a_loss_is_known",
        text: "The first duplicate brings a mark, the third shows a loss of the same window: the segment is retransmitted, there is no second cut\n\
               (RFC 3168, section 6.1.2), and the retransmission is not capable (section 6.1.5).",
        members: ECN,
        plan: TransferPlan::new(80, Path::clean().lose(&[MARKED]).mark(&[17])),
        lines: 14,
    };
    check_scenario(&scenario, &[ONE_THRESHOLD, REPAIRED_FAST, NOT_CAPABLE_AGAIN, CWR_ON_NEW]);
}

#[test]
fn mark_during_recovery() {
    let scenario = Scenario {
        name: "mark_during_recovery",
        text: "A duplicate in fast recovery brings a mark of the window that was cut for the loss: no second cut (RFC 3168, section 6.1.2).",
        members: ECN,
        plan: TransferPlan::new(80, Path::clean().lose(&[MARKED]).mark(&[21])),
        lines: 14,
    };
    check_scenario(&scenario, &[ONE_THRESHOLD, REPAIRED_FAST, NOT_CAPABLE_AGAIN, CWR_ON_NEW]);
}

#[test]
fn lost_cwr() {
    let scenario = Scenario {
        name: "lost_cwr",
        text: "The segment with CWR is lost. The receiver goes on with ECE until another comes (RFC 3168, section 6.1.3); the loss is a new sign of\n\
               congestion and brings a new CWR (section 6.1.2).",
        members: ECN,
        plan: TransferPlan::new(120, Path::clean().mark(&[MARKED]).data(PacketFilter::Cwr(1), PathAction::Drop)),
        lines: 20,
    };
    check_scenario(
        &scenario,
        &[
            ECHO,
            rule("the loss of CWR cuts again", "RFC 3168, section 6.1.2", |_, run| {
                let (_, lost) = run.segments_with_cwr().next().ok_or("no CWR")?;
                let (step, _) = run.transmission(lost.segment.seq, 2).ok_or("not sent again")?;
                let later = run.steps.iter().filter(|later| step.time <= later.time && later.una <= lost.segment.seq);
                let least = later.map(|later| later.after.ssthresh).fold(f64::MAX, f64::min);
                ensure!(least < step.before.ssthresh, "the threshold stays {least}");
                Ok(())
            }),
            rule("the echo that goes on cuts no more", "RFC 3168, section 6.1.2", |settings, run| {
                let marks = run.ecn_reductions().count();
                ensure!(marks == 1 || settings.ecn_echo != EchoStyle::Classic, "{marks} cuts for marks");
                Ok(())
            }),
            rule("CWR is sent again", "RFC 3168, section 6.1.2", |settings, run| {
                let count = run.segments_with_cwr().count();
                ensure!(count >= 2 || settings.ecn_echo != EchoStyle::Classic, "{count} with CWR");
                let last =
                    run.acks.iter().rev().find(|sent| sent.ack.segment_type == ecnlab_transport::SegmentType::Plain).ok_or("no ACK")?;
                ensure!(!last.ack.ece || settings.ecn_echo == EchoStyle::Mecn, "the echo never ends");
                Ok(())
            }),
        ],
    );
}

#[test]
fn timeout_while_an_echo_is_on() {
    let lost: Vec<u64> = (3..=40).collect();
    let scenario = Scenario {
        name: "timeout_while_an_echo_is_on",
        text: "A segment is marked and all behind it are lost. The cut for the mark lets no new segment go that could say CWR, so the echo stays on\n\
               (RFC 3168, section 6.1.3) while the timeout's retransmissions repair the window. Slow start goes on all the same (RFC 5681, section 3.1;\n\
               Linux in CA_Loss): the timeout has cut already. By section 6.1.2 a sender SHOULD NOT grow its window on ECE; the exception says why.",
        members: &[("ecn", "true"), ("initial_window", "30"), ("max_rwnd", "64"), ("tlp", "false")],
        plan: TransferPlan::new(80, Path::clean().mark(&[2]).lose(&lost)),
        lines: 16,
    };
    check_scenario(
        &scenario,
        &[
            rule("slow start repairs what a timeout has shown", "RFC 5681, section 3.1", |_, run| {
                let timeout = run.steps.iter().position(SenderStep::is_rto).ok_or("no timeout")?;
                let high = snd_max_before(run, &run.steps[timeout]);
                let repair = run.steps[timeout + 1..].iter().take_while(|step| step.una < high);
                for step in repair.filter(|step| step.una > step.una_before && step.before.cwnd < step.before.ssthresh) {
                    ensure!(step.after.cwnd > step.before.cwnd, "the window stays {} at {:?}", step.before.cwnd, step.time);
                }
                Ok(())
            }),
            NO_GROWTH,
        ],
    );
}

#[test]
fn all_marked() {
    let scenario = Scenario {
        name: "all_marked",
        text: "Every segment is marked. The window falls by a cut a round trip; at one segment the next waits for the timer (RFC 3168, section 6.1.2),\n\
               or the window stays at the minimum that the host has.",
        members: ECN,
        plan: TransferPlan::new(14, Path::clean().data(PacketFilter::All, PathAction::Mark(CongestionLevel::Congested))),
        lines: 20,
    };
    check_scenario(
        &scenario,
        &[
            rule("at one segment the timer sends", "RFC 3168, section 6.1.2", |_, run| {
                let by_timer = run.steps.iter().any(|step| step.cause == StepCause::Timer && !step.sent.is_empty());
                ensure!(by_timer, "no segment waits for the timer");
                Ok(())
            }),
            rule("no cut while the last one's round trip lasts", "RFC 3168, section 6.1.2", |_, run| {
                let cuts: Vec<&SenderStep> = run.ecn_reductions().collect();
                for pair in cuts.windows(2) {
                    let high = snd_max_before(run, pair[0]);
                    ensure!(pair[1].una >= high, "{:?} and {:?}", pair[0].time, pair[1].time);
                }
                Ok(())
            }),
        ],
    );
}

#[test]
fn mecn_levels() {
    let path = Path::clean().data(PacketFilter::Number(MARKED, 1), PathAction::Mark(CongestionLevel::Incipient));
    let path =
        Path { ecn_semantics: EcnSemantics::Mecn, ..path.data(PacketFilter::Number(60, 1), PathAction::Mark(CongestionLevel::Congested)) };
    let scenario = Scenario {
        name: "mecn_levels",
        text: "MECN: an incipient mark takes 20 % of the window, a moderate one of a later window 40 % (Durresi et al. 2001, section 2).",
        members: &[("ecn", "true"), ("ecn_response", "mecn"), ("ecn_echo", "mecn")],
        plan: TransferPlan::new(120, path),
        lines: 14,
    };
    check_scenario(
        &scenario,
        &[rule("the cut is the level's", "Durresi et al. 2001, section 2", |settings, run| {
            let cuts: Vec<&SenderStep> = run.ecn_reductions().collect();
            ensure!(cuts.len() == 2, "{} cuts", cuts.len());
            for (cut, share) in cuts.iter().zip([settings.mecn_incipient_decrease, settings.mecn_moderate_decrease]) {
                expect_ssthresh_reduced_to(run, cut, 1.0 - share)?;
            }
            Ok(())
        })],
    );
}
