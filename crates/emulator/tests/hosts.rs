//! Scenarios in front of this machine's kernel: applications get what they ask for, and the router's counts are the kernels' own.
//!
//! They take the time that they say. What a machine does not permit is skipped, and printed.

use ecnlab_emulator::address::AddressFamily;
use ecnlab_emulator::event_loop::TimeMode;
use ecnlab_emulator::hosts::KernelCounters;
use ecnlab_emulator::run::{RunError, RunOptions, RunOutcome, probe_kernel, run};
use ecnlab_emulator::sys::Namespace;
use ecnlab_scenario::{Registry, Scenario, no_files};
use ecnlab_units::table::{Column, Table};

fn scenario(duration: &str, flows: &str) -> Scenario {
    let text = format!(
        "name = \"hosts\"\nduration = \"{duration}\"\n[network]\ntopology = \"dumbbell\"\nrate = \"10 Mbps\"\ndelay = \"5 ms\"\n\
         queue = {{ aqm = \"ecn\", limit = 100, min_th = 4, max_th = 80, max_p = 0.2 }}\n{flows}"
    );
    Scenario::from_toml(&text, &[], &Registry::builtin(), &no_files).unwrap_or_else(|why| panic!("{why:?}"))
}

fn flows(name: &str, rest: &str) -> String {
    format!("[[flows]]\nname = \"{name}\"\nfrom = \"left\"\nto = \"right\"\n{rest}\n")
}

/// A run, or nothing where this machine lets nobody make namespaces or devices, which is printed.
fn ran(family: AddressFamily, duration: &str, flows: &str) -> Option<RunOutcome> {
    if let Err(why) = Namespace::create() {
        println!("skipped: {why}");
        return None;
    }
    let options = RunOptions {
        seed: 1,
        kernel: probe_kernel("live", true),
        family,
        time_mode: TimeMode::Real,
        priority: None,
        lateness_budget: None,
        capture: None,
        record_connections: false,
    };
    match run(&scenario(duration, flows), options, &mut |_| false) {
        Ok(outcome) => Some(outcome),
        Err(RunError::System(why)) if matches!(why.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::PermissionDenied) => {
            println!("skipped: {why}");
            None
        }
        Err(other) => panic!("{other:?}"),
    }
}

fn counts(table: &Table, column: &str) -> Vec<u64> {
    match &table.columns.iter().find(|(name, _)| name == column).unwrap_or_else(|| panic!("no column {column}")).1 {
        Column::Count(counts) => counts.clone(),
        Column::Index(numbers) => numbers.iter().map(|&number| u64::from(number)).collect(),
        other => panic!("{column}: {other:?}"),
    }
}

fn of_groups(outcome: &RunOutcome, column: &str) -> Vec<u64> {
    counts(outcome.run.report.table("groups"), column)
}

/// What the kernel of a group's opening and of its answering host has counted.
fn kernels(outcome: &RunOutcome, group: usize) -> &[KernelCounters; 2] {
    &outcome.metadata.kernel_counters[group]
}

#[test]
fn the_receiving_kernel_counts_the_marks_of_the_router() {
    let tcp = |more: &str| {
        flows(
            "bulk",
            &format!("count = 3\ntcp = {{ profile = \"linux\", ecn = true{more} }}\napp = {{ kind = \"file\", bytes = \"500 KB\" }}"),
        )
    };
    for control in ["", ", variant = \"newreno\""] {
        let Some(outcome) = ran(AddressFamily::V4, "4 s", &tcp(control)) else { return };
        assert_eq!(vec![3], of_groups(&outcome, "transactions"), "all are through, so no mark is on its way");
        let marks = of_groups(&outcome, "marks")[0];
        let [sender, receiver] = kernels(&outcome, 0);
        assert!(marks > 0, "{control}: nothing was marked");
        assert_eq!(marks, receiver.count("in_ce"));
        assert_eq!(
            [0, 0, 0, 0],
            [sender, receiver].map(|kernel| [kernel.count("in_errors"), kernel.count("in_bad_checksums")]).concat()[..]
        );
        assert_eq!(
            (3, 3, 3),
            (outcome.metadata.connections.asked, outcome.metadata.connections.opened, outcome.metadata.connections.with_ecn)
        );
        let sent_again = of_groups(&outcome, "retransmitted_fast")[0] + of_groups(&outcome, "retransmitted_timeout")[0];
        assert_eq!(sender.count("retransmitted"), sent_again);
        assert!(of_groups(&outcome, "ecn_reactions")[0] > 0);
    }
}

