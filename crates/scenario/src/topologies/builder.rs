//! The links, groups and hosts of a topology, and their insertion into the tree of a scenario.

use crate::tree::Node;

/// Result of a topology.
#[derive(Default)]
pub struct BuiltTopology {
    pub links: Vec<Node>,
    pub groups: Vec<Node>,
    pub hosts: Vec<NamedHosts>,
}

/// Named hosts: each flow of a group that names them as its end has its own host with a private link to a node.
pub struct NamedHosts {
    name: String,
    node: String,
    /// Keys of the links.
    link: Vec<(&'static str, Node)>,
}

impl NamedHosts {
    /// Hosts at `node`.
    pub fn new(name: &str, node: &str, link: Vec<(&'static str, Node)>) -> NamedHosts {
        NamedHosts { name: name.to_owned(), node: node.to_owned(), link }
    }

    /// Replaces these hosts by private links in a group that begins or ends at them. Keys of the group's own link take precedence.
    pub fn replace_in_group(&self, group: &mut Node) {
        for (end, own, inner) in [("from", "access", "to"), ("to", "exit", "from")] {
            let named = group.text_of_key(end) == Some(self.name.as_str());
            let leads_elsewhere = group.get(own).is_some_and(|own| own.entries().is_none() || own.get(inner).is_some());
            if !named || leads_elsewhere {
                continue;
            }
            let line = group.remove(end).and_then(|node| node.line);
            let mut link = group.remove(own).unwrap_or(Node { line, ..Node::EMPTY });
            link.insert_if_absent(inner, Node::from_word(&self.node));
            self.link.iter().for_each(|(key, node)| link.insert_if_absent(key, node.clone()));
            link.set_missing_lines(line);
            group.insert_if_absent(own, link);
        }
    }
}

/// A link between two nodes, with further keys.
pub fn link_node(name: &str, from: &str, to: &str, rest: Vec<(&str, Node)>) -> Node {
    let ends = [("name", name), ("from", from), ("to", to)].map(|(key, text)| (key, Node::from_word(text)));
    Node::table(ends.into_iter().chain(rest))
}

/// Inserts the topology into the tree. Links and groups of the scenario file come after it, and override those of the same name.
pub fn insert_into_tree(root: &mut Node, built: BuiltTopology, line: Option<usize>) -> Vec<NamedHosts> {
    for (key, nodes) in [("link", built.links), ("flows", built.groups)] {
        if nodes.is_empty() || root.get(key).is_some_and(|given| given.as_list().is_none()) {
            continue;
        }
        let mut all = nodes;
        all.iter_mut().for_each(|node| node.set_missing_lines(line));
        let given = root.remove(key).and_then(Node::into_list).unwrap_or_default();
        for mut node in given {
            match all.iter_mut().find(|built| built.text_of_key("name").is_some() && built.text_of_key("name") == node.text_of_key("name"))
            {
                Some(built) => {
                    built.entries().unwrap_or_default().iter().for_each(|(key, under)| node.insert_if_absent(key, under.clone()));
                    *built = node;
                }
                None => all.push(node),
            }
        }
        root.insert_if_absent(key, Node::from_list(all));
    }
    built.hosts
}
