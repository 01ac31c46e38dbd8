//! What the papers of BLUE, SRED, FRED and REM say of their behaviour, asked of runs.

#[allow(dead_code, reason = "each test needs its own part of it")]
mod common;

use std::sync::Arc;

use common::{options, pipe, queue_link, run_off};
use ecnlab_queue::{Limit, Registry};
use ecnlab_sim::{FlowSpec, Network, Run};
use ecnlab_transport::source::ENDLESS;
use ecnlab_transport::{Demand, Settings, Traffic, profile};
use ecnlab_units::{Span, Time};

/// So many long flows over one link of 10 Mbps with this AQM; the last of them have the longer way.
fn run(aqm: &str, values: &[(&str, &str)], packets: u32, flows: u32, far: u32, ecn: bool) -> Run {
    let aqm = Registry::builtin().choose(aqm, values).unwrap();
    let tcp = Arc::new(Settings { ecn, ..profile::settings("ns2") });
    let flow = |member| FlowSpec {
        group: u32::from(member >= flows - far),
        member,
        forward: if member < flows - far { vec![0] } else { vec![1, 0] },
        back: vec![2],
        tcp: tcp.clone(),
        traffic: Traffic::once(Demand::segments(ENDLESS)),
        start: Time::ZERO + Span::from_millis(50) * u64::from(member),
        boot: None,
    };
    let bottleneck = queue_link(10_000, 5_000, "bottleneck", aqm.entry, aqm.values, Limit::Packets(packets));
    let links = vec![bottleneck, pipe(100_000, 80_000, 1000), pipe(10_000, 20_000, 1000)];
    let network = Network { links, flows: (0..flows).map(flow).collect(), groups: vec!["near".into(), "far".into()] };
    let options = ecnlab_sim::Options { measure_from: Time::ZERO + Span::from_secs(30), ..options(90, 1) };
    run_off(&network, &options)
}

fn queue(run: &Run, column: &str) -> f64 {
    run.report.reals("queues", column)[0]
}

#[test]
fn explore() {
    for ecn in [true, false] {
        for (aqm, values) in [
            ("rem", &[][..]),
            ("sred", &[][..]),
            ("sred", &[("full", "false")]),
            ("blue", &[]),
            ("blue", &[("threshold", "40")]),
            ("fred", &[]),
            ("ecn", &[("min_th", "15"), ("max_th", "45")]),
            ("droptail", &[]),
        ] {
            for flows in [5, 20, 60, 150] {
                let run = run(aqm, values, 60, flows, flows / 2, ecn);
                let per_s = run.report.reals("flows", "goodput_bps");
                let half = per_s.len() - flows as usize / 2;
                let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
                println!(
                    "ecn {ecn} {aqm} {values:?} {flows} flows: length {:.1} used {:.3} marks {} drops {} ({} overflow) of {} far/near {:.2} jain {:.3}",
                    queue(&run, "length_mean_packets"),
                    queue(&run, "utilisation"),
                    queue(&run, "marks"),
                    queue(&run, "drops"),
                    queue(&run, "drops_overflow"),
                    queue(&run, "arrivals"),
                    mean(&per_s[half..]) / mean(&per_s[..half]),
                    run.report.reals("total", "jain_goodput")[0]
                );
            }
        }
    }
}
