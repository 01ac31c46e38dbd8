//! Scenario files: problems and their messages, overrides, the hash, and the project's examples.

mod reading;

use std::path::Path;

use ecnlab_scenario::{Problem, Registry, Scenario, no_files};
use ecnlab_sim::impairment::{EcnPath, Impairment};
use ecnlab_sim::{ImpairmentSpec, NoProbe, RunTimesAndSeed, Simulation};
use ecnlab_transport::AppWrite;
use ecnlab_units::Time;

const VALID_SCENARIO: &str = r#"name = "two groups"
duration = "10 s"
measure_from = "2 s"

[[link]]
name = "bottleneck"
from = "router"
to = "sink"
rate = "10 Mbps"
delay = "5 ms"
queue = { aqm = "red", limit = 120, min_th = 10, max_th = 30 }

[[flows]]
name = "near"
count = 3
to = "sink"
access = { to = "router", rate = "2 Mbps", delay = "1 ms" }
tcp = { profile = "ns2", ecn = true }

[[flows]]
name = "far"
count = 2
from = "router"
to = "sink"
tcp = { profile = "ns2-2001" }
start = ["0 s", "1 s"]
"#;

/// The valid scenario with one text replaced by another.
fn with_replacement(old: &str, new: &str) -> String {
    assert!(VALID_SCENARIO.contains(old), "{old}");
    VALID_SCENARIO.replacen(old, new, 1)
}

fn problems(text: &str) -> Vec<Problem> {
    Scenario::from_toml(text, &[], &Registry::builtin(), &no_files).err().unwrap_or_default()
}

/// Path, line and message of the only problem.
fn only_problem(text: &str) -> (String, Option<usize>, String) {
    let mut problems = problems(text);
    assert_eq!(1, problems.len(), "{problems:?}");
    let problem = problems.remove(0);
    (problem.place, problem.line, problem.message)
}

fn read_valid(overrides: &[(&str, &str)]) -> Result<Scenario, Vec<Problem>> {
    reading::read(VALID_SCENARIO, overrides)
}

#[test]
fn a_sound_scenario_becomes_its_network() {
    let scenario = read_valid(&[]).unwrap();
    assert_eq!(vec!["near", "far"], scenario.groups);
    assert_eq!(vec!["bottleneck"], scenario.queues);
    assert_eq!(5, scenario.network.flows.len());
    assert_eq!(2 + 2 * 3, scenario.network.links.len(), "a link, its way back, and two for each flow with access");
}

