//! The links of a scenario that a shell's packets cross.

use std::sync::Arc;

use ecnlab_scenario::Scenario;
use ecnlab_sim::{FlowSpec, LinkSpec, Network, PipeOrQueue, RowPolicy};
use ecnlab_transport::{TcpSettings, Transport};
use ecnlab_units::{Time, Values};

use super::flow_table::{MAX_FLOWS, flow_of_entry};
use crate::address::Side;

/// Towards the client, and from it.
pub const DIRECTION_NAMES: [&str; 2] = ["down", "up"];

/// The links of a scenario in a shell.
#[derive(Clone, Debug)]
pub struct ShellPath {
    /// With a flow for each direction of each conversation, whose hosts are external, after the simulated flows.
    pub network: Network,
    /// Flow number of the first conversation.
    pub first_flow: u32,
    /// For each direction, the links that its packets cross, by number in the network.
    pub links: [Vec<u32>; 2],
}

impl ShellPath {
    /// Path of a group: towards the client as its data, and back as its acknowledgements, with the private links of its first flow. With
    /// `background` all flows of the scenario send too, simulated, over all of its links.
    ///
    /// # Panics
    /// If the group does not exist, or has no flow.
    pub fn new(scenario: &Scenario, group: u32, background: bool) -> ShellPath {
        let template = scenario.network.flows.iter().find(|flow| flow.group == group && flow.row_policy != RowPolicy::NotCounted);
        let template = template.or_else(|| scenario.network.flows.iter().find(|flow| flow.group == group)).expect("a group has a flow");
        let routes = [&template.forward, &template.back];
        let (mut network, links) = if background {
            ((*scenario.network).clone(), routes.map(|route| route.to_vec()))
        } else {
            let mut network = Network::default();
            let mut add_own_link = |link: &u32| find_or_add_link(&mut network.links, &scenario.network.links[*link as usize]);
            let links = routes.map(|route| route.iter().map(&mut add_own_link).collect());
            (network, links)
        };
        let (first_flow, groups) = (network.flows.len() as u32, network.groups.len() as u32);
        network.groups.extend(DIRECTION_NAMES.map(Arc::from));
        let transport =
            Transport::Tcp(Arc::new(TcpSettings::from_values(&Values::defaults(TcpSettings::PARAMETERS)))).with_external_hosts();
        for (side, group, [forward, back]) in
            [(Side::Near, groups + 1, [&links[1], &links[0]]), (Side::Far, groups, [&links[0], &links[1]])]
        {
            network.flows.extend((0..MAX_FLOWS).map(|member| FlowSpec {
                group,
                member,
                forward: forward.clone(),
                back: back.clone(),
                transport: transport.clone(),
                initial_write: None,
                start: Time::ZERO,
                clock_phase: None,
                row_policy: RowPolicy::GroupOnly,
            }));
            debug_assert_eq!(network.flows.len() as u32, flow_of_entry(first_flow, MAX_FLOWS - 1, side) + 1);
        }
        ShellPath { network, first_flow, links }
    }

    /// Whether a link is part of the path; others carry background traffic only.
    pub fn crosses(&self, link: u32) -> bool {
        self.links.iter().any(|links| links.contains(&link))
    }

    /// The name of each measured queue, in the order of the network.
    pub fn queue_names(&self) -> impl Iterator<Item = &str> {
        self.network.links.iter().filter_map(|link| match &link.buffer {
            PipeOrQueue::Queue(queue) => Some(queue.name.as_str()),
            PipeOrQueue::Pipe { .. } => None,
        })
    }

    /// The direction that crosses a link.
    pub fn direction_of_link(&self, link: u32) -> &'static str {
        DIRECTION_NAMES[usize::from(!self.links[0].contains(&link))]
    }
}

/// Adds a link if it is missing, and returns its number.
fn find_or_add_link(links: &mut Vec<LinkSpec>, link: &LinkSpec) -> u32 {
    let known = links.iter().position(|known| known.name == link.name);
    known.unwrap_or_else(|| {
        links.push(link.clone());
        links.len() - 1
    }) as u32
}

#[cfg(test)]
mod tests {
    use ecnlab_scenario::{Registry, no_files};
    use ecnlab_sim::{ExternalPacket, NoProbe, RunTimesAndSeed, SimOutput, Simulation};
    use ecnlab_units::Span;

    use super::*;

    fn scenario() -> Scenario {
        let text = "name = \"x\"\nduration = \"1 s\"\n[network]\ntopology = \"dumbbell\"\nrate = \"2 Mbps\"\ndelay = \"10 ms\"\n\
             queue = { aqm = \"droptail\", limit = 50 }\n[[flows]]\nname = \"bulk\"\ncount = 3\nfrom = \"left\"\nto = \"right\"\n\
             tcp = { profile = \"linux\" }\n[[flows]]\nname = \"short\"\nfrom = \"left\"\nto = \"right\"\n\
             tcp = { profile = \"linux\" }\napp = { kind = \"arrivals\", flows_per_second = 20, size = \"2 KB\" }\n";
        Scenario::from_toml(text, &[], &Registry::builtin(), &no_files).unwrap_or_else(|why| panic!("{why:?}"))
    }

    /// Delay of a packet to the client that arrives after five seconds, and the number of packets that have left the first measured queue
    /// by then.
    fn measure_delay(background: bool) -> (Span, u64) {
        let path = ShellPath::new(&scenario(), 0, background);
        let options = RunTimesAndSeed { duration: Time::ZERO + Span::from_secs(60), measure_from: Time::ZERO, seed: 1 };
        let mut simulation = Simulation::new(&path.network, &options, NoProbe);
        let came = Time::ZERO + Span::from_secs(5);
        simulation.advance_to(came);
        let departed = simulation.queue_snapshots().next().unwrap().counters.departed.packets;
        simulation.inject_host_packet(&ExternalPacket {
            flow: flow_of_entry(path.first_flow, 7, Side::Far),
            size: 100,
            handle: 1,
            ..ExternalPacket::default()
        });
        simulation.advance_to(came + Span::from_secs(5));
        let arrived = simulation.drain_outputs().find_map(|happened| match happened {
            SimOutput::Arrived { handle: 1, at, .. } => Some(at.since(came)),
            _ => None,
        });
        simulation.finish_at_current_time();
        drop(simulation.finish());
        (arrived.expect("it arrives, or the queue was full"), departed)
    }

    #[test]
    fn flows_of_the_scenario_send_only_with_background() {
        let ((alone, nobody), (behind, others)) = (measure_delay(false), measure_delay(true));
        assert_eq!(0, nobody);
        assert!(others > 500, "{others} packets");
        assert!(behind > alone + Span::from_millis(5), "{behind:?} behind others, {alone:?} alone");
    }
}
