// SPDX-License-Identifier: Apache-2.0

// A tree and its older part
// =========================
//
// The whole tree of a document is what ``RevisionTree`` describes. It is kept as a *recent* tree and as
// ``RevisionBlock``s, and this file takes it apart and puts it together:
//
//     whole tree ──separate(depth:limit:)──► recent tree + blocks ──join(limit:blocks:)──► whole tree
//
// ## Invariants
//
// `RevisionTreeSeparationTests` and `OlderRevisionReferenceTests` compare both parts with a whole tree after each step
// of random histories, and verification checks them in each database.
//
// 1. Each link of the whole tree is in the recent tree, or in the block that its parent's generation
//    says, or in both, and then they agree.
// 2. Every leaf is in the recent tree, and no leaf is a parent in a block.
// 3. A revision less than `depth` edits from a leaf is in the recent tree; one that is farther from every leaf
//    has neither sequence nor tombstone.
// 4. A block says nothing that was not true of the whole tree. It may say more than is left of that: a
//    revision that is `limit` or more edits away from every leaf is removed when its block is.
//
// One chain of blocks for each branch would not do: branches share their past, and the place where a branch
// begins among the older revisions is known only when it arrives, long after the blocks were written.

extension RevisionTree {
    /// The result of taking a tree apart, besides the recent tree.
    package struct Separation: Sendable {
        /// The rows that held bodies of revisions that have now only their ID, or are forgotten.
        package var sequences: [SequenceNumber] = []
        /// The links that are no longer in the tree, to be added to those that were written before.
        package var blocks: [RevisionBlock] = []
    }

    /// Takes the older part out of a tree.
    ///
    /// Revisions that are `depth` or more edits from every leaf lose all but their ID, and go into blocks with the
    /// others of their sixteen generations. Those that are `limit` or more edits away are forgotten.
    /// A document without long branches is not touched.
    ///
    /// - Parameters:
    ///   - depth: How many revisions of each branch stay whole, at least 1.
    ///   - limit: How many IDs are kept of each branch, at least `depth`.
    /// - Returns: What was taken out.
    package mutating func separate(depth: Int, limit: Int) -> Separation {
        precondition(depth >= 1 && limit >= depth, "A branch keeps its leaf, and whole ones by ID.")
        // No branch can be longer than the tree.
        if nodes.count <= depth { return Separation() }
        if leafCount == 1 { return separateSingleBranch(depth, limit) }
        return separateBranches(depth, limit)
    }

    /// The generation down to which a branch stays, of which a leaf has a generation.
    private static func recentStart(_ leaf: UInt64, _ depth: Int) -> UInt64 {
        let oldest = leaf - UInt64(depth) + 1
        return oldest - oldest % RevisionBlock.span
    }

    /// Takes apart a tree that is one chain.
    private mutating func separateSingleBranch(_ depth: Int, _ limit: Int) -> Separation {
        var result = Separation()
        if nodes.count > limit { result.sequences = stem(to: limit) }
        for index in depth..<max(depth, nodes.count) { strip(index, &result.sequences) }

        let leaf = nodes[0].id.generation
        let start = Self.recentStart(leaf, depth)
        let root = leaf - UInt64(nodes.count - 1)
        guard root < start else { return result }
        // The place of a generation is its distance from the leaf's.
        var child = start
        while child > root {
            let number = RevisionBlock.number(ofParents: child - 1)
            let end = max(root, number * RevisionBlock.span)
            let chain = nodes[Int(leaf - child)...Int(leaf - end)].map(\.id)
            result.blocks.append(RevisionBlock(number: number, tree: RevisionTree(chain: chain)))
            child = end
        }
        let kept = Int(leaf - start) + 1
        nodes.removeLast(nodes.count - kept)
        nodes[kept - 1].parentIndex = -1
        return result
    }

    /// The tree of one branch of which only IDs are known, newest first.
    private init(chain: [RevisionID]) {
        nodes = []
        nodes.reserveCapacity(chain.count)
        for (index, id) in chain.enumerated() {
            let parent = index + 1 < chain.count ? Int32(index + 1) : -1
            nodes.append(Node(id: id, isLeaf: index == 0, parentIndex: parent))
        }
    }

    /// Keeps only the ID of a revision.
    private mutating func strip(_ index: Int, _ sequences: inout [SequenceNumber]) {
        if let sequence = nodes[index].sequence { sequences.append(sequence) }
        nodes[index].storedSequence = 0
        nodes[index].isTombstone = false
    }

    private enum Place { case recent, older, forgotten }

