//! Warnings with remedies for scenarios that are hardly intended, and none for normal ones.

mod reading;

use ecnlab_scenario::{Problem, Registry, Scenario, no_files};

const NO_WARNINGS: &str = r#"name = "quiet"
duration = "20 s"
measure_from = "5 s"

[[link]]
name = "bottleneck"
from = "router"
to = "sink"
rate = "10 Mbps"
delay = "5 ms"
queue = { aqm = "ecn", limit = 120, min_th = 10, max_th = 30 }

[[flows]]
name = "near"
count = 3
from = "router"
to = "sink"
tcp = { profile = "linux", ecn = true }
"#;

const SHAPED_ABOVE: &str = r#"{ discipline = "tbf", rate = "10 Mbps", burst = "10 KB", queue = { aqm = "ecn", limit = 120 } }"#;
const SHAPED_TWICE: &str = r#"{ discipline = "cbq", rate = "2 Mbps", queue = { discipline = "tbf", rate = "3 Mbps", burst = "10 KB", queue = { aqm = "ecn", limit = 120 } } }"#;

fn warnings(overrides: &[(&str, &str)]) -> Vec<Problem> {
    reading::read(NO_WARNINGS, overrides).unwrap_or_else(|why| panic!("{overrides:?}: {why:?}")).warnings
}

#[test]
fn a_scenario_that_means_what_it_says_is_not_warned_of() {
    assert_eq!(Vec::<Problem>::new(), warnings(&[]));
    assert_eq!(Vec::<Problem>::new(), warnings(&[("flows.near.tcp.ecn", "false")]), "who writes it means it");
    assert_eq!(Vec::<Problem>::new(), warnings(&[("flows.near.tcp", "{ profile = \"linux\", variant = \"dctcp\" }")]));
    assert_eq!(Vec::<Problem>::new(), warnings(&[("record", "{ rates_interval = \"2 s\", rates = true }")]));
    let shaped = SHAPED_ABOVE.replace("10 Mbps", "2 Mbps");
    assert_eq!(Vec::<Problem>::new(), warnings(&[("link.bottleneck.queue", &shaped)]));
}

/// One anomaly each: the override, the path of its warning, and a part of the message.
#[test]
fn one_oddity_is_one_warning_at_its_place() {
    let cases: &[(&str, &str, &str, &str)] = &[
        ("flows.near.tcp", "{ profile = \"linux\" }", "flows.near.tcp.ecn", "give ecn = true, or ecn = false"),
        ("link.bottleneck.queue", "{ aqm = \"droptail\", limit = 50 }", "flows.near.tcp.ecn", "no queue on their route marks"),
        (
            "flows.near.tcp",
            "{ profile = \"linux\", ecn = true, dctcp_g = 0.1 }",
            "flows.near.tcp.dctcp_g",
            "has an effect only with ecn_response = dctcp",
        ),
        (
            "record",
            "{ rates_interval = \"2 h\", rates = true }",
            "record.rates_interval",
            "a bin of 7200 s does not end within the duration of",
        ),
        ("record", "{ rates_interval = \"2 s\" }", "record.rates_interval", "has an effect only with rates = true; fix: add rates = true"),
        ("record", "{ rates_interval = \"2 s\", rates = false }", "record.rates_interval", "has an effect only with rates = true"),
        ("link.bottleneck.queue.max_p", "0", "link.bottleneck.queue.max_p", "no packet is signalled before"),
        ("link.bottleneck.queue.w_q", "0", "link.bottleneck.queue.w_q", "no packet is ever signalled"),
        ("link.bottleneck.loss", "1", "link.bottleneck.loss", "every packet is lost"),
        ("link.bottleneck.loss_every", "1", "link.bottleneck.loss_every", "every packet is lost"),
        ("link.bottleneck.reverse.loss", "1", "link.bottleneck.reverse.loss", "every packet is lost"),
        ("link.bottleneck.queue", SHAPED_ABOVE, "link.bottleneck.queue.rate", "is not below the link's rate of 10000000 bps"),
        ("link.bottleneck.queue", SHAPED_TWICE, "link.bottleneck.queue.queue.rate", "is not below the link's rate of 2000000 bps"),
        ("flows.near.start", "20 s", "flows.near.start", "no flow of the group sends"),
        ("flows.near.start", "[\"0 s\", \"30 s\"]", "flows.near.start", "some flows of the group send nothing"),
        ("measure_from", "19.5 s", "measure_from", "too short for Jain"),
        (
            "flows.near.count",
            "400000",
            "flows",
            "400000 flows take about 0.5 to 2.4 GB of memory in each run, and each thread has a run at a time; fix: give fewer flows if",
        ),
        ("record.queue", "20 s", "record.queue", "takes one sample"),
        ("record.window", "1 h", "record.window", "takes one sample"),
    ];
    for (path, value, place, said) in cases {
        let found = warnings(&[(path, value)]);
        assert_eq!(1, found.len(), "{path} = {value}: {found:?}");
        assert_eq!(*place, found[0].place, "{path} = {value}");
        assert!(found[0].message.contains(said), "{path} = {value}: {}", found[0].message);
    }
}

