//! The fast path changes no result: random networks, queues, senders, applications and recordings, with it and without it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use ecnlab_scenario::{Registry, Scenario, no_files};
use ecnlab_sim::measures::{Column, Table};
use ecnlab_sim::{NoProbe, Probe, Recorder, Run, RunTimesAndSeed, Simulation};
use ecnlab_units::{Rng, Span, Time};

static REGISTRY: LazyLock<Registry> = LazyLock::new(Registry::builtin);

/// Draws from lists, so that equal values and thus simultaneous events are frequent.
struct Draw(Rng);

impl Draw {
    fn one_of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len() as u64) as usize]
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.0.below(bound)
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// The text with this chance, else nothing.
    fn maybe<'a>(&mut self, percent: u64, text: &'a str) -> &'a str {
        if self.chance(percent) { text } else { "" }
    }
}

/// Queues with known departures come first.
const QUEUES: [&str; 19] = [
    r#"{ aqm = "ecn", limit = 20, min_th = 2, max_th = 8, max_p = 0.5 }"#,
    r#"{ aqm = "red", limit = 20, min_th = 2, max_th = 8 }"#,
    r#"{ aqm = "droptail", limit = 8 }"#,
    r#"{ aqm = "droptail", limit = "9 kB" }"#,
    r#"{ aqm = "mecn", limit = 20 }"#,
    r#"{ aqm = "ared", limit = 20 }"#,
    r#"{ aqm = "amecn", limit = 20 }"#,
    r#"{ aqm = "pie", limit = 20 }"#,
    r#"{ aqm = "pi2", limit = 20 }"#,
    r#"{ aqm = "pi", limit = 20 }"#,
    r#"{ aqm = "blue", limit = 8 }"#,
    r#"{ aqm = "rem", limit = 20 }"#,
    r#"{ aqm = "sred", limit = 20 }"#,
    r#"{ aqm = "step", limit = 20 }"#,
    r#"{ aqm = "red", limit = 20, min_th = 2, max_th = 8, drop = "front" }"#,
    r#"{ aqm = "mark-front", limit = 20 }"#,
    r#"{ aqm = "codel", limit = 20 }"#,
    r#"{ discipline = "fq", limit = 20, flows = 16, aqm = { name = "codel" } }"#,
    r#"{ discipline = "dualpi2", limit = 20 }"#,
];
const DELAYS: [&str; 5] = ["0 ms", "1 ms", "5 ms", "20 ms", "60 ms"];
const RATES: [&str; 5] = ["1 Mbps", "2 Mbps", "3 Mbps", "7777 kbps", "10 Mbps"];
const PROFILES: [&str; 5] = ["ns2", "ns2-2001", "rfc", "linux-2.2", "linux"];

fn queue(draw: &mut Draw) -> &'static str {
    // Half of them have known departures.
    if draw.chance(50) { draw.one_of(&QUEUES[..14]) } else { draw.one_of(&QUEUES) }
}

fn link(draw: &mut Draw, name: &str, from: &str, to: &str) -> String {
    let impair = |draw: &mut Draw| {
        draw.one_of(&[
            r#"[{ kind = "loss", rate = 0.02 }]"#,
            r#"[{ kind = "reorder", rate = 0.1, delay = "3 ms" }]"#,
            r#"[{ kind = "jitter", delay = "exponential 1 ms" }]"#,
            r#"[{ kind = "duplicate", rate = 0.05 }]"#,
        ])
    };
    let mut text = format!("[[link]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\n");
    let follows_trace = draw.chance(5);
    let rate = if follows_trace { "deliveries = [2, 3, 3, 5, 9, 10]".to_owned() } else { format!("rate = \"{}\"", draw.one_of(&RATES)) };
    text += &format!("{rate}\ndelay = \"{}\"\n", draw.one_of(&DELAYS));
    if draw.chance(85) || follows_trace {
        text += &format!("queue = {}\n", queue(draw));
        text += draw.maybe(if follows_trace { 0 } else { 5 }, "bursts = { period = \"4 ms\", aggregate = 3 }\n");
    } else {
        text += "limit = 10\n";
    }
    if draw.chance(8) {
        text += &format!("impair = {}\n", impair(draw));
    }
    if draw.chance(35) {
        let mut reverse = vec![format!("rate = \"{}\"", draw.one_of(&["30 kbps", "100 kbps", "1 Mbps"]))];
        match draw.below(4) {
            0 => reverse.push(format!("queue = {}", queue(draw))),
            1 => reverse.push(format!("limit = {}", 1 + draw.below(6))),
            2 => reverse.push(format!("impair = {}", impair(draw))),
            _ => {}
        }
        text += &format!("reverse = {{ {} }}\n", reverse.join(", "));
    }
    text
}

