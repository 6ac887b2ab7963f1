//! Groups of nodes that can all reach each other: the cycles of a graph that a file brought.
//!
//! Tarjan's algorithm with an explicit stack, since a hostile file can make a path as long as it has records.

/// What Tarjan's algorithm knows of a graph while it walks.
struct Walk<'a> {
    edges: &'a [Vec<usize>],
    order: Vec<Option<usize>>,
    low: Vec<usize>,
    waiting: Vec<bool>,
    stack: Vec<usize>,
    visited: usize,
    found: Vec<Vec<usize>>,
}

/// The cycles of a graph, given each node's targets: strongly connected groups of two or more nodes, and single
/// nodes with an edge to themselves. Members are in ascending order, groups by their first member.
#[must_use]
pub(crate) fn cycles(edges: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let count = edges.len();
    let mut walk = Walk {
        edges,
        order: vec![None; count],
        low: vec![0; count],
        waiting: vec![false; count],
        stack: Vec::new(),
        visited: 0,
        found: Vec::new(),
    };
    for node in 0..count {
        if walk.order[node].is_none() {
            walk.from(node);
        }
    }
    walk.found.sort();
    walk.found
}

impl Walk<'_> {
    fn from(&mut self, root: usize) {
        let mut path = vec![(root, 0)];
        self.enter(root);
        while let Some((node, next)) = path.pop() {
            if let Some(&target) = self.edges[node].get(next) {
                path.push((node, next + 1));
                match self.order[target] {
                    None => {
                        self.enter(target);
                        path.push((target, 0));
                    }
                    Some(order) if self.waiting[target] => self.low[node] = self.low[node].min(order),
                    Some(_) => {}
                }
            } else {
                if let Some(&(above, _)) = path.last() {
                    self.low[above] = self.low[above].min(self.low[node]);
                }
                if self.order[node] == Some(self.low[node]) {
                    self.leave(node);
                }
            }
        }
    }

    fn enter(&mut self, node: usize) {
        self.order[node] = Some(self.visited);
        self.low[node] = self.visited;
        self.visited += 1;
        self.waiting[node] = true;
        self.stack.push(node);
    }

    /// Takes the group off the stack whose first visited member is this node.
    fn leave(&mut self, first: usize) {
        let mut group = Vec::new();
        while let Some(member) = self.stack.pop() {
            self.waiting[member] = false;
            group.push(member);
            if member == first {
                break;
            }
        }
        if group.len() > 1 || self.edges[first].contains(&first) {
            group.sort_unstable();
            self.found.push(group);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    #[test]
    fn groups_self_edges_and_chains_are_told_apart() {
        let edges = vec![vec![1], vec![2], vec![0, 3], vec![4], vec![], vec![5], vec![3]];
        assert_eq!(cycles(&edges), vec![vec![0, 1, 2], vec![5]]);
        let chain: Vec<Vec<usize>> =
            (1..=100_000).map(|n| if n < 100_000 { vec![n] } else { vec![] }).collect();
        assert_eq!(cycles(&chain), Vec::<Vec<usize>>::new());
    }

    proptest! {
        /// The oracle is the definition: two nodes are in one cycle if each reaches the other.
        #[test]
        fn it_agrees_with_reachability(edges in vec(vec(0_usize..8, 0..3), 8)) {
            let reaches = |from: usize| {
                let mut seen = [false; 8];
                let mut open = edges[from].clone();
                while let Some(node) = open.pop() {
                    if !std::mem::replace(&mut seen[node], true) {
                        open.extend(&edges[node]);
                    }
                }
                seen
            };
            let reach: Vec<[bool; 8]> = (0..8).map(reaches).collect();
            let found = cycles(&edges);
            for (a, b) in (0..64).map(|pair| (pair / 8, pair % 8)) {
                let together = found.iter().any(|group| group.contains(&a) && group.contains(&b));
                prop_assert_eq!(together, reach[a][b] && reach[b][a]);
            }
        }
    }
}
