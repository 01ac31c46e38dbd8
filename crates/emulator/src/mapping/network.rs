//! Refusals about links, queues and addresses on backends with a kernel. Nearly all of them are the engine's, as in the simulator.

use std::collections::{BTreeMap, BTreeSet};

use ecnlab_scenario::{Problem, Scenario};
use ecnlab_sim::{MaxProcessingTime, PipeOrQueue};
use serde_json::Value as Json;

use super::{KernelFeatures, SHELL_BACKEND};
use crate::address::MAX_GROUPS;
use crate::kernel_queue::Qdisc;

/// Maximum number of sockets of one group's flows: no usual machine permits more open files.
const MAX_FLOWS_PER_GROUP: usize = 20_000;

pub fn network_problems(scenario: &Scenario, kernel: &KernelFeatures) -> Vec<Problem> {
    let mut problems = link_problems(scenario, kernel);
    if kernel.has_queues {
        check_kernel_queues(scenario, &mut problems);
    }
    check_python_aqms(scenario, kernel, &mut problems);
    check_processing_jitter(scenario, kernel, &mut problems);
    check_addresses(scenario, &mut problems);
    problems
}

pub fn link_problems(scenario: &Scenario, kernel: &KernelFeatures) -> Vec<Problem> {
    let mut problems = Vec::new();
    for link in scenario.resolved["link"].as_array().into_iter().flatten() {
        let place = format!("link.{}", link["name"].as_str().unwrap_or_default());
        check_link(&place, link, kernel, &mut problems);
        check_link(&format!("{place}.reverse"), &link["reverse"], kernel, &mut problems);
    }
    for group in scenario.resolved["flows"].as_array().into_iter().flatten() {
        let place = format!("flows.{}", group["name"].as_str().unwrap_or_default());
        for end in ["access", "exit"] {
            check_link(&format!("{place}.{end}"), &group[end], kernel, &mut problems);
        }
    }
    problems
}

fn check_link(place: &str, link: &Json, kernel: &KernelFeatures, problems: &mut Vec<Problem>) {
    let mut refuse = |key: &str, message: String| problems.push(Problem::new(&format!("{place}.{key}"), message));
    for (number, part) in link["impair"].as_array().into_iter().flatten().enumerate() {
        if part["kind"] == "script" && part["segments"].as_str() != Some("off") {
            let message = "a kernel's segments have no numbers; fix: give packets, times, during or flag, or use --backend sim";
            refuse(&format!("impair.{number}.segments"), message.to_owned());
        }
    }
    if !kernel.has_queues && link["queue"].get("kernel").is_some() {
        let message = match kernel.backend {
            SHELL_BACKEND => "a shell cannot use a kernel's queue; fix: give the queue an aqm".to_owned(),
            backend => format!("the backend {backend} cannot use a kernel's queue; fix: use --backend uml"),
        };
        refuse("queue.kernel", message);
    }
}

/// Reports the parts of a queue that the kernel does not accept.
fn check_kernel_queues(scenario: &Scenario, problems: &mut Vec<Problem>) {
    for link in &scenario.network.links {
        let PipeOrQueue::Queue(queue) = &link.buffer else { continue };
        let Some(wrong) = queue.config.wrapped_kernel_qdisc().and_then(|queue| Qdisc::read(queue, link.rate.bps() as f64).err()) else {
            continue;
        };
        let place = format!("link.{}.queue", link.name.display_name());
        problems.extend(wrong.into_iter().map(|(name, message)| match name.as_str() {
            "" => Problem::new(&format!("{place}.kernel"), message),
            name => Problem::new(&format!("{place}.{name}"), message),
        }));
    }
}

fn check_python_aqms(scenario: &Scenario, kernel: &KernelFeatures, problems: &mut Vec<Problem>) {
    if kernel.runs_python {
        return;
    }
    // Private links of a group's flows share one label.
    let mut found = BTreeSet::new();
    for link in &scenario.network.links {
        let PipeOrQueue::Queue(queue) = &link.buffer else { continue };
        found.extend(queue.config.user_aqm_names_and_digests().into_iter().map(|(name, _)| (link.name.result_label(), name)));
    }
    for (link, name) in found {
        let message = format!(
            "\"{name}\" is an AQM in Python, which the backend {} cannot run; fix: use --backend sim or --backend live",
            kernel.backend
        );
        problems.push(Problem::new(&format!("link.{link}.queue.aqm"), message));
    }
}

/// Refuses a processing time: that of a kernel cannot be set.
fn check_processing_jitter(scenario: &Scenario, kernel: &KernelFeatures, problems: &mut Vec<Problem>) {
    if scenario.network.processing_time != MaxProcessingTime::default() {
        let message = format!(
            "{}: hosts of the backend {} are kernels, whose processing time cannot be set; fix: leave it out, or use --backend sim",
            scenario.resolved["processing_jitter"].as_str().unwrap_or_default(),
            kernel.backend
        );
        problems.push(Problem::new("processing_jitter", message));
    }
}

