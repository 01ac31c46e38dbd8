//! Queues in scenario files: flat and nested form, problems and their messages, overrides, and reading back.

mod reading;

use ecnlab_queue::{AqmEntry, ChildKind, DisciplineEntry};
use ecnlab_scenario::{Problem, Registry, Scenario, no_files};

const QUEUE_LINE: usize = 9;

/// A scenario with this queue on line 9.
fn text(queue: &str) -> String {
    format!(
        "name = \"queues\"\nduration = \"10 s\"\n[[link]]\nname = \"l\"\nfrom = \"a\"\nto = \"b\"\nrate = \"10 Mbps\"\ndelay = \"5 ms\"\n\
         queue = {queue}\n[[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\ntcp = {{ profile = \"linux\", ecn = true }}\n"
    )
}

fn read(queue: &str, overrides: &[(&str, &str)]) -> Result<Scenario, Vec<Problem>> {
    reading::read(&text(queue), overrides)
}

fn read_valid(queue: &str) -> Scenario {
    read(queue, &[]).unwrap_or_else(|why| panic!("{queue}: {why:?}"))
}

/// Path and message of the only problem of a queue.
fn only_problem(queue: &str, overrides: &[(&str, &str)]) -> (String, String) {
    let mut problems = read(queue, overrides).err().unwrap_or_default();
    assert_eq!(1, problems.len(), "{queue} {overrides:?}: {problems:?}");
    let problem = problems.remove(0);
    if overrides.is_empty() {
        assert_eq!(Some(QUEUE_LINE), problem.line, "{queue}: {}", problem.message);
    }
    (problem.place, problem.message)
}

/// The queue's table in the resolved scenario.
fn resolved_queue(scenario: &Scenario) -> serde_json::Value {
    scenario.resolved["link"][0]["queue"].clone()
}

/// A queue of this discipline with this AQM, at whichever level it takes one.
fn nested_queue(discipline: &DisciplineEntry, aqm: &AqmEntry) -> String {
    let own = required_parameters_example(discipline.parameters);
    let inside = match discipline.child {
        ChildKind::Aqm(_) => format!("limit = 200, aqm = {{ name = \"{}\"{} }}", aqm.name, required_parameters_example(aqm.parameters)),
        ChildKind::Buffer => "limit = 200".to_owned(),
        ChildKind::Queue => format!("queue = {{ aqm = \"{}\", limit = 200{} }}", aqm.name, required_parameters_example(aqm.parameters)),
    };
    format!("{{ discipline = \"{}\", {inside}{own} }}", discipline.name)
}

fn required_parameters_example(parameters: &[ecnlab_units::Parameter]) -> String {
    parameters.iter().filter(|parameter| parameter.required).map(|one| format!(", {} = \"{}\"", one.name, one.default)).collect()
}

#[test]
fn every_discipline_with_every_aqm_reads_back_as_the_same_scenario() {
    let registry = Registry::builtin();
    for discipline in registry.disciplines() {
        for aqm in registry.aqms() {
            let queue = nested_queue(discipline, aqm);
            let first = read_valid(&queue);
            let again = Scenario::from_json(&first.resolved.to_string(), &[], &registry, &no_files)
                .unwrap_or_else(|why| panic!("{queue}: {why:?}"));
            assert_eq!((first.hash(), &first.resolved), (again.hash(), &again.resolved), "{queue}");
        }
    }
}

#[test]
fn every_aqm_changes_the_key_and_so_does_every_discipline() {
    let registry = Registry::builtin();
    let droptail = registry.aqm("droptail").unwrap();
    let aqms = registry
        .aqms()
        .iter()
        .map(|aqm| format!("{{ aqm = \"{}\", limit = 200{} }}", aqm.name, required_parameters_example(aqm.parameters)));
    let disciplines = registry.disciplines()[1..].iter().map(|discipline| nested_queue(discipline, droptail));
    let mut keys: Vec<_> = aqms.chain(disciplines).map(|queue| read_valid(&queue).hash()).collect();
    let all = keys.len();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(all, keys.len());
}

#[test]
fn a_fifo_is_the_same_scenario_flat_or_with_its_aqm_in_a_table() {
    let flat = read_valid("{ aqm = \"red\", limit = 120, max_p = 0.5 }");
    for queue in [
        "{ discipline = \"fifo\", aqm = \"red\", limit = 120, max_p = 0.5 }",
        "{ discipline = \"fifo\", limit = 120, aqm = { name = \"red\", max_p = 0.5 } }",
        "{ limit = 120, aqm = { name = \"red\", max_p = 0.5 } }",
    ] {
        assert_eq!((flat.hash(), resolved_queue(&flat)), (read_valid(queue).hash(), resolved_queue(&read_valid(queue))), "{queue}");
    }
}

