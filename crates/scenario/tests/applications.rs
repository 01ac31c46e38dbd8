//! Every application in a scenario's network: its data, its duration, and that the offered traffic does not depend on the queue.

use ecnlab_scenario::{Registry, Scenario, no_files};
use ecnlab_sim::measures::Column;
use ecnlab_sim::{NoProbe, Probe, Recorder, RecordingConfig, Run, RunTimesAndSeed, Simulation};
use ecnlab_transport::application::{APPLICATIONS, AllowedTransport};
use ecnlab_transport::{Segment, SegmentType};
use ecnlab_units::{Ecn, Time};

/// One group over a link of 10 Mbps and 20 ms in each direction.
fn scenario(carrier: &str, app: &str, duration: &str) -> Scenario {
    with_queue("aqm = \"droptail\", limit = 1000", carrier, app, duration)
}

fn with_queue(queue: &str, carrier: &str, app: &str, duration: &str) -> Scenario {
    let filled = [("QUEUE", queue), ("CARRIER", carrier), ("APP", app), ("DURATION", duration)];
    let text = filled.into_iter().fold(TEMPLATE.to_owned(), |text, (gap, filling)| text.replace(gap, filling));
    Scenario::from_toml(&text, &[], &Registry::builtin(), &no_files).unwrap_or_else(|problems| panic!("{app}: {problems:?}"))
}

const TEMPLATE: &str = r#"name = "one group"
duration = "DURATION"
measure_from = "0 s"

[[link]]
name = "bottleneck"
from = "a"
to = "b"
rate = "10 Mbps"
delay = "20 ms"
queue = { QUEUE }

[[flows]]
name = "users"
from = "a"
to = "b"
CARRIER
app = APP
"#;

fn run(scenario: &Scenario) -> Run {
    let options = RunTimesAndSeed { seed: 1, duration: Time::ZERO + scenario.duration, measure_from: Time::ZERO };
    let mut simulation = Simulation::new(&scenario.network, &options, NoProbe);
    simulation.advance_to(options.duration);
    simulation.finish().0
}

const TCP: &str = "tcp = { profile = \"linux\" }";
const UDP: &str = "udp = { packet_size = 1000 }";

/// Parameters with which an application is active within a few seconds.
fn example(name: &str) -> String {
    let parameters = match name {
        "file" => "packets = 100",
        "arrivals" => "load = 0.3, rate = \"10 Mbps\"",
        "replay" | "messages" => "times = [\"0 s\", \"1 s\"], sizes = [\"10 KB\", \"20 KB\"]",
        "web" => "think = \"0.5 s\"",
        "video" => "buffer = \"12 s\", reservoir = \"2 s\", cushion = \"8 s\"",
        _ => return format!("\"{name}\""),
    };
    format!("{{ kind = \"{name}\", {parameters} }}")
}

#[test]
fn every_application_sends_over_what_may_carry_it() {
    for entry in APPLICATIONS {
        for (carrier, fits) in [(TCP, true), (UDP, entry.allowed_transport == AllowedTransport::Either)] {
            if fits {
                let run = run(&scenario(carrier, &example(entry.name), "10 s"));
                let goodput = run.report.column_as_reals("groups", "goodput_bps")[0];
                assert!(goodput > 0.0, "{} over {carrier}", entry.name);
            }
        }
    }
}

/// Total of a column of the only group.
fn flow_total(run: &Run, column: &str) -> f64 {
    run.report.column_as_reals("groups", column)[0]
}

/// Transmission time of this many bytes at 10 Mbps.
fn wire_bytes(bytes: f64) -> f64 {
    bytes * 8.0 / 10e6
}