#[test]
fn a_target_delay_that_the_buffer_cannot_reach_is_warned_of() {
    let places = |queue: &str| {
        let found = warnings(&[("link.bottleneck.queue", queue)]);
        found.into_iter().map(|warning| (warning.place, warning.message)).collect::<Vec<_>>()
    };
    // A full buffer of 100 packets of 1500 bytes waits for 120 ms.
    let at = |place: &str| format!("link.bottleneck.queue.{place}");
    for (queue, place) in [
        ("{ aqm = \"pie\", limit = 100, target = \"500 ms\" }", "target"),
        ("{ aqm = \"pi2\", limit = 100, target = \"500 ms\" }", "target"),
        ("{ aqm = \"codel\", limit = 100, target = \"200 ms\", interval = \"2 s\" }", "target"),
        ("{ aqm = \"codel\", limit = 2 }", "limit"),
        ("{ aqm = \"pie\", limit = \"10 KB\" }", "limit"),
        ("{ limit = 100, aqm = { name = \"pie\", target = \"500 ms\" } }", "aqm.target"),
        ("{ discipline = \"tbf\", rate = \"1 Mbps\", burst = \"10 KB\", queue = { aqm = \"pie\", limit = 1 } }", "queue.limit"),
        ("{ discipline = \"dualpi2\", limit = 10, target = \"100 ms\" }", "target"),
    ] {
        let found = places(queue);
        assert!(
            matches!(&found[..], [(place_found, text)] if *place_found == at(place) && text.contains("the target of ")),
            "{queue}: {found:?}"
        );
    }
    let found = places("{ aqm = \"codel\", limit = 100, target = \"5 us\" }");
    assert!(matches!(&found[..], [(place, text)] if *place == at("target") && text.contains("far below the 1.200e-3 s")), "{found:?}");
    for queue in [
        "{ aqm = \"pie\", limit = 100, target = \"100 ms\" }",
        "{ aqm = \"codel\", limit = 100, target = \"200 us\" }",
        "{ discipline = \"tbf\", rate = \"1 Mbps\", burst = \"10 KB\", queue = { aqm = \"pie\", limit = 10, target = \"100 ms\" } }",
    ] {
        assert_eq!(0, places(queue).len(), "{queue}");
    }
    let opposite = NO_WARNINGS
        .split("[[flows]]")
        .nth(1)
        .unwrap()
        .replace("near", "back")
        .replace(", ecn = true", "")
        .replace("router", "x")
        .replace("sink", "router");
    let text = format!("{NO_WARNINGS}\n[[flows]]{}", opposite.replace("\"x\"", "\"sink\""));
    let pie = [("link.bottleneck.queue", "{ aqm = \"pie\", limit = 100, target = \"500 ms\" }")];
    let found = reading::read(&text, &pie).unwrap().warnings;
    assert!(found.is_empty(), "packets of the link differ in size if ACKs cross it too: {found:?}");
}