/// One mistake each: text and its replacement, path and line of the problem, and a part of the message.
const INVALID_SCENARIOS: &[(&str, &str, &str, usize, &str)] = &[
    ("measure_from =", "measured_from =", "measured_from", 3, "did you mean \"measure_from\"?"),
    ("min_th = 10", "minth = 10", "link.bottleneck.queue.minth", 11, "did you mean \"min_th\"?"),
    ("ecn = true", "ecm = true", "flows.near.tcp.ecm", 18, "did you mean \"ecn\"?"),
    ("aqm = \"red\"", "aqm = \"redd\"", "link.bottleneck.queue.aqm", 11, "did you mean \"red\"?"),
    ("\"ns2-2001\"", "\"ns2-2002\"", "flows.far.tcp.profile", 25, "did you mean \"ns2-2001\"?"),
    ("\"10 Mbps\"", "\"0 Mbps\"", "link.bottleneck.rate", 9, "above 0"),
    ("\"10 Mbps\"", "\"-1 Mbps\"", "link.bottleneck.rate", 9, "above 0"),
    ("\"10 Mbps\"", "nan", "link.bottleneck.rate", 9, "is not a rate, as in \"10 Mbps\""),
    ("\"10 Mbps\"", "\"NaN Mbps\"", "link.bottleneck.rate", 9, "is not a rate, as in \"10 Mbps\""),
    ("\"10 Mbps\"", "inf", "link.bottleneck.rate", 9, "is not a rate, as in \"10 Mbps\""),
    ("\"10 Mbps\"", "10", "link.bottleneck.rate", 9, "needs a unit"),
    ("\"10 Mbps\"", "\"10 ms\"", "link.bottleneck.rate", 9, "unknown unit \"ms\""),
    ("\"10 Mbps\"", "\"1e30 Mbps\"", "link.bottleneck.rate", 9, "at most 10 Tbps"),
    ("\"5 ms\"", "\"5 Mbps\"", "link.bottleneck.delay", 10, "unknown unit \"Mbps\""),
    ("\"5 ms\"", "\"-5 ms\"", "link.bottleneck.delay", 10, "0 s .. 100 days"),
    ("delay = \"5 ms\"\n", "delay = \"5 ms\"\necn = \"bleech\"\n", "link.bottleneck.ecn", 11, "must be one of keep, bleach, drop"),
    ("delay = \"5 ms\"\n", "delay = \"5 ms\"\nloss = 1.5\n", "link.bottleneck.loss", 11, "0 .. 1"),
    ("delay = \"5 ms\"\n", "delay = \"5 ms\"\nloss_every = 0.5\n", "link.bottleneck.loss_every", 11, "whole number"),
    ("delay = \"5 ms\"\n", "delay = \"5 ms\"\nreverse = { loss = -1 }\n", "link.bottleneck.reverse.loss", 11, "0 .. 1"),
    ("delay = \"5 ms\"\n", "delay = \"5 ms\"\nreverse = { los = 1 }\n", "link.bottleneck.reverse.los", 11, "did you mean \"loss\"?"),
    ("limit = 120", "limit = 20", "link.bottleneck.queue.limit", 11, "must be at least max_th 30"),
    ("limit = 120", "limit = \"12 KB\"", "link.bottleneck.queue.limit", 11, "must be at least max_th 30"),
    ("limit = 120", "limit = \"120 ms\"", "link.bottleneck.queue.limit", 11, "unknown unit"),
    ("limit = 120", "limit = 1e12", "link.bottleneck.queue.limit", 11, "whole number of packets"),
    ("limit = 120, ", "", "link.bottleneck.queue.limit", 11, "is missing"),
    ("min_th = 10", "min_th = 30", "link.bottleneck.queue.min_th", 11, "must be below max_th 30"),
    ("min_th = 10", "min_th = 31", "link.bottleneck.queue.min_th", 11, "must be below max_th 30"),
    ("min_th = 10", "min_th = nan", "link.bottleneck.queue.min_th", 11, "not a number"),
    ("min_th = 10", "max_p = 1.5", "link.bottleneck.queue.max_p", 11, "0 .. 1"),
    ("count = 3", "count = 1000000000", "flows.near.count", 15, "1 .. 1000000"),
    ("count = 3", "count = true", "flows.near.count", 15, "\"true\" is not a number: it must be a whole number, 1 .. 1000000"),
    ("count = 3", "count = \"3\"", "flows.near.count", 15, "must be a number without quotes, as in count = 3"),
    ("min_th = 10", "max_p = inf", "link.bottleneck.queue.max_p", 11, "\"inf\" is not a number: it must be 0 .. 1"),
    ("min_th = 10", "max_p = \"0.5\"", "link.bottleneck.queue.max_p", 11, "must be a number without quotes, as in max_p = 0.5"),
    ("ecn = true", "mss = 0", "flows.near.tcp.mss", 18, "did you mean \"packet_size\"?"),
    ("count = 3", "count = 0", "flows.near.count", 15, "1 .. 1000000"),
    ("count = 3", "count = 2.5", "flows.near.count", 15, "whole number"),
    ("count = 3", "count = \"3 KB\"", "flows.near.count", 15, "wrong unit"),
    ("ecn = true", "max_rwnd = \"64 KB\"", "flows.near.tcp.max_rwnd", 18, "wrong unit"),
    ("ecn = true", "ecn = 1", "flows.near.tcp.ecn", 18, "true or false"),
    ("\"2 s\"", "\"10 s\"", "measure_from", 3, "before the end, duration 10 s"),
    ("\"10 s\"", "\"0 s\"", "duration", 2, "above 0"),
    ("\"10 s\"", "\"101 days\"", "duration", 2, "0 s .. 100 days"),
    ("\"10 s\"", "\"10 m\"", "duration", 2, "unknown unit \"m\""),
    ("\"10 Mbps\"", "\"10 mbps\"", "link.bottleneck.rate", 9, "bytes per second to some tools"),
    ("name = \"far\"", "name = \"near\"", "flows.near.name", 21, "names must be unique"),
    ("from = \"router\"\nto = \"sink\"\ntcp", "from = \"rooter\"\nto = \"sink\"\ntcp", "flows.far.from", 23, "did you mean \"router\"?"),
    ("start = [\"0 s\", \"1 s\"]", "start = [\"0 s\", 1]", "flows.far.start", 26, "needs a unit"),
    ("start = [\"0 s\", \"1 s\"]", "route = [\"bottle\"]", "flows.far.route", 26, "did you mean \"bottleneck\"?"),
    ("start = [\"0 s\", \"1 s\"]", "app = \"bulks\"", "flows.far.app", 26, "did you mean \"bulk\"?"),
    ("start = [\"0 s\", \"1 s\"]", "app = \"file\"", "flows.far.app", 26, "packets is missing"),
    ("start = [\"0 s\", \"1 s\"]", "app = { kind = \"file\" }", "flows.far.app.packets", 26, "or as bytes = \"1 MB\""),
    (
        "start = [\"0 s\", \"1 s\"]",
        "app = { kind = \"file\", packets = 3, bytes = \"1 KB\" }",
        "flows.far.app.bytes",
        26,
        "1000 excludes packets 3",
    ),
    ("start = [\"0 s\", \"1 s\"]", "app = { kind = \"file\", bytes = \"1 Kb\" }", "flows.far.app.bytes", 26, "unknown unit"),
    ("start = [\"0 s\", \"1 s\"]", "app = { kind = \"transactions\", bytes = 0 }", "flows.far.app.bytes", 26, "1 .. "),
    ("start = [\"0 s\", \"1 s\"]", "app = { kind = \"transactions\", gap = 1 }", "flows.far.app.gap", 26, "needs a unit"),
    (
        "start = [\"0 s\", \"1 s\"]",
        "app = { kind = \"transactions\", connection = \"kept\" }",
        "flows.far.app.connection",
        26,
        "one of new, keep",
    ),
    ("[[link]]", "[links]\n[[link]]", "links", 5, "did you mean \"link\"?"),
    ("\"10 s\"", "\"200000 h\"", "duration", 2, "0 s .. 100 days"),
    ("start = [\"0 s\", \"1 s\"]", "start = []", "flows.far.start", 26, "must not be empty"),
    ("start = [\"0 s\", \"1 s\"]", "route = []", "flows.far.route", 26, "must not be empty"),
    ("start = [\"0 s\", \"1 s\"]", "[record]\nrates = \"true\"", "record.rates", 27, "true without quotes"),
    ("start = [\"0 s\", \"1 s\"]", "[record]\nqueue = \"10 ns\"", "record.queue", 27, "1 us .. 100 days"),
    ("tcp = { profile = \"ns2-2001\" }", "tcp = \"cubic\"", "flows.far.tcp", 25, "must be a table, as in tcp = { profile"),
    ("\"two groups\"", "\"\"", "name", 1, "must not be empty"),
    ("\"two groups\"", "\"two\\ngroups\"", "name", 1, "control characters"),
    ("\"two groups\"", "true", "name", 1, "must be a text in quotes, as in \"true\""),
    ("name = \"far\"", "name = \"far.away\"", "flows.1.name", 21, "must not contain a dot"),
    ("name = \"far\"", "name = \"\\u001b[31m\"", "flows.1.name", 21, "control characters"),
    // Bidirectional control characters would reverse the whole message.
    ("name = \"far\"", "name = \"fa\\u202er\"", "flows.1.name", 21, "control characters"),
];

