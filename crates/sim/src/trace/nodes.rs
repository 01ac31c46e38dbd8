//! Which node is where. The engine knows links and routes only; that two links follow each other on a route says that they meet at a node, and
//! the two directions of a link lie between the same ones.
//!
//! Nodes are numbered as they are met along the routes, in the order of the flows: the first flow's source is 0. Where a later route shows
//! that two nodes are one, the smaller number remains.

use std::collections::BTreeMap;

use crate::network::{FlowSpec, LinkName, REVERSE};

const NONE: u32 = u32::MAX;

/// The nodes at the links' ends.
#[derive(Default)]
pub struct Nodes {
    /// Of each link's end (twice its number is where it begins, one more where it ends) another end at the same node; itself if it stands
    /// for all of them.
    same: Vec<u32>,
    /// Of each end that stands for all: its node's number.
    numbers: Vec<u32>,
    count: u32,
    /// How many agents there are at each node.
    agents: Vec<u32>,
    /// Links of which one direction is there, by name.
    single: BTreeMap<String, u32>,
}

/// An end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Host {
    pub node: u32,
    /// Which of its node's agents it is.
    pub agent: u32,
}

impl Nodes {
    pub fn add_link(&mut self, name: &LinkName) {
        let link = (self.same.len() / 2) as u32;
        for end in [start_of(link), end_of(link)] {
            self.same.push(end);
            self.numbers.push(NONE);
        }
        let shown = name.shown();
        let name = shown.strip_suffix(REVERSE).unwrap_or(&shown);
        match self.single.remove(name) {
            Some(other) => {
                self.join(start_of(other), end_of(link));
                self.join(end_of(other), start_of(link));
            }
            None => drop(self.single.insert(name.to_owned(), link)),
        }
    }

    /// Learns of a flow's routes; returns its source and its sink.
    pub fn add_flow(&mut self, flow: &FlowSpec) -> [Host; 2] {
        let FlowSpec { forward, back, .. } = flow;
        for route in [forward, back] {
            route.windows(2).for_each(|pair| self.join(end_of(pair[0]), start_of(pair[1])));
        }
        if let (Some(&out), Some(&home)) = (back.first(), back.last()) {
            self.join(end_of(forward[forward.len() - 1]), start_of(out));
            self.join(end_of(home), start_of(forward[0]));
        }
        for &link in forward.iter().chain(back) {
            self.of_link(link);
        }
        [start_of(forward[0]), end_of(forward[forward.len() - 1])].map(|end| self.add_host(end))
    }

    /// The nodes where a link begins and ends.
    #[inline]
    pub fn of_link(&mut self, link: u32) -> (u32, u32) {
        (self.number(start_of(link)), self.number(end_of(link)))
    }

    fn number(&mut self, end: u32) -> u32 {
        let stands = self.find(end) as usize;
        if self.numbers[stands] == NONE {
            self.numbers[stands] = self.count;
            self.count += 1;
        }
        self.numbers[stands]
    }

    fn add_host(&mut self, end: u32) -> Host {
        let node = self.number(end);
        self.agents.resize(self.count as usize, 0);
        self.add_agent(node)
    }

    /// One more agent at a node that has had one.
    pub fn add_agent(&mut self, node: u32) -> Host {
        let agent = self.agents[node as usize];
        self.agents[node as usize] += 1;
        Host { node, agent }
    }

    fn join(&mut self, one: u32, other: u32) {
        let (one, other) = (self.find(one), self.find(other));
        let number = self.numbers[one as usize].min(self.numbers[other as usize]);
        self.same[one.max(other) as usize] = one.min(other);
        self.numbers[one.min(other) as usize] = number;
    }

    /// The end that stands for all at the same node.
    #[inline]
    fn find(&mut self, mut end: u32) -> u32 {
        while self.same[end as usize] != end {
            let next = self.same[end as usize];
            self.same[end as usize] = self.same[next as usize];
            end = next;
        }
        end
    }
}

fn start_of(link: u32) -> u32 {
    2 * link
}

fn end_of(link: u32) -> u32 {
    2 * link + 1
}
