// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport

/// What a database should hold, in the simplest form: dictionaries, and every rule spelled out.
struct ReferenceDatabase {
    struct Revision {
        var parent: RevisionID?
        var isDeleted = false
        /// The body, as long as it is here.
        var body: JSONObject?
    }

    struct Record {
        var revisions: [RevisionID: Revision] = [:]
        /// The document's place in the feed.
        var sequence: SequenceNumber = 0

        /// The leaves, the one that stands for the document first.
        var leaves: [RevisionID] {
            let parents = Set(revisions.values.compactMap(\.parent))
            return revisions.keys.filter { !parents.contains($0) }.sorted { left, right in
                let (a, b) = (
                    revisions[left]?.isDeleted ?? false, revisions[right]?.isDeleted ?? false
                )
                if a != b { return b }
                let (one, other) = (ReferenceDatabase.split(left), ReferenceDatabase.split(right))
                return one.generation == other.generation
                    ? other.digest.utf8.lexicographicallyPrecedes(one.digest.utf8)
                    : one.generation > other.generation
            }
        }

        var winner: RevisionID { leaves.first ?? "" }
        var isDeleted: Bool { revisions[winner]?.isDeleted ?? true }
        var liveLeaves: [RevisionID] { leaves.filter { revisions[$0]?.isDeleted == false } }

        /// A revision and its ancestors as far as known, newest first.
        func history(of revision: RevisionID) -> [RevisionID] {
            var history: [RevisionID] = []
            var next: RevisionID? = revision
            while let revision = next, let node = revisions[revision] {
                history.append(revision)
                next = node.parent
            }
            return history
        }

        /// Keeps the bodies of what is less than `depth` generations from a leaf, and all IDs.
        mutating func prune(to depth: Int) {
            let kept = Set(leaves.flatMap { history(of: $0).prefix(depth) })
            for id in revisions.keys where !kept.contains(id) { revisions[id]?.body = nil }
        }
    }

    var documents: [DocumentID: Record] = [:]
    var lastSequence: SequenceNumber = 0
    var depth = 20

    static func split(_ revision: RevisionID) -> (generation: UInt64, digest: String) {
        let parts = revision.description.split(separator: "-", maxSplits: 1)
        return (UInt64(parts[0]) ?? 0, String(parts[1]))
    }

    /// Adds a revision that an edit made.
    mutating func add(
        _ revision: RevisionID, to id: DocumentID, parent: RevisionID?, isDeleted: Bool,
        _ body: JSONObject
    ) {
        var record = documents[id] ?? Record()
        if let known = record.revisions[revision] {
            // One that is known already only learns its parent, if that; its body may be gone.
            guard known.parent == nil, parent != nil else { return }
            record.revisions[revision]?.parent = parent
        } else {
            record.revisions[revision] = Revision(parent: parent, isDeleted: isDeleted, body: body)
        }
        store(record, id)
    }

    /// Adds a revision that came with its history; false when it is here already.
    mutating func add(
        history: [RevisionID], to id: DocumentID, isDeleted: Bool, _ body: JSONObject
    ) -> Bool {
        var record = documents[id] ?? Record()
        guard record.revisions[history[0]] == nil else { return false }
        for (index, revision) in history.enumerated() {
            let parent = index + 1 < history.count ? history[index + 1] : nil
            if record.revisions[revision] == nil {
                record.revisions[revision] = Revision(parent: parent)
            } else if record.revisions[revision]?.parent == nil {
                record.revisions[revision]?.parent = parent
            }
        }
        record.revisions[history[0]]?.isDeleted = isDeleted
        record.revisions[history[0]]?.body = body
        store(record, id)
        return true
    }

    private mutating func store(_ record: Record, _ id: DocumentID) {
        var record = record
        lastSequence += 1
        record.sequence = lastSequence
        record.prune(to: depth)
        documents[id] = record
    }

    /// Removes leaves with the ancestors that no other leaf has; returns what leaves went.
    mutating func purge(_ id: DocumentID, leaves: [RevisionID]) -> [RevisionID] {
        guard var record = documents[id] else { return [] }
        let gone = leaves.filter { record.leaves.contains($0) }
        guard !gone.isEmpty else { return [] }
        let kept = Set(
            record.leaves.filter { !gone.contains($0) }.flatMap { record.history(of: $0) })
        record.revisions = record.revisions.filter { kept.contains($0.key) }
        if record.revisions.isEmpty {
            documents[id] = nil
        } else {
            lastSequence += 1
            record.sequence = lastSequence
            record.prune(to: depth)
            documents[id] = record
        }
        return gone
    }

    /// Drops the bodies of revisions that are no leaves.
    mutating func compact() {
        for (id, record) in documents {
            let leaves = Set(record.leaves)
            for revision in record.revisions.keys where !leaves.contains(revision) {
                documents[id]?.revisions[revision]?.body = nil
            }
        }
    }

    var liveCount: Int { documents.values.count { !$0.isDeleted } }
    var hasConflicts: Bool { documents.values.contains { $0.liveLeaves.count > 1 } }

    /// The changes feed.
    var changes: [Change] {
        documents.sorted { $0.value.sequence < $1.value.sequence }.map { id, record in
            Change(
                sequence: record.sequence, id: id, revisions: record.leaves,
                isDeleted: record.isDeleted)
        }
    }
}
