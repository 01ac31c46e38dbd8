//! Which node is where. The engine knows links and routes only; that two links follow each other on a route says that they meet at a node, and
//! the two directions of a link lie between the same ones.
//!
//! Nodes are numbered as they are met along the routes, in the order of the flows: the first flow's source is 0. Where a later route shows
//! that two nodes are one, the smaller number remains.

use std::collections::BTreeMap;

use crate::network::{FlowSpec, LinkName, REVERSE_SUFFIX};

const NONE: u32 = u32::MAX;

/// The nodes at the links' ends.
#[derive(Default)]
pub struct NodeMap {
    /// Of each link's end (twice its number is where it begins, one more where it ends) another end at the same node; itself if it stands
    /// for all of them.
    parent: Vec<u32>,
    /// Of each end that stands for all: its node's number.
    node_numbers: Vec<u32>,
    count: u32,
    /// How many agents there are at each node.
    agents: Vec<u32>,
    /// Links of which one direction is there, by name.
    unpaired_links: BTreeMap<String, u32>,
}

/// An end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowHost {
    pub node: u32,
    /// Which of its node's agents it is.
    pub agent: u32,
}

impl NodeMap {
    pub fn add_link(&mut self, name: &LinkName) {
        let link = (self.parent.len() / 2) as u32;
        for end in [start_end_of(link), far_end_of(link)] {
            self.parent.push(end);
            self.node_numbers.push(NONE);
        }
        let shown = name.display_name();
        let name = shown.strip_suffix(REVERSE_SUFFIX).unwrap_or(&shown);
        match self.unpaired_links.remove(name) {
            Some(other) => {
                self.merge_nodes(start_end_of(other), far_end_of(link));
                self.merge_nodes(far_end_of(other), start_end_of(link));
            }
            None => drop(self.unpaired_links.insert(name.to_owned(), link)),
        }
    }

    /// Learns of a flow's routes; returns its source and its sink.
    pub fn add_flow(&mut self, flow: &FlowSpec) -> [FlowHost; 2] {
        let FlowSpec { forward, back, .. } = flow;
        for route in [forward, back] {
            route.windows(2).for_each(|pair| self.merge_nodes(far_end_of(pair[0]), start_end_of(pair[1])));
        }
        if let (Some(&out), Some(&home)) = (back.first(), back.last()) {
            self.merge_nodes(far_end_of(forward[forward.len() - 1]), start_end_of(out));
            self.merge_nodes(far_end_of(home), start_end_of(forward[0]));
        }
        for &link in forward.iter().chain(back) {
            self.nodes_of_link(link);
        }
        [start_end_of(forward[0]), far_end_of(forward[forward.len() - 1])].map(|end| self.add_host(end))
    }

    /// The nodes where a link begins and ends.
    #[inline]
    pub fn nodes_of_link(&mut self, link: u32) -> (u32, u32) {
        (self.node_number(start_end_of(link)), self.node_number(far_end_of(link)))
    }

    fn node_number(&mut self, end: u32) -> u32 {
        let stands = self.find_root(end) as usize;
        if self.node_numbers[stands] == NONE {
            self.node_numbers[stands] = self.count;
            self.count += 1;
        }
        self.node_numbers[stands]
    }

    fn add_host(&mut self, end: u32) -> FlowHost {
        let node = self.node_number(end);
        self.agents.resize(self.count as usize, 0);
        self.add_agent(node)
    }

    /// One more agent at a node that has had one.
    pub fn add_agent(&mut self, node: u32) -> FlowHost {
        let agent = self.agents[node as usize];
        self.agents[node as usize] += 1;
        FlowHost { node, agent }
    }

    fn merge_nodes(&mut self, one: u32, other: u32) {
        let (one, other) = (self.find_root(one), self.find_root(other));
        let number = self.node_numbers[one as usize].min(self.node_numbers[other as usize]);
        self.parent[one.max(other) as usize] = one.min(other);
        self.node_numbers[one.min(other) as usize] = number;
    }

    /// The end that stands for all at the same node.
    #[inline]
    fn find_root(&mut self, mut end: u32) -> u32 {
        while self.parent[end as usize] != end {
            let next = self.parent[end as usize];
            self.parent[end as usize] = self.parent[next as usize];
            end = next;
        }
        end
    }
}

fn start_end_of(link: u32) -> u32 {
    2 * link
}

fn far_end_of(link: u32) -> u32 {
    2 * link + 1
}
