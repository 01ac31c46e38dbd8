//! Retransmission timer: backoff, Karn's algorithm and the window after an RTO (RFC 6298; RFC 5681, sections 3.1 and 4.1).

use ecnlab_transport::TcpSettings;
use ecnlab_transport::settings::RecoveryName;
use ecnlab_units::{Span, Time};

use super::rule::{Scenario, check_scenario, rule};
use crate::ensure;
use crate::harness::network::TransferPlan;
use crate::harness::path::{PacketFilter, Path, PathAction};
use crate::harness::record::{SenderStep, TransferRecord};
use crate::harness::{at, millis};

/// Start and end of the outage in ms.
const OUTAGE_MS: (u64, u64) = (450, 40_000);

fn path_with_outage() -> Path {
    Path::clean().data(PacketFilter::During(at(OUTAGE_MS.0), at(OUTAGE_MS.1)), PathAction::Drop)
}

fn timeouts(run: &TransferRecord) -> Vec<&SenderStep> {
    run.steps.iter().filter(|step| step.is_rto()).collect()
}

fn intervals(run: &TransferRecord) -> Vec<Span> {
    timeouts(run).windows(2).map(|pair| pair[1].time.since(pair[0].time)).collect()
}

/// Two ticks: ns-2's timer counts whole ticks.
const TWO_TICKS_S: f64 = 0.021;

/// Lateness of a timer of `seconds` by the steps of the timer wheel: two ticks, or 8 for each 63 of them.
pub fn wheel_slack(settings: &TcpSettings, seconds: f64) -> f64 {
    if settings.quirks.timer_wheel { seconds * 8.0 / 63.0 + 2.0 * settings.quirks.tick.seconds() } else { 0.0 }
}

#[test]
fn exponential_back_off() {
    let scenario = Scenario {
        name: "exponential_back_off",
        text: "Data is lost for 40 s. Each timeout doubles the next one up to the maximum (RFC 6298, section 5.5) and sends one segment\n\
               (RFC 5681, section 3.1). The first acknowledgement afterwards is of a retransmission: no sample is taken, and without timestamps the\n\
               timer stays backed off (Karn; RFC 6298, sections 3 and 5.7).",
        members: &[],
        plan: TransferPlan::new(200, path_with_outage()),
        lines: 24,
    };
    check_scenario(
        &scenario,
        &[
            rule("each timeout doubles the next", "RFC 6298, section 5.5", |settings, run| {
                let spans = intervals(run);
                ensure!(spans.len() >= 3, "only {} timeouts", spans.len() + 1);
                for pair in spans.windows(2) {
                    let (before, after) = (pair[0].seconds(), pair[1].seconds());
                    let expected = (2.0 * before).min(settings.quirks.rto_max.seconds());
                    let late = wheel_slack(settings, expected);
                    ensure!((after - expected).abs() <= TWO_TICKS_S + late, "{before} s is followed by {after} s");
                }
                Ok(())
            }),
            rule("one segment for each timeout", "RFC 5681, section 3.1", |_, run| {
                for step in timeouts(run) {
                    let all_old = step.sent.iter().all(|sent| sent.segment.retransmission && sent.segment.seq == step.una);
                    ensure!(step.sent.len() == 1 && all_old, "{} segments at {:?}", step.sent.len(), step.time);
                }
                Ok(())
            }),
            rule("the window after a timeout is one segment", "RFC 5681, section 3.1", |_, run| {
                for step in timeouts(run) {
                    ensure!(step.after.cwnd == 1.0, "{} at {:?}", step.after.cwnd, step.time);
                }
                Ok(())
            }),
            rule("further timeouts of a segment leave the threshold", "RFC 5681, section 3.1", |_, run| {
                for pair in timeouts(run).windows(2) {
                    let (first, second) = (pair[0].after.ssthresh, pair[1].after.ssthresh);
                    ensure!(first == second, "{first} becomes {second} at {:?}", pair[1].time);
                }
                Ok(())
            }),
            rule("the threshold is at least two segments", "RFC 5681, section 3.1, equation 4", |_, run| {
                let least = run.steps.iter().map(|step| step.after.ssthresh).fold(f64::MAX, f64::min);
                ensure!(least >= 2.0, "{least}");
                Ok(())
            }),
            rule("no sample of a retransmission", "RFC 6298, section 3", |settings, run| {
                let last = timeouts(run).last().map_or(Time::ZERO, |step| step.time);
                let first = run.steps.iter().find(|step| step.time > last && step.una > step.una_before).ok_or("no acknowledgement")?;
                let backed_off = intervals(run).last().copied().unwrap_or_default();
                let timer = first.timer.map_or(Span::ZERO, |timer| timer.since(first.time));
                let keeps = timer.seconds() + TWO_TICKS_S >= backed_off.seconds();
                let own_timers = settings.recovery == RecoveryName::Rack;
                ensure!(settings.timestamps || own_timers || keeps, "{} s after {} s", timer.seconds(), backed_off.seconds());
                Ok(())
            }),
        ],
    );
}

/// 40 segments, five seconds, 40 more.
fn plan_with_pause() -> TransferPlan {
    TransferPlan { later: vec![(at(8000), 40)], ..TransferPlan::new(40, Path::clean()) }
}

#[test]
fn idle_restart() {
    let scenario = Scenario {
        name: "idle_restart",
        text: "After seconds with nothing to send, no more than the restart window goes at once: the initial window or less (RFC 5681, section 4.1).",
        members: &[],
        plan: plan_with_pause(),
        lines: 40,
    };
    check_scenario(
        &scenario,
        &[rule("a restart window after an idle time", "RFC 5681, section 4.1", |settings, run| {
            let burst: usize = run
                .steps
                .iter()
                .filter(|step| step.time.since(at(8000)) < millis(90) && step.time >= at(8000))
                .map(|step| step.sent.len())
                .sum();
            ensure!((1..=settings.initial_window as usize).contains(&burst), "{burst} segments at once");
            Ok(())
        })],
    );
}

#[test]
fn a_delayed_path_is_learned() {
    let scenario = Scenario {
        name: "late_acknowledgements",
        text: "All acknowledgements of a window come 1 s late, once. Timeouts are spurious; the estimate follows the longer round trip and\n\
               everything arrives (RFC 6298, section 2).",
        members: &[],
        plan: TransferPlan::new(60, Path::clean().acks(PacketFilter::During(at(300), at(400)), PathAction::Delay(millis(1000)))),
        lines: 16,
    };
    check_scenario(
        &scenario,
        &[rule("the timeout is never below the minimum", "RFC 6298, section 2.4", |settings, run| {
            for step in timeouts(run) {
                let sent = run.sent().filter(|(other, one)| other.time < step.time && one.segment.seq == step.una).last();
                let waited = sent.map_or(Span::ZERO, |(other, _)| step.time.since(other.time));
                ensure!(waited >= settings.rto_min, "{} s", waited.seconds());
            }
            Ok(())
        })],
    );
}
