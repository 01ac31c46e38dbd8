//! Routes over the declared links.

use std::collections::VecDeque;

/// The route with the fewest links from `first` to `last`, as numbers of `links`; among equals the one declared first.
/// `None` if there is none or it would be empty.
pub fn shortest(links: &[(&str, &str)], first: &str, last: &str) -> Option<Vec<usize>> {
    let mut reached: Vec<(&str, Vec<usize>)> = vec![(first, Vec::new())];
    let mut open = VecDeque::from([0]);
    while let Some(at) = open.pop_front() {
        let (node, route) = reached[at].clone();
        if node == last && !route.is_empty() {
            return Some(route);
        }
        for (number, (_, to)) in links.iter().enumerate().filter(|(_, (from, _))| *from == node) {
            if !reached.iter().any(|(node, _)| node == to) {
                open.push_back(reached.len());
                reached.push((to, [route.as_slice(), &[number]].concat()));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_is_followed_and_the_shorter_way_taken() {
        let links = [("a", "b"), ("b", "c"), ("c", "d"), ("b", "d")];
        assert_eq!(Some(vec![0, 3]), shortest(&links, "a", "d"));
        assert_eq!(Some(vec![0, 1]), shortest(&links, "a", "c"));
        assert_eq!(None, shortest(&links, "d", "a"));
        assert_eq!(None, shortest(&links, "a", "a"));
    }
}
