//! Routes over the declared links.

use std::collections::{BTreeMap, VecDeque};

/// The declared links as a graph. Each pair of nodes is searched once.
pub struct Graph<'a> {
    nodes: BTreeMap<&'a str, usize>,
    /// The nodes' names by number.
    names: Vec<&'a str>,
    links: BTreeMap<&'a str, usize>,
    /// From and to of each link.
    ends: Vec<(usize, usize)>,
    /// The links that leave each node, in the order of their declaration.
    leaving: Vec<Vec<usize>>,
    found: BTreeMap<(usize, usize), Option<Vec<usize>>>,
}

impl<'a> Graph<'a> {
    /// Of links given as name, from and to.
    pub fn new(links: impl Iterator<Item = (&'a str, &'a str, &'a str)>) -> Graph<'a> {
        let mut graph = Graph {
            nodes: BTreeMap::new(),
            names: Vec::new(),
            links: BTreeMap::new(),
            ends: Vec::new(),
            leaving: Vec::new(),
            found: BTreeMap::new(),
        };
        for (number, (name, from, to)) in links.enumerate() {
            let ends = (graph.number(from), graph.number(to));
            graph.links.entry(name).or_insert(number);
            graph.ends.push(ends);
            graph.leaving[ends.0].push(number);
        }
        graph
    }

    fn number(&mut self, node: &'a str) -> usize {
        let next = self.nodes.len();
        let number = *self.nodes.entry(node).or_insert(next);
        if number == next {
            self.names.push(node);
            self.leaving.push(Vec::new());
        }
        number
    }

    pub fn has_node(&self, node: &str) -> bool {
        self.nodes.contains_key(node)
    }

    pub fn nodes(&self) -> impl Iterator<Item = &'a str> {
        self.nodes.keys().copied()
    }

    pub fn link_names(&self) -> impl Iterator<Item = &'a str> {
        self.links.keys().copied()
    }

    /// The number of the link with this name.
    pub fn link(&self, name: &str) -> Option<usize> {
        self.links.get(name).copied()
    }

    /// The nodes that a link comes from and leads to.
    pub fn ends_of(&self, link: usize) -> (&'a str, &'a str) {
        (self.names[self.ends[link].0], self.names[self.ends[link].1])
    }

    /// The route with the fewest links from `first` to `last`, as numbers of links; among equals the one declared first.
    /// `None` if there is none or it would be empty.
    pub fn shortest(&mut self, first: &str, last: &str) -> Option<Vec<usize>> {
        let pair = (*self.nodes.get(first)?, *self.nodes.get(last)?);
        if let Some(route) = self.found.get(&pair) {
            return route.clone();
        }
        let route = self.search(pair);
        self.found.insert(pair, route.clone());
        route
    }

    fn search(&self, (first, last): (usize, usize)) -> Option<Vec<usize>> {
        let mut reached_by: BTreeMap<usize, Option<usize>> = BTreeMap::from([(first, None)]);
        let mut open = VecDeque::from([first]);
        while let Some(node) = open.pop_front().filter(|_| !reached_by.contains_key(&last)) {
            for &link in &self.leaving[node] {
                let to = self.ends[link].1;
                reached_by.entry(to).or_insert_with(|| {
                    open.push_back(to);
                    Some(link)
                });
            }
        }
        let steps = std::iter::successors(*reached_by.get(&last)?, |&link| reached_by[&self.ends[link].0]);
        let mut route: Vec<usize> = steps.collect();
        route.reverse();
        Some(route).filter(|route| !route.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_is_followed_and_the_shorter_way_taken() {
        let links = [("1", "a", "b"), ("2", "b", "c"), ("3", "c", "d"), ("4", "b", "d")];
        let mut graph = Graph::new(links.into_iter());
        assert_eq!(Some(vec![0, 3]), graph.shortest("a", "d"));
        assert_eq!(Some(vec![0, 1]), graph.shortest("a", "c"));
        assert_eq!(None, graph.shortest("d", "a"));
        assert_eq!(None, graph.shortest("a", "a"));
        assert_eq!(None, graph.shortest("a", "nowhere"));
    }

    #[test]
    fn among_routes_of_equal_length_the_one_declared_first_is_taken() {
        let links = [("1", "a", "c"), ("2", "a", "b"), ("3", "b", "d"), ("4", "c", "d")];
        assert_eq!(Some(vec![0, 3]), Graph::new(links.into_iter()).shortest("a", "d"));
    }
}