#[test]
fn an_exchange_takes_two_round_trips_and_one_over_a_kept_connection() {
    let opened = run(&scenario(TCP, "\"exchange\"", "60 s"));
    // Forward: the ACK and the FIN of the previous exchange, then SYN, ACK and request. Reverse: the SYN-ACK, the request's ACK, and 5000
    // bytes in four segments.
    let expected = 4.0 * 0.02 + wire_bytes(52.0 + 52.0 + 60.0 + 52.0 + 1052.0) + wire_bytes(52.0 + 52.0 + 5208.0);
    assert!(
        (flow_total(&opened, "transaction_mean_s") - expected).abs() < 1e-6,
        "{} in place of {expected}",
        flow_total(&opened, "transaction_mean_s")
    );
    assert!(
        (60.0 / expected - flow_total(&opened, "transactions")).abs() < 1.0,
        "one behind the other: {}",
        flow_total(&opened, "transactions")
    );
    assert_eq!(0.0, flow_total(&opened, "lockouts"));

    let (_, kept) = transfers(&scenario(TCP, "{ kind = \"exchange\", connection = \"keep\" }", "60 s"), 1);
    // The ACK of the previous response precedes the request. The ACK of the request precedes the response while the server sends quick
    // ACKs, as for the first 16 segments, and later follows it.
    let expected = 2.0 * 0.02 + wire_bytes(52.0 + 1052.0) + wire_bytes(5208.0);
    let off = kept[16..].iter().map(|(_, took, _)| (took - expected).abs()).fold(0.0, f64::max);
    assert!(kept.len() > 1000 && off < 1e-6, "{off} s off {expected} s");
}

#[test]
fn a_response_of_five_packets_seldom_needs_the_timer_whichever_of_them_is_lost() {
    let text = TEMPLATE.replace("delay = \"20 ms\"", "delay = \"20 ms\"\nloss = 0.02").replace("QUEUE", "aqm = \"droptail\", limit = 1000");
    let text = text.replace("CARRIER", TCP).replace("APP", "{ kind = \"exchange\", response = \"7 KB\" }").replace("DURATION", "400 s");
    let lossy = Scenario::from_toml(&text, &[], &Registry::builtin(), &no_files).unwrap_or_else(|problems| panic!("{problems:?}"));
    let run = run(&lossy);
    // Three packets after it indicate the loss of any of the first two, and a tail loss probe that of the others (RFC 8985, sections 6 and
    // 7). Only packets that are lost twice, and the last ones, need the RTO: SYN, request and FIN.
    let [timeouts, fast] = ["timeouts", "retransmitted_fast"].map(|column| flow_total(&run, column));
    assert!(fast > 300.0 && timeouts < 0.1 * fast, "{timeouts} timeouts, {fast} fast retransmissions");
}

#[test]
fn a_pause_between_exchanges_is_no_lockout() {
    let run = run(&scenario(TCP, "{ kind = \"exchange\", think = \"3 s\" }", "60 s"));
    assert_eq!((20.0, 0.0), (flow_total(&run, "transactions"), flow_total(&run, "lockouts")));
}

#[test]
fn a_pause_between_bursts_of_datagrams_is_no_lockout_and_a_silent_link_is() {
    let bursts = "{ kind = \"onoff\", rate = \"1 Mbps\", on = \"500 ms\", off = \"3 s\" }";
    assert_eq!(0.0, flow_total(&run(&scenario(UDP, bursts, "60 s")), "lockouts"));
    let dead = with_queue("aqm = \"droptail\", limit = 1 }\nloss = 1\nreverse = { limit = 100", UDP, "\"cbr\"", "60 s");
    let run = run(&dead);
    assert_eq!((1.0, 60.0), (flow_total(&run, "lockouts"), flow_total(&run, "lockout_s")));
}

#[test]
fn datagrams_arrive_at_the_rate_of_their_application() {
    for (app, expected, within) in [
        // All except data in flight for 20 ms, and a packet at each end.
        ("{ kind = \"cbr\", rate = \"1 Mbps\" }", 1e6, 0.02 / 60.0 + 2.0 * 972.0 * 8.0 / 60e6),
        // Four standard errors of a number of packets.
        ("{ kind = \"poisson\", rate = \"1 Mbps\" }", 1e6, 4.0 / (60.0 * 1e6 / 8.0 / 972.0f64).sqrt()),
        // 13 packets of 3.888 ms each make a burst, and the last of 299 bursts may be truncated.
        (
            "{ kind = \"onoff\", rate = \"2 Mbps\", on = \"50 ms\", off = \"150 ms\" }",
            13.0 * 972.0 * 8.0 / (13.0 * 0.003_888 + 0.15),
            1.0 / 299.0,
        ),
    ] {
        let run = run(&scenario(UDP, app, "60 s"));
        let goodput = flow_total(&run, "goodput_bps");
        assert!((goodput / expected - 1.0).abs() < within, "{app}: {goodput}");
    }
}

