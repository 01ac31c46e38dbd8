//! Links as directed edges: their parameters, routes over them, and ACKs that share a queue with data.

mod reading;

use ecnlab_scenario::{Registry, Scenario, no_files};
use ecnlab_sim::measures::{Column, Table};
use ecnlab_sim::{NoProbe, PipeOrQueue, Recorder, RecordingConfig, Run, RunTimesAndSeed, Simulation};
use ecnlab_units::Time;
use reading::read;

const TWO_WAY: &str = r#"name = "two ways"
duration = "40 s"
measure_from = "5 s"

[[link]]
name = "bottleneck"
from = "left"
to = "right"
rate = "2 Mbps"
delay = "10 ms"
queue = { aqm = "ecn", limit = 200, min_th = 5, max_th = 60, max_p = 0.3, w_q = 0.01 }

[[flows]]
name = "there"
count = 4
to = "right"
access = { to = "left", rate = "10 Mbps", delay = "5 ms", spread = "1 ms" }
tcp = { profile = "ns2", ecn = true, max_rwnd = 20 }

[[flows]]
name = "home"
count = 4
to = "left"
access = { to = "right", rate = "10 Mbps", delay = "5 ms", spread = "1 ms" }
tcp = { profile = "ns2", ecn = true, max_rwnd = 8 }
"#;

/// Three links in a ring, one of them one-way.
const DETOUR: &str = r#"name = "around"
duration = "10 s"
flows = [{ name = "f", from = "a", to = "c", tcp = { profile = "ns2" } }]
link = [
    { name = "ab", from = "a", to = "b", rate = "1 Mbps", delay = "1 ms", limit = 50, one_way = true },
    { name = "bc", from = "b", to = "c", rate = "1 Mbps", delay = "1 ms", limit = 50 },
    { name = "cd", from = "c", to = "d", rate = "1 Mbps", delay = "1 ms", limit = 50 },
    { name = "da", from = "d", to = "a", rate = "1 Mbps", delay = "1 ms", queue = { aqm = "droptail", limit = 50 } },
]
"#;

fn read_valid(text: &str, overrides: &[(&str, &str)]) -> Scenario {
    read(text, overrides).unwrap_or_else(|problems| panic!("{overrides:?}: {problems:?}"))
}

fn run(scenario: &Scenario) -> Run {
    let options = RunTimesAndSeed { duration: Time::ZERO + scenario.duration, measure_from: Time::ZERO + scenario.measure_from, seed: 1 };
    Simulation::new(&scenario.network, &options, NoProbe).finish().0
}

/// Forward and reverse route of the first flow, by the names of the links.
fn routes(scenario: &Scenario) -> [String; 2] {
    let name = |&link: &u32| scenario.network.links[link as usize].name.to_string();
    let flow = &scenario.network.flows[0];
    [&flow.forward, &flow.back].map(|route| route.iter().map(name).collect::<Vec<_>>().join(", "))
}

fn is_plain_buffer(buffer: &PipeOrQueue, packets: u32) -> bool {
    matches!(buffer, PipeOrQueue::Pipe { limit } if *limit == packets)
}

#[test]
fn the_way_back_is_like_the_link_and_has_a_plain_buffer_unless_it_says_otherwise() {
    let scenario = read_valid(TWO_WAY, &[]);
    let [there, back] = [&scenario.network.links[0], &scenario.network.links[1]];
    assert_eq!((there.rate, there.delay), (back.rate, back.delay));
    assert!(matches!(there.buffer, PipeOrQueue::Queue(_)) && is_plain_buffer(&back.buffer, 1000));
    assert_eq!(vec!["bottleneck"], scenario.queues);

    let other = [("link.0.reverse.rate", "64 kbps"), ("link.0.reverse.limit", "7")];
    let back = &read_valid(TWO_WAY, &other).network.links[1];
    assert_eq!((64_000, there.delay), (back.rate.bps(), back.delay));
    assert!(is_plain_buffer(&back.buffer, 7));
}