#[test]
fn a_discipline_without_an_aqm_has_the_one_that_it_says() {
    let registry = Registry::builtin();
    for discipline in registry.disciplines() {
        let ChildKind::Aqm(default) = discipline.child else { continue };
        let own = required_parameters_example(discipline.parameters);
        let left_out = read_valid(&format!("{{ discipline = \"{}\", limit = 120{own} }}", discipline.name));
        let named = read_valid(&format!("{{ discipline = \"{}\", limit = 120{own}, aqm = \"{default}\" }}", discipline.name));
        let empty = read_valid(&format!("{{ discipline = \"{}\", limit = 120{own}, aqm = {{}} }}", discipline.name));
        assert_eq!([named.hash(), named.hash()], [left_out.hash(), empty.hash()], "{}", discipline.name);
    }
}

/// One mistake each: the queue, the path of the problem, and parts of the message.
const INVALID_QUEUES: &[(&str, &str, &[&str])] = &[
    ("{ limit = 120 }", "aqm", &["is missing", "aqm = \"droptail\""]),
    ("{ aqm = \"droptail\" }", "limit", &["is missing", "limit = 120"]),
    ("{ discipline = \"fifo\", aqm = { name = \"red\" } }", "limit", &["is missing"]),
    ("{ aqm = \"codell\", limit = 120 }", "aqm", &["unknown AQM \"codell\"", "did you mean \"codel\"?"]),
    (
        "{ aqm = \"fq_codel\", limit = 120 }",
        "aqm",
        &["unknown AQM", "write queue = { discipline = \"fq\", limit = 10240, aqm = \"codel\" }"],
    ),
    ("{ discipline = \"FqPie\", limit = 120 }", "discipline", &["unknown discipline", "aqm = \"pie\" }"]),
    ("{ aqm = \"pfifo_fast\", limit = 120 }", "aqm", &["queue = { aqm = \"droptail\", limit = 1000 }"]),
    ("{ limit = 120, aqm = { name = \"bfifo\" } }", "aqm.name", &["limit = \"64 KB\" }, whose limit is in bytes"]),
    ("{ aqm = \"red-ecn\", limit = 120 }", "aqm", &["write aqm = \"ecn\", which is RED that marks"]),
    ("{ aqm = \"netem\", limit = 120 }", "aqm", &["give the link delay = \"20 ms\" and impair = [{ kind = \"loss\", rate = 0.01 }]"]),
    ("{ aqm = \"DropTail\", limit = 120 }", "aqm", &["did you mean \"droptail\"?"]),
    ("{ aqm = \"CoDel\", limit = 120 }", "aqm", &["did you mean \"codel\"?"]),
    ("{ discipline = \"fifi\", limit = 120 }", "discipline", &["unknown discipline \"fifi\"", "did you mean \"fifo\"?"]),
    ("{ aqm = \"fifo\", limit = 120 }", "aqm", &["\"fifo\" is a discipline", "queue = { discipline = \"fifo\", limit = 120"]),
    ("{ discipline = \"red\", limit = 120 }", "discipline", &["\"red\" is an AQM", "write aqm = \"red\""]),
    ("{ aqm = \"droptail\", limit = 120, max_p = 0.5 }", "max_p", &["has no max_p", "--set 'link.l.queue={ aqm = \"droptail\""]),
    (
        "{ aqm = \"red\", limit = 120, ecn = true }",
        "ecn",
        &["aqm = \"red\" has no ecn", "write aqm = \"ecn\", which is RED that marks", "aqm = \"linux-red\""],
    ),
    ("{ limit = 120, aqm = { name = \"red\", ecn = true } }", "aqm.ecn", &["write name = \"ecn\", which is RED that marks"]),
    ("{ aqm = \"aecn\", limit = 120, ecn = true }", "ecn", &["aqm = \"aecn\" has no ecn; fix: leave it out"]),
    ("{ aqm = \"red\", limit = 120, min_tj = 1 }", "min_tj", &["unknown key", "did you mean \"min_th\"?"]),
    (
        "{ limit = 120, max_p = 0.5, min_th = 9, aqm = { name = \"red\", max_th = 20 } }",
        "max_p",
        &["max_p, min_th belong to the AQM inside", "aqm = { name = \"red\", max_th = 20, max_p = 0.5, min_th = 9 }"],
    ),
    ("{ limit = 120, aqm = { name = \"red\", min_tj = 1 } }", "aqm.min_tj", &["did you mean \"min_th\"?"]),
    ("{ limit = 120, aqm = { name = \"droptail\", max_p = 0.5 } }", "aqm.max_p", &["--set 'link.l.queue.aqm={ name = \"droptail\" }'"]),
    ("{ aqm = { name = \"red\", limit = 120 } }", "aqm.limit", &["belongs to the discipline around", "beside aqm"]),
    ("{ limit = 120, aqm = { min_th = 9 } }", "aqm.name", &["is missing", "name = \"droptail\""]),
    ("{ limit = 120, aqm = { name = \"red\", min_th = 20 } }", "aqm.min_th", &["20 must be below max_th 15"]),
    ("{ limit = 120, aqm = 7 }", "aqm", &["unknown AQM \"7\""]),
    ("{ limit = 120, aqm = [\"red\"] }", "aqm", &["must be a single value"]),
    ("{ discipline = [\"fifo\"], limit = 120 }", "discipline", &["must be a single value"]),
    ("{ aqm = \"droptail\", limit = 120, queue = { aqm = \"red\", limit = 90 } }", "queue", &["has no queue"]),
    (
        "{ discipline = \"tbf\", rate = \"5 Mbps\", burst = 9000 }",
        "queue",
        &["is missing; fix: give the inner queue, as in queue = { aqm = \"droptail\", limit = 100 }"],
    ),
    (
        "{ discipline = \"tbf\", rate = \"5 Mbps\", burst = 9000, aqm = \"red\", limit = 120, max_p = 0.5 }",
        "aqm",
        &["aqm, limit, max_p belong to the queue inside; fix: write queue = { aqm = \"red\", limit = 120, max_p = 0.5 }"],
    ),
    ("{ discipline = \"tbf\", rate = \"5 Mbps\", queue = { aqm = \"red\", limit = 120 } }", "burst", &["is missing"]),
    (
        "{ discipline = \"tbf\", rate = \"5 Mbps\", burst = 9000, queue = { aqm = \"red\", limit = 120, min_tj = 5 } }",
        "queue.min_tj",
        &["did you mean \"min_th\"?"],
    ),
    ("{ discipline = \"tbf\", rate = \"5 Mbps\", burst = 9000, queue = \"red\" }", "queue", &["must be a table"]),
    (
        "{ discipline = \"tbf\", burts = 9000, rate = \"1 Mbps\", burst = 9000, queue = { aqm = \"red\", limit = 90 } }",
        "burts",
        &["did you mean \"burst\"?"],
    ),
    (
        "{ discipline = \"fq\", limit = 1000, target = \"5 ms\" }",
        "target",
        &["target belongs to the AQM inside; fix: write aqm = { name = \"codel\", target = \"5 ms\" }"],
    ),
    ("{ discipline = \"fq\", limit = 1000, quantmu = 300 }", "quantmu", &["did you mean \"quantum\"?"]),
    ("{ discipline = \"fq\", aqm = \"codel\" }", "limit", &["is missing"]),
    (
        "{ discipline = \"fq\", limit = 1000, aqm = { name = \"codel\", quantum = 300 } }",
        "aqm.quantum",
        &["quantum belongs to the discipline around; fix: write it beside aqm"],
    ),
    ("{ discipline = \"fq\", limit = 1000, aqm = \"dualpi2\" }", "aqm", &["is a discipline", "queue = { discipline = \"dualpi2\""]),
    ("{ aqm = \"fq\", limit = 1000 }", "aqm", &["is a discipline", "queue = { discipline = \"fq\", limit = 120"]),
    ("{ discipline = \"codel\", limit = 1000 }", "discipline", &["is an AQM; fix: write aqm = \"codel\""]),
    ("{ discipline = \"dualpi2\", limit = 1000, aqm = \"codel\" }", "aqm", &["which has its own algorithm, has no aqm"]),
    (
        "{ discipline = \"tbf\", rate = \"5 Mbps\", burst = 9000, queue = { discipline = \"fq\", limit = 9, aqm = { name = \"codl\" } } }",
        "queue.aqm.name",
        &["did you mean \"codel\"?"],
    ),
    ("{ aqm = \"droptail\", limit = 0.5 }", "limit", &["must be a whole number of packets"]),
];