#[test]
fn a_video_plays_at_the_rate_that_the_link_can_carry() {
    let video =
        "{ kind = \"video\", segment = \"2 s\", buffer = \"20 s\", rule = \"throughput\", rates = [\"1 Mbps\", \"4 Mbps\", \"12 Mbps\"] }";
    let run = run(&scenario(TCP, video, "100 s"));
    // Played and buffered video at the end: 120 s of segments, the first of them at the lowest rate and all others at the middle one.
    let segments = flow_total(&run, "transactions");
    assert!((58.0..=60.0).contains(&segments), "{segments}");
    assert_eq!((segments - 1.0) * 8e6 + 2e6, flow_total(&run, "goodput_bps") * 100.0);
}

#[test]
fn what_is_replayed_is_what_the_list_says() {
    let list = "times = [\"0 s\", \"1 s\", \"1 s\"], sizes = [\"10 KB\", \"20 KB\", \"1 B\"]";
    for (carrier, kind, transactions) in [(TCP, "replay", 3.0), (TCP, "messages", 0.0), (UDP, "messages", 0.0)] {
        let run = run(&scenario(carrier, &format!("{{ kind = \"{kind}\", {list} }}"), "10 s"));
        assert_eq!(
            (30_001.0, transactions),
            (flow_total(&run, "goodput_bps") * 10.0 / 8.0, flow_total(&run, "transactions")),
            "{kind} over {carrier}"
        );
    }
}

/// Codepoints of the data that the server's flow sends.
#[derive(Default)]
struct Codepoints(Vec<Ecn>);

impl Probe for Codepoints {
    fn on_segment_sent(&mut self, _now: Time, flow: u32, segment: &Segment) {
        if flow == 0 && segment.segment_type == SegmentType::Plain {
            self.0.push(segment.ecn);
        }
    }
}

#[test]
fn a_response_is_ecn_capable_from_its_first_packet_on_once_the_handshake_agreed() {
    for (ecn, expected) in [("true", Ecn::Ect0), ("false", Ecn::NotEct)] {
        let scenario = scenario(&format!("tcp = {{ profile = \"linux\", ecn = {ecn} }}"), "\"exchange\"", "1 s");
        let options = RunTimesAndSeed { seed: 1, duration: Time::ZERO + scenario.duration, measure_from: Time::ZERO };
        let sent = Simulation::new(&scenario.network, &options, Codepoints::default()).finish().1.0;
        assert!(sent.len() > 40 && sent.iter().all(|&found| found == expected), "ecn = {ecn}: {sent:?}");
    }
}

#[test]
fn what_an_application_hardly_meant_is_said_and_what_cannot_be_is_refused() {
    let read = |carrier: &str, app: &str| {
        let text = TEMPLATE.replace("QUEUE", "aqm = \"droptail\", limit = 100").replace("CARRIER", carrier).replace("APP", app);
        Scenario::from_toml(&text.replace("DURATION", "10 s"), &[], &Registry::builtin(), &no_files)
    };
    for (carrier, app, place, told) in [
        (TCP, "{ kind = \"arrivals\", load = 1.2, rate = \"10 Mbps\" }", "flows.users.app.load", "grows without bound"),
        (TCP, "{ kind = \"arrivals\", flows_per_second = 0.05 }", "flows.users.app.flows_per_second", "every 20 s on average"),
        (TCP, "{ kind = \"replay\", times = [\"1 s\", \"11 s\"], sizes = [1, 1] }", "flows.users.app.times", "1 of 2 are after the end"),
        ("udp = { ecn = \"ect0\" }", "\"cbr\"", "flows.users.udp.ecn", "no queue on their route marks"),
    ] {
        let warnings = read(carrier, app).unwrap().warnings;
        assert!(warnings.iter().any(|said| said.place == place && said.message.contains(told)), "{app}: {warnings:?}");
    }
    for (carrier, app, place, told) in [
        (UDP, "\"bulk\"", "flows.users.app", "cbr"),
        (UDP, "{ kind = \"arrivals\", load = 0.5, rate = \"1 Mbps\" }", "flows.users.app", "waits for acknowledgements"),
        (TCP, "{ kind = \"arrivals\" }", "flows.users.app.load", "is missing"),
        (
            "count = 2\ntcp = { profile = \"linux\" }",
            "{ kind = \"arrivals\", flows_per_second = 5 }",
            "flows.users.count",
            "give count = 1",
        ),
        (
            TCP,
            "{ kind = \"arrivals\", load = 0.5, rate = \"1 Mbps\", size = \"pareto 3 KB, shape 1\" }",
            "flows.users.app.size",
            "an infinite mean",
        ),
        (TCP, "{ kind = \"replay\", times = [\"1 s\"], sizes = [1, 2] }", "flows.users.app.sizes", "as many as times"),
        (TCP, "{ kind = \"video\", buffer = \"100 s\" }", "flows.users.app.cushion", "must fit into the buffer"),
    ] {
        let problems = read(carrier, app).map(|_| ()).unwrap_err();
        assert!(problems.iter().any(|said| said.place == place && said.message.contains(told)), "{app}: {problems:?}");
    }
}

