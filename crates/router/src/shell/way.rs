//! The links of a scenario that a shell's packets cross.

use std::sync::Arc;

use ecnlab_scenario::Scenario;
use ecnlab_sim::{Buffer, Counted, FlowSpec, LinkSpec, Network};
use ecnlab_transport::{Settings, Transport};
use ecnlab_units::{Time, Values};

use super::conversations::{MOST, flow};
use crate::address::Side;

/// Towards the inside, and from there.
pub const DIRECTIONS: [&str; 2] = ["down", "up"];

/// A scenario's links as a shell has them.
#[derive(Clone, Debug)]
pub struct Way {
    /// With a flow for each direction of each conversation, whose ends are outside.
    pub network: Network,
    /// Of each direction the links that its packets cross, as numbers in the network.
    pub links: [Vec<u32>; 2],
}

impl Way {
    /// Of a group: towards the inside as its data goes, and from there as its acknowledgements go. Its first flow's own links are part of it.
    ///
    /// # Panics
    /// If there is no such group, or it has no flow.
    pub fn of(scenario: &Scenario, group: u32) -> Way {
        let like = scenario.network.flows.iter().find(|flow| flow.group == group && flow.counted != Counted::Nowhere);
        let like = like.or_else(|| scenario.network.flows.iter().find(|flow| flow.group == group)).expect("a group has a flow");
        let mut network = Network { groups: DIRECTIONS.map(Arc::from).into(), ..Network::default() };
        let links = [&like.forward, &like.back]
            .map(|route| route.iter().map(|link| add(&mut network.links, &scenario.network.links[*link as usize])).collect::<Vec<u32>>());
        let transport = Transport::Tcp(Arc::new(Settings::of(&Values::defaults(Settings::PARAMETERS)))).outside();
        for (side, group, [forward, back]) in [(Side::Near, 1, [&links[1], &links[0]]), (Side::Far, 0, [&links[0], &links[1]])] {
            network.flows.extend((0..MOST).map(|member| FlowSpec {
                group,
                member,
                forward: forward.clone(),
                back: back.clone(),
                transport: transport.clone(),
                opens: None,
                start: Time::ZERO,
                boot: None,
                counted: Counted::InGroup,
            }));
            debug_assert_eq!(network.flows.len() as u32, flow(MOST - 1, side) + 1);
        }
        Way { network, links }
    }

    /// The name of each measured queue, in the order of the network.
    pub fn queues(&self) -> impl Iterator<Item = &str> {
        self.network.links.iter().filter_map(|link| match &link.buffer {
            Buffer::Queue(queue) => Some(queue.name.as_str()),
            Buffer::Pipe { .. } => None,
        })
    }

    /// The direction that crosses a link.
    pub fn direction(&self, link: u32) -> &'static str {
        DIRECTIONS[usize::from(!self.links[0].contains(&link))]
    }
}

/// Adds a link unless it is there, and tells its number.
fn add(links: &mut Vec<LinkSpec>, link: &LinkSpec) -> u32 {
    let known = links.iter().position(|known| known.name == link.name);
    known.unwrap_or_else(|| {
        links.push(link.clone());
        links.len() - 1
    }) as u32
}