#[test]
fn one_mistake_in_a_queue_is_one_problem_at_its_place_with_a_remedy() {
    for (queue, key, said) in INVALID_QUEUES {
        let (place, message) = only_problem(queue, &[]);
        assert_eq!(format!("link.l.queue.{key}"), place, "{queue}: {message}");
        said.iter().for_each(|part| assert!(message.contains(part), "{queue}: {message}"));
    }
}

/// A text in the resolved queue.
fn text_at<'s>(scenario: &'s Scenario, place: &str) -> &'s str {
    scenario.resolved["link"][0]["queue"].pointer(place).unwrap().as_str().unwrap()
}

#[test]
fn an_override_of_the_discipline_tells_all_that_the_other_left_behind() {
    let (place, message) = only_problem("{ aqm = \"red\", limit = 120, min_th = 9, max_p = 0.5 }", &[("link.l.queue.discipline", "fq")]);
    assert_eq!("link.l.queue.min_th", place);
    assert!(message.contains("aqm = { name = \"red\", min_th = 9, max_p = 0.5 }"), "{message}");
    let fq = "{ discipline = \"fq\", limit = 120, quantum = 300, batch = 9, aqm = { name = \"codel\" } }";
    let (place, message) = only_problem(fq, &[("link.l.queue.discipline", "fifo")]);
    assert_eq!("link.l.queue.quantum", place);
    assert!(message.contains("has no quantum, batch") && message.contains("--set 'link.l.queue={ discipline = \"fifo\""), "{message}");
    assert!(read("{ aqm = \"red\", limit = 120 }", &[("link.l.queue.discipline", "drr")]).is_ok(), "an AQM by its name goes along");
}

