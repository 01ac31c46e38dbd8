//! Private links of flows at both ends: parameters by lists and by distributions, and their effect on RTTs.

mod reading;

use ecnlab_scenario::{Problem, Registry, Scenario, no_files};
use ecnlab_sim::{NoProbe, Run, RunTimesAndSeed, Simulation};
use ecnlab_units::Time;

const ENDS: &str = r#"name = "ends"
duration = "2 s"

[[link]]
name = "middle"
from = "a"
to = "b"
rate = "1 Gbps"
delay = "10 ms"
queue = { aqm = "droptail", limit = 1000 }

[[flows]]
name = "drawn"
count = 6
access = { to = "a", rate = "1 Gbps", delay = "1 ms" }
exit = { from = "b", rate = "1 Gbps", delay = "2 ms" }
tcp = { profile = "ns2" }
app = { kind = "file", packets = 3 }
"#;

fn read(overrides: &[(&str, &str)]) -> Result<Scenario, Vec<Problem>> {
    reading::read(ENDS, overrides)
}

fn read_valid(overrides: &[(&str, &str)]) -> Scenario {
    read(overrides).unwrap_or_else(|problems| panic!("{overrides:?}: {problems:?}"))
}

fn run(overrides: &[(&str, &str)], seed: u64) -> Run {
    let scenario = read_valid(overrides);
    let options = RunTimesAndSeed { duration: Time::ZERO + scenario.duration, measure_from: Time::ZERO, seed };
    Simulation::new(&scenario.network, &options, NoProbe).finish().0
}

/// RTTs of the flows over empty links in milliseconds, less the transmission times of packets of 1000 and 40 bytes over three links: 24.96
/// us.
fn delays_ms(overrides: &[(&str, &str)], seed: u64) -> Vec<f64> {
    const TRANSMISSIONS: f64 = 3.0 * (1000.0 + 40.0) * 8.0 / 1e9;
    run(overrides, seed).report.column_as_reals("flows", "base_rtt_s").into_iter().map(|rtt| (rtt - TRANSMISSIONS) * 1e3).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn a_flow_has_links_of_its_own_at_both_ends_and_back() {
    let scenario = read_valid(&[]);
    let name = |link: &u32| scenario.network.links[*link as usize].name.to_string();
    let flow = &scenario.network.flows[4];
    assert_eq!(["access forward 4 drawn", "forward middle", "exit forward 4 drawn"], flow.forward.iter().map(name).collect::<Vec<_>>()[..]);
    assert_eq!(["exit back 4 drawn", "back middle", "access back 4 drawn"], flow.back.iter().map(name).collect::<Vec<_>>()[..]);
    assert!(delays_ms(&[], 1).iter().all(|delay| (delay - 26.0).abs() < 1e-9), "2 (1 + 10 + 2) ms");
    assert_eq!(
        vec![1.0; 6],
        run(&[], 1).report.column_as_reals("flows", "completion_s").iter().map(|end| f64::from(*end < 1.0)).collect::<Vec<_>>()
    );
}

#[test]
fn lists_are_dealt_out_in_turn() {
    let delays =
        delays_ms(&[("flows.drawn.access.delay", "[\"1 ms\", \"3 ms\"]"), ("flows.drawn.exit.delay", "[\"2 ms\", \"4 ms\", \"6 ms\"]")], 1);
    let expected = [26.0, 34.0, 34.0, 30.0, 30.0, 38.0];
    assert!(delays.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-9), "{delays:?}");
    let links = read_valid(&[("flows.drawn.access.rate", "[\"1 Mbps\", \"2 Mbps\"]"), ("flows.drawn.access.limit", "[5, 6, 7]")])
        .network
        .links
        .clone();
    let access = |member: usize| &links[2 + 4 * member];
    assert_eq!([1, 2, 1, 2].map(|mbps| mbps * 1_000_000), [0, 1, 2, 3].map(|member| access(member).rate.bps()));
    assert!((0..6).all(|member| format!("{:?}", access(member).buffer).contains(&format!("limit: {}", 5 + member % 3))));
}

