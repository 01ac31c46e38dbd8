//! Topologies: their links and hosts, overrides, and problems.

mod reading;

use ecnlab_scenario::registry::registry;
use ecnlab_scenario::{Problem, Registry, Scenario, no_files};
use ecnlab_sim::{NoProbe, Run, RunTimesAndSeed, Simulation};
use ecnlab_units::Time;
use reading::read;

const DUMBBELL: &str = r#"name = "short"
duration = "5 s"

[network]
topology = "dumbbell"
rate = "10 Mbps"
delay = "20 ms"
queue = { aqm = "ecn", limit = 120, min_th = 10, max_th = 30 }
host_delay = ["1 ms", "5 ms"]

[[flows]]
name = "there"
count = 3
from = "left"
to = "right"
tcp = { profile = "ns2", ecn = true }

[[flows]]
name = "home"
from = "right"
to = "left"
tcp = { profile = "ns2", ecn = false }
"#;

const PARKING_LOT: &str = r#"name = "four routers"
duration = "5 s"

[network]
topology = "parking-lot"
rate = "10 Mbps"
delay = "5 ms"
queue = { aqm = "ecn", limit = 120 }
cross = { name = "cross", count = 2, tcp = { profile = "ns2", ecn = true } }

[[flows]]
name = "long"
count = 4
from = "h0"
to = "h3"
tcp = { profile = "ns2", ecn = true }
"#;

fn read_valid(text: &str, overrides: &[(&str, &str)]) -> Scenario {
    read(text, overrides).unwrap_or_else(|problems| panic!("{overrides:?}: {problems:?}"))
}

fn run(scenario: &Scenario) -> Run {
    let options = RunTimesAndSeed { duration: Time::ZERO + scenario.duration, measure_from: Time::ZERO, seed: 1 };
    Simulation::new(&scenario.network, &options, NoProbe).finish().0
}

/// Forward route of a flow, by the names of the links.
fn route_of_flow(scenario: &Scenario, flow: usize) -> String {
    let links = scenario.network.flows[flow].forward.iter().map(|&link| scenario.network.links[link as usize].name.to_string());
    links.collect::<Vec<_>>().join(", ")
}

#[test]
fn a_dumbbell_is_as_if_its_link_and_its_hosts_were_written_out() {
    const WRITTEN_OUT: &str = r#"name = "long"
    duration = "5 s"
    link = [{ name = "bottleneck", from = "r1", to = "r2", rate = "10 Mbps", delay = "20 ms", queue = { aqm = "ecn", limit = 120, min_th = 10, max_th = 30 } }]

    [[flows]]
    name = "there"
    count = 3
    access = { to = "r1", rate = "1 Gbps", delay = ["1 ms", "5 ms"] }
    exit = { from = "r2", rate = "1 Gbps", delay = ["1 ms", "5 ms"] }
    tcp = { profile = "ns2", ecn = true }

    [[flows]]
    name = "home"
    access = { to = "r2", rate = "1 Gbps", delay = ["1 ms", "5 ms"] }
    exit = { from = "r1", rate = "1 Gbps", delay = ["1 ms", "5 ms"] }
    tcp = { profile = "ns2", ecn = false }
    "#;
    let [short, long] = [DUMBBELL, WRITTEN_OUT].map(|text| read_valid(text, &[]));
    assert_eq!(long.hash(), short.hash());
    assert_eq!(Vec::<Problem>::new(), short.warnings);
    assert_eq!("access forward 1 there, forward bottleneck, exit forward 1 there", route_of_flow(&short, 1));
    assert_eq!("access forward 0 home, back bottleneck, exit forward 0 home", route_of_flow(&short, 3));
}

#[test]
fn what_is_in_force_is_the_network_that_was_made_and_reads_as_the_same_scenario() {
    for text in [DUMBBELL, PARKING_LOT] {
        let scenario = read_valid(text, &[]);
        assert!(scenario.resolved.get("network").is_none() && scenario.resolved["link"][0]["name"].is_string());
        let again = Scenario::from_json(&scenario.resolved.to_string(), &[], &Registry::builtin(), &no_files).unwrap();
        assert_eq!((scenario.hash(), scenario.resolved), (again.hash(), again.resolved));
    }
}