#[test]
fn an_override_reaches_the_aqm_in_its_table_and_a_flat_one_beside_the_buffer() {
    let nested = "{ discipline = \"fifo\", limit = 120, aqm = { name = \"red\", max_p = 0.2 } }";
    assert_eq!(0.3, resolved_queue(&read(nested, &[("link.l.queue.aqm.max_p", "0.3")]).unwrap())["max_p"]);
    assert_eq!(7.0, resolved_queue(&read(nested, &[("link.l.queue.aqm", "{ name = \"red\", min_th = 7 }")]).unwrap())["min_th"]);
    let fq = "{ discipline = \"fq\", limit = 1000 }";
    let scenario = read(fq, &[("link.l.queue.aqm.target", "20 ms")]).unwrap();
    assert_eq!(("codel", "0.02 s"), (text_at(&scenario, "/aqm/name"), text_at(&scenario, "/aqm/target")));
    let flat = "{ aqm = \"red\", limit = 120 }";
    assert_eq!(0.3, resolved_queue(&read(flat, &[("link.l.queue.max_p", "0.3")]).unwrap())["max_p"]);
    let (place, message) = only_problem(flat, &[("link.l.queue.aqm.max_p", "0.3")]);
    assert_eq!("link.l.queue.aqm.max_p", place);
    assert!(message.contains("link.l.queue.max_p"), "{message}");
}

