//! Derives nodes from routes. The engine has links and routes only. Successive links of a route meet at a node, and the two directions of a
//! link connect the same nodes.
//!
//! Nodes are numbered along the routes, in the order of the flows: the first flow's source is 0. If a later route shows that two nodes are
//! identical, the smaller number remains.

use std::collections::BTreeMap;

use crate::index_vec::IndexVec;
use crate::network::{FlowSpec, LinkName, REVERSE_SUFFIX};

const NONE: u32 = u32::MAX;

/// Nodes at the ends of links (a union-find structure).
#[derive(Default)]
pub struct NodeMap {
    /// Union-find parent of each link end: index `2 n` is where link `n` begins, `2 n + 1` where it ends. A root is its own parent.
    parent: IndexVec<u32>,
    /// Node number of each root.
    node_numbers: IndexVec<u32>,
    count: u32,
    /// Number of agents at each node.
    agents: IndexVec<u32>,
    /// Links of which only one direction has been added, by name.
    unpaired_links: BTreeMap<String, u32>,
}

/// Host at one end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowHost {
    pub node: u32,
    /// Number of the agent at its node.
    pub agent: u32,
}

impl NodeMap {
    pub fn add_link(&mut self, name: &LinkName) {
        let link = self.parent.next_number() / 2;
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

    /// Adds the routes of a flow; returns its source and its sink.
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
        (self.node_number_of_end(start_end_of(link)), self.node_number_of_end(far_end_of(link)))
    }

    fn node_number_of_end(&mut self, end: u32) -> u32 {
        let stands = self.find_root(end);
        if self.node_numbers[stands] == NONE {
            self.node_numbers[stands] = self.count;
            self.count += 1;
        }
        self.node_numbers[stands]
    }

    fn add_host(&mut self, end: u32) -> FlowHost {
        let node = self.node_number_of_end(end);
        self.agents.resize(self.count as usize, 0);
        self.add_agent(node)
    }

    /// Adds another agent to a node.
    pub fn add_agent(&mut self, node: u32) -> FlowHost {
        let agent = self.agents[node];
        self.agents[node] += 1;
        FlowHost { node, agent }
    }

    fn merge_nodes(&mut self, one: u32, other: u32) {
        let (one, other) = (self.find_root(one), self.find_root(other));
        let number = self.node_numbers[one].min(self.node_numbers[other]);
        self.parent[one.max(other)] = one.min(other);
        self.node_numbers[one.min(other)] = number;
    }

    /// The root of a link end's node.
    #[inline]
    fn find_root(&mut self, mut end: u32) -> u32 {
        while self.parent[end] != end {
            let next = self.parent[end];
            self.parent[end] = self.parent[next];
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