#[test]
fn what_a_shape_made_may_be_overridden_and_so_may_the_topology() {
    let link = |overrides: &[(&str, &str)]| read_valid(DUMBBELL, overrides).resolved["link"][0].clone();
    assert_eq!(0.5, link(&[("link.bottleneck.queue.max_p", "0.5")])["queue"]["max_p"]);
    assert_eq!("2000000 bps", link(&[("network.rate", "2 Mbps")])["rate"]);
    assert_eq!("3000000 bps", link(&[("link.bottleneck.rate", "3 Mbps"), ("network.rate", "2 Mbps")])["rate"]);
    let cross = read_valid(PARKING_LOT, &[("network.cross.count", "7"), ("flows.cross2.count", "1"), ("network.hops", "4")]);
    assert_eq!(["cross1", "cross2", "cross3", "cross4", "long"], cross.groups[..]);
    let count = |group: u32| cross.network.flows.iter().filter(|flow| flow.group == group).count();
    assert_eq!([7, 1, 7, 7, 4], [0, 1, 2, 3, 4].map(count));
}

#[test]
fn links_of_the_file_stand_beside_those_of_the_shape_and_over_one_of_the_same_name() {
    let more = r#"
[[link]]
name = "bottleneck"
loss = 0.01
reverse = { rate = "1 Mbps" }

[[link]]
name = "aside"
from = "r1"
to = "r3"
rate = "1 Mbps"
delay = "1 ms"
limit = 10

[[flows]]
name = "aside"
from = "left"
to = "r3"
tcp = { profile = "ns2", ecn = false }
"#;
    let scenario = read_valid(&format!("{DUMBBELL}{more}"), &[]);
    let link = &scenario.resolved["link"][0];
    assert_eq!((0.01, "1000000 bps"), (link["loss"].as_f64().unwrap(), link["reverse"]["rate"].as_str().unwrap()));
    assert_eq!("10000000 bps", link["rate"]);
    assert_eq!("access forward 0 aside, forward aside", route_of_flow(&scenario, 4));
}

#[test]
fn a_group_may_say_of_its_hosts_links_what_it_wants() {
    let own = DUMBBELL.replacen("to = \"right\"\n", "to = \"right\"\naccess = { delay = \"normal 40 ms, deviation 5 ms\" }\n", 1);
    let access = read_valid(&own, &[("flows.there.access.limit", "7")]).resolved["flows"][0]["access"].clone();
    let expected = ["r1", "1000000000 bps", "normal 0.04 s, deviation 0.005 s"];
    assert_eq!(expected, ["to", "rate", "delay"].map(|key| access[key].as_array().map_or(&access[key], |list| &list[0]).as_str().unwrap()));
    assert_eq!(7, access["limit"][0]);
    let elsewhere = read_valid(DUMBBELL, &[("flows.home.to", "r1")]);
    assert_eq!("access forward 0 home, back bottleneck", route_of_flow(&elsewhere, 3));
}

#[test]
fn a_parking_lot_has_long_flows_over_all_hops_and_cross_traffic_over_each() {
    let scenario = read_valid(PARKING_LOT, &[]);
    assert_eq!(["hop1", "hop2", "hop3"], scenario.queues[..]);
    assert_eq!("access forward 1 cross2, forward hop2, exit forward 1 cross2", route_of_flow(&scenario, 3));
    assert_eq!("access forward 0 long, forward hop1, forward hop2, forward hop3, exit forward 0 long", route_of_flow(&scenario, 6));
    let goodput = run(&scenario).report.column_as_reals("groups", "goodput_bps");
    assert!(goodput[..3].iter().all(|cross| *cross > goodput[3]), "long flows pass three queues: {goodput:?}");
}