#[test]
fn a_queue_may_stand_before_any_edge_and_is_named_by_it() {
    let scenario = read_valid(TWO_WAY, &[("link.bottleneck.reverse.queue", "{ aqm = \"red\", limit = 60 }")]);
    assert_eq!(vec!["bottleneck", "bottleneck.reverse"], scenario.queues);
    let names = run(&scenario).names.queues;
    assert_eq!(scenario.queues, names.iter().map(|name| name.to_string()).collect::<Vec<_>>());
    let deeper = [("link.bottleneck.reverse.queue", "{ aqm = \"red\", limit = 60 }"), ("link.bottleneck.reverse.queue.limit", "80")];
    assert_eq!("80 packets", read_valid(TWO_WAY, &deeper).resolved["link"][0]["reverse"]["queue"]["limit"]);
}

#[test]
fn queues_stand_in_the_order_in_which_the_network_numbers_its_edges() {
    let queue = "{ aqm = \"droptail\", limit = 9 }";
    let all = [("link.ab.one_way", "false"), ("link.*.queue", queue), ("link.*.reverse.queue", queue)];
    let text = DETOUR.replace(", limit = 50", "").replace(", queue = { aqm = \"droptail\" }", "");
    let scenario = read_valid(&text, &all);
    assert_eq!(["ab", "bc", "cd", "da", "ab.reverse", "bc.reverse", "cd.reverse", "da.reverse"], scenario.queues[..]);
}

#[test]
fn acknowledgements_take_the_route_the_other_way_round_or_where_a_link_leads_one_way_the_shortest_back() {
    let routes = |overrides: &[(&str, &str)]| routes(&read_valid(DETOUR, overrides));
    assert_eq!(["forward ab, forward bc", "forward cd, forward da"], routes(&[]), "ab has no way back");
    let both_ways = ("link.ab.one_way", "false");
    assert_eq!(["forward ab, forward bc", "back bc, back ab"], routes(&[both_ways]));
    assert_eq!(["back da, back cd", "forward cd, forward da"], routes(&[("flows.f.route", "[\"da.reverse\", \"cd.reverse\"]")]));
    let apart = ("flows.f.route_back", "[\"cd\", \"da\"]");
    assert_eq!(["forward ab, forward bc", "forward cd, forward da"], routes(&[both_ways, apart]));
}

#[test]
fn a_flow_may_lead_against_a_link_and_meets_what_stands_there() {
    let home = read_valid(TWO_WAY, &[]).network.flows[4].clone();
    let scenario = read_valid(TWO_WAY, &[]);
    let name = |link: u32| scenario.network.links[link as usize].name.to_string();
    assert_eq!(["access forward 0 home", "back bottleneck"], home.forward.iter().map(|&link| name(link)).collect::<Vec<_>>()[..]);
    assert_eq!(["forward bottleneck", "access back 0 home"], home.back.iter().map(|&link| name(link)).collect::<Vec<_>>()[..]);
}

#[test]
fn every_form_of_a_link_reads_back_as_the_same_scenario() {
    let forms: &[&[(&str, &str)]] = &[
        &[],
        &[("link.bottleneck.reverse.queue", "{ aqm = \"red\", limit = 60 }")],
        &[("link.bottleneck.reverse.queue", "{ discipline = \"fq\", limit = 60 }"), ("link.bottleneck.reverse.loss", "0.01")],
        &[("link.bottleneck.reverse", "{ rate = \"auto\", limit = 30 }")],
    ];
    for (text, overrides) in forms.iter().map(|form| (TWO_WAY, *form)).chain([(DETOUR, &[][..])]) {
        let scenario = read_valid(text, overrides);
        let again = Scenario::from_json(&scenario.resolved.to_string(), &[], &Registry::builtin(), &no_files).unwrap();
        assert_eq!((scenario.hash(), scenario.resolved), (again.hash(), again.resolved), "{overrides:?}");
    }
}

