//! Scenarios with impairments: reading, rejection, and effects on a run.

use ecnlab_scenario::{Problem, Registry, Scenario, no_files};
use ecnlab_sim::{NoProbe, Run, RunTimesAndSeed, Simulation};
use ecnlab_units::Time;

/// A flow with an unlimited window over a fast link, so that only impairments affect it.
fn text(link: &str) -> String {
    format!(
        r#"name = "impaired"
duration = "60 s"

[[link]]
name = "path"
from = "a"
to = "b"
rate = "10 Mbps"
delay = "10 ms"
queue = {{ aqm = "droptail", limit = 1000 }}
{link}

[[flows]]
name = "all"
count = 4
from = "a"
to = "b"
tcp = {{ profile = "linux", ecn = true, max_rwnd = 20 }}
"#
    )
}

fn read(link: &str) -> Result<Scenario, Vec<Problem>> {
    Scenario::from_toml(&text(link), &[], &Registry::builtin(), &no_files)
}

fn run(link: &str) -> Run {
    let scenario = read(link).unwrap_or_else(|problems| panic!("{link}: {problems:?}"));
    let options = RunTimesAndSeed { duration: Time::ZERO + scenario.duration, measure_from: Time::ZERO, seed: 1 };
    Simulation::new(&scenario.network, &options, NoProbe).finish().0
}

/// Paths and messages of the problems.
fn problems(link: &str) -> Vec<(String, String)> {
    read(link).err().unwrap_or_default().into_iter().map(|problem| (problem.place, problem.message)).collect()
}

#[test]
fn a_loss_in_the_list_is_that_of_the_key_of_its_own() {
    let [short, list] = [run("loss = 0.01"), run("impair = [{ kind = \"loss\", rate = 0.01 }]")];
    assert_eq!(short.fingerprint, list.fingerprint);
    let [short, list] = [run("loss_every = 100"), run("impair = [{ kind = \"periodic-loss\", every = 100 }]")];
    assert_eq!(short.fingerprint, list.fingerprint);
    let [short, list] = [run("ecn = \"bleach\""), run("impair = [{ kind = \"ecn-path\", path = \"bleach\" }]")];
    assert_eq!(short.fingerprint, list.fingerprint);
}

