// SPDX-License-Identifier: Apache-2.0

extension RevisionTree {
    /// Returns a revision and its known ancestors, newest first.
    ///
    /// - Parameter id: The revision.
    /// - Returns: An empty array if the revision is not known.
    public func history(of id: RevisionID) -> [RevisionID] { branch(of: id).map(\.id) }

    /// Returns the nodes of a revision and its known ancestors, newest first.
    ///
    /// - Parameter id: The revision.
    /// - Returns: An empty array if the revision is not known.
    public func branch(of id: RevisionID) -> [Node] {
        var branch: [Node] = []
        var next = index(of: id)
        while let index = next {
            branch.append(nodes[index])
            next = nodes[index].parent
        }
        return branch
    }

    /// How many known ancestors a revision has.
    ///
    /// - Parameter index: Its place in ``nodes``.
    /// - Returns: The number; 0 for a root.
    package func ancestorCount(ofNodeAt index: Int) -> Int {
        var count = 0
        var next = nodes[index].parent
        while let parent = next {
            count += 1
            next = nodes[parent].parent
        }
        return count
    }

    /// Returns the newest revision that both revisions descend from.
    ///
    /// A revision counts as its own ancestor, so the answer for a revision and its parent is the
    /// parent.
    ///
    /// - Parameters:
    ///   - first: A revision.
    ///   - second: Another, or the same.
    /// - Returns: `nil` if a revision is not known, they have different roots, or stemming has cut
    ///   what they shared.
    public func commonAncestor(of first: RevisionID, and second: RevisionID) -> RevisionID? {
        guard var left = index(of: first), var right = index(of: second) else { return nil }
        // Climb down the higher branch until both meet.
        while left != right {
            if nodes[left].id.generation < nodes[right].id.generation { swap(&left, &right) }
            guard let parent = nodes[left].parent else { return nil }
            left = parent
        }
        return nodes[left].id
    }

    /// The newest revision that all live leaves descend from.
    ///
    /// Takes one walk along each branch, so it is quick for thousands of conflicting leaves too.
    /// `nil` if no leaf is live, the live leaves have different roots, or stemming has cut what they
    /// shared. With one live leaf it is that leaf.
    public var commonAncestorOfLiveLeaves: Node? {
        guard let winner = nodes.first, !winner.isTombstone else { return nil }

        // Number the winner's branch; every other branch must join it somewhere.
        var steps = [Int](repeating: -1, count: nodes.count)
        var branch: [Int] = []
        var next: Int? = 0
        while let index = next {
            steps[index] = branch.count
            branch.append(index)
            next = nodes[index].parent
        }
        var lowest = 0
        for leaf in leafIndices where !nodes[leaf].isTombstone {
            var index = leaf
            while steps[index] < 0 {
                guard let parent = nodes[index].parent else { return nil }
                index = parent
            }
            lowest = max(lowest, steps[index])
        }
        return nodes[branch[lowest]]
    }

    /// Returns those of the revisions that the tree does not have.
    ///
    /// - Parameter ids: The revisions that a peer has.
    /// - Returns: The missing ones, in the order of `ids`.
    public func missingRevisions(of ids: [RevisionID]) -> [RevisionID] {
        // A handful is looked up faster than a set is built.
        guard ids.count > 8 else { return ids.filter { index(of: $0) == nil } }
        let known = Set(nodes.lazy.map(\.id))
        return ids.filter { !known.contains($0) }
    }

    /// Returns revisions that a missing revision may descend from, the likeliest first.
    ///
    /// A peer that gets them can send only what changed since. They are the leaves of lower
    /// generation, highest first, as in CouchDB. If every leaf is as high as the missing revision
    /// or higher, they are the inner revisions of lower generation, as in Couchbase Lite.
    ///
    /// - Parameters:
    ///   - id: A revision that the tree does not have.
    ///   - limit: How many to return at most.
    /// - Returns: Known revisions of lower generation; none if there are none.
    public func possibleAncestors(of id: RevisionID, limit: Int = .max) -> [RevisionID] {
        let older = nodes.filter { $0.id.generation < id.generation }
        let leaves = older.filter(\.isLeaf)
        let candidates = leaves.isEmpty ? older : leaves
        return Array(candidates.map(\.id).sorted(by: >).prefix(max(0, limit)))
    }

    /// Returns revisions that any of some missing revisions may descend from, in the time of a few walks through the tree.
    ///
    /// What is possible depends on the generation alone: above the lowest leaf it is the leaves below, and the more of
    /// them the higher it is; up to there it is all revisions below. So of each kind the highest generation says all.
    ///
    /// - Parameter ids: Revisions that the tree does not have.
    /// - Returns: All that ``possibleAncestors(of:limit:)`` returns for each of them.
    package func possibleAncestors(ofAny ids: some Sequence<RevisionID>) -> Set<RevisionID> {
        guard let lowest = nodes.lazy.filter(\.isLeaf).map(\.id.generation).min() else { return [] }
        var (high, low): (RevisionID?, RevisionID?)
        for id in ids {
            if id.generation > lowest {
                high = Swift.max(high ?? id, id)
            } else {
                low = Swift.max(low ?? id, id)
            }
        }
        return [high, low].reduce(into: []) { found, id in
            if let id { found.formUnion(possibleAncestors(of: id)) }
        }
    }
}