#[test]
fn one_mistake_in_an_edge_or_a_route_is_one_problem_at_its_place() {
    let cases: &[(&str, &str, &str, &str, &str)] = &[
        (DETOUR, "link.ab.reverse", "{ limit = 5 }", "link.ab.reverse", "one_way = true"),
        (DETOUR, "link.cd.reverse.queue", "{ limit = 5 }", "link.cd.reverse.queue.aqm", "is missing"),
        (DETOUR, "link.cd.reverse", "5", "link.cd.reverse", "must be a table"),
        (DETOUR, "flows.f.route_back", "[\"bc.reverse\", \"ab.reverse\"]", "flows.f.route_back", "unknown link \"ab.reverse\""),
        (DETOUR, "flows.f.route_back", "[\"bc.revers\"]", "flows.f.route_back", "did you mean \"bc.reverse\"?"),
        (DETOUR, "flows.f.route_back", "[\"cd\"]", "flows.f.route_back", "must be a list of links from \"c\" to \"a\""),
        (DETOUR, "flows.f.route", "[\"bc\"]", "flows.f.route", "comes from \"b\", but the route is at \"a\""),
    ];
    for (text, path, value, place, said) in cases {
        let problems = read(text, &[(path, value)]).err().unwrap_or_default();
        let found: Vec<_> = problems.iter().map(|problem| problem.place.as_str()).collect();
        assert_eq!(vec![*place], found, "{path} = {value}: {problems:?}");
        assert!(problems.iter().all(|problem| problem.message.contains(said)), "{path} = {value}: {problems:?}");
    }
}

#[test]
fn a_flow_without_a_way_back_is_refused_with_the_remedy() {
    let problems = read(&DETOUR.replace("to = \"d\", rate", "to = \"e\", rate"), &[]).unwrap_err();
    assert_eq!(vec!["flows.f.route_back"], problems.iter().map(|problem| problem.place.as_str()).collect::<Vec<_>>());
    assert!(problems[0].message.contains("from \"c\" to \"a\"") && problems[0].message.contains("leave out one_way"), "{problems:?}");
}

#[test]
fn a_link_that_is_hardly_meant_so_is_warned_of() {
    let droptail = "{ aqm = \"droptail\", limit = 9 }";
    let cases: &[(&str, &str, &str, &str)] = &[
        ("link.da.queue", "", "link.da.queue", "a plain drop-tail buffer of 1000 packets"),
        ("link.da.limit", "9", "link.da.limit", "has no effect with a queue"),
        ("link.cd.reverse.queue", droptail, "link.cd.reverse.queue", "no flow's route crosses this queue"),
        ("flows.f.route", "[\"da.reverse\", \"cd.reverse\"]", "link.da.queue", "only acknowledgements come to this queue"),
    ];
    for (path, value, place, said) in cases {
        let text = if value.is_empty() { DETOUR.replace(", queue = { aqm = \"droptail\", limit = 50 }", "") } else { DETOUR.to_owned() };
        let set: &[(&str, &str)] = if value.is_empty() { &[] } else { &[(path, value)] };
        let warnings = read_valid(&text, set).warnings;
        assert!(warnings.iter().any(|warning| warning.place == *place && warning.message.contains(said)), "{path}: {warnings:?}");
    }
    let without = read_valid(&DETOUR.replace("queue = { aqm = \"droptail\", limit = 50 }", "limit = 50"), &[]).warnings;
    assert_eq!(vec!["link"], without.iter().map(|warning| warning.place.as_str()).collect::<Vec<_>>());
    assert!(without[0].message.contains("no link has a queue"), "{without:?}");
}

/// Counts of the queue: arrivals, departures, marks, and drops by the AQM, above the AQM's limit and by a full buffer.
fn queue_counts(run: &Run) -> [f64; 6] {
    ["arrivals", "departures", "marks", "drops_early", "drops_forced", "drops_overflow"]
        .map(|column| run.report.column_as_reals("queues", column)[0])
}