/// Each topology with a group between its ends.
#[test]
fn every_example_of_a_shape_is_a_scenario_that_runs() {
    let ends = [
        ("dumbbell", "left", "right"),
        ("parking-lot", "h0", "h3"),
        ("rfc2884", "server", "on"),
        ("red-ecn", "sources", "sinks"),
        ("incast", "servers", "receiver"),
    ];
    let text = registry(&Registry::builtin());
    let topologies = text["topology"].as_array().unwrap();
    assert_eq!(
        ends.map(|(topology, ..)| topology).to_vec(),
        topologies.iter().map(|topology| topology["name"].as_str().unwrap()).collect::<Vec<_>>()
    );
    for (topology, (_, from, to)) in topologies.iter().zip(ends) {
        let group =
            format!("[[flows]]\nname = \"f\"\ncount = 5\nfrom = \"{from}\"\nto = \"{to}\"\ntcp = {{ profile = \"linux\", ecn = true }}");
        let scenario = read_valid(&format!("name = \"x\"\nduration = \"2 s\"\n{}\n{group}", topology["example"].as_str().unwrap()), &[]);
        assert!(run(&scenario).report.column_as_reals("total", "goodput_bps")[0] > 0.0, "{topology}");
    }
}

#[test]
fn the_testbed_of_rfc_2884_is_shaped_where_it_says_and_delays_where_it_says() {
    let text = r#"name = "testbed"
    duration = "20 s"
    network = { topology = "rfc2884", queue = { aqm = "ecn", limit = 50, min_th = 5, max_th = 15 } }
    flows = [{ name = "f", count = 3, from = "server", to = "c", tcp = { profile = "linux-2.0", packet_size = 1500 } }]
    "#;
    let scenario = read_valid(text, &[("measure_from", "5 s")]);
    assert_eq!("forward lan, forward bottleneck, forward c", route_of_flow(&scenario, 0));
    let report = run(&scenario).report;
    let throughput = report.column_as_reals("total", "throughput_bps")[0];
    // After an idle time CBQ lets up to `maxburst` packets leave at once, in addition to its rate.
    let burst = 20.0 * 1500.0 * 8.0 / 15.0;
    assert!((1.4e6..=1.5e6 + burst).contains(&throughput), "{throughput}");
    let rtt = report.column_as_reals("flows", "base_rtt_s")[0];
    let transmissions = 3.0 * (1500.0 + 40.0) * 8.0 / 10e6;
    assert!((rtt - 0.040 - transmissions).abs() < 1e-9, "{rtt}");
}

#[test]
fn the_old_name_of_a_key_is_refused_with_the_new_one() {
    let problems = read(&DUMBBELL.replace("topology =", "shape ="), &[]).unwrap_err();
    let [problem] = &problems[..] else { panic!("{problems:?}") };
    assert_eq!(("network.shape", "is named topology now; fix: rename it"), (problem.place.as_str(), problem.message.as_str()));
}

#[test]
fn one_mistake_in_a_network_is_one_problem_at_its_place() {
    let cases = [
        ("network.topology", "dumbell", "network.topology", "did you mean \"dumbbell\"?"),
        ("network.rat", "1 Mbps", "network.rat", "did you mean \"rate\"?"),
        ("network.delay", "5", "network.delay", "needs a unit"),
        ("network.queue.min_th", "40", "link.bottleneck.queue.min_th", "must be below max_th"),
        ("network.queue", "5", "link.bottleneck.queue", "must be a table"),
        ("flows.there.from", "lefft", "flows.there.from", "unknown node \"lefft\""),
        ("network", "5", "network", "must be a table"),
    ];
    for (path, value, place, said) in cases {
        let problems = read(DUMBBELL, &[(path, value)]).unwrap_err();
        assert_eq!(vec![place], problems.iter().map(|problem| problem.place.as_str()).collect::<Vec<_>>(), "{path}: {problems:?}");
        assert!(problems[0].message.contains(said), "{path}: {problems:?}");
    }
    for (cross, said) in [("5", "must be a table"), ("{ from = \"h0\", tcp = { profile = \"ns2\" } }", "leave out from")] {
        let problems = read(PARKING_LOT, &[("network.cross", cross)]).unwrap_err();
        assert_eq!(("network.cross", true), (problems[0].place.as_str(), problems[0].message.contains(said)), "{problems:?}");
    }
    let problems = read(&DUMBBELL.replace("queue = {", "queu = {").replace("max_p", ""), &[("flows.there.count", "0")]).unwrap_err();
    assert_eq!(
        ["network.queu", "network.queue", "flows.there.count"],
        problems.iter().map(|problem| problem.place.as_str()).collect::<Vec<_>>()[..]
    );
    assert_eq!(Some(8), problems[0].line);
}