#[test]
fn a_list_in_a_file_is_the_list_in_the_scenario() {
    let text = TEMPLATE.replace("QUEUE", "aqm = \"droptail\", limit = 100").replace("CARRIER", TCP).replace("DURATION", "10 s");
    let read = |app: &str| {
        let files =
            |name: &str| if name == "list.txt" { Ok("0 10000\n1.5 20000 # later\n".to_owned()) } else { Err("not found".to_owned()) };
        Scenario::from_toml(&text.replace("APP", app), &[], &Registry::builtin(), &files)
    };
    let listed = read("{ kind = \"replay\", times = [\"0 s\", \"1.5 s\"], sizes = [10000, 20000] }").unwrap();
    let named = read("{ kind = \"replay\", file = \"list.txt\" }").unwrap();
    assert_eq!(listed.hash(), named.hash());
    assert_eq!((30_000.0, 2.0), (flow_total(&run(&named), "goodput_bps") * 10.0 / 8.0, flow_total(&run(&named), "transactions")));
    for (app, place) in [
        ("{ kind = \"replay\", file = \"other.txt\" }", "flows.users.app.file"),
        ("{ kind = \"replay\", file = \"list.txt\", times = [\"1 s\"] }", "flows.users.app.times"),
        ("{ kind = \"replay\" }", "flows.users.app.times"),
    ] {
        let problems = read(app).map(|_| ()).unwrap_err();
        assert!(problems.iter().any(|problem| problem.place == place), "{app}: {problems:?}");
    }
}

/// Start, duration and size of each recorded transaction.
fn transfers(scenario: &Scenario, seed: u64) -> (Run, Vec<(f64, f64, u64)>) {
    let options = RunTimesAndSeed { seed, duration: Time::ZERO + scenario.duration, measure_from: Time::ZERO };
    let recording = RecordingConfig { transfers: true, ..RecordingConfig::default() };
    let (run, recorder) = Simulation::new(&scenario.network, &options, Recorder::new(recording, options.duration)).finish();
    let tables = recorder.tables(&run.names).unwrap();
    let column = |name| tables[0].1.column(name).clone();
    let (Column::Real(start), Column::Real(took), Column::Count(size)) = (column("start_s"), column("duration_s"), column("size_bytes"))
    else {
        panic!("times are real and sizes whole")
    };
    let rows = start.into_iter().zip(took).zip(size).map(|((start, took), size)| (start, took, size)).collect();
    (run, rows)
}

#[test]
fn the_same_traffic_is_offered_under_every_scheme_of_a_seed() {
    for app in [
        "{ kind = \"arrivals\", load = 0.9, rate = \"10 Mbps\", count = 300 }",
        "{ kind = \"arrivals\", flows_per_second = 60, process = \"pareto\", size = \"exponential 20 KB\", count = 300 }",
    ] {
        let offered = |queue: &str, ecn: bool, seed: u64| {
            let tcp = format!("tcp = {{ profile = \"linux\", ecn = {ecn} }}");
            let (_, mut rows) = transfers(&with_queue(queue, &tcp, app, "300 s"), seed);
            rows.sort_by(|a, b| a.0.total_cmp(&b.0));
            rows.into_iter().map(|(start, _, size)| (start, size)).collect::<Vec<_>>()
        };
        let red = "aqm = \"red\", limit = 60, min_th = 5, max_th = 15";
        let first = offered(red, false, 1);
        assert_eq!(300, first.len());
        assert_eq!(first, offered(red, true, 1), "{app}: ECN");
        assert_eq!(first, offered("aqm = \"codel\", limit = 60", true, 1), "{app}: CoDel");
        assert_ne!(first, offered(red, false, 2), "{app}: another seed");
    }
}