#[test]
fn where_data_is_marked_an_acknowledgement_is_dropped() {
    let aecn = "{ aqm = \"aecn\", limit = 200, min_th = 5, max_th = 60, max_p = 0.3, w_q = 0.01 }";
    for queue in [None, Some(aecn)] {
        let set: Vec<_> = queue.map(|queue| ("link.bottleneck.queue", queue)).into_iter().collect();
        let with_acks = run(&read_valid(TWO_WAY, &set));
        let apart = [&set[..], &[("flows.home.route_back", "[\"quiet\"]")]].concat();
        let second = "\n[[link]]\nname = \"quiet\"\nfrom = \"left\"\nto = \"right\"\nrate = \"2 Mbps\"\ndelay = \"10 ms\"\nlimit = 200\n";
        let [_, _, marks, early, forced, overflow] = queue_counts(&run(&read_valid(&format!("{TWO_WAY}{second}"), &apart)));
        assert!(
            marks > 0.0 && [early, forced, overflow] == [0.0; 3],
            "data alone is marked and never dropped: {queue:?} {marks} {early} {forced}"
        );
        let [arrivals, departures, marks, early, forced, overflow] = queue_counts(&with_acks);
        assert_eq!(0.0, with_acks.report.column_as_reals("flows", "drops").iter().sum::<f64>(), "{queue:?}: what is dropped is no data");
        assert!(marks > 0.0 && early > 0.0, "{queue:?}: {marks} marks, {early} early drops");
        assert_eq!(0.0, overflow, "{queue:?}");
        let waiting = arrivals - departures - early - forced;
        assert!(waiting.abs() <= 200.0, "{queue:?}: arrived = departed + dropped + waiting, but for what waited at both ends: {waiting}");
    }
}

#[test]
fn an_acknowledgement_that_a_queue_drops_is_an_event_and_told_from_data() {
    let scenario = read_valid(TWO_WAY, &[("measure_from", "0 s")]);
    let duration = Time::ZERO + scenario.duration;
    let recorder = Recorder::new(RecordingConfig { events: true, ..RecordingConfig::default() }, duration);
    let options = RunTimesAndSeed { duration, measure_from: Time::ZERO, seed: 1 };
    let (run, recorder) = Simulation::new(&scenario.network, &options, recorder).finish();
    let tables = recorder.tables(&run.names).unwrap();
    let events = &tables.iter().find(|(name, _)| *name == "events").unwrap().1;
    let Column::Index(flows) = events.column("flow") else { panic!("numbers of flows") };
    let [packets, kinds] = ["packet", "kind"].map(|column| words(events, column));
    let rows =
        |packet: &str, kind: &str| (0..packets.len()).filter(|&row| packets[row] == packet && kinds[row] == kind).collect::<Vec<_>>();
    let [_, _, marks, early, forced, overflow] = queue_counts(&run);
    let acks = rows("ack", "drop");
    assert!(!acks.is_empty() && acks.iter().all(|&row| flows[row] >= 4), "only those of the flows home come to the queue");
    assert_eq!([marks as usize, 0], [rows("data", "mark"), rows("ack", "mark")].map(|rows| rows.len()));
    assert_eq!((early + forced + overflow) as usize, acks.len() + rows("data", "drop").len());
}

/// Texts of a column of names.
fn words(table: &Table, column: &str) -> Vec<String> {
    match table.column(column) {
        Column::Name { index, names } => index.iter().map(|&at| names[at as usize].to_string()).collect(),
        other => panic!("{column} holds no names: {other:?}"),
    }
}

#[test]
fn datagrams_need_no_way_back() {
    const ONE_WAY: &str = r#"name = "one way"
duration = "5 s"
[[link]]
name = "down"
from = "a"
to = "b"
rate = "1 Mbps"
delay = "250 ms"
limit = 50
one_way = true
[[flows]]
name = "signal"
from = "a"
to = "b"
udp = { packet_size = 1000 }
app = { kind = "cbr", rate = "500 kbps" }
"#;
    let run = run(&read_valid(ONE_WAY, &[]));
    let of = |column| run.report.column_as_reals("flows", column)[0];
    assert!(of("goodput_bps") > 4.5e5 && (of("base_rtt_s") - 0.258).abs() < 1e-9, "{} {}", of("goodput_bps"), of("base_rtt_s"));
}
