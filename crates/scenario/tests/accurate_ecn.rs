//! With Accurate ECN each sender knows of all marks that reached its receiver once all acknowledgements have arrived, in random networks.

use ecnlab_scenario::{Registry, Scenario, no_files};
use ecnlab_sim::{NoProbe, RunTimesAndSeed, Simulation};
use ecnlab_units::{Rng, Time};

const CASES: u64 = 150;
const FLOWS_OF_A_GROUP: u64 = 3;

/// Hosts with Accurate ECN: the controls, and the profiles whose rules differ. Connections stay open, as nothing answers the last ACK of one
/// that closes.
const HOSTS: &[&str] = &[
    r#"profile = "linux-7.2", ecn = true, ecn_echo = "accurate", quirks = { fin = false }"#,
    r#"profile = "linux-7.2", congestion_control = "reno", ecn = true, ecn_echo = "accurate", quirks = { fin = false }"#,
    r#"profile = "linux-7.2", variant = "dctcp", ecn_echo = "accurate", ect_codepoint = "ect1", quirks = { fin = false }"#,
    r#"profile = "linux-7.2", variant = "prague", quirks = { fin = false }"#,
    r#"profile = "linux-7.2", variant = "prague-2020", quirks = { fin = false }"#,
    r#"profile = "linux-7.2", ecn = true, ecn_echo = "accurate", quirks = { fin = false, accecn_option = "off" }"#,
    r#"profile = "linux-7.2", ecn = true, ecn_echo = "accurate", quirks = { fin = false, accecn_option = "minimum" }"#,
    r#"profile = "rfc", ecn = true, ecn_echo = "accurate", handshake = "three-way", timestamps = true, quirks = { fin = false, accecn_option = "minimum" }"#,
    r#"profile = "rfc", ecn = true, ecn_echo = "accurate", handshake = "three-way", timestamps = true, quirks = { fin = false }"#,
    r#"profile = "rfc", variant = "cubic", ecn = true, ecn_echo = "accurate", handshake = "three-way", timestamps = true, quirks = { fin = false }"#,
];
/// Queues that mark early or late, smoothly or in runs.
const QUEUES: &[&str] = &[
    "{ aqm = \"step\", measure = \"sojourn\", sojourn = \"1 ms\", limit = 300 }",
    "{ aqm = \"ecn\", limit = 120, min_th = 10, max_th = 30, max_p = 0.3 }",
    "{ aqm = \"codel\", limit = 300 }",
    "{ aqm = \"pie\", limit = 300 }",
    "{ discipline = \"dualpi2\", limit = 1000 }",
    "{ discipline = \"fq\", limit = 1000, l4s_step = \"1 ms\" }",
];

/// Two groups of files of random size through one queue that marks, behind random marks, losses and reordering of data.
/// Also whether the hosts of each group have the option.
fn random_network(rng: &mut Rng) -> (String, [bool; 2]) {
    fn pick<'w>(rng: &mut Rng, words: &[&'w str]) -> &'w str {
        words[rng.below(words.len() as u64) as usize]
    }
    let group = |rng: &mut Rng, name: &str, host: &str| {
        format!(
            "[[flows]]\nname = \"{name}\"\ncount = {FLOWS_OF_A_GROUP}\nto = \"sink\"\nstart = [\"0 s\", \"0.3 s\", \"1 s\"]\n\
             access = {{ to = \"router\", rate = \"1 Gbps\", delay = \"{} us\", spread = \"1 ms\" }}\n\
             tcp = {{ {} }}\napp = {{ kind = \"file\", bytes = {} }}\n",
            100 + rng.below(60_000),
            host,
            1_000 + rng.below(1_500_000),
        )
    };
    let impairments = [
        format!("{{ kind = \"mark\", rate = {} }}", rng.below(300) as f64 / 1000.0),
        format!("{{ kind = \"loss\", rate = {} }}", rng.below(20) as f64 / 1000.0),
        format!("{{ kind = \"reorder\", rate = {}, delay = \"{} ms\" }}", rng.below(20) as f64 / 1000.0, 1 + rng.below(20)),
    ];
    let chosen: Vec<&str> = impairments.iter().filter(|_| rng.below(2) == 1).map(String::as_str).collect();
    let link = format!(
        "[[link]]\nname = \"bottleneck\"\nfrom = \"router\"\nto = \"sink\"\nrate = \"{} kbps\"\ndelay = \"1 ms\"\nqueue = {}\nimpair = [{}]\n\
         reverse = {{ rate = \"1 Gbps\", limit = 100000 }}\n",
        2_000 + rng.below(98_000),
        pick(rng, QUEUES),
        chosen.join(", "),
    );
    let hosts = [pick(rng, HOSTS), pick(rng, HOSTS)];
    let groups = [group(rng, "one", hosts[0]), group(rng, "other", hosts[1])].concat();
    (format!("name = \"x\"\nduration = \"600 s\"\n{link}{groups}"), hosts.map(|host| !host.contains("accecn_option")))
}

#[test]
fn each_sender_knows_of_all_marks_once_its_acknowledgements_have_arrived() {
    let (mut flows, mut marked, mut wrong) = (0, 0, Vec::new());
    for seed in 0..CASES {
        let (text, have_option) = random_network(&mut Rng::for_role(seed, "network"));
        let scenario = Scenario::from_toml(&text, &[], &Registry::builtin(), &no_files).unwrap_or_else(|why| panic!("{text}: {why:?}"));
        let duration = Time::ZERO + scenario.duration;
        let mut simulation = Simulation::new(&scenario.network, &RunTimesAndSeed { duration, measure_from: Time::ZERO, seed }, NoProbe);
        simulation.advance_to(duration);
        for flow in 0..2 * FLOWS_OF_A_GROUP as u32 {
            // A flow whose SYN was lost twice, or whose SYN-ACK, has no Accurate ECN.
            let Some(counts) = simulation.accurate_ecn_mark_counts(flow) else { continue };
            (flows, marked) = (flows + 1, marked + counts.received);
            // Without the option the sender has the number modulo eight, and takes the largest where an ACK reports more than seven packets.
            let has_option = have_option[(u64::from(flow) / FLOWS_OF_A_GROUP) as usize];
            let unsure = counts.reported.wrapping_sub(counts.received);
            if unsure != 0 && (has_option || counts.reported < counts.received || unsure % 8 != 0) {
                wrong.push(format!("seed {seed}, flow {flow}: {counts:?}\n{text}"));
            }
        }
        let (run, _) = simulation.finish();
        let done = run.report.column_as_reals("flows", "completion_s");
        assert!(done.iter().all(|time| time.is_finite()), "not all files have ended: {done:?}\n{text}");
    }
    assert!(flows > 800 && marked > 10_000, "{flows} flows with {marked} marks");
    assert!(wrong.is_empty(), "{} of {flows} flows:\n{}", wrong.len(), wrong.join("\n"));
}