#[test]
fn one_mistake_is_one_problem_at_its_place() {
    for (old, new, place, line, said) in INVALID_SCENARIOS {
        let problem = only_problem(&with_replacement(old, new));
        assert_eq!((*place, Some(*line)), (problem.0.as_str(), problem.1), "{new}: {}", problem.2);
        assert!(problem.2.contains(said), "{new}: {}", problem.2);
    }
}

#[test]
fn all_problems_are_reported_at_once_with_their_lines() {
    let text = with_replacement("\"10 s\"", "\"10 parsec\"").replace("\"10 Mbps\"", "\"0 bps\"").replace("count = 3", "cuont = 3");
    let text = text.replace("min_th = 10", "min_th = 40").replace("\"ns2-2001\"", "\"ns3\"");
    let mut lines: Vec<_> = problems(&text).into_iter().map(|problem| problem.line).collect();
    lines.sort();
    assert_eq!([2, 9, 11, 15, 25].map(Some).to_vec(), lines, "{:?}", problems(&text));
}

#[test]
fn a_faulty_link_is_one_problem_and_not_one_of_every_flow_too() {
    for (old, new) in [("\"10 Mbps\"", "\"0 bps\""), ("limit = 120", "limit = 0"), ("aqm = \"red\"", "aqm = \"blue\"")] {
        let (place, _, message) = only_problem(&with_replacement(old, new));
        assert!(place.starts_with("link.bottleneck"), "{new}: {place}: {message}");
    }
    let named = with_replacement("start = [\"0 s\", \"1 s\"]", "route = [\"bottleneck\"]").replace("\"5 ms\"", "\"5\"");
    assert_eq!("link.bottleneck.delay", only_problem(&named).0);
}