    private mutating func separateBranches(_ depth: Int, _ limit: Int) -> Separation {
        var result = Separation()
        let lowest = lowestLeafGenerations()
        let places = nodes.indices.map { index -> Place in
            let generation = nodes[index].id.generation
            let distance = lowest[index] - generation
            guard distance >= UInt64(depth) else { return .recent }
            if distance >= UInt64(limit) { return .forgotten }
            return generation < Self.recentStart(lowest[index], depth) ? .older : .recent
        }
        for index in nodes.indices
        where lowest[index] - nodes[index].id.generation >= UInt64(depth) {
            strip(index, &result.sequences)
        }
        if places.allSatisfy({ $0 == .recent }) { return result }

        var links = LinkCollector()
        for index in nodes.indices {
            guard let parent = nodes[index].parent else { continue }
            let (own, other) = (places[index], places[parent])
            if own == .recent, other == .recent { continue }
            if own != .forgotten, other != .forgotten {
                links.add(nodes[index].id, parent: nodes[parent].id)
            }
            // Arranging drops what no leaf leads to.
            nodes[index].parentIndex = -1
        }
        arrange(leaves: leafIndices)
        result.blocks = links.blocks()
        return result
    }

    // MARK: - Together

    /// Whether the tree may have an older part: a branch whose first known revision is none of generation 1.
    package var mayHaveOlder: Bool {
        nodes.contains { $0.parentIndex < 0 && $0.id.generation > 1 }
    }

    /// The highest generation at which a branch of the tree is cut off; 0 if none is.
    ///
    /// No older revision reaches it.
    package var highestCut: UInt64 {
        var highest: UInt64 = 0
        for node in nodes where node.parentIndex < 0 && node.id.generation > 1 {
            highest = max(highest, node.id.generation)
        }
        return highest
    }

    /// Puts a recent tree and its older part together.
    ///
    /// Reads the blocks from the newest to the oldest, and no further than there are links.
    ///
    /// - Parameters:
    ///   - limit: How many revisions of each branch are wanted.
    ///   - blocks: Returns the block of a number; nil if there is none.
    /// - Throws: What `blocks` throws.
    package mutating func join(
        limit: Int, blocks: (UInt64) throws -> RevisionBlock?
    ) rethrows {
        let oldCount = nodes.count
        var walk = JoiningWalk(self, limit: limit)
        try walk.run(&nodes, blocks)
        if nodes.count > oldCount || walk.hasLinked, leafCount > 1 { arrangeFromLinks() }
    }

    /// The numbers of the blocks that may hold older revisions of the tree which are within a limit, as ranges
    /// in ascending order that do not touch.
    ///
    /// - Parameter limit: How many IDs are kept of each branch.
    /// - Returns: The ranges.
    package func olderBlocks(limit: Int) -> [ClosedRange<UInt64>] {
        let lowest = lowestLeafGenerations()
        let ranges = nodes.indices.compactMap { index -> ClosedRange<UInt64>? in
            let root = nodes[index].id.generation
            guard nodes[index].parentIndex < 0, root > 1 else { return nil }
            let last = lowest[index] - min(lowest[index] - 1, UInt64(limit - 1))
            guard last < root else { return nil }
            return RevisionBlock.number(
                ofParents: last)...RevisionBlock.number(ofParents: root - 1)
        }
        var merged: [ClosedRange<UInt64>] = []
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = merged.last, range.lowerBound <= last.upperBound + 1 {
                merged[merged.count - 1] =
                    last.lowerBound...max(last.upperBound, range.upperBound)
            } else {
                merged.append(range)
            }
        }
        return merged
    }

    // MARK: - Received histories

    /// Where a peer's history leads in a recent tree.
    package enum Meeting: Sendable, Equatable {
        /// Nowhere below it: the tree alone decides what becomes of the history.
        case within
        /// On below a revision at which the tree is cut off, behind so many of the history's IDs; the last one of
        /// those that are kept of the history is given, too.
        case below(RevisionID, count: Int, last: RevisionID)
        /// Perhaps to older revisions: it has none of the tree's, or several of its branches.
        case apart
    }

    /// Returns where a history leads that arrives for the document.
    ///
    /// - Parameters:
    ///   - history: A revision and its known ancestors.
    ///   - limit: How many IDs are kept of each branch.
    /// - Returns: Whether the older part of the document is needed to merge it.
    package func meeting(_ history: RevisionHistory, limit: Int) -> Meeting {
        let cut = highestCut
        guard cut > history.oldest.generation else { return .within }
        let known = places(of: history)
        guard let first = known.firstIndex(where: { $0 != nil }), let start = known[first] else {
            return .apart
        }
        // Go down as long as both agree.
        var (position, index) = (first, start)
        while let parent = nodes[index].parent {
            guard position + 1 < known.count, known[position + 1] == parent else { return .within }
            position += 1
            index = parent
        }
        guard position + 1 < known.count, nodes[index].id.generation > 1 else { return .within }
        if known[(position + 1)...].contains(where: { $0 != nil }) { return .apart }
        let leaf = lowestLeafGenerations()[index]
        let last = max(history.oldest.generation, leaf - min(leaf - 1, UInt64(limit - 1)))
        let root = nodes[index].id
        let end = history.ids[Int(history.newest.generation - min(last, root.generation))]
        return .below(root, count: position + 1, last: end)
    }
}