#[test]
fn two_changes_of_a_link_at_one_time_are_warned_of_if_they_contradict() {
    let said = |one: &str, other: &str| {
        let change = |set: &str| format!("[[change]]\nat = \"5 s\"\nlink = \"bottleneck\"\n{set}\n");
        let text = format!("{NO_WARNINGS}\n{}{}", change(one), change(other));
        let found = Scenario::from_toml(&text, &[], &Registry::builtin(), &no_files).unwrap().warnings;
        found.iter().filter(|warning| warning.message.contains("two values")).map(|warning| warning.message.clone()).collect::<Vec<_>>()
    };
    let found = said("rate = \"5 Mbps\"", "rate = \"2 Mbps\"");
    assert!(found.len() == 1 && found[0].starts_with("link \"bottleneck\" gets two values of rate at 5 s"), "{found:?}");
    assert_eq!(0, said("rate = \"5 Mbps\"", "delay = \"2 ms\"").len());
    assert_eq!(0, said("rate = \"5 Mbps\"", "rate = \"5 Mbps\"").len());
}

#[test]
fn many_changes_of_a_link_are_compared_in_little_time() {
    let times: Vec<_> = (0..40_000).map(|at| format!("\"{} us\"", 1_000_000 + at)).collect();
    let change = |set: &str| format!("[[change]]\nat = [{}]\nlink = \"bottleneck\"\n{set}\n", times.join(", "));
    let text = format!("{NO_WARNINGS}\n{}{}{}", change("rate = \"5 Mbps\""), change("delay = \"2 ms\""), change("rate = \"2 Mbps\""));
    let begun = std::time::Instant::now();
    let found = Scenario::from_toml(&text, &[], &Registry::builtin(), &no_files).unwrap().warnings;
    assert!(begun.elapsed().as_secs() < 20, "{:?}: without comparing all pairs it is a fraction of a second", begun.elapsed());
    assert!(found.iter().any(|warning| warning.message.contains("gets two values of rate at 1 s")), "{found:?}");
}

#[test]
fn a_parameter_of_a_shared_table_that_the_algorithm_leaves_unread_is_warned_of() {
    let queue = "{ aqm = \"ecnm\", limit = 120, min_th = 10, max_th = 30, mark_limit = 0.5 }";
    let found = warnings(&[("link.bottleneck.queue", queue)]);
    assert_eq!(vec!["link.bottleneck.queue.mark_limit"], found.iter().map(|warning| warning.place.as_str()).collect::<Vec<_>>());
}

#[test]
fn a_limit_of_marks_beside_an_aqm_that_marks_nothing_is_warned_of() {
    for aqm in ["ared", "feng-red", "pd-red", "dsred"] {
        let of = |ecn| format!("{{ aqm = \"{aqm}\", limit = 120, min_th = 10, max_th = 30, ecn = {ecn}, mark_limit = 0.5 }}");
        let [with, without] = [true, false].map(|ecn| warnings(&[("link.bottleneck.queue", &of(ecn))]));
        let of_limit = |found: &[Problem]| found.iter().filter(|warning| warning.place.ends_with("queue.mark_limit")).count();
        assert_eq!([0, 1], [of_limit(&with), of_limit(&without)], "{aqm}: {with:?} {without:?}");
        assert!(without.iter().any(|warning| warning.message.contains("has an effect only with ecn = true")), "{aqm}: {without:?}");
    }
}

