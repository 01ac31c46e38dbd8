//! Scenarios with links that change and links that follow a trace.

use ecnlab_queue::Limit;
use ecnlab_scenario::{Problem, Registry, Scenario, no_files};
use ecnlab_sim::network::{LinkChange, LinkState, QueueSpec};
use ecnlab_sim::trace_driven_link::DeliveryTrace;
use ecnlab_sim::{NoProbe, PipeOrQueue, RunTimesAndSeed, Simulation};
use ecnlab_units::{Rate, Span, Time};

const QUEUE: &str = "queue = { aqm = \"droptail\", limit = 100 }";

/// Scenario with further keys of a link, and text after it.
fn text(link: &str, behind: &str) -> String {
    format!(
        r#"name = "changing"
duration = "30 s"

[[link]]
name = "path"
from = "a"
to = "b"
delay = "10 ms"
{link}

[[flows]]
name = "all"
count = 2
from = "a"
to = "b"
tcp = {{ profile = "ns2" }}

{behind}
"#
    )
}

/// A file reader with a single file.
fn files(name: &str) -> Result<String, String> {
    if name == "some.trace" { Ok("1\n3\n3\n10\n".to_owned()) } else { Err("no such file".to_owned()) }
}

fn read(link: &str, behind: &str) -> Result<Scenario, Vec<Problem>> {
    Scenario::from_toml(&text(link, behind), &[], &Registry::builtin(), &files)
}

fn read_valid(link: &str, behind: &str) -> Scenario {
    read(link, behind).unwrap_or_else(|problems| panic!("{link} {behind}: {problems:?}"))
}

/// Paths and messages of the problems.
fn problems(link: &str, behind: &str) -> Vec<(String, String)> {
    read(link, behind).err().unwrap_or_default().into_iter().map(|problem| (problem.place, problem.message)).collect()
}

fn queue(scenario: &Scenario, link: usize) -> &QueueSpec {
    match &scenario.network.links[link].buffer {
        PipeOrQueue::Queue(queue) => queue,
        PipeOrQueue::Pipe { .. } => panic!("link {link} has no queue"),
    }
}

fn fingerprint(scenario: &Scenario) -> u64 {
    let options = RunTimesAndSeed { duration: Time::ZERO + scenario.duration, measure_from: Time::ZERO, seed: 1 };
    Simulation::new(&scenario.network, &options, NoProbe).finish().0.fingerprint
}

fn expect_resolved_reads_back(scenario: &Scenario) {
    let again = Scenario::from_json(&scenario.resolved.to_string(), &[], &Registry::builtin(), &no_files).unwrap();
    assert_eq!((&scenario.resolved, scenario.hash()), (&again.resolved, again.hash()));
    assert_eq!(fingerprint(scenario), fingerprint(&again));
}

#[test]
fn changes_go_to_the_links_that_they_name_at_each_of_their_times() {
    let link = format!("rate = \"10 Mbps\"\n{QUEUE}\nreverse = {{ {QUEUE} }}");
    let scenario = read_valid(
        &link,
        r#"[[change]]
at = ["5 s", "7 s"]
link = "path"
rate = "2 Mbps"
delay = "50 ms"

[[change]]
at = "10 s"
every = "4 s"
link = ["path", "path.reverse"]
state = "down"
on_wire = "lost"
"#,
    );
    let at = |secs| Time::ZERO + Span::from_secs(secs);
    let step =
        LinkChange { time: at(5), repeat_interval: None, rate: Rate::from_bps(2_000_000), delay: Some(Span::from_millis(50)), state: None };
    let (every, state) = (Some(Span::from_secs(4)), Some(LinkState::Down { drops_wire_packets: true }));
    let down = LinkChange { time: at(10), repeat_interval: every, rate: None, delay: None, state };
    assert_eq!([step, LinkChange { time: at(7), ..step }, down], queue(&scenario, 0).changes[..]);
    assert_eq!([down], queue(&scenario, 1).changes[..]);
    expect_resolved_reads_back(&scenario);
    assert_ne!(scenario.hash(), read_valid(&link, "").hash());
}

#[test]
fn a_change_that_cannot_be_is_told_with_the_remedy() {
    let rated = format!("rate = \"10 Mbps\"\n{QUEUE}");
    let followed = format!("deliveries = [1, 2]\n{QUEUE}\nreverse = {{ rate = \"1 Mbps\" }}");
    let cases = [
        (&rated, "link = \"pth\"\nrate = \"1 Mbps\"", "change.0.link", "did you mean \"path\"?"),
        (&rated, "link = \"path.reverse\"\nrate = \"1 Mbps\"", "change.0.link", "needs a queue"),
        (&rated, "link = \"path\"", "change.0.rate", "nothing changes"),
        (&rated, "rate = \"1 Mbps\"", "change.0.link", "is missing"),
        (&rated, "link = \"path\"\nstate = \"off\"", "change.0.state", "down, up"),
        (&rated, "link = \"path\"\nstate = \"up\"\nevery = \"0 s\"", "change.0.every", "must be"),
        (&followed, "link = \"path\"\nrate = \"1 Mbps\"", "change.0.rate", "leave out rate"),
    ];
    for (link, change, place, part) in cases {
        let found = problems(link, &format!("[[change]]\nat = \"1 s\"\n{change}"));
        assert!(matches!(&found[..], [(at, message)] if at == place && message.contains(part)), "{change}: {found:?}");
    }
    let warned = |change: &str| read_valid(&rated, &format!("[[change]]\nlink = \"path\"\n{change}")).warnings;
    assert!(warned("at = \"5 s\"\ndelay = \"1 ms\"").is_empty());
    assert!(warned("at = \"30 s\"\ndelay = \"1 ms\"")[0].message.contains("must be before the end"));
    assert!(warned("at = \"5 s\"\nstate = \"up\"\non_wire = \"lost\"")[0].message.contains("has an effect only with state = down"));
}