#[test]
fn with_ect1_hosts_send_ect0_and_the_router_makes_it_ect1_also_over_ipv6() {
    for family in [AddressFamily::V4, AddressFamily::V6] {
        let tcp = "tcp = { profile = \"linux\", ecn = true, ect_codepoint = \"ect1\" }\napp = { kind = \"file\", bytes = \"200 KB\" }";
        let classic = "tcp = { profile = \"linux\", ecn = true }\napp = { kind = \"file\", bytes = \"200 KB\" }";
        let Some(outcome) = ran(family, "3 s", &[flows("ect1", tcp), flows("ect0", classic)].concat()) else { return };
        assert_eq!((vec![1, 1], vec![0, 0]), (of_groups(&outcome, "transactions"), of_groups(&outcome, "drops")));
        let received = |group: usize, counter| kernels(&outcome, group)[1].count(counter);
        assert_eq!((0, 0), (received(0, "in_ect0"), received(1, "in_ect1")));
        assert_eq!([received(0, "in_ect1") + received(0, "in_ce"), 0], outcome.metadata.rewritten_to_ect1[0]);
        assert!(received(0, "in_ect1") > 50 && received(1, "in_ect0") > 50);
        assert_eq!([0, 0], outcome.metadata.rewritten_to_ect1[1]);
        let groups = &outcome.metadata.json()["groups"];
        assert_eq!(outcome.metadata.rewritten_to_ect1[0][0], groups[0]["rewritten_to_ect1"]["opening_host"]);
        assert!(groups[1]["rewritten_to_ect1"].is_null());
    }
}

fn exchanges_end(family: AddressFamily) {
    let of = |connection: &str| {
        flows(
            connection,
            &format!(
                "tcp = {{ profile = \"linux\" }}\napp = {{ kind = \"exchange\", request = \"64 B\", response = \"5 KB\", count = 12, connection = \"{connection}\" }}"
            ),
        )
    };
    let Some(outcome) = ran(family, "3 s", &[of("new"), of("keep")].concat()) else { return };
    assert_eq!(vec![12, 12], of_groups(&outcome, "transactions"));
    let connections = outcome.metadata.connections;
    assert_eq!([13, 13, 0, 0], [connections.asked, connections.opened, connections.gave_up, connections.broken]);
    assert_eq!([12, 1], [0, 1].map(|group| kernels(&outcome, group)[0].count("active_opens")));
    assert_eq!(
        0,
        outcome.metadata.counters.unclassified
            + outcome.metadata.counters.malformed.iter().sum::<u64>()
            + outcome.metadata.counters.refused_by_host
    );
}

#[test]
fn requests_are_answered_over_new_connections_and_over_one() {
    exchanges_end(AddressFamily::V4);
}

#[test]
fn the_same_over_ipv6() {
    exchanges_end(AddressFamily::V6);
}

fn datagrams_arrive(family: AddressFamily, header: u64) {
    // 120 full datagrams and one with a byte, more than the queue holds, again and again while the link still sends those before.
    let times: Vec<_> = (1..=9).map(|number| format!("\"{} ms\"", 90 * number)).collect();
    let app = format!(
        "app = {{ kind = \"messages\", times = [{}], sizes = [{}] }}",
        times.join(", "),
        vec![format!("\"{} B\"", 120 * (1000 - header) + 1); 9].join(", ")
    );
    let Some(outcome) =
        ran(family, "1.2 s", &flows("udp", &format!("udp = {{ packet_size = 1000, header = {header}, ecn = \"ect0\" }}\n{app}")))
    else {
        return;
    };
    let [sent, marks, drops] = ["sent", "marks", "drops"].map(|column| of_groups(&outcome, column)[0]);
    let receiver = &kernels(&outcome, 0)[1];
    assert_eq!(9 * 121, sent);
    assert!(marks > 0 && drops > 0 && drops < sent, "{marks} marks, {drops} drops");
    assert_eq!([sent - drops, marks], [receiver.count("in_datagrams"), receiver.count("in_ce")]);
}