/// Checks that each flow gets a separate address in the network of its group.
fn check_addresses(scenario: &Scenario, problems: &mut Vec<Problem>) {
    let groups = scenario.groups.len();
    if groups > MAX_GROUPS as usize {
        problems.push(Problem::new(
            "flows",
            format!("{groups} groups: hosts have addresses for {MAX_GROUPS}; fix: give fewer with a larger count"),
        ));
    }
    let mut members = BTreeMap::<u32, usize>::new();
    scenario.network.flows.iter().for_each(|flow| *members.entry(flow.group).or_default() += 1);
    for (group, flows) in members.into_iter().filter(|(_, flows)| *flows > MAX_FLOWS_PER_GROUP) {
        let place = format!("flows.{}.count", scenario.groups[group as usize]);
        problems.push(Problem::new(
            &place,
            format!("{flows} flows: a group's hosts have {MAX_FLOWS_PER_GROUP} at most; fix: give fewer, or use --backend sim"),
        ));
    }
}

#[cfg(test)]
mod tests {
    use ecnlab_scenario::{Registry, no_files};

    use super::*;

    fn refused(queue: &str, has_queues: bool) -> Vec<String> {
        let text = format!(
            "name = \"x\"\nduration = \"2 s\"\n[[link]]\nname = \"l\"\nfrom = \"a\"\nto = \"b\"\nrate = \"1 Mbps\"\ndelay = \"1 ms\"\n\
             queue = {queue}\n[[flows]]\nname = \"one\"\nfrom = \"a\"\nto = \"b\"\ntcp = {{ profile = \"linux\" }}\n"
        );
        let scenario = Scenario::from_toml(&text, &[], &Registry::builtin(), &no_files).unwrap_or_else(|why| panic!("{why:?}"));
        let kernel = KernelFeatures { backend: "uml", has_queues, ..KernelFeatures::default() };
        network_problems(&scenario, &kernel).into_iter().map(|problem| problem.place).collect()
    }

    #[test]
    fn a_shell_refuses_of_links_what_it_cannot_do() {
        let text = "name = \"x\"\nduration = \"2 s\"\n[[link]]\nname = \"l\"\nfrom = \"a\"\nto = \"b\"\nrate = \"1 Mbps\"\ndelay = \"1 ms\"\n\
             queue = { kernel = \"fq_codel\" }\nimpair = [{ kind = \"script\", segments = [7] }]\n\
             [[flows]]\nname = \"one\"\nfrom = \"a\"\nto = \"b\"\ntcp = { profile = \"linux\" }\n";
        let scenario = Scenario::from_toml(text, &[], &Registry::builtin(), &no_files).unwrap_or_else(|why| panic!("{why:?}"));
        let places: Vec<_> = crate::mapping::shell_problems(&scenario).into_iter().map(|problem| problem.place).collect();
        assert_eq!(vec!["link.l.impair.0.segments", "link.l.queue.kernel"], places);
    }

    #[test]
    fn a_processing_jitter_is_refused() {
        let text = "name = \"x\"\nduration = \"2 s\"\nprocessing_jitter = \"packet\"\n[[link]]\nname = \"l\"\nfrom = \"a\"\nto = \"b\"\n\
             rate = \"1 Mbps\"\ndelay = \"1 ms\"\n[[flows]]\nname = \"one\"\nfrom = \"a\"\nto = \"b\"\ntcp = { profile = \"linux\" }\n";
        let read = |jitter: &str| {
            let overrides = [("processing_jitter".to_owned(), jitter.to_owned())];
            Scenario::from_toml(text, &overrides, &Registry::builtin(), &no_files).unwrap_or_else(|why| panic!("{why:?}"))
        };
        let kernel = KernelFeatures { backend: "live", ..KernelFeatures::default() };
        let [refusal] = &network_problems(&read("packet"), &kernel)[..] else { panic!("one refusal") };
        assert_eq!("processing_jitter", refusal.place);
        assert!(refusal.message.starts_with("packet: hosts of the backend live are kernels"), "{}", refusal.message);
        assert!(refusal.message.ends_with("leave it out, or use --backend sim"), "{}", refusal.message);
        assert_eq!(0, network_problems(&read("0 s"), &kernel).len());
    }

    #[test]
    fn what_a_queue_of_the_kernel_does_not_take_is_refused_by_its_place_before_anything_starts() {
        let good = "{ kernel = \"fq_codel\", target = \"5 ms\", limit = 1000, ecn = true }";
        assert_eq!(Vec::<String>::new(), refused(good, true));
        assert_eq!(vec!["link.l.queue.kernel"], refused(good, false));
        assert_eq!(vec!["link.l.queue.kernel"], refused("{ kernel = \"hfsc\" }", true));
        let bad = "{ kernel = \"codel\", target = \"soon\", colour = \"red\" }";
        assert_eq!(vec!["link.l.queue.colour", "link.l.queue.target"], refused(bad, true));
    }
}
