//! Losses, lost retransmissions, lost ACKs and reordering (RFC 5681, section 3.2; RFC 6582; RFC 6675; RFC 8985; RFC 3042).

use ecnlab_transport::congestion::{CongestionControl, CongestionController};
use ecnlab_transport::settings::RecoveryName;
use ecnlab_transport::{HostClock, TcpSettings};
use ecnlab_units::{Rate, Span};

use super::rule::{Rule, RuleResult, Scenario, check_scenario, rule};
use crate::ensure;
use crate::harness::network::TransferPlan;
use crate::harness::path::{PacketFilter, Path, PathAction};
use crate::harness::record::{SenderStep, TransferRecord};
use crate::harness::{at, millis};

/// First lost segment in every scenario of this file.
const LOST: u64 = 16;

/// Multiplicative decrease factor for a loss.
pub fn loss_beta(settings: &TcpSettings) -> f64 {
    CongestionController::new(settings, HostClock::new(settings, Span::ZERO)).loss_beta()
}

/// One past the highest segment sent before a step.
pub fn snd_max_before(run: &TransferRecord, step: &SenderStep) -> u64 {
    let earlier = run.steps.iter().take_while(|other| !std::ptr::eq(*other, step));
    earlier.flat_map(|other| &other.sent).map(|sent| sent.segment.seq + 1).max().unwrap_or(0)
}

/// Checks that ssthresh after a reduction is the factor times cwnd or FlightSize, at least two segments.
pub fn expect_ssthresh_reduced_to(run: &TransferRecord, step: &SenderStep, keep: f64) -> RuleResult {
    let flight = (snd_max_before(run, step) - step.una_before) as f64;
    let (least, most) = (step.before.cwnd.min(flight), step.before.cwnd.max(flight));
    let found = step.after.ssthresh;
    let fits = (keep * least - 1.0).floor() <= found && found <= (keep * most).max(2.0);
    ensure!(fits, "threshold {found} of a window of {:.2} with {flight} in flight, to keep {keep}", step.before.cwnd);
    Ok(())
}

pub const NO_TIMEOUT: Rule = rule("no timeout", "RFC 5681, section 3.2", |_, run| {
    ensure!(run.timeouts() == 0, "{} timeouts", run.timeouts());
    Ok(())
});

const ONE_CUT: Rule = rule("one cut, to the share that is kept", "RFC 5681, section 3.2, equation 4", |settings, run| {
    let cuts: Vec<&SenderStep> = run.ssthresh_reductions().collect();
    ensure!(cuts.len() == 1, "{} cuts at {:?}", cuts.len(), cuts.iter().map(|step| step.time.seconds()).collect::<Vec<_>>());
    expect_ssthresh_reduced_to(run, cuts[0], loss_beta(settings))
});

const NO_REACTION: Rule = rule("no retransmission and no cut", "RFC 5681, section 3.2", |_, run| {
    let again: Vec<u64> = run.retransmissions().map(|(_, sent)| sent.segment.seq).collect();
    ensure!(again.is_empty(), "sent again: {again:?}");
    ensure!(run.ssthresh_reductions().count() == 0, "the window was cut");
    Ok(())
});

/// Checks that exactly these segments are sent twice and all others once.
fn only_retransmitted(run: &TransferRecord, seqs: &[u64]) -> RuleResult {
    let mut again: Vec<u64> = run.retransmissions().map(|(_, sent)| sent.segment.seq).collect();
    again.sort_unstable();
    ensure!(again == seqs, "sent again: {again:?}");
    Ok(())
}