#[test]
fn a_delay_is_drawn_for_each_flow_from_its_distribution_and_shows_in_its_round_trip_time() {
    let many = ("flows.drawn.count", "4000");
    for (delay, mean_ms, deviation_ms) in
        [("uniform 20 ms to 60 ms", 40.0, 40.0 / 12f64.sqrt()), ("normal 40 ms, deviation 5 ms", 40.0, 5.0)]
    {
        let access: Vec<f64> = delays_ms(&[many, ("flows.drawn.access.delay", delay)], 1).iter().map(|rtt| rtt / 2.0 - 12.0).collect();
        let spread = (access.iter().map(|x| (x - mean(&access)).powi(2)).sum::<f64>() / 4000.0).sqrt();
        assert!((mean(&access) - mean_ms).abs() < 4.0 * deviation_ms / 4000f64.sqrt(), "{delay}: mean {}", mean(&access));
        assert!((spread / deviation_ms - 1.0).abs() < 0.05, "{delay}: deviation {spread}");
    }
    let access = delays_ms(&[many, ("flows.drawn.access.delay", "normal 1 ms, deviation 2 ms")], 1);
    assert!(access.iter().all(|rtt| *rtt >= 24.0), "cut at zero");
}

#[test]
fn another_flow_another_end_and_another_seed_draw_by_themselves() {
    let drawn = ("flows.drawn.access.delay", "normal 40 ms, deviation 5 ms");
    let six = delays_ms(&[drawn], 1);
    assert_eq!(six, delays_ms(&[drawn, ("flows.drawn.count", "9")], 1)[..6]);
    assert_ne!(six, delays_ms(&[drawn], 2));
    let both = delays_ms(&[drawn, ("flows.drawn.exit.delay", "normal 40 ms, deviation 5 ms")], 1);
    let exit: Vec<f64> = both.iter().zip(&six).map(|(both, access)| (both - access) / 2.0 + 2.0).collect();
    let access: Vec<f64> = six.iter().map(|rtt| rtt / 2.0 - 12.0).collect();
    assert!(access.iter().zip(&exit).all(|(access, exit)| (access - exit).abs() > 1e-3), "{access:?} {exit:?}");
}

#[test]
fn the_smallest_round_trip_time_that_is_measured_is_that_of_the_drawn_links() {
    let run = run(&[("flows.drawn.access.delay", "uniform 5 ms to 50 ms")], 3);
    let [base, least] = ["base_rtt_s", "rtt_min_s"].map(|column| run.report.column_as_reals("flows", column));
    assert!(base.iter().zip(&least).all(|(base, least)| (least - base).abs() < 1e-4), "{base:?} {least:?}");
}

#[test]
fn ends_read_back_as_the_same_scenario() {
    let set = [("flows.drawn.access.delay", "[\"1 ms\", \"normal 40 ms, deviation 5 ms\"]"), ("flows.drawn.exit.spread", "1 ms")];
    let scenario = read_valid(&set);
    let again = Scenario::from_json(&scenario.resolved.to_string(), &[], &Registry::builtin(), &no_files).unwrap();
    assert_eq!((scenario.hash(), scenario.resolved), (again.hash(), again.resolved));
}

#[test]
fn one_mistake_at_an_end_is_one_problem_at_its_place() {
    let cases = [
        ("flows.drawn.to", "b", "flows.drawn.to", "a flow with exit ends where its exit link begins; fix: leave out to"),
        ("flows.drawn.from", "a", "flows.drawn.from", "a flow with access starts where its access link leads; fix: leave out from"),
        ("flows.drawn.exit", "{ from = \"c\", rate = \"1 Mbps\", delay = \"1 ms\" }", "flows.drawn.exit", "unknown node \"c\""),
        ("flows.drawn.exit", "{ from = \"b\", delay = \"1 ms\" }", "flows.drawn.exit.rate", "is missing"),
        ("flows.drawn.exit", "5", "flows.drawn.exit", "must be a table, as in exit = { from"),
        ("flows.drawn.access.delay", "normal 5 ms", "flows.drawn.access.delay", "must have a deviation"),
        ("flows.drawn.access.delay", "[]", "flows.drawn.access.delay", "must not be empty"),
        ("flows.drawn.access.to", "b", "flows.drawn.exit", "no links lead from \"b\" to \"b\""),
    ];
    for (path, value, place, said) in cases {
        let problems = read(&[(path, value)]).unwrap_err();
        assert_eq!(vec![place], problems.iter().map(|problem| problem.place.as_str()).collect::<Vec<_>>(), "{path}: {problems:?}");
        assert!(problems[0].message.contains(said), "{path}: {problems:?}");
    }
    let without = ENDS.replace("exit =", "# exit =");
    let problems = Scenario::from_toml(&without, &[], &Registry::builtin(), &no_files).unwrap_err();
    assert_eq!(("flows.drawn.to", 1), (problems[0].place.as_str(), problems.len()));
    assert!(problems[0].message.contains("is missing; fix: give it as to = \"sink\", or give exit"), "{problems:?}");
}