/// Gathers links and makes blocks of them.
private struct LinkCollector {
    private struct Part {
        var nodes: [RevisionTree.Node] = []
        var places: [RevisionID: Int] = [:]

        mutating func place(of id: RevisionID) -> Int {
            if let place = places[id] { return place }
            places[id] = nodes.count
            nodes.append(RevisionTree.Node(id: id))
            return nodes.count - 1
        }
    }

    private var parts: [UInt64: Part] = [:]

    mutating func add(_ child: RevisionID, parent: RevisionID) {
        let number = RevisionBlock.number(ofParents: parent.generation)
        var part = parts.removeValue(forKey: number) ?? Part()
        let place = part.place(of: child)
        part.nodes[place].parentIndex = Int32(part.place(of: parent))
        parts[number] = part
    }

    func blocks() -> [RevisionBlock] {
        parts.keys.sorted().compactMap { number in
            guard let part = parts[number] else { return nil }
            var tree = RevisionTree(unchecked: part.nodes)
            tree.arrangeFromLinks()
            return RevisionBlock(number: number, tree: tree)
        }
    }
}

/// Follows the links in blocks down from where the branches of a tree are cut off.
private struct JoiningWalk {
    private let limit: UInt64
    /// The places at which branches are cut off, each with the lowest generation of its leaves: the lowest of all
    /// first, since that one leads down farthest.
    private let cuts: [(place: Int, leaf: UInt64)]
    /// The places of revisions, where branches may meet; empty for one branch.
    private var places: [RevisionID: Int] = [:]
    private var read: [UInt64: RevisionBlock] = [:]
    /// Whether two revisions of the tree turned out to be parent and child.
    private(set) var hasLinked = false

    init(_ tree: RevisionTree, limit: Int) {
        self.limit = UInt64(limit)
        let lowest = tree.lowestLeafGenerations()
        cuts = tree.nodes.indices
            .filter { tree.nodes[$0].parentIndex < 0 && tree.nodes[$0].id.generation > 1 }
            .map { ($0, lowest[$0]) }
            .sorted { $0.1 < $1.1 }
        guard !cuts.isEmpty, tree.nodes.dropFirst().contains(where: \.isLeaf) else { return }
        for (index, node) in tree.nodes.enumerated() { places[node.id] = index }
    }

    mutating func run(
        _ nodes: inout [RevisionTree.Node], _ blocks: (UInt64) throws -> RevisionBlock?
    ) rethrows {
        for cut in cuts { try follow(cut.place, cut.leaf, &nodes, blocks) }
    }

    private mutating func follow(
        _ cut: Int, _ leaf: UInt64, _ nodes: inout [RevisionTree.Node],
        _ blocks: (UInt64) throws -> RevisionBlock?
    ) rethrows {
        var child = cut
        while true {
            while let parent = nodes[child].parent { child = parent }
            let id = nodes[child].id
            guard id.generation > 1, leaf - min(leaf, id.generation - 1) < limit,
                let block = try block(.init(id.generation - 1), blocks)
            else { return }
            let ancestors = block.ancestors(of: id)
            guard !ancestors.isEmpty else { return }
            for ancestor in ancestors where leaf - min(leaf, ancestor.generation) < limit {
                if let known = places[ancestor] {
                    nodes[child].parentIndex = Int32(known)
                    hasLinked = true
                    child = known
                    break
                }
                nodes[child].parentIndex = Int32(nodes.count)
                child = nodes.count
                nodes.append(RevisionTree.Node(id: ancestor))
                if !places.isEmpty { places[ancestor] = child }
            }
        }
    }

    /// The block of a parent's generation, read once.
    private mutating func block(
        _ generation: UInt64, _ blocks: (UInt64) throws -> RevisionBlock?
    ) rethrows -> RevisionBlock? {
        let number = RevisionBlock.number(ofParents: generation)
        if let block = read[number] { return block }
        let block = try blocks(number)
        if cuts.count > 1 { read[number] = block }
        return block
    }
}
