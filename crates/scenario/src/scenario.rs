//! A valid scenario: its sections are checked together, and its network is assembled.

use std::sync::Arc;

use ecnlab_sim::{FlowSpec, FlowTemplate, Network, PipeOrQueue, RowPolicy, RunTimesAndSeed};
use ecnlab_transport::Transport;
use ecnlab_transport::settings::{CongestionControlName, KernelControlName};
use ecnlab_units::{Span, Time};
use serde_json::Value as Json;

use crate::other_tools::UML_CONTROLS;
use crate::problem::{Problem, near_name_text};
use crate::read::{Reader, TableInput};
use crate::sections::change;
use crate::sections::flows::{self, Group};
use crate::sections::link::{self, Edge};
use crate::sections::record::{self, Record, RecordedItemCounts};
use crate::sections::root;
use crate::sections::routes::EdgeRoutes;
use crate::sections::values_to_json;
use crate::tree::Node;
use crate::warnings::{self, estimated_flow_memory};

/// Digest of the sources that results depend on.
pub const SOURCES_DIGEST: &str = env!("ECNLAB_BUILD");

/// Version of the rules by which Python derives runs: seeds, overrides and batches. [`SOURCES_DIGEST`] covers no Python code. Increment it when a
/// rule changes (`tests/scenarios/test_seeds.py` pins the results), so that stored results of the old rule are not reused.
pub const RUN_DERIVATION_VERSION: u32 = 1;

/// A valid scenario.
#[derive(Clone, Debug)]
pub struct Scenario {
    pub name: String,
    pub duration: Span,
    pub measure_from: Span,
    pub record: Record,
    /// Scenarios that differ in their recording share it ([`Scenario::share_network`]).
    pub network: Arc<Network>,
    /// Names of the groups of flows, in order.
    pub groups: Vec<String>,
    /// Names of the measured queues, in order.
    pub queues: Vec<String>,
    /// Names of the links that each group's data and ACKs cross, without private links.
    pub routes: Vec<[Vec<String>; 2]>,
    /// Every parameter in force, in a form that can be read as the same scenario again.
    pub resolved: Json,
    /// Name and digest of each user-defined AQM.
    pub user_aqms: Vec<(&'static str, &'static str)>,
    /// Names of the files that it names, as it writes them.
    pub file_names: Vec<String>,
    /// Warnings.
    pub warnings: Vec<Problem>,
}

impl Scenario {
    /// Reads and checks a scenario. Problems include those that the reader has collected before.
    pub(crate) fn read(node: &Node, mut reader: Reader) -> Result<Scenario, Vec<Problem>> {
        let given = TableInput::new(node, "");
        let top = root::read(&mut reader, &given);
        let record = record::read(&mut reader, &given);
        let mut links = link::read(&mut reader, &given);
        let changes = change::read(&mut reader, &given, &mut links.edges, top.as_ref().map(|(keys, _)| keys.duration));
        let groups = flows::read(&mut reader, &given, &links);
        if let (Some((keys, _)), Some(record)) = (&top, &record) {
            let flows = groups.iter().map(|group| u64::from(group.count) * group.traffic.result_rows()).sum();
            let gauges = links.queues().map(|queue| queue.gauge_count()).sum();
            let bands = links.queues().map(|queue| queue.band_names().len()).sum();
            let size =
                RecordedItemCounts { duration: keys.duration, queues: links.queues().count(), bands, gauges, flows, groups: groups.len() };
            record::check(&mut reader, &given, &Record::from_values(record), &size);
        }
        let (true, Some((keys, top)), Some(record)) = (reader.problems.is_empty(), top, record) else { return Err(reader.problems) };
        warnings::warn_of_mismatches(&mut reader, &given, &links.edges, &groups, keys.duration);
        let queues = links.edges.iter().filter(|edge| edge.queue.is_some()).map(|edge| edge.name.clone()).collect();
        let user_aqms = links.queues().flat_map(|queue| queue.user_aqm_names_and_digests()).collect();
        let mut resolved = values_to_json(&top);
        resolved["link"] = links.described.into();
        resolved["flows"] = groups.iter().map(|group| group.described.clone()).collect();
        if !changes.is_empty() {
            resolved["change"] = changes.into();
        }
        resolved["record"] = values_to_json(&record);
        Ok(Scenario {
            name: keys.name,
            duration: keys.duration,
            measure_from: keys.measure_from,
            record: Record::from_values(&record),
            routes: groups.iter().map(|group| forward_and_back_edge_names(&links.edges, group)).collect(),
            groups: groups.iter().map(|group| group.name.clone()).collect(),
            network: Arc::new(Network { processing_time: keys.processing_jitter.0, ..assemble_network(links.edges, groups) }),
            queues,
            resolved,
            user_aqms,
            file_names: reader.file_names,
            warnings: reader.warnings,
        })
    }

    /// The times of a run, and its seed.
    pub fn times_and_seed(&self, seed: u64) -> RunTimesAndSeed {
        RunTimesAndSeed { duration: Time::ZERO + self.duration, measure_from: Time::ZERO + self.measure_from, seed }
    }

    /// Takes the network of another scenario with the same key, so that a large one is in memory once. User-defined AQMs keep the state of
    /// their failures in the network, so a scenario with them keeps its own.
    pub fn share_network(&mut self, other: &Scenario) {
        if self.user_aqms.is_empty() && self.hash() == other.hash() {
            self.network = Arc::clone(&other.network);
        }
    }

    /// Memory of a run in bytes, from the number of flows at its start: an estimate for little state of each flow, and one for much.
    pub fn estimated_memory_bytes(&self) -> [u64; 2] {
        estimated_flow_memory(self.network.flows.len() as u64)
    }