#[test]
fn flows_that_come_and_go_have_no_rows_and_no_part_in_fairness() {
    let run = run(&scenario(TCP, "{ kind = \"arrivals\", flows_per_second = 20, size = \"10 KB\" }", "20 s"));
    assert!(run.report.column_as_reals("flows", "sent").is_empty());
    assert!(run.report.column_as_reals("total", "jain_goodput")[0].is_nan());
    let (transactions, goodput) =
        (run.report.column_as_reals("groups", "transactions")[0], run.report.column_as_reals("groups", "goodput_bps")[0]);
    assert!(transactions > 300.0 && goodput * 20.0 / 8.0 >= transactions * 10_000.0, "{transactions} transactions, {goodput} bit/s");
}

/// A slow link takes 1 s for 125 KB, a fast one a tenth of it, and the bottleneck almost nothing.
#[test]
fn a_flow_has_the_rate_of_its_number_in_whichever_place_it_comes() {
    let took = |flows_per_second: &str| {
        let text = TEMPLATE.replace("from = \"a\"\nto = \"b\"\nCARRIER", &format!("to = \"b\"\n{TWO_RATES}\n{TCP}"));
        let text = text.replace("rate = \"10 Mbps\"", "rate = \"10 Gbps\"").replace("QUEUE", "aqm = \"droptail\", limit = 1000");
        let app = format!(
            "{{ kind = \"arrivals\", flows_per_second = {flows_per_second}, process = \"deterministic\", size = \"125 KB\", count = 20 }}"
        );
        let text = text.replace("APP", &app).replace("DURATION", "100 s");
        let scenario = Scenario::from_toml(&text, &[], &Registry::builtin(), &no_files).unwrap_or_else(|why| panic!("{why:?}"));
        let (run, mut rows) = transfers(&scenario, 1);
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        let slowdown = run.report.column_as_reals("completions", "slowdown_mean")[0];
        (slowdown, rows.into_iter().map(|(_, took, _)| took).collect::<Vec<_>>())
    };
    // One after another in one slot, and several at once.
    let [(_, alone), (slowdown, together)] = ["0.25", "4"].map(took);
    assert_eq!((20, 20), (alone.len(), together.len()));
    for (number, (alone, together)) in alone.iter().zip(&together).enumerate() {
        let is_slow = number % 2 == 0;
        assert!(if is_slow { *alone > 1.0 } else { *alone < 0.6 }, "flow {number} took {alone} s");
        // A packet waits for only a few others on the bottleneck, 1.2 us each.
        assert!((alone - together).abs() < 1e-3, "flow {number} took {alone} s alone and {together} s beside others");
    }
    // The ideal is that of the flow's own rate: at most ten windows' RTTs of 40 ms more than that.
    assert!((1.0..6.0).contains(&slowdown), "{slowdown}");
}

const TWO_RATES: &str = "access = { to = \"a\", rate = [\"1 Mbps\", \"10 Mbps\"], delay = \"0 s\" }";

#[test]
fn completions_by_size_are_those_of_the_transactions() {
    let scenario = scenario(TCP, "{ kind = \"arrivals\", flows_per_second = 20, size = \"mix 3 KB: 0.5, 30 KB: 0.5\" }", "50 s");
    let (run, rows) = transfers(&scenario, 1);
    let of = |column| run.report.column_as_reals("completions", column);
    assert_eq!((vec![2e3, 2e4], vec![5e3, 5e4]), (of("size_from_bytes"), of("size_to_bytes")));
    for (at, size) in [3_000, 30_000].into_iter().enumerate() {
        let took: Vec<_> = rows.iter().filter(|row| row.2 == size).map(|row| row.1).collect();
        let mean = took.iter().sum::<f64>() / took.len() as f64;
        assert_eq!(took.len() as f64, of("transactions")[at]);
        assert!((of("transaction_mean_s")[at] / mean - 1.0).abs() < 1e-9);
        // A full packet of 1500 bytes forward and an ACK of 52 bytes back over empty links, and the data at 10 Mbps.
        let least = 0.04 + wire_bytes(1552.0) + wire_bytes(size as f64);
        assert!((of("slowdown_mean")[at] / (mean / least) - 1.0).abs() < 1e-6, "{} and {}", of("slowdown_mean")[at], mean / least);
        assert!(of("slowdown_mean")[at] >= 1.0);
    }
}