#[test]
fn a_queue_of_a_kernel_keeps_what_is_written_and_reads_back() {
    let scenario = read_valid(r#"{ kernel = "fq_pie", limit = 1_000, target = "15ms", ecn = true }"#);
    let queue = serde_json::json!({ "kernel": "fq_pie", "limit": 1000, "target": "15ms", "ecn": true });
    assert_eq!(queue, resolved_queue(&scenario));
    let again = Scenario::from_json(&scenario.resolved.to_string(), &[], &Registry::builtin(), &no_files).unwrap();
    assert_eq!((scenario.hash(), &scenario.resolved), (again.hash(), &again.resolved));
    let other = read_valid(r#"{ kernel = "fq_pie", limit = 1_000, target = "15ms", ecn = false }"#);
    assert_ne!(scenario.hash(), other.hash());
    let needs = scenario.problems_without_kernel();
    assert_eq!((1, "link.l.queue.kernel"), (needs.len(), needs[0].place.as_str()));
    assert!(needs[0].message.contains("--backend uml"));
    assert!(read_valid(r#"{ aqm = "red", limit = 80 }"#).problems_without_kernel().is_empty());
}

#[test]
fn hosts_that_count_marks_need_no_kernel() {
    let text = |tcp: &str| {
        format!(
            "name = \"x\"\nduration = \"2 s\"\n[network]\ntopology = \"dumbbell\"\nrate = \"10 Mbps\"\ndelay = \"10 ms\"\n\
             queue = {{ aqm = \"ecn\", limit = 100 }}\n[[flows]]\nname = \"one\"\nfrom = \"left\"\nto = \"right\"\ntcp = {{ {tcp} }}\n"
        )
    };
    let needs = |tcp: &str| Scenario::from_toml(&text(tcp), &[], &Registry::builtin(), &no_files).unwrap().problems_without_kernel();
    assert!(needs("profile = \"linux\", ecn = true, ecn_echo = \"accurate\"").is_empty());
}

#[test]
fn a_congestion_control_of_kernels_reads_back_and_is_refused_by_the_simulator_with_the_fix() {
    let read = |tcp: &str| {
        let text = format!(
            "name = \"x\"\nduration = \"2 s\"\n[network]\ntopology = \"dumbbell\"\nrate = \"10 Mbps\"\ndelay = \"10 ms\"\n\
             queue = {{ aqm = \"droptail\", limit = 100 }}\n[[flows]]\nname = \"one\"\nfrom = \"left\"\nto = \"right\"\ntcp = {{ {tcp} }}\n"
        );
        Scenario::from_toml(&text, &[], &Registry::builtin(), &no_files)
    };
    let scenario = read("profile = \"linux\", congestion_control = \"bbr\"").unwrap();
    assert_eq!(Some("bbr"), scenario.resolved["flows"][0]["tcp"]["congestion_control"].as_str());
    let again = Scenario::from_json(&scenario.resolved.to_string(), &[], &Registry::builtin(), &no_files).unwrap();
    assert_eq!((scenario.hash(), Vec::<ecnlab_scenario::Problem>::new()), (again.hash(), scenario.warnings));
    let needs = |control: &str| {
        let needs = read(&format!("profile = \"linux\", congestion_control = \"{control}\"")).unwrap().problems_without_kernel();
        assert_eq!((1, "flows.one.tcp.congestion_control"), (needs.len(), needs[0].place.as_str()));
        needs[0].message.clone()
    };
    assert_eq!(
        "bbr: the simulator does not have this congestion control; fix: use --backend uml, whose kernels have bbr, or --backend live if this \
         machine's kernel has it, or give one of reno, aimd, cubic, vegas, prague",
        needs("bbr")
    );
    assert!(needs("cubc").contains("did you mean \"cubic\"?"));
    assert!(needs("my_own").contains("ecnlab uml build-kernel --control FILE.c"));
    assert!(needs("dctcp").ends_with("or give variant = \"dctcp\""));
    let warned = |tcp: &str| read(tcp).unwrap().warnings.into_iter().map(|warning| warning.place).collect::<Vec<_>>();
    let given = "profile = \"linux\", congestion_control = \"bbr\", ecn = true, ecn_response = \"abe\", hystart = \"off\"";
    // The last one is of the queue, which marks nothing.
    assert_eq!(["flows.one.tcp.ecn_response", "flows.one.tcp.hystart", "flows.one.tcp.ecn"], warned(given)[..]);
    assert!(read("profile = \"linux\", congestion_control = \"b b r\"").is_err());
}

#[test]
fn what_no_kernel_s_queue_can_be_is_refused() {
    let cases = [
        (r#"{ kernel = "red", aqm = "red" }"#, "link.l.queue.aqm", "leave out one of the two"),
        (r#"{ kernel = "red; reboot" }"#, "link.l.queue.kernel", "must be a kernel's name"),
        (r#"{ kernel = 3 }"#, "link.l.queue.kernel", "must be a kernel's name"),
        (r#"{ kernel = "red", limit = [1, 2] }"#, "link.l.queue.limit", "a word, a number, true or false"),
        (r#"{ kernel = "red", "a-b" = 2 }"#, "link.l.queue.a-b", "letters, digits and underscores"),
        (
            r#"{ discipline = "tbf", rate = "1 Mbps", burst = "10 KB", queue = { kernel = "red" } }"#,
            "link.l.queue.queue.kernel",
            "must be the link's own queue",
        ),
    ];
    for (queue, place, part) in cases {
        let (told, message) = only_problem(queue, &[]);
        assert!(told == place && message.contains(part), "{queue}: {told}: {message}");
    }
}