    /// Parts that need a kernel and that the simulator does not have, each with its path and the remedy.
    pub fn problems_without_kernel(&self) -> Vec<Problem> {
        let queues = self.network.links.iter().filter_map(|link| match &link.buffer {
            PipeOrQueue::Queue(queue) if queue.config.wrapped_kernel_qdisc().is_some() => Some(link.name.display_name()),
            _ => None,
        });
        let say = "the simulator has no kernel; fix: use --backend uml, or give the queue an aqm";
        let queues = queues.map(|link| Problem::new(&format!("link.{link}.queue.kernel"), say));
        queues.chain(self.kernel_controls().map(|(place, name)| Problem::new(&place, kernel_control_message(name.as_str())))).collect()
    }

    /// Congestion controls that only kernels have, each with its path.
    pub fn kernel_controls(&self) -> impl Iterator<Item = (String, KernelControlName)> {
        (0..).zip(&self.groups).filter_map(|(number, group)| match self.transport(number) {
            Some(Transport::Tcp(tcp)) => match tcp.congestion_control {
                CongestionControlName::Kernel(name) => Some((format!("flows.{group}.tcp.congestion_control"), name)),
                _ => None,
            },
            _ => None,
        })
    }

    /// Transport of the group with this number: that of any of its flows, or of its template.
    pub fn transport(&self, group: u32) -> Option<&Transport> {
        let flows = self.network.flows.iter();
        let templates = self.network.apps.iter().filter_map(|app| app.member_template.as_ref()).map(|more| &more.flow);
        flows.chain(templates).find(|flow| flow.group == group).map(|flow| &flow.transport)
    }

    /// Key of all that results depend on: the engine's sources, the derivation rules, the sources of user-defined AQMs, and the scenario
    /// without its title and recordings. 128-bit FNV-1a in hexadecimal.
    pub fn hash(&self) -> String {
        let physics = self.resolved.as_object().into_iter().flatten().filter(|(key, _)| !matches!(key.as_str(), "name" | "record"));
        let texts = physics.map(|(key, value)| format!("{key} {value}\n"));
        let sources =
            std::iter::once(SOURCES_DIGEST).chain(self.user_aqms.iter().map(|(_, digest)| *digest)).map(|digest| format!("{digest}\n"));
        let derivation = std::iter::once(format!("derivation {RUN_DERIVATION_VERSION}\n"));
        let hash = sources.chain(derivation).chain(texts).fold(FNV1A_128_OFFSET_BASIS, |hash, text| fnv1a_update(hash, &text));
        format!("{hash:032x}")
    }
}

/// Message about a congestion control that the simulator does not have.
fn kernel_control_message(name: &str) -> String {
    let simulated = CongestionControlName::WORDS;
    let on_kernels = match UML_CONTROLS.contains(&name) {
        true => format!("use --backend uml, whose kernels have {name}, or --backend live if this machine's kernel has it"),
        false => format!(
            "use --backend live if this machine's kernel has {name}, or --backend uml with a kernel that has it (ecnlab uml build-kernel \
             --control FILE.c)"
        ),
    };
    let in_simulator = match name {
        "dctcp" => "give variant = \"dctcp\"".to_owned(),
        "abe" => "give congestion_control = \"reno\" with ecn_response = \"abe\"".to_owned(),
        _ => format!("give one of {}", simulated.join(", ")),
    };
    let near = near_name_text(name, simulated.iter().copied());
    format!("{name}: the simulator does not have this congestion control{near}; fix: {on_kernels}, or {in_simulator}")
}

const FNV1A_128_OFFSET_BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;

fn fnv1a_update(hash: u128, text: &str) -> u128 {
    text.bytes().fold(hash, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b))
}

fn forward_and_back_edge_names(edges: &[Edge], group: &Group) -> [Vec<String>; 2] {
    let EdgeRoutes { forward, back } = &group.route.routes;
    [forward, back].map(|route| route.iter().map(|&edge| edges[edge].name.clone()).collect())
}

/// Numbers the links: first the edges, then the two private links of each flow.
fn assemble_network(edges: Vec<Edge>, groups: Vec<Group>) -> Network {
    let mut network = Network { groups: groups.iter().map(|group| group.name.as_str().into()).collect(), ..Network::default() };
    network.links.extend(edges.into_iter().map(|edge| edge.spec));
    let flows: usize = groups.iter().map(|group| group.count as usize).sum();
    let own_links = |group: &Group| 2 * group.count as usize * [&group.route.access, &group.route.exit].into_iter().flatten().count();
    let own_links: usize = groups.iter().map(own_links).sum();
    network.links.reserve_exact(own_links);
    network.flows.reserve_exact(flows);
    for (number, group) in groups.iter().enumerate() {
        let name = Arc::clone(&network.groups[number]);
        (0..group.count).for_each(|member| add_flow(&mut network, number as u32, group, &name, member));
    }
    network.renumber_rows_first();
    network
}

fn add_flow(network: &mut Network, number: u32, group: &Group, name: &Arc<str>, member: u32) {
    let template = FlowTemplate {
        flow: FlowSpec {
            group: number,
            member,
            forward: group.route.routes.forward.iter().map(|&edge| edge as u32).collect(),
            back: group.route.routes.back.iter().map(|&edge| edge as u32).collect(),
            transport: group.transport.clone(),
            initial_write: None,
            start: group.starts[member as usize % group.starts.len()],
            clock_phase: None,
            row_policy: RowPolicy::OwnRow,
        },
        access: group.route.access.as_ref().map(|links| links.link_specs_of_flow(name, member)),
        exit: group.route.exit.as_ref().map(|links| links.link_specs_of_flow(name, member)),
    };
    network.add_group_member(&template, member, &group.traffic);
}