#[test]
fn one_loss() {
    let scenario = Scenario {
        name: "one_loss",
        text: "One segment is lost. The third duplicate retransmits it and cuts the window once (RFC 5681, section 3.2);\n\
               a new segment may go on each of the first two (RFC 3042); nothing waits for the timer.",
        members: &[("max_rwnd", "64")],
        plan: TransferPlan::new(120, Path::clean().lose(&[LOST])),
        lines: 14,
    };
    check_scenario(
        &scenario,
        &[
            rule("retransmitted at the third duplicate", "RFC 5681, section 3.2", |settings, run| {
                let Some((step, _)) = run.transmission(LOST, 2) else { return Err("never".to_owned()) };
                // If an ACK was delayed, the first one of the gap is not a duplicate, but its SACK block shows the gap.
                let shows =
                    |one: &SenderStep| one.una == LOST && (one.is_duplicate() || one.ack().is_some_and(|ack| !ack.sacks.is_empty()));
                let duplicate = run.steps.iter().take_while(|one| !std::ptr::eq(*one, step)).filter(|one| shows(one)).count() as u32 + 1;
                ensure!(duplicate == settings.dupthresh, "at duplicate {duplicate}");
                Ok(())
            }),
            NO_TIMEOUT,
            ONE_CUT,
            rule("only the lost segment is sent again", "RFC 5681, section 3.2", |_, run| only_retransmitted(run, &[LOST])),
            rule("recovery ends at the threshold", "RFC 5681, section 3.2, step 6", |_, run| {
                let cut = run.ssthresh_reductions().next().ok_or("no cut")?;
                let high = snd_max_before(run, cut);
                let end = run.steps.iter().find(|step| step.una >= high).ok_or("never left")?;
                let (cwnd, ssthresh) = (end.after.cwnd, end.after.ssthresh);
                ensure!((ssthresh - 1.0..=ssthresh + 2.0).contains(&cwnd), "window {cwnd} and threshold {ssthresh}");
                Ok(())
            }),
            rule("a new segment for each of the first two duplicates", "RFC 3042, section 2", |settings, run| {
                let duplicates = run.steps.iter().filter(|step| step.is_duplicate() && step.una == LOST).take(2);
                let sent: usize = duplicates.map(|step| step.sent.len()).sum();
                ensure!(sent == if settings.quirks.limited_transmit { 2 } else { 0 }, "{sent} segments");
                Ok(())
            }),
        ],
    );
}

const SEVERAL: [u64; 3] = [LOST, 18, 20];

#[test]
fn several_losses() {
    let scenario = Scenario {
        name: "several_losses",
        text: "Three segments of one window are lost. They are one sign of congestion: one cut (RFC 5681, section 4.3), each is sent once more,\n\
               one in a round trip after partial acknowledgements (RFC 6582) or as the scoreboard shows them (RFC 6675, section 5).",
        members: &[("max_rwnd", "64")],
        plan: TransferPlan::new(120, Path::clean().lose(&SEVERAL)),
        lines: 18,
    };
    check_scenario(
        &scenario,
        &[
            NO_TIMEOUT,
            ONE_CUT,
            rule("each lost segment is sent once more and nothing else", "RFC 6582, section 3.2", |_, run| {
                only_retransmitted(run, &SEVERAL)
            }),
        ],
    );
}

#[test]
fn lost_retransmission() {
    let path = Path::clean().lose(&[LOST]).data(PacketFilter::Number(LOST, 2), PathAction::Drop);
    let scenario = Scenario {
        name: "lost_retransmission",
        text: "A segment and its retransmission are lost. Duplicates and SACK blocks do not show the second loss: the timer repairs it\n\
               (RFC 6675, section 5.1). RACK sees that later segments have arrived (RFC 8985, section 3.1).",
        members: &[],
        plan: TransferPlan::new(80, path),
        lines: 22,
    };
    check_scenario(
        &scenario,
        &[
            rule("the timer repairs it", "RFC 6675, section 5.1", |_, run| {
                ensure!(run.timeouts() > 0, "no timeout");
                Ok(())
            }),
            rule("the threshold comes down at most once a loss", "RFC 5681, section 4.3", |_, run| {
                let cuts = run.ssthresh_reductions().count();
                ensure!((1..=2).contains(&cuts), "{cuts} cuts");
                Ok(())
            }),
        ],
    );
}

#[test]
fn lost_acknowledgements() {
    let path =
        [12, 13, 18, 20, 22, 24].iter().fold(Path::clean(), |path, &next| path.acks(PacketFilter::Number(next, 1), PathAction::Drop));
    let scenario = Scenario {
        name: "lost_acknowledgements",
        text: "Acknowledgements are lost. They are cumulative: later ones make up for them, nothing is sent again (RFC 9293, section 3.4).",
        members: &[],
        plan: TransferPlan::new(80, path),
        lines: 9,
    };
    check_scenario(&scenario, &[NO_REACTION, NO_TIMEOUT]);
}

/// 1000 bytes per millisecond: a window is spread over time, so that only a few segments overtake a late one.
fn path_with_late_segment(late: u64) -> Path {
    let path = Path { rate: Rate::from_bps(8_000_000), ..Path::clean() };
    path.data(PacketFilter::Number(LOST, 1), PathAction::Delay(millis(late)))
}

