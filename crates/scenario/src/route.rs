//! Routes over the edges of the network: the links and their reverse directions.

use std::collections::{BTreeMap, VecDeque};

/// The edges as a graph. Each pair of nodes is searched only once.
pub struct NetworkGraph<'a> {
    nodes: BTreeMap<&'a str, usize>,
    /// Names of the nodes by number.
    names: Vec<&'a str>,
    edges: BTreeMap<&'a str, usize>,
    /// First and last node of each edge.
    ends: Vec<(usize, usize)>,
    /// Opposite edge of each edge, if there is one.
    opposites: Vec<Option<usize>>,
    /// Edges that leave each node, in the order of the network.
    leaving: Vec<Vec<usize>>,
    found: BTreeMap<(usize, usize), Option<Vec<usize>>>,
}

impl<'a> NetworkGraph<'a> {
    /// Graph of edges given as name, from, to, and number of the opposite edge.
    pub fn new(edges: impl Iterator<Item = (&'a str, &'a str, &'a str, Option<usize>)>) -> NetworkGraph<'a> {
        let mut graph = NetworkGraph {
            nodes: BTreeMap::new(),
            names: Vec::new(),
            edges: BTreeMap::new(),
            ends: Vec::new(),
            opposites: Vec::new(),
            leaving: Vec::new(),
            found: BTreeMap::new(),
        };
        for (number, (name, from, to, opposite)) in edges.enumerate() {
            let ends = (graph.get_or_insert_node(from), graph.get_or_insert_node(to));
            graph.edges.entry(name).or_insert(number);
            graph.ends.push(ends);
            graph.opposites.push(opposite);
            graph.leaving[ends.0].push(number);
        }
        graph
    }

    fn get_or_insert_node(&mut self, node: &'a str) -> usize {
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

    pub fn node_names(&self) -> impl Iterator<Item = &'a str> {
        self.nodes.keys().copied()
    }

    pub fn edge_names(&self) -> impl Iterator<Item = &'a str> {
        self.edges.keys().copied()
    }

    /// Number of the edge with this name.
    pub fn edge_number(&self, name: &str) -> Option<usize> {
        self.edges.get(name).copied()
    }

    /// First and last node of an edge.
    pub fn nodes_of_edge(&self, edge: usize) -> (&'a str, &'a str) {
        (self.names[self.ends[edge].0], self.names[self.ends[edge].1])
    }

    /// Reverse route over the same links, if all of them have a reverse direction.
    pub fn reverse_route(&self, route: &[usize]) -> Option<Vec<usize>> {
        route.iter().rev().map(|&edge| self.opposites[edge]).collect()
    }

    /// Shortest route from `first` to `last`, as numbers of edges. Among equals the one whose links are declared first, with forward before
    /// reverse edges. `None` if there is none or it would be empty.
    pub fn shortest_route(&mut self, first: &str, last: &str) -> Option<Vec<usize>> {
        let pair = (*self.nodes.get(first)?, *self.nodes.get(last)?);
        if let Some(route) = self.found.get(&pair) {
            return route.clone();
        }
        let route = self.compute_shortest_route(pair);
        self.found.insert(pair, route.clone());
        route
    }

    fn compute_shortest_route(&self, (first, last): (usize, usize)) -> Option<Vec<usize>> {
        let mut reached_by: BTreeMap<usize, Option<usize>> = BTreeMap::from([(first, None)]);
        let mut open = VecDeque::from([first]);
        while let Some(node) = open.pop_front().filter(|_| !reached_by.contains_key(&last)) {
            for &edge in &self.leaving[node] {
                let to = self.ends[edge].1;
                reached_by.entry(to).or_insert_with(|| {
                    open.push_back(to);
                    Some(edge)
                });
            }
        }
        let steps = std::iter::successors(*reached_by.get(&last)?, |&edge| reached_by[&self.ends[edge].0]);
        let mut route: Vec<usize> = steps.collect();
        route.reverse();
        Some(route).filter(|route| !route.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Graph of links without reverse directions.
    fn graph_of_one_way_links<'a>(links: &[(&'a str, &'a str, &'a str)]) -> NetworkGraph<'a> {
        NetworkGraph::new(links.iter().map(|&(name, from, to)| (name, from, to, None)))
    }

    #[test]
    fn a_chain_is_followed_and_the_shorter_way_taken() {
        let mut graph = graph_of_one_way_links(&[("1", "a", "b"), ("2", "b", "c"), ("3", "c", "d"), ("4", "b", "d")]);
        assert_eq!(Some(vec![0, 3]), graph.shortest_route("a", "d"));
        assert_eq!(Some(vec![0, 1]), graph.shortest_route("a", "c"));
        assert_eq!(None, graph.shortest_route("d", "a"));
        assert_eq!(None, graph.shortest_route("a", "a"));
        assert_eq!(None, graph.shortest_route("a", "nowhere"));
    }

    #[test]
    fn among_routes_of_equal_length_the_one_declared_first_is_taken() {
        let mut graph = graph_of_one_way_links(&[("1", "a", "c"), ("2", "a", "b"), ("3", "b", "d"), ("4", "c", "d")]);
        assert_eq!(Some(vec![0, 3]), graph.shortest_route("a", "d"));
    }

    #[test]
    fn a_route_leads_back_over_its_own_links_if_all_of_them_have_a_way_back() {
        let edges = [
            ("1", "a", "b", Some(3)),
            ("2", "b", "c", Some(4)),
            ("3", "c", "d", None),
            ("1b", "b", "a", Some(0)),
            ("2b", "c", "b", Some(1)),
        ];
        let mut graph = NetworkGraph::new(edges.into_iter());
        assert_eq!(Some(vec![4, 3]), graph.reverse_route(&[0, 1]));
        assert_eq!(Some(vec![0, 1]), graph.reverse_route(&[4, 3]));
        assert_eq!(None, graph.reverse_route(&[0, 1, 2]));
        assert_eq!(Some(vec![4, 3]), graph.shortest_route("c", "a"));
    }
}