#[test]
fn a_wrong_node_is_still_reported_beside_a_faulty_link() {
    let text = with_replacement("\"10 Mbps\"", "\"0 bps\"").replace("access = { to = \"router\"", "access = { to = \"rooter\"");
    let places: Vec<_> = problems(&text).into_iter().map(|problem| problem.place).collect();
    assert_eq!(vec!["link.bottleneck.rate", "flows.near.access"], places);
}

#[test]
fn a_scenario_without_links_or_flows_says_so_once_each() {
    let places: Vec<_> = problems("name = \"empty\"\nduration = \"1 s\"\n").into_iter().map(|problem| problem.place).collect();
    assert_eq!(vec!["link", "flows"], places);
    let flows_only = &VALID_SCENARIO[VALID_SCENARIO.find("[[flows]]").unwrap()..];
    let (place, _, message) = only_problem(&format!("name = \"x\"\nduration = \"1 s\"\n{flows_only}"));
    assert_eq!(("link", "must have at least one [[link]]"), (place.as_str(), message.as_str()));
}

#[test]
fn too_many_flows_in_all_are_refused_before_any_is_made() {
    let text = with_replacement("count = 3", "count = 999999").replace("count = 2", "count = 999999");
    let (place, _, message) = only_problem(&text);
    assert_eq!("flows", place);
    assert!(message.contains("1999998 flows in all"), "{message}");
}

#[test]
fn broken_toml_names_its_line() {
    let (place, line, _) = only_problem(&with_replacement("rate = \"10 Mbps\"", "rate = \"10 Mbps"));
    assert_eq!(("file", Some(9)), (place.as_str(), line));
}

#[test]
fn overrides_reach_members_by_name_number_and_star() {
    let counts = |overrides| {
        let scenario = read_valid(overrides).unwrap();
        [0, 1].map(|group| scenario.network.flows.iter().filter(|flow| flow.group == group).count())
    };
    assert_eq!([7, 2], counts(&[("flows.near.count", "7")]));
    assert_eq!([3, 7], counts(&[("flows.1.count", "7")]));
    assert_eq!([7, 7], counts(&[("flows.*.count", "7")]));
    assert_eq!([7, 8], counts(&[("flows.*.count", "7"), ("flows.far.count", "8")]), "the later override wins");
}

#[test]
fn an_override_may_add_a_key_or_a_table() {
    let scenario = read_valid(&[("record.queue", "10 ms"), ("link.bottleneck.queue.w_q", "0.01"), ("link.*.reverse.limit", "7")]).unwrap();
    assert!(scenario.record.queue.0.is_some());
    assert_eq!(0.01, scenario.resolved["link"][0]["queue"]["w_q"]);
    assert_eq!(7, scenario.resolved["link"][0]["reverse"]["limit"]);
}

