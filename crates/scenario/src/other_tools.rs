//! Names that other tools have: queues of tc, ns-2 and ns-3, each with its form in a scenario, and congestion controls of kernels alone.

/// Congestion controls that every UML kernel has and the simulator lacks under this name.
pub const UML_CONTROLS: [&str; 6] = ["abe", "bbr", "bic", "dctcp", "htcp", "westwood"];

/// Names without case, dashes and underscores, and what to write for them.
const QUEUES: &[(&[&str], &str)] = &[
    (&["fqcodel", "sfqcodel"], "write queue = { discipline = \"fq\", limit = 10240, aqm = \"codel\" }"),
    (&["fqpie"], "write queue = { discipline = \"fq\", limit = 10240, aqm = \"pie\" }"),
    (&["pfifo", "pfifofast", "pfifoheaddrop", "taildrop"], "write queue = { aqm = \"droptail\", limit = 1000 }, whose limit is in packets"),
    (&["bfifo"], "write queue = { aqm = \"droptail\", limit = \"64 KB\" }, whose limit is in bytes"),
    (&["redecn", "redwithecn"], "write aqm = \"ecn\", which is RED that marks"),
    (&["pisquare", "pisquared"], "write aqm = \"pi2\""),
    (&["dualq"], "write discipline = \"dualpi2\""),
    (&["netem"], "give the link delay = \"20 ms\" and impair = [{ kind = \"loss\", rate = 0.01 }]"),
    (&["htb"], "write discipline = \"tbf\" to shape, or discipline = \"cbq\" for one class"),
    (&["cake"], "write discipline = \"fq\" with aqm = \"codel\", which is nearest to it"),
];

/// What to write for a queue that another tool knows by this name.
pub fn fix_for_other_tools_queue(name: &str) -> Option<&'static str> {
    let word = name.strip_prefix("ns3::").unwrap_or(name).to_lowercase().replace(['-', '_'], "");
    let word = word.strip_suffix("queuedisc").unwrap_or(&word);
    QUEUES.iter().find(|(names, _)| names.contains(&word)).map(|(_, fix)| *fix)
}

/// The same, also for a congestion control that only kernels have.
pub fn fix_for_other_tools_name(name: &str) -> Option<String> {
    let control = name.to_lowercase();
    let is_control = UML_CONTROLS.contains(&control.as_str());
    let of_control = is_control.then(|| format!("write congestion_control = \"{control}\" in tcp, and use --backend uml or live"));
    fix_for_other_tools_queue(name).map(str::to_owned).or(of_control)
}