/// Flows of a group; nodes are `a`, `b` and perhaps `c`, in a row.
fn group(draw: &mut Draw, number: u64, last: &str) -> String {
    let is_reverse = draw.chance(12);
    let (first, last) = if last == "c" { draw.one_of(&["ac", "ac", "ab", "bc"]).split_at(1) } else { ("a", last) };
    let (from, to) = if is_reverse { (last, first) } else { (first, last) };
    let mut text = format!("[[flows]]\nname = \"g{number}\"\ncount = {}\nto = \"{to}\"\n", 1 + draw.below(5));
    if draw.chance(85) {
        let spread = draw.maybe(30, ", spread = \"1 ms\"");
        let limit = draw.maybe(20, ", limit = 3");
        text += &format!(
            "access = {{ to = \"{from}\", rate = \"{}\", delay = \"{}\"{spread}{limit} }}\n",
            draw.one_of(&["500 kbps", "2 Mbps", "2 Mbps", "100 Mbps"]),
            draw.one_of(&DELAYS)
        );
    } else {
        text += &format!("from = \"{from}\"\n");
    }
    if draw.chance(15) {
        text += &format!("exit = {{ from = \"{to}\", rate = \"20 Mbps\", delay = \"{}\" }}\n", draw.one_of(&DELAYS));
        text = text.replace(&format!("to = \"{to}\"\naccess"), "access").replace(&format!("to = \"{to}\"\nfrom"), "from");
    }
    text += &format!("start = [\"0 s\", \"{}\"]\n", draw.one_of(&["0 s", "1 ms", "300 ms", "1 s"]));
    if draw.chance(12) {
        let app = draw
            .one_of(&[r#"{ kind = "cbr", rate = "200 kbps" }"#, r#"{ kind = "onoff", rate = "500 kbps", on = "100 ms", off = "900 ms" }"#]);
        return text + &format!("udp = {{ packet_size = \"500 B\" }}\napp = {app}\n");
    }
    let profile = draw.one_of(&PROFILES);
    let variants: &[&str] =
        if profile == "linux" { &["cubic", "reno", "dctcp"] } else { &["reno", "newreno", "sack", "cubic", "tahoe", "vegas"] };
    let variant = if draw.chance(50) { format!(", variant = \"{}\"", draw.one_of(variants)) } else { String::new() };
    let others = draw.maybe(15, ", pacing = true").to_owned() + draw.maybe(25, ", delayed_ack = true") + draw.maybe(20, ", max_rwnd = 8");
    let ecn = draw.chance(70);
    let is_accurate = ecn && profile != "ns2" && draw.chance(40);
    let echo = if is_accurate { ", ecn_echo = \"accurate\"" } else { "" };
    text += &format!("tcp = {{ profile = \"{profile}\"{variant}, ecn = {ecn}{echo}{others} }}\n");
    let app = draw.one_of(&[
        r#""bulk""#,
        r#""bulk""#,
        r#""bulk""#,
        r#""bulk""#,
        r#"{ kind = "file", bytes = "30 kB" }"#,
        r#"{ kind = "file", bytes = "200 kB" }"#,
        r#"{ kind = "exchange" }"#,
        r#"{ kind = "exchange", connection = "keep", think = "exponential 20 ms" }"#,
        r#"{ kind = "transactions", bytes = "3 kB", gap = "5 ms", connection = "new" }"#,
        r#"{ kind = "transactions", bytes = "20 kB", gap = "0 ms", connection = "new" }"#,
        r#"{ kind = "transactions", bytes = "9 kB", gap = "30 ms", connection = "keep" }"#,
        r#"{ kind = "arrivals", load = 0.3, rate = "1 Mbps", size = "exponential 5 KB" }"#,
        r#"{ kind = "arrivals", load = 0.6, rate = "2 Mbps", size = "exponential 15 KB" }"#,
        r#"{ kind = "arrivals", flows_per_second = 100, process = "deterministic", size = "1 KB" }"#,
        r#"{ kind = "replay", times = ["0 s", "1 ms", "1 ms", "700 ms", "1 s"], sizes = ["9 kB", "1 kB", "40 kB", "20 kB", "30 kB"] }"#,
        r#"{ kind = "messages", times = ["0 s", "5 ms", "700 ms", "1 s"], sizes = ["9 kB", "100 kB", "20 kB", "1 kB"] }"#,
        r#"{ kind = "poisson", rate = "800 kbps" }"#,
        r#"{ kind = "cbr", rate = "800 kbps" }"#,
        r#"{ kind = "onoff", rate = "900 kbps", on = "100 ms", off = "exponential 80 ms" }"#,
        r#"{ kind = "telnet", interval = "exponential 20 ms" }"#,
        r#"{ kind = "web", connections = 2, think = "100 ms" }"#,
        r#"{ kind = "video", rates = ["300 kbps", "1 Mbps"], segment = "300 ms", buffer = "2 s", reservoir = "500 ms", cushion = "1 s" }"#,
    ]);
    text + &format!("app = {app}\n")
}

fn scenario_text(draw: &mut Draw) -> String {
    let mut text = format!("name = \"random\"\nduration = \"{}\"\n", draw.one_of(&["1.7 s", "2.5 s", "3 s"]));
    text += &format!("measure_from = \"{}\"\n", draw.one_of(&["0 s", "0 s", "700 ms", "1 s"]));
    if draw.chance(10) {
        text += "processing_jitter = \"1 ms\"\n";
    }
    text += &link(draw, "first", "a", "b");
    let last = if draw.chance(35) {
        text += &link(draw, "second", "b", "c");
        "c"
    } else {
        "b"
    };
    for number in 0..1 + draw.below(3) {
        text += &group(draw, number, last);
    }
    if draw.chance(12) {
        let change = draw.one_of(&["rate = \"1500 kbps\"", "delay = \"2 ms\"", "state = \"down\"", "state = \"down\"\non_wire = \"lost\""]);
        text += &format!("[[change]]\nat = \"900 ms\"\nlink = \"first\"\n{change}\n");
        if change.contains("down") {
            text += "[[change]]\nat = \"1050 ms\"\nlink = \"first\"\nstate = \"up\"\n";
        }
    }
    text += "[record]\n";
    text += draw.one_of(&["", "queue = \"10 ms\"\n", "queue = \"50 ms\"\n"]);
    text += draw.one_of(&["", "window = \"10 ms\"\n", "window = \"100 ms\"\n"]);
    text += draw.one_of(&["", "rates = true\n", "rates = true\nrates_interval = \"300 ms\"\n"]);
    text + draw.maybe(50, "events = true\n") + draw.maybe(50, "distributions = true\n") + draw.maybe(50, "transfers = true\n")
}

/// A valid random scenario; a combination that the checks refuse is drawn again.
fn random_scenario(draw: &mut Draw) -> (String, Scenario) {
    loop {
        let text = scenario_text(draw);
        if let Ok(scenario) = Scenario::from_toml(&text, &[], &REGISTRY, &no_files) {
            return (text, scenario);
        }
    }
}

fn options(scenario: &Scenario, seed: u64) -> RunTimesAndSeed {
    RunTimesAndSeed { duration: Time::ZERO + scenario.duration, measure_from: Time::ZERO + scenario.measure_from, seed }
}

type Tables = Vec<(&'static str, Table)>;

/// Runs a scenario with its recordings; `advance` may proceed in slices.
fn run(scenario: &Scenario, seed: u64, is_fast: bool, advance: impl FnOnce(&mut Simulation<Recorder>)) -> (Run, Tables) {
    let options = options(scenario, seed);
    let recorder = Recorder::new(scenario.record.recording(), options.duration);
    let mut simulation = Simulation::new(&scenario.network, &options, recorder);
    if !is_fast {
        simulation.disable_fast_path();
    }
    advance(&mut simulation);
    let (run, recorder) = simulation.finish();
    let tables = recorder.tables(&run.names).expect("the recording is small");
    (run, tables)
}

fn assert_same(one: &(Run, Tables), other: &(Run, Tables), what: &str) {
    let counts = |run: &Run| (run.fingerprint, run.events, run.packet_hops, run.packets_received);
    let tables = |result: &(Run, Tables)| -> Tables { result.0.report.tables.iter().chain(&result.1).cloned().collect() };
    for ((name, table), (other_name, other_table)) in tables(one).iter().zip(&tables(other)) {
        assert_eq!(name, other_name);
        for ((column, values), (_, others)) in table.columns.iter().zip(&other_table.columns) {
            assert!(is_same(values, others), "{what}\n{name}.{column}: {values:?}\nis without the fast path {others:?}");
        }
        assert_eq!(table.columns.len(), other_table.columns.len());
    }
    assert_eq!(tables(one).len(), tables(other).len());
    assert_eq!(counts(&one.0), counts(&other.0), "{what}");
}

/// NaN is the same as NaN.
fn is_same(one: &Column, other: &Column) -> bool {
    match (one, other) {
        (Column::Real(one), Column::Real(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(a, b)| a.to_bits() == b.to_bits())
        }
        _ => one == other,
    }
}

/// Slices by time and by events.
fn advance_in_slices(simulation: &mut Simulation<impl Probe>, draw: &mut Draw) {
    let mut until = Time::ZERO;
    for _ in 0..40 {
        until += Span::from_micros(draw.below(100_000));
        match draw.below(3) {
            0 => drop(simulation.advance_with_event_limit(until, draw.below(500))),
            _ => simulation.advance_to(until),
        }
    }
}

/// Words of scenarios that are to be drawn, with the packets of the scenarios that have them, and those among them on the fast path.
type Coverage = BTreeMap<&'static str, (u64, u64)>;

/// Applications by kind, schedules and changes of links, and recordings.
const COVERED: [&str; 26] = [
    "\"file\"",
    "\"exchange\"",
    "\"transactions\"",
    "\"arrivals\"",
    "\"replay\"",
    "\"messages\"",
    "\"poisson\"",
    "\"cbr\"",
    "\"onoff\"",
    "\"telnet\"",
    "\"web\"",
    "\"video\"",
    "bursts",
    "deliveries",
    "on_wire",
    "delay = \"2 ms\"\n[record]",
    "impair",
    "reverse",
    "exit",
    "udp",
    "pacing",
    "delayed_ack",
    "events",
    "window",
    "transfers",
    "processing_jitter",
];

fn compare_random_scenarios(seeds: Range<u64>) -> (u64, u64, Coverage) {
    let (mut received, mut passed, mut coverage) = (0, 0, Coverage::new());
    for seed in seeds {
        let mut draw = Draw(Rng::for_role(seed, "random scenario"));
        let (text, scenario) = random_scenario(&mut draw);
        let what = format!("seed {seed}:\n{text}");
        let plain = run(&scenario, seed, false, |_| {});
        assert_eq!(0, plain.0.fast_path_packets);
        let fast = run(&scenario, seed, true, |_| {});
        assert_same(&fast, &plain, &what);
        let sliced = run(&scenario, seed, true, |simulation| advance_in_slices(simulation, &mut draw));
        assert_same(&sliced, &plain, &format!("in slices, {what}"));
        received += fast.0.packets_received;
        passed += fast.0.fast_path_packets;
        for word in COVERED.into_iter().filter(|word| text.contains(word)) {
            let counts = coverage.entry(word).or_default();
            *counts = (counts.0 + fast.0.packets_received, counts.1 + fast.0.fast_path_packets);
        }
    }
    (received, passed, coverage)
}

/// Numbers of random scenarios; `ECNLAB_FAST_PATH_CASES` sets how many, and `ECNLAB_FAST_PATH_FIRST` the first.
fn cases() -> Range<u64> {
    let number = |name: &str, usual| std::env::var(name).ok().map_or(usual, |text| text.parse().expect("a number"));
    let first = number("ECNLAB_FAST_PATH_FIRST", 0);
    first..first + number("ECNLAB_FAST_PATH_CASES", 4000)
}

#[test]
fn random_scenarios_have_the_same_results_without_the_fast_path() {
    let (received, passed, coverage) = compare_random_scenarios(cases());
    assert!(passed * 5 > received, "of {received} packets only {passed} were on the fast path, which the test is to compare");
    println!("{passed} of {received} packets, {coverage:?}");
    // A few scenarios do not have all of them.
    assert!(cases().count() < 1000 || COVERED.len() == coverage.len(), "{coverage:?}");
    for (word, (received, passed)) in coverage {
        assert!(passed > 0, "with {word} none of {received} packets was on the fast path");
    }
}

/// One application alone on its path: whether it is computed ahead follows from its `write_times`.
#[test]
fn packets_of_applications_are_on_the_fast_path_as_their_write_times_allow() {
    let share = |app: &str| {
        let text = format!(
            "name = \"alone\"\nduration = \"20 s\"\n[[link]]\nname = \"l\"\nfrom = \"a\"\nto = \"b\"\nrate = \"10 Mbps\"\ndelay = \"5 ms\"\n\
             queue = {{ aqm = \"red\", limit = 50 }}\n[[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n\
             tcp = {{ profile = \"rfc\" }}\napp = {app}\n"
        );
        let scenario = Scenario::from_toml(&text, &[], &REGISTRY, &no_files).unwrap_or_else(|problems| panic!("{app}: {problems:?}"));
        let (run, _) = run(&scenario, 1, true, |_| {});
        assert!(run.packets_received > 100, "{app}: {} packets", run.packets_received);
        run.fast_path_packets as f64 / run.packets_received as f64
    };
    for ahead in [
        r#"{ kind = "file", bytes = "1 MB" }"#,
        r#"{ kind = "transactions", bytes = "20 kB", gap = "100 ms" }"#,
        r#"{ kind = "arrivals", load = 0.5, rate = "10 Mbps", size = "pareto 12 KB, shape 1.2" }"#,
        r#"{ kind = "cbr", rate = "2 Mbps" }"#,
        r#"{ kind = "poisson", rate = "2 Mbps" }"#,
        r#"{ kind = "onoff", rate = "2 Mbps", on = "exponential 500 ms", off = "exponential 500 ms" }"#,
    ] {
        assert!(share(ahead) > 0.5, "{ahead}: {}", share(ahead));
    }
    assert_eq!(0.0, share(r#"{ kind = "web" }"#), "answers share the queues of the return path with ACKs");
}

/// The thesis network, with the recordings of its example.
#[test]
fn most_packets_of_a_bulk_transfer_are_on_the_fast_path() {
    let text = include_str!("../../../examples/ecn.toml");
    let scenario =
        Scenario::from_toml(text, &[("duration".into(), "30 s".into()), ("record.window".into(), "50 ms".into())], &REGISTRY, &no_files);
    let scenario = scenario.expect("the example is valid");
    let (fast, plain) = (run(&scenario, 1, true, |_| {}), run(&scenario, 1, false, |_| {}));
    assert_same(&fast, &plain, "the thesis network");
    let share = fast.0.fast_path_packets as f64 / fast.0.packets_received as f64;
    assert!(share > 0.9, "{share}");
}

/// Events that the calendar has to handle for each packet-hop of the bulk network: one for each data packet instead of five.
#[test]
fn a_data_packet_and_its_ack_take_one_event() {
    let text = include_str!("../../../examples/ecn.toml");
    let scenario = Scenario::from_toml(text, &[("duration".into(), "30 s".into())], &REGISTRY, &no_files).expect("the example is valid");
    let options = options(&scenario, 1);
    let mut simulation = Simulation::new(&scenario.network, &options, NoProbe);
    let mut events = 0u64;
    while !simulation.advance_with_event_limit(options.duration, 1) {
        events += 1;
    }
    let (run, _) = simulation.finish();
    let per_packet = events as f64 / run.packets_received as f64;
    assert!(per_packet < 1.3, "{per_packet} events for each data packet");
}

/// A queue with known departures before a pipe that packets of other flows enter by events, in each direction: the pipe must take the packets
/// of both in the order of time.
#[test]
fn a_pipe_behind_a_queue_takes_packets_of_other_flows_in_order() {
    const PIPE: &str = "rate = \"3 Mbps\"\ndelay = \"5 ms\"\nlimit = 50\n";
    const QUEUE: &str = "rate = \"2 Mbps\"\ndelay = \"60 ms\"\nqueue = { aqm = \"droptail\", limit = 20 }\n";
    const REVERSE: &str = "reverse = { rate = \"100 kbps\", queue = { aqm = \"droptail\", limit = 50 } }\n";
    const ARRIVALS: &str = "app = { kind = \"arrivals\", load = 0.5, rate = \"2 Mbps\", size = \"exponential 5 KB\" }\n";
    let tcp = |profile: &str| format!("tcp = {{ profile = \"{profile}\" }}\n");
    let network = |first: &str, second: &str, near: (&str, &str), profile: &str, near_flows: &str| {
        let (from, to) = near;
        format!(
            "name = \"two links\"\nduration = \"8 s\"\n\
            [[link]]\nname = \"first\"\nfrom = \"a\"\nto = \"b\"\n{first}\
            [[link]]\nname = \"second\"\nfrom = \"b\"\nto = \"c\"\n{second}\
            [[flows]]\nname = \"far\"\nfrom = \"a\"\nto = \"c\"\n{}{ARRIVALS}\
            [[flows]]\nname = \"near\"\nfrom = \"{from}\"\nto = \"{to}\"\n{near_flows}",
            tcp(profile)
        )
    };
    let udp = "udp = { packet_size = \"500 B\" }\napp = { kind = \"cbr\", rate = \"1 Mbps\" }\n";
    let texts = [
        network(QUEUE, PIPE, ("b", "c"), "ns2", &(tcp("ns2") + ARRIVALS)),
        network(QUEUE, PIPE, ("b", "c"), "ns2", &tcp("ns2")),
        network(QUEUE, PIPE, ("b", "c"), "ns2", udp),
        network(PIPE, &(QUEUE.to_owned() + REVERSE), ("a", "b"), "linux", &(tcp("linux") + ARRIVALS)),
    ];
    for text in texts {
        let scenario = Scenario::from_toml(&text, &[], &REGISTRY, &no_files).unwrap_or_else(|problems| panic!("{problems:?}\n{text}"));
        for seed in 1..4 {
            let (fast, plain) = (run(&scenario, seed, true, |_| {}), run(&scenario, seed, false, |_| {}));
            assert_same(&fast, &plain, &text);
        }
    }
}

/// The first ACK arrives at 10 ms, when windows are sampled. The first packet, of 40 bytes as in ns-2, takes 0.04 + 1 ms on the access link and
/// 0.04 + 3.92 ms on the bottleneck; the ACK takes as long. Of samples every 10 ms the one at 10 ms is scheduled before the ACK, of those every
/// millisecond after it.
#[test]
fn a_sample_at_the_instant_of_an_ack_finds_the_same_window() {
    let text = r#"
        name = "an ACK at a sample"
        duration = "400 ms"
        [[link]]
        name = "bottleneck"
        from = "a"
        to = "b"
        rate = "8 Mbps"
        delay = "3.92 ms"
        queue = { aqm = "droptail", limit = 100 }
        [[flows]]
        name = "one"
        to = "b"
        access = { to = "a", rate = "8 Mbps", delay = "1 ms" }
        tcp = { profile = "ns2" }
    "#;
    for interval in ["10 ms", "1 ms"] {
        let scenario = Scenario::from_toml(text, &[("record.window".into(), interval.into())], &REGISTRY, &no_files).expect("it is valid");
        let (fast, plain) = (run(&scenario, 1, true, |_| {}), run(&scenario, 1, false, |_| {}));
        assert_same(&fast, &plain, interval);
        let windows = &fast.1.iter().find(|(name, _)| *name == "series_window").expect("windows are recorded").1;
        let column = |name: &str| {
            let Some((_, Column::Real(values))) = windows.columns.iter().find(|(column, _)| column == name) else { panic!("{name}") };
            values
        };
        let at =
            |time: f64| column("cwnd_packets")[column("time_s").iter().position(|&sample| (sample - time).abs() < 1e-9).expect("a sample")];
        let is_sampled_first = interval == "10 ms";
        assert_eq!(is_sampled_first, at(0.01).to_bits() == at(0.0).to_bits(), "{interval}");
        assert!(at(0.02) > at(0.0), "the window grows with the ACK");
    }
}