#[test]
fn what_a_path_does_is_on_its_own_direction_and_nothing_where_packets_pass_as_they_are() {
    let scenario =
        read_valid(&[("link.bottleneck.ecn", "bleach"), ("link.bottleneck.reverse.loss", "0.25"), ("link.bottleneck.loss_every", "7")])
            .unwrap();
    let impairments: Vec<_> = scenario.network.links.iter().map(|link| link.impairment.as_deref()).collect();
    let parts = |of: &ImpairmentSpec| format!("{:?}", of.impairments);
    let there = format!("{:?}", [Impairment::Ecn(EcnPath::Bleach), Impairment::periodic_loss(7)]);
    let back = format!("{:?}", [Impairment::random_loss(0.25)]);
    assert_eq!([Some(there), Some(back)], [0, 1].map(|at| impairments[at].map(parts)));
    assert!(impairments[2..].iter().all(Option::is_none));
    let link = &scenario.resolved["link"][0];
    assert_eq!(["bleach", "keep"], [&link["ecn"], &link["reverse"]["ecn"]]);
    assert_eq!((0.0, 0.25), (link["loss"].as_f64().unwrap(), link["reverse"]["loss"].as_f64().unwrap()));
    assert!(read_valid(&[("link.bottleneck.loss", "0")]).unwrap().network.links[0].impairment.is_none());
}

#[test]
fn a_file_of_packets_has_as_many_bytes_as_fill_those_of_its_flows() {
    let opens =
        |app: &str| read_valid(&[("flows.near.app", app), ("flows.near.tcp.packet_size", "540")]).unwrap().network.flows[0].initial_write;
    assert_eq!(Some(AppWrite::then_close(1200)), opens("{ kind = \"file\", bytes = 1200 }"));
    assert_eq!(Some(AppWrite::then_close(7 * 540)), opens("{ kind = \"file\", packets = 7 }"));
    assert_eq!(None, opens("{ kind = \"transactions\", bytes = 1000 }"), "its application opens it");
}

#[test]
fn a_group_is_carried_by_tcp_or_by_datagrams_and_its_application_fits() {
    let problem = |overrides: &[(&str, &str)]| format!("{:?}", read_valid(overrides).unwrap_err());
    let both = problem(&[("flows.near.udp", "{ packet_size = 500 }")]);
    assert!(both.contains("flows.near.udp") && both.contains("give one of the two"), "{both}");
}

#[test]
fn a_name_may_hold_what_files_and_figures_have_to_cope_with() {
    for name in ["[/nope]", "a$b$c", "_hidden", "a/b", "x^2_", "[x]"] {
        assert_eq!(name, read_valid(&[("flows.near.name", &format!("'{name}'"))]).unwrap().groups[0]);
    }
}

#[test]
fn a_section_that_is_written_as_one_table_is_told_how_lists_are_written() {
    let text = VALID_SCENARIO.replace("[[flows]]", "[flows]").replacen("[flows]", "[[unused]]", 1);
    let found = problems(&text);
    assert!(found.iter().any(|problem| problem.message.contains("write [[flows]] instead of [flows]")), "{found:?}");
}