#[test]
fn reordering_below_the_threshold() {
    let scenario = Scenario {
        name: "reordering_below_the_threshold",
        text: "A segment is overtaken by two others. Two duplicates are no loss (RFC 5681, section 3.2).",
        members: &[("packet_size", "1000 B")],
        plan: TransferPlan::new(60, path_with_late_segment(2)),
        lines: 0,
    };
    check_scenario(&scenario, &[NO_REACTION, NO_TIMEOUT]);
}

#[test]
fn reordering_above_the_threshold() {
    let scenario = Scenario {
        name: "reordering_above_the_threshold",
        text: "A segment is overtaken by all of its window. Three duplicates cannot be told from a loss (RFC 5681, section 3.2): it is sent once more\n\
               and the window is cut once.",
        members: &[],
        plan: TransferPlan::new(80, Path::clean().data(PacketFilter::Number(LOST, 1), PathAction::Delay(millis(30)))),
        lines: 14,
    };
    check_scenario(
        &scenario,
        &[
            ONE_CUT,
            NO_TIMEOUT,
            rule("only the late segment is sent again", "RFC 5681, section 3.2", |_, run| only_retransmitted(run, &[LOST])),
        ],
    );
}

#[test]
fn retransmission_faster_than_the_first_flight() {
    let scenario = Scenario {
        name: "retransmission_faster_than_the_first_flight",
        text: "A segment and the last two are lost on a link of 10 Mbit/s with delayed acknowledgements. The retransmission finds the link idle and is\n\
               acknowledged at once, sooner than any segment of the first flight, but no sooner than the SYN: it counts as delivered, so what was sent\n\
               before it and has not arrived is lost (RFC 8985, section 6.2, steps 1, 2 and 5).",
        members: &[
            ("recovery", "rack"),
            ("handshake", "three-way"),
            ("fin", "true"),
            ("fin_on_data", "false"),
            ("delayed_ack", "true"),
            ("initial_window", "30"),
            ("max_rwnd", "64"),
        ],
        plan: {
            let path = Path { rate: Rate::from_bps(10_000_000), delay: millis(25), ..Path::clean() };
            TransferPlan::new(20, path.lose(&[6, 20, 21]))
        },
        lines: 26,
    };
    check_scenario(
        &scenario,
        &[rule("what was sent before a delivered retransmission is lost", "RFC 8985, section 6.2", |_, run| {
            ensure!(run.timeouts() == 0, "{} timeouts", run.timeouts());
            only_retransmitted(run, &[6, 20, 21])
        })],
    );
}

#[test]
fn tail_loss() {
    let scenario = Scenario {
        name: "tail_loss",
        text: "The last segments of data are lost: too few duplicates come. The timer repairs it (RFC 5681, section 3.1),\n\
               or a probe draws an acknowledgement (RFC 8985, section 7).",
        members: &[("fin", "false")],
        plan: TransferPlan::new(40, Path::clean().lose(&[39, 40])),
        lines: 14,
    };
    check_scenario(
        &scenario,
        &[
            rule("the timer repairs it, or a probe", "RFC 5681, section 3.1; RFC 8985, section 7", |settings, run| {
                let probes = settings.recovery == RecoveryName::Rack && settings.tlp && settings.offers_sack();
                ensure!((run.timeouts() > 0) != probes, "{} timeouts", run.timeouts());
                Ok(())
            }),
            rule("after a timeout slow start begins at one segment", "RFC 5681, section 3.1", |_, run| {
                let collapsed = run.steps.iter().filter(|step| step.is_rto()).all(|step| step.after.cwnd == 1.0);
                ensure!(collapsed, "the window is not one after a timeout");
                Ok(())
            }),
        ],
    );
}

#[test]
fn a_dead_path_comes_back() {
    let scenario = Scenario {
        name: "dead_path",
        text: "Nothing passes in either direction for two seconds. The timer sends one segment at a time (RFC 5681, section 3.1) and doubles\n\
               (RFC 6298, section 5.5); then slow start goes up to the threshold.",
        members: &[],
        plan: {
            let during = PacketFilter::During(at(450), at(2450));
            TransferPlan::new(80, Path::clean().data(during, PathAction::Drop).acks(during, PathAction::Drop))
        },
        lines: 24,
    };
    check_scenario(
        &scenario,
        &[rule("one segment for each timeout", "RFC 5681, section 3.1", |_, run| {
            for step in run.steps.iter().filter(|step| step.is_rto()) {
                ensure!(step.sent.len() == 1, "{} segments at {:?}", step.sent.len(), step.time);
            }
            Ok(())
        })],
    );
}