#[test]
fn a_trace_is_the_same_from_a_file_and_from_a_list_and_its_mean_is_the_rate() {
    let reverse = "reverse = { rate = \"1 Mbps\" }";
    let file = read_valid(&format!("deliveries = \"some.trace\"\n{QUEUE}\n{reverse}"), "");
    let list = read_valid(&format!("deliveries = [1, 3, 3, 10]\n{QUEUE}\n{reverse}"), "");
    assert_eq!((file.hash(), &file.resolved), (list.hash(), &list.resolved));
    assert_eq!(Some(DeliveryTrace::new(vec![1, 3, 3, 10]).unwrap()), queue(&file, 0).delivery_trace);
    assert_eq!([4_800_000, 1_000_000], [0, 1].map(|link| file.network.links[link].rate.bps()));
    expect_resolved_reads_back(&file);
    assert_ne!(file.hash(), read_valid(&format!("deliveries = [1, 3, 4, 10]\n{QUEUE}\n{reverse}"), "").hash());
}

#[test]
fn a_trace_that_cannot_be_followed_is_told_with_its_line() {
    let reverse = "reverse = { rate = \"1 Mbps\" }";
    let cases = [
        ("deliveries = \"other.trace\"", "deliveries", "cannot read \"other.trace\": no such file"),
        ("deliveries = [1, -3]", "deliveries", "time 2: \"-3\" must be a time in whole milliseconds"),
        ("deliveries = [5, 4]", "deliveries", "time 2: 4 comes after 5"),
        ("deliveries = []", "deliveries", "is empty"),
        ("deliveries = 5", "deliveries", "must be a file"),
        ("rate = \"1 Mbps\"\ndeliveries = [5]", "rate", "leave out one of the two"),
        ("", "rate", "give it as rate = \"10 Mbps\", or give deliveries"),
    ];
    for (keys, key, part) in cases {
        let found = problems(&format!("{keys}\n{QUEUE}\n{reverse}"), "");
        assert!(matches!(&found[..], [(at, message)] if *at == format!("link.path.{key}") && message.contains(part)), "{keys}: {found:?}");
    }
    let found = problems(&format!("deliveries = [5]\n{QUEUE}"), "");
    assert!(
        matches!(&found[..], [(at, message)] if at == "link.path.reverse.rate" && message.contains("has no rate for its reverse direction")),
        "{found:?}"
    );
    let found = problems(&format!("deliveries = [5]\n{reverse}"), "");
    assert!(found.iter().any(|(at, message)| at == "link.path.deliveries" && message.contains("require a queue")), "{found:?}");
}

#[test]
fn bursts_are_read_with_their_unit_and_can_be_read_again() {
    let bursts = |text: &str| {
        let scenario = read_valid(&format!("rate = \"10 Mbps\"\n{QUEUE}\nbursts = {text}"), "");
        expect_resolved_reads_back(&scenario);
        let found = queue(&scenario, 0).bursts.unwrap();
        (found.period, found.aggregate)
    };
    let period = Span::from_millis(4);
    assert_eq!((period, None), bursts("{ period = \"4 ms\" }"));
    assert_eq!((period, Some(Limit::Packets(32))), bursts("{ period = \"4 ms\", aggregate = 32 }"));
    assert_eq!((period, Some(Limit::Bytes(64_000))), bursts("{ period = \"4 ms\", aggregate = \"64 KB\" }"));
    let rated = format!("rate = \"10 Mbps\"\n{QUEUE}");
    let plain = read_valid(&rated, "");
    assert!(plain.resolved["link"][0].get("bursts").is_none() && queue(&plain, 0).bursts.is_none());
    assert_ne!(plain.hash(), read_valid(&format!("{rated}\nbursts = {{ period = \"4 ms\" }}"), "").hash());
}

#[test]
fn bursts_that_cannot_be_are_told_with_the_remedy() {
    let rated = format!("rate = \"10 Mbps\"\n{QUEUE}");
    let cases = [
        (rated.clone(), "{ aggregate = 3 }", "bursts.period", "is missing"),
        (rated.clone(), "{ period = \"0 s\" }", "bursts.period", "must be"),
        (rated.clone(), "{ period = \"1 ms\", aggregate = 0 }", "bursts.aggregate", "must be"),
        (rated.clone(), "{ period = \"1 ms\", aggregate = 2.5 }", "bursts.aggregate", "a whole number of packets"),
        (rated, "{ period = \"1 ms\", packets = 2 }", "bursts.packets", "unknown"),
        ("rate = \"10 Mbps\"".to_owned(), "{ period = \"1 ms\" }", "bursts", "require a queue"),
        ("rate = \"1 Mbps\"\nqueue = { kernel = \"codel\" }".to_owned(), "{ period = \"1 ms\" }", "bursts", "exclude a queue of a kernel"),
        (format!("deliveries = [5]\n{QUEUE}\nreverse = {{ rate = \"1 Mbps\" }}"), "{ period = \"1 ms\" }", "bursts", "exclude deliveries"),
    ];
    for (keys, bursts, key, part) in cases {
        let found = problems(&format!("{keys}\nbursts = {bursts}"), "");
        assert!(
            matches!(&found[..], [(at, message)] if *at == format!("link.path.{key}") && message.contains(part)),
            "{bursts}: {found:?}"
        );
    }
}