#[test]
fn the_word_for_all_values_of_a_list_is_no_member_of_one() {
    for list in [r#"["auto"]"#, r#"["bottleneck", "auto"]"#] {
        let problems = read_valid(&[("flows.near.route", list)]).unwrap_err();
        assert_eq!(1, problems.len(), "{problems:?}");
        assert!(problems[0].message.contains(r#"write route = "auto", not in a list"#), "{problems:?}");
    }
}

#[test]
fn an_override_may_be_json_and_says_so_where_it_is_neither() {
    let scenario = read_valid(&[("link.bottleneck.queue", r#"{"aqm": "droptail", "limit": 50}"#)]).unwrap();
    assert_eq!("droptail", scenario.resolved["link"][0]["queue"]["aqm"]);
    let problems = read_valid(&[("link.bottleneck.queue", "{aqm: droptail}")]).unwrap_err();
    assert!(problems[0].message.contains("neither TOML nor JSON"), "{problems:?}");
}

#[test]
fn what_another_aqm_left_behind_is_one_problem_with_the_way_to_replace_the_table() {
    let problems = read_valid(&[("link.bottleneck.queue.aqm", "droptail")]).unwrap_err();
    assert_eq!(1, problems.len(), "{problems:?}");
    let message = &problems[0].message;
    assert!(message.contains("has no min_th, max_th") && message.contains("--set 'link.bottleneck.queue={"), "{message}");
}

#[test]
fn a_recording_that_would_not_fit_into_memory_is_refused_with_an_estimate() {
    let problems = read_valid(&[("duration", "100 s"), ("record.queue", "1 us")]).unwrap_err();
    assert_eq!(vec!["record.queue"], problems.iter().map(|problem| problem.place.as_str()).collect::<Vec<_>>());
    assert!(problems[0].message.contains("8.2 GiB") && problems[0].message.contains("every 10 us or more"), "{}", problems[0].message);
    assert!(read_valid(&[("duration", "100 s"), ("record.queue", "10 us")]).is_ok());
}

/// A browser has a row for each of its connections, and short flows have none.
#[test]
fn the_estimate_of_a_recording_counts_the_rows_of_an_application() {
    let with = |app: &str| {
        let overrides = [("duration", "100 s"), ("record.window", "100 us"), ("flows.near.app", app), ("flows.near.count", "1")];
        read_valid(&overrides).map(|_| ()).map_err(|problems| problems.into_iter().map(|problem| problem.place).collect::<Vec<_>>())
    };
    assert_eq!(Ok(()), with("{ kind = \"web\", connections = 1 }"));
    assert_eq!(Err(vec!["record.window".to_owned()]), with("{ kind = \"web\", connections = 64 }"));
    assert_eq!(Ok(()), with("{ kind = \"arrivals\", flows_per_second = 1 }"));
}

#[test]
fn a_slow_link_with_a_long_buffer_is_simulated_without_time_wrapping() {
    let slow = [("link.bottleneck.rate", "1 bps"), ("link.bottleneck.delay", "100 h"), ("flows.near.access.rate", "1 bps")];
    let scenario = read_valid(&[&slow[..], &[("duration", "8640000 s"), ("flows.*.tcp.max_rwnd", "2000")]].concat()).unwrap();
    let options = RunTimesAndSeed { duration: Time::ZERO + scenario.duration, measure_from: Time::ZERO, seed: 1 };
    let (run, _) = Simulation::new(&scenario.network, &options, NoProbe).finish();
    assert!(run.events > 0);
}

#[test]
fn a_wrong_override_is_refused_with_its_path_and_what_there_is() {
    let cases = [
        ("flows.middle.count", "3", "unknown member \"middle\"; fix: use one of near, far"),
        ("link.bottleneck.rate.x", "3", "has no member x"),
        ("flows..count", "3", "an override is written as"),
        ("flows.near.count", "many", "not a number"),
        ("flows.near.cuont", "3", "did you mean \"count\"?"),
        ("link.bottleneck.queue.min_th", "30", "below max_th 30"),
    ];
    for (path, value, said) in cases {
        let problems = read_valid(&[(path, value)]).unwrap_err();
        assert_eq!(1, problems.len(), "{problems:?}");
        assert_eq!((path, None), (problems[0].place.as_str(), problems[0].line));
        assert!(problems[0].message.contains(said), "{path}: {}", problems[0].message);
    }
}

#[test]
fn the_hash_is_that_of_the_content_and_not_of_the_text() {
    let original = read_valid(&[]).unwrap().hash();
    let at = VALID_SCENARIO.find("[[link]]").unwrap();
    let (head, rest) = VALID_SCENARIO.split_at(at);
    let commented = format!("# a comment\n{head}# another\n\n{rest}").replace("\"10 Mbps\"", "\"10000 kbps\"");
    assert_eq!(original, Scenario::from_toml(&commented, &[], &Registry::builtin(), &no_files).unwrap().hash());
    let reordered = with_replacement("rate = \"10 Mbps\"\ndelay = \"5 ms\"", "delay = \"5 ms\"\nrate = \"10 Mbps\"");
    assert_eq!(original, Scenario::from_toml(&reordered, &[], &Registry::builtin(), &no_files).unwrap().hash());
    let spelled_out = with_replacement("count = 2", "count = 2\napp = \"bulk\"");
    assert_eq!(
        original,
        Scenario::from_toml(&spelled_out, &[], &Registry::builtin(), &no_files).unwrap().hash(),
        "a default written out is the same scenario"
    );
}

#[test]
fn any_parameter_changes_the_hash() {
    let changes = [
        ("duration", "11 s"),
        ("measure_from", "1 s"),
        ("link.bottleneck.rate", "11 Mbps"),
        ("link.bottleneck.delay", "6 ms"),
        ("link.bottleneck.reverse.limit", "5"),
        ("link.bottleneck.ecn", "bleach"),
        ("link.bottleneck.loss", "0.01"),
        ("link.bottleneck.loss_every", "100"),
        ("link.bottleneck.reverse.ecn", "clear-flags"),
        ("link.bottleneck.reverse.loss", "0.01"),
        ("link.bottleneck.queue.limit", "121"),
        ("link.bottleneck.queue.limit", "120 KB"),
        ("link.bottleneck.queue.aqm", "ecn"),
        ("link.bottleneck.queue.max_p", "0.2"),
        ("link.bottleneck.queue.gentle", "true"),
        ("flows.near.count", "4"),
        ("flows.near.access.rate", "3 Mbps"),
        ("flows.near.access.delay", "2 ms"),
        ("flows.near.access.limit", "99"),
        ("flows.near.tcp.ecn", "false"),
        ("flows.near.tcp.max_rwnd", "21"),
        ("flows.near.app", "{ kind = \"file\", packets = 5 }"),
        ("flows.near.app", "{ kind = \"file\", bytes = 5 }"),
        ("flows.near.app", "transactions"),
        ("flows.near.app", "{ kind = \"transactions\", bytes = 20000 }"),
        ("flows.near.app", "{ kind = \"transactions\", gap = \"2 s\" }"),
        ("flows.near.app", "{ kind = \"transactions\", gap_distribution = \"fixed\" }"),
        ("flows.near.app", "{ kind = \"transactions\", count = 7 }"),
        ("flows.near.app", "{ kind = \"transactions\", connection = \"keep\" }"),
        ("flows.far.start", "1 s"),
    ];
    let mut hashes = vec![read_valid(&[]).unwrap().hash()];
    hashes.extend(changes.map(|change| read_valid(&[change]).unwrap_or_else(|why| panic!("{change:?}: {why:?}")).hash()));
    let total = hashes.len();
    hashes.sort();
    hashes.dedup();
    assert_eq!(total, hashes.len(), "two of the scenarios share a hash");
}

#[test]
fn json_reads_as_toml_does() {
    let json = r#"{"name": "x", "duration": "1 s", "link": [{"name": "l", "from": "a", "to": "b", "rate": "1 Mbps", "delay": "1 ms",
        "queue": {"aqm": "droptail", "limit": 10}}], "flows": [{"name": "f", "from": "a", "to": "b", "tcp": {"profile": "ns2"}}]}"#;
    let toml = r#"name = "x"
        duration = "1 s"
        link = [{name = "l", from = "a", to = "b", rate = "1 Mbps", delay = "1 ms", queue = {aqm = "droptail", limit = 10}}]
        flows = [{name = "f", from = "a", to = "b", tcp = {profile = "ns2"}}]"#;
    assert_eq!(
        Scenario::from_json(json, &[], &Registry::builtin(), &no_files).unwrap().hash(),
        Scenario::from_toml(toml, &[], &Registry::builtin(), &no_files).unwrap().hash()
    );
}

#[test]
fn every_example_and_benchmark_reads_without_a_warning() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for folder in ["examples", "benches"] {
        let entries = std::fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path());
        let files: Vec<_> = entries.filter(|path| path.extension().is_some_and(|e| e == "toml") && !path.ends_with("Cargo.toml")).collect();
        assert!(!files.is_empty(), "{folder} holds no scenario");
        for path in files {
            let beside = |name: &str| std::fs::read_to_string(path.with_file_name(name)).map_err(|why| why.to_string());
            let read = Scenario::from_toml(&std::fs::read_to_string(&path).unwrap(), &[], &Registry::builtin(), &beside);
            let warnings = read.map(|scenario| scenario.warnings);
            assert_eq!(Ok(Vec::new()), warnings, "{}", path.display());
        }
    }
}