#[test]
fn senders_and_queues_that_speak_of_different_levels_are_warned_of() {
    let queue = |aqm: &str| ("link.bottleneck.queue", format!("{{ aqm = \"{aqm}\", limit = 120, min_th = 10, max_th = 30 }}"));
    let tcp = |response: &str, echo: &str| {
        ("flows.near.tcp", format!("{{ profile = \"linux\", ecn = true, ecn_response = \"{response}\", ecn_echo = \"{echo}\" }}"))
    };
    let said = |(at, queue): (&str, String), (to, tcp): (&str, String)| -> Vec<String> {
        let found = warnings(&[(at, &queue), (to, &tcp)]);
        found.into_iter().map(|warning| format!("{}: {}", warning.place, warning.message)).collect()
    };
    let [one, two] = [said(queue("mecn"), tcp("halve", "classic")), said(queue("ecn"), tcp("mecn", "mecn"))];
    assert!(one.len() == 1 && one[0].starts_with("flows.near.tcp.ecn_response: ") && one[0].contains("marks in two levels"), "{one:?}");
    assert!(two.len() == 1 && two[0].starts_with("flows.near.tcp.ecn_response: ") && two[0].contains("no queue on their route"), "{two:?}");
    for aqm in ["mecn", "amecn"] {
        assert_eq!(Vec::<String>::new(), said(queue(aqm), tcp("mecn", "mecn")), "{aqm}");
    }
}

#[test]
fn an_ecn_variant_without_ecn_is_warned_of_even_where_it_is_written() {
    for tcp in ["{ profile = \"linux\", variant = \"dctcp\", ecn = false }", "{ profile = \"linux\", ecn_response = \"abe\", ecn = false }"]
    {
        let found = warnings(&[("flows.near.tcp", tcp)]);
        assert!(found.iter().any(|warning| warning.place.starts_with("flows.near.tcp.")), "{tcp}: {found:?}");
    }
}

#[test]
fn a_link_that_no_route_uses_is_warned_of_with_its_line() {
    let second = NO_WARNINGS[NO_WARNINGS.find("[[link]]").unwrap()..NO_WARNINGS.find("[[flows]]").unwrap()]
        .replace("bottleneck", "aside")
        .replace("\"sink\"", "\"end\"");
    let found = Scenario::from_toml(&format!("{NO_WARNINGS}\n{second}"), &[], &Registry::builtin(), &no_files).unwrap().warnings;
    assert_eq!(vec![("link.aside.name", Some(21))], found.iter().map(|w| (w.place.as_str(), w.line)).collect::<Vec<_>>());
}

#[test]
fn requests_that_go_against_the_route_are_data_to_the_queue_that_they_come_to() {
    // Both directions as separate links, so that the reverse path is no link's reverse direction.
    let text = NO_WARNINGS.replace("name = \"bottleneck\"", "name = \"bottleneck\"\none_way = true");
    let back = "[[link]]\nname = \"back\"\nfrom = \"sink\"\nto = \"router\"\none_way = true\nrate = \"10 Mbps\"\ndelay = \"5 ms\"\n\
                queue = { aqm = \"droptail\", limit = 50 }\n\n";
    let text = text.replace("[[flows]]", &format!("{back}[[flows]]"));
    let said = |app: &str| {
        let found = reading::read(&text, &[("flows.near.app", app)]).unwrap().warnings;
        found.iter().any(|warning| warning.place == "link.back.queue" && warning.message.contains("only acknowledgements"))
    };
    assert_eq!([true, false, false, false], ["bulk", "exchange", "web", "video"].map(said));
}

#[test]
fn senders_whose_own_links_mark_are_not_warned_of() {
    let said = |access: &str| {
        let text = NO_WARNINGS.replace("from = \"router\"\nto = \"sink\"\ntcp", &format!("to = \"sink\"\n{access}\ntcp"));
        let queue = ("link.bottleneck.queue".to_owned(), "{ aqm = \"droptail\", limit = 50 }".to_owned());
        let found = Scenario::from_toml(&text, &[queue], &Registry::builtin(), &no_files).unwrap().warnings;
        found.iter().any(|warning| warning.place == "flows.near.tcp.ecn")
    };
    let access = |impair: &str| format!("access = {{ to = \"router\", rate = \"10 Mbps\", delay = \"1 ms\"{impair} }}");
    assert!(said(&access("")));
    assert!(!said(&access(", impair = [{ kind = \"mark\", rate = 0.01 }]")));
}