#[test]
fn each_impairment_has_its_row_by_link_direction_and_place() {
    let run = run(r#"loss = 0.001
impair = [{ kind = "burst-loss", rate = 0.01, burst = 3 }, { kind = "jitter", delay = "exponential 2 ms", order = "overtake" }]
reverse = { impair = [{ kind = "duplicate", rate = 0.1 }] }"#);
    let table = run.report.table("impairments");
    let names = |column| match table.column(column) {
        ecnlab_sim::measures::Column::Name { index, names } => index.iter().map(|&at| names[at as usize].to_string()).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    assert_eq!(["path", "path", "path", "path.reverse"], names("link")[..]);
    assert_eq!(["loss", "burst-loss", "jitter", "duplicate"], names("kind")[..]);
    let counts = |column| run.report.column_as_reals("impairments", column);
    let (arrivals, lost, delayed) = (counts("arrivals"), counts("lost"), counts("delayed"));
    assert_eq!([0.0, 1.0, 2.0, 0.0], counts("position")[..]);
    assert_eq!([arrivals[1], arrivals[2]], [arrivals[0] - lost[0], arrivals[1] - lost[1]], "what one loses the next never sees");
    assert_eq!([0.0, 0.0, arrivals[2], 0.0], delayed[..]);
    assert!(counts("reordered")[2] > 0.0 && counts("duplicated")[3] > 0.0);
    assert_eq!(lost[0] + lost[1], run.report.column_as_reals("queues", "drops_lost")[0]);
    assert_eq!(lost[0] + lost[1], run.report.column_as_reals("total", "drops")[0]);
}

/// Goodput counts data read by applications, so copies add nothing to it, and copies are never first transmissions.
#[test]
fn copies_are_received_and_read_once() {
    let [plain, copied] = [run("limit = 1000"), run("impair = [{ kind = \"duplicate\", rate = 1 }]")];
    let ratio = |column| copied.report.column_as_reals("total", column)[0] / plain.report.column_as_reals("total", column)[0];
    let made = copied.report.column_as_reals("impairments", "duplicated")[0];
    let arrived = copied.report.column_as_reals("impairments", "arrivals")[0];
    assert_eq!(arrived, made);
    let sent = copied.report.column_as_reals("total", "sent")[0];
    assert_eq!(sent, arrived);
    // 10 Mbps carries each packet twice, except those in flight at the end, four windows of 20.
    let on_the_way = 80.0 / sent;
    assert!((ratio("throughput_bps") - 1.0).abs() < on_the_way, "{}", ratio("throughput_bps"));
    for column in ["goodput_bps", "goodput_first_bps"] {
        assert!((ratio(column) - 0.5).abs() < on_the_way, "{column}: {}", ratio(column));
    }
}

/// A copy of a datagram is indistinguishable from another datagram, so the application reads it twice; TCP's copies in the same queue it
/// does not.
#[test]
fn a_copy_of_a_datagram_is_read_like_another() {
    let datagrams = "\n[[flows]]\nname = \"datagrams\"\nfrom = \"a\"\nto = \"b\"\nudp = { packet_size = 1000 }\n\
                     app = { kind = \"cbr\", rate = \"100 kbps\" }\n";
    let text =
        text("impair = [{ kind = \"duplicate\", rate = 1 }, { kind = \"jitter\", delay = \"exponential 2 ms\", order = \"overtake\" }]");
    let scenario = Scenario::from_toml(&(text + datagrams), &[], &Registry::builtin(), &no_files).unwrap();
    let options = RunTimesAndSeed { duration: Time::ZERO + scenario.duration, measure_from: Time::ZERO, seed: 1 };
    let run = Simulation::new(&scenario.network, &options, NoProbe).finish().0;
    let [goodput, first, drops] =
        ["goodput_bps", "goodput_first_bps", "drops"].map(|column| run.report.column_as_reals("groups", column)[1]);
    assert_eq!(0.0, drops);
    assert!((goodput / first - 2.0).abs() < 0.01, "{goodput} read, {first} of first packets");
}

#[test]
fn jitter_that_keeps_order_costs_no_retransmission_and_jitter_that_does_not_does() {
    let retransmitted = |order: &str| {
        let run = run(&format!("impair = [{{ kind = \"jitter\", delay = \"uniform 0 ms to 20 ms\", order = \"{order}\" }}]"));
        let [reordered] = run.report.column_as_reals("impairments", "reordered")[..] else { panic!("one impairment") };
        (reordered, run.report.column_as_reals("total", "retransmitted_fast")[0])
    };
    assert_eq!((0.0, 0.0), retransmitted("keep"));
    let (reordered, retransmitted) = retransmitted("overtake");
    assert!(reordered > 1000.0 && retransmitted > 0.0, "{reordered} {retransmitted}");
}

#[test]
fn a_list_can_be_read_again_and_is_part_of_the_key() {
    let link = r#"impair = [
        { kind = "script", action = "mark", packets = [3, 5], times = "2 s" },
        { kind = "burst-loss", p = 0.01, r = 0.3, h = 0.2 },
        { kind = "reorder", rate = 0.02, delay = "5 ms", packets = 3 },
        { kind = "jitter", delay = "normal 5 ms, deviation 1 ms" },
    ]"#;
    let scenario = read(link).unwrap();
    let again = Scenario::from_json(&scenario.resolved.to_string(), &[], &Registry::builtin(), &no_files).unwrap();
    assert_eq!((&scenario.resolved, scenario.hash()), (&again.resolved, again.hash()));
    assert_ne!(scenario.hash(), read("limit = 1000").unwrap().hash());
    let overrides = [("link.path.impair.2.rate".to_owned(), "0.5".to_owned())];
    let other = Scenario::from_toml(&text(link), &overrides, &Registry::builtin(), &no_files).unwrap();
    assert_eq!(0.5, other.resolved["link"][0]["impair"][2]["rate"]);
}

#[test]
fn what_is_wrong_is_told_where_it_stands() {
    let cases = [
        ("impair = { kind = \"loss\", rate = 0.1 }", "link.path.impair", "must be a list of tables"),
        ("impair = [{ rate = 0.1 }]", "link.path.impair.0.kind", "is missing"),
        ("impair = [{ kind = \"los\", rate = 0.1 }]", "link.path.impair.0.kind", "did you mean \"loss\"?"),
        ("impair = [{ kind = \"loss\" }]", "link.path.impair.0.rate", "is missing"),
        ("impair = [{ kind = \"loss\", rate = 2 }]", "link.path.impair.0.rate", "must be 0 .. 1"),
        ("impair = [{ kind = \"loss\", rate = 0.1, burst = 3 }]", "link.path.impair.0.burst", "unknown key"),
        ("impair = [{ kind = \"burst-loss\", rate = 0.1 }]", "link.path.impair.0.p", "give p and r, or rate and burst"),
        ("impair = [{ kind = \"script\" }]", "link.path.impair.0.packets", "name packets"),
        ("impair = [{ kind = \"script\", deed = \"mark\", packets = 1 }]", "link.path.impair.0.deed", "is named action now"),
        ("impair = [{ kind = \"script\", later = \"1 ms\", packets = 1 }]", "link.path.impair.0.later", "is named extra_delay now"),
        ("impair = [{ kind = \"script\", numbers = 1, packets = 1 }]", "link.path.impair.0.numbers", "is named packets now"),
        ("reverse = { impair = [{ kind = \"script\", flow = 3, packets = 1 }] }", "link.path.reverse.impair.0.flow", "only with segments"),
    ];
    for (link, place, part) in cases {
        let found = problems(link);
        assert!(matches!(&found[..], [(at, message)] if at == place && message.contains(part)), "{link}: {found:?}");
    }
    assert_eq!(2, problems("impair = [{ kind = \"loss\" }, { kind = \"mark\" }]").len(), "all at once");
    let many = format!("impair = [{}]", "{ kind = \"loss\", rate = 0.1 }, ".repeat(17));
    assert!(problems(&many)[0].1.contains("at most 16"));
}

#[test]
fn senders_that_offer_ecn_are_not_warned_of_where_an_impairment_marks() {
    let warned = |link: &str| read(link).unwrap().warnings.iter().any(|warning| warning.place == "flows.all.tcp.ecn");
    assert!(warned("impair = [{ kind = \"script\", packets = 3 }]"));
    assert!(!warned("impair = [{ kind = \"script\", action = \"mark\", packets = 3 }]"));
    assert!(!warned("impair = [{ kind = \"mark\", rate = 0.01 }]"));
}

#[test]
fn private_links_of_a_group_have_impairments_of_their_own_and_one_row_for_all_flows() {
    let access = "access = { to = \"a\", rate = \"100 Mbps\", delay = \"1 ms\", impair = [{ kind = \"loss\", rate = 0.02 }] }";
    let text = text("limit = 1000").replace("from = \"a\"\nto = \"b\"\ntcp", &format!("to = \"b\"\n{access}\ntcp"));
    let scenario = Scenario::from_toml(&text, &[], &Registry::builtin(), &no_files).unwrap();
    let options = RunTimesAndSeed { duration: Time::ZERO + scenario.duration, measure_from: Time::ZERO, seed: 1 };
    let run = Simulation::new(&scenario.network, &options, NoProbe).finish().0;
    let [arrivals, lost] = ["arrivals", "lost"].map(|column| run.report.column_as_reals("impairments", column));
    assert_eq!((2, 2), (arrivals.len(), lost.len()), "there and back");
    assert_eq!(run.report.column_as_reals("total", "sent")[0], arrivals[0]);
    for way in 0..2 {
        let error = (0.02 * 0.98 / arrivals[way]).sqrt();
        assert!((lost[way] / arrivals[way] - 0.02).abs() < 5.0 * error, "{} of {}", lost[way], arrivals[way]);
    }
    let again = Scenario::from_json(&scenario.resolved.to_string(), &[], &Registry::builtin(), &no_files).unwrap();
    assert_eq!(scenario.hash(), again.hash());
}

#[test]
fn an_impairment_that_does_nothing_is_warned_of() {
    let scenario = read("impair = [{ kind = \"loss\", rate = 0 }]").unwrap();
    assert!(scenario.warnings.iter().any(|warning| warning.place == "link.path.impair.0.rate"), "{:?}", scenario.warnings);
}
