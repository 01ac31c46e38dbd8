//! Random streams are derived from names: adding other parts to a network does not shift any draws.

mod reading;

use ecnlab_sim::{NoProbe, Probe, Recorder, RecordingConfig, Run, RunTimesAndSeed, Simulation};
use ecnlab_units::{Span, Time};

/// Two disjoint parts, each with every random role: a queue, losses in both directions, random delays, clock phases and gaps.
const DISJOINT: &str = r#"
name = "two parts"
duration = "12 s"

[[link]]
name = "left"
from = "a"
to = "b"
rate = "3 Mbps"
delay = "20 ms"
loss = 0.002
reverse = { loss = 0.002 }
queue = { aqm = "red", limit = 60, min_th = 5, max_th = 20 }

[[link]]
name = "right"
from = "c"
to = "d"
rate = "3 Mbps"
delay = "20 ms"
loss = 0.002
reverse = { loss = 0.002 }
queue = { aqm = "red", limit = 60, min_th = 5, max_th = 20 }

[[flows]]
name = "left flows"
count = 5
to = "b"
access = { to = "a", rate = "10 Mbps", delay = "5 ms", spread = "2 ms" }
tcp = { profile = "ns2" }
app = { kind = "transactions", bytes = "60 KB", gap = "200 ms", gap_distribution = "exponential" }

[[flows]]
name = "right flows"
count = 5
to = "d"
access = { to = "c", rate = "10 Mbps", delay = "5 ms", spread = "2 ms" }
tcp = { profile = "ns2" }
app = { kind = "transactions", bytes = "60 KB", gap = "200 ms", gap_distribution = "exponential" }
"#;

const UNUSED_LINK: &str = r#"
[[link]]
name = "unused"
from = "e"
to = "f"
rate = "1 Mbps"
delay = "1 ms"
queue = { aqm = "droptail", limit = 10 }
"#;

fn run_to_end(text: &str, overrides: &[(&str, &str)], seed: u64, probe: impl Probe) -> Run {
    let scenario = reading::read(text, overrides).unwrap_or_else(|problems| panic!("{problems:?}"));
    let duration = Time::ZERO + scenario.duration;
    let options = RunTimesAndSeed { duration, measure_from: Time::ZERO, seed };
    Simulation::new(&scenario.network, &options, probe).finish().0
}

/// Measures of the flows of one group.
fn flow_measures(text: &str, overrides: &[(&str, &str)], group: f64) -> Vec<[u64; 4]> {
    let run = run_to_end(text, overrides, 7, NoProbe);
    let column = |name: &str| run.report.column_as_reals("flows", name);
    let columns = ["goodput_bps", "delay_mean_s", "sent", "transaction_mean_s"].map(column);
    let rows = column("group").into_iter().enumerate().filter(|(_, of)| *of == group);
    rows.map(|(row, _)| columns.each_ref().map(|values| values[row].to_bits())).collect()
}

#[test]
fn another_flow_shifts_no_draw_of_a_part_that_it_does_not_touch() {
    let expected = flow_measures(DISJOINT, &[], 1.0);
    assert_eq!(5, expected.len());
    assert_eq!(expected, flow_measures(DISJOINT, &[("flows.0.count", "6")], 1.0));
    assert_ne!(flow_measures(DISJOINT, &[], 0.0), flow_measures(DISJOINT, &[("flows.0.count", "6")], 0.0)[..5]);
}

#[test]
fn another_link_and_another_title_shift_no_draw() {
    let expected = flow_measures(DISJOINT, &[], 1.0);
    assert_eq!(expected, flow_measures(&format!("{DISJOINT}{UNUSED_LINK}"), &[("name", "other")], 1.0));
}

#[test]
fn the_two_parts_draw_from_streams_of_their_own() {
    assert_ne!(flow_measures(DISJOINT, &[], 0.0), flow_measures(DISJOINT, &[], 1.0));
}

#[test]
fn the_fingerprint_says_what_happened_and_not_what_was_recorded() {
    let plain = run_to_end(DISJOINT, &[], 7, NoProbe);
    let recording = RecordingConfig { queue_interval: Some(Span::from_millis(10)), events: true, ..RecordingConfig::default() };
    let sampled = run_to_end(DISJOINT, &[], 7, Recorder::new(recording, Time::ZERO + Span::from_secs(12)));
    assert_eq!((plain.fingerprint, plain.events), (sampled.fingerprint, sampled.events));
    assert_ne!(plain.fingerprint, run_to_end(DISJOINT, &[], 8, NoProbe).fingerprint);
}
