// SPDX-License-Identifier: Apache-2.0

import DivanModel

/// A revision tree as its definitions read, without a thought for speed: what `RevisionTree` is
/// compared with.
struct NaiveTree: Equatable {
    struct Revision: Equatable {
        var parent: RevisionID?
        var isTombstone: Bool
        var sequence: SequenceNumber?
    }

    var revisions: [RevisionID: Revision] = [:]

    init() {}

    /// What a `RevisionTree` says.
    init(_ tree: RevisionTree) {
        for node in tree.nodes {
            revisions[node.id] = Revision(
                parent: node.parent.map { tree.nodes[$0].id }, isTombstone: node.isTombstone,
                sequence: node.sequence)
        }
    }

    func isLeaf(_ id: RevisionID) -> Bool {
        revisions[id] != nil && !revisions.values.contains { $0.parent == id }
    }

    /// The leaves, best first.
    var leaves: [RevisionID] {
        let parents = Set(revisions.values.compactMap(\.parent))
        return revisions.keys.filter { !parents.contains($0) }
            .sorted { wins($0, over: $1) }
    }

    private func wins(_ left: RevisionID, over right: RevisionID) -> Bool {
        let isLeftDeleted = revisions[left]?.isTombstone ?? false
        let isRightDeleted = revisions[right]?.isTombstone ?? false
        if isLeftDeleted != isRightDeleted { return isRightDeleted }
        if left.generation != right.generation { return left.generation > right.generation }
        return right.digest.utf8.lexicographicallyPrecedes(left.digest.utf8)
    }

    func history(of id: RevisionID) -> [RevisionID] {
        guard let revision = revisions[id] else { return [] }
        return [id] + (revision.parent.map { history(of: $0) } ?? [])
    }

    mutating func insert(
        _ id: RevisionID, parent: RevisionID?, isTombstone: Bool, sequence: SequenceNumber,
        allowConflict: Bool
    ) throws(RevisionTree.Failure) -> Bool {
        if let parent, revisions[parent] == nil { throw .parentNotFound(parent) }
        guard id.generation == (parent?.generation ?? 0) + 1 else { throw .invalidGeneration(id) }
        if revisions[id] != nil { return false }
        let isAllowed = parent.map { isLeaf($0) } ?? revisions.isEmpty
        guard isAllowed || allowConflict else { throw .conflict }
        revisions[id] = Revision(parent: parent, isTombstone: isTombstone, sequence: sequence)
        return true
    }

    mutating func insert(
        existing history: [RevisionID], isTombstone: Bool, sequence: SequenceNumber
    ) -> Bool {
        let isNew = revisions[history[0]] == nil
        for (index, id) in history.enumerated() {
            let parent = index + 1 < history.count ? history[index + 1] : nil
            if let known = revisions[id] {
                if known.parent == nil { revisions[id]?.parent = parent }
                if known.parent != nil, known.parent != parent { break }
            } else {
                revisions[id] = Revision(
                    parent: parent, isTombstone: index == 0 && isTombstone,
                    sequence: index == 0 ? sequence : nil)
            }
        }
        return isNew
    }

    mutating func merge(_ other: NaiveTree) {
        for (id, theirs) in other.revisions {
            var revision = revisions[id] ?? theirs
            revision.parent = [revision.parent, theirs.parent].compactMap { $0 }.max()
            revision.isTombstone = revision.isTombstone || theirs.isTombstone
            revision.sequence = [revision.sequence, theirs.sequence].compactMap { $0 }.max()
            revisions[id] = revision
        }
    }

    mutating func stem(to depth: Int) -> Set<SequenceNumber> {
        let kept = Set(leaves.flatMap { history(of: $0).prefix(depth) })
        return forget { !kept.contains($0) }
    }

    mutating func purge(_ ids: [RevisionID]) -> Set<SequenceNumber> {
        let staying = leaves.filter { !ids.contains($0) }
        let kept = Set(staying.flatMap { history(of: $0) })
        return forget { !kept.contains($0) }
    }

    private mutating func forget(_ isForgotten: (RevisionID) -> Bool) -> Set<SequenceNumber> {
        let sequences = revisions.filter { isForgotten($0.key) }.compactMap(\.value.sequence)
        revisions = revisions.filter { !isForgotten($0.key) }
        for (id, revision) in revisions {
            if let parent = revision.parent, revisions[parent] == nil {
                revisions[id]?.parent = nil
            }
        }
        return Set(sequences)
    }
}