#[test]
fn datagrams_arrive_as_they_were_sent_but_for_those_that_were_dropped() {
    datagrams_arrive(AddressFamily::V4, 28);
}

#[test]
fn datagrams_of_ipv6_do_too_and_are_as_large_as_the_scenario_says() {
    datagrams_arrive(AddressFamily::V6, 48);
}

#[test]
fn applications_of_all_kinds_get_on() {
    let kinds = [
        ("transactions", "kind = \"transactions\", bytes = \"20 KB\", gap = \"0.1 s\""),
        ("web", "kind = \"web\""),
        ("arrivals", "kind = \"arrivals\", flows_per_second = 10, size = \"10 KB\""),
        ("video", "kind = \"video\""),
    ];
    let all: String = kinds.iter().map(|(name, app)| flows(name, &format!("tcp = {{ profile = \"linux\" }}\napp = {{ {app} }}"))).collect();
    let Some(outcome) = ran(AddressFamily::V4, "4 s", &all) else { return };
    let transactions = of_groups(&outcome, "transactions");
    assert!(transactions.iter().all(|&count| count > 0), "{transactions:?}");
}

#[test]
fn an_application_that_waits_for_its_user_is_not_locked_out() {
    let kinds = ["exchange\", think = \"9 s", "exchange\", connection = \"keep\", think = \"9 s", "web\", think = \"9 s"];
    for kind in kinds {
        let idle = flows("idle", &format!("tcp = {{ profile = \"linux\" }}\napp = {{ kind = \"{kind}\" }}"));
        let Some(outcome) = ran(AddressFamily::V4, "3 s", &idle) else { return };
        assert_eq!(
            (0.0, 0),
            (outcome.run.report.column_as_reals("flows", "lockouts").iter().sum(), outcome.metadata.connections.broken),
            "{kind}"
        );
    }
}

#[test]
fn round_trips_are_those_of_the_network() {
    for control in
        ["", ", variant = \"newreno\", timestamps = false, quirks = { header_size = \"40 B\", ack_size = \"40 B\", syn_size = \"48 B\" }"]
    {
        let bulk = flows("bulk", &format!("tcp = {{ profile = \"linux\"{control} }}"));
        let Some(outcome) = ran(AddressFamily::V4, "2 s", &bulk) else { return };
        let flows = |column| outcome.run.report.column_as_reals("flows", column)[0];
        let (base, smallest, mean) = (flows("base_rtt_s"), flows("rtt_min_s"), flows("rtt_mean_s"));
        assert!(smallest > base * 0.9 && smallest < mean && mean < base + 0.2, "base {base}, smallest {smallest}, mean {mean}");
    }
}

#[test]
fn what_a_kernel_cannot_do_is_refused_before_anything_is_made() {
    let options = RunOptions {
        seed: 1,
        kernel: probe_kernel("live", true),
        family: AddressFamily::V4,
        time_mode: TimeMode::Real,
        priority: None,
        lateness_budget: None,
        capture: None,
        record_connections: false,
    };
    let asked = scenario("1 s", &flows("old", "tcp = { profile = \"linux-2.0\" }"));
    let Err(RunError::Unsupported(problems)) = run(&asked, options, &mut |_| false) else { panic!("it was not refused") };
    assert_eq!(["flows.old.tcp.profile"], problems.iter().map(|problem| problem.place.as_str()).collect::<Vec<_>>()[..]);
}

#[test]
fn packets_that_ipv6_does_not_know_are_refused() {
    let options = RunOptions {
        seed: 1,
        kernel: probe_kernel("live", true),
        family: AddressFamily::V6,
        time_mode: TimeMode::Real,
        priority: None,
        lateness_budget: None,
        capture: None,
        record_connections: false,
    };
    let asked = scenario("1 s", &flows("small", "tcp = { profile = \"linux\", packet_size = 1000 }"));
    let Err(RunError::Unsupported(problems)) = run(&asked, options, &mut |_| false) else { panic!("it was not refused") };
    assert_eq!(["flows.small.tcp.packet_size"], problems.iter().map(|problem| problem.place.as_str()).collect::<Vec<_>>()[..]);
}