#[test]
fn a_link_that_goes_down_and_never_up_is_warned_of() {
    let change = |at: &str, state: &str| format!("[[change]]\nat = {at}\nlink = \"bottleneck\"\nstate = \"{state}\"\n");
    let said = |changes: &[String]| {
        let found =
            Scenario::from_toml(&format!("{NO_WARNINGS}\n{}", changes.concat()), &[], &Registry::builtin(), &no_files).unwrap().warnings;
        found.iter().filter(|warning| warning.place == "change").map(|warning| warning.message.clone()).collect::<Vec<_>>()
    };
    let dead = said(&[change("\"5 s\"", "up"), change("\"8 s\"", "down")]);
    assert!(dead.len() == 1 && dead[0].contains("\"bottleneck\" goes down at 8 s and never comes up"), "{dead:?}");
    let every = |at: &str, state: &str| change(at, state) + "every = \"10 s\"\n";
    assert_eq!(1, said(&[every("\"5 s\"", "down"), change("\"6 s\"", "up")]).len(), "it goes down again");
    for changes in [[change("\"5 s\"", "down"), change("\"6 s\"", "up")], [every("\"5 s\"", "down"), every("\"1 s\"", "up")]] {
        assert_eq!(Vec::<String>::new(), said(&changes), "{changes:?}");
    }
}

#[test]
fn a_low_latency_queue_wants_scalable_senders_that_say_so() {
    let places = |tcp: &str| {
        let found = warnings(&[("link.bottleneck.queue", "{ discipline = \"dualpi2\", limit = 400 }"), ("flows.near.tcp", tcp)]);
        found.into_iter().map(|warning| warning.place).collect::<Vec<_>>()
    };
    for meant in ["variant = \"dctcp\", ect_codepoint = \"ect1\"", "ecn = true", "ecn = false"] {
        assert_eq!(Vec::<String>::new(), places(&format!("{{ profile = \"linux\", {meant} }}")), "{meant}");
    }
    for odd in ["variant = \"dctcp\"", "ecn = true, ect_codepoint = \"ect1\""] {
        assert_eq!(vec!["flows.near.tcp.ect_codepoint"], places(&format!("{{ profile = \"linux\", {odd} }}")), "{odd}");
    }
}

#[test]
fn an_l4s_threshold_wants_scalable_senders_that_say_so() {
    let messages = |queue: &str, tcp: &str| {
        let found = warnings(&[("link.bottleneck.queue", queue), ("flows.near.tcp", &format!("{{ profile = \"linux\", {tcp} }}"))]);
        found.into_iter().map(|warning| (warning.place, warning.message)).collect::<Vec<_>>()
    };
    let codel = |selector: &str| {
        format!(
            "{{ discipline = \"fq\", limit = 400, aqm = {{ name = \"codel\", ce_threshold = \"1 ms\", ce_threshold_selector = \"{selector}\" }} }}"
        )
    };
    for queue in ["{ discipline = \"drr\", limit = 400, l4s_step = \"1 ms\" }".to_owned(), codel("ect1")] {
        assert_eq!(0, messages(&queue, "variant = \"dctcp\", ect_codepoint = \"ect1\"").len(), "{queue}");
        for (odd, part) in
            [("variant = \"dctcp\"", "marks ECT(1) alone"), ("ecn = true, ect_codepoint = \"ect1\"", "a part of their share")]
        {
            let found = messages(&queue, odd);
            assert!(
                matches!(&found[..], [(place, text)] if place == "flows.near.tcp.ect_codepoint" && text.contains(part)),
                "{queue}: {found:?}"
            );
        }
    }
    assert_eq!(0, messages(&codel("any"), "variant = \"dctcp\"").len());
}
