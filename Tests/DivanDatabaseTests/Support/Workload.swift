// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Testing

/// A database and its reference, to which the same random things happen.
///
/// Revisions "made elsewhere" are drawn from an imaginary peer that knows every revision of every
/// document and invents some, so that histories always agree about who is whose parent, as digests
/// enforce in reality.
struct Workload {
    static let ids: [DocumentID] =
        (0..<12).map { "doc-\($0)" } + ["01234567-89ab-7def-8123-456789abcdef"]

    private let sandbox: Sandbox
    private(set) var database: Database
    private(set) var reference = ReferenceDatabase()
    private var random: SeededRandom
    /// Per document: each revision's parent, as the peer knows it.
    private var peer: [DocumentID: [RevisionID: RevisionID?]] = [:]
    private var copies: [Document] = []
    private var invented = 0

    init(_ sandbox: Sandbox, _ random: SeededRandom) throws {
        self.sandbox = sandbox
        self.random = random
        database = try sandbox.database()
    }

    /// Does one random thing to both; returns what, and to which document.
    mutating func step() throws -> (action: String, id: DocumentID) {
        let id = random.element(of: Self.ids)
        switch random.below(100) {
        case ..<30: return ("save", try save(id))
        case ..<38: return ("stale save", try saveStale())
        case ..<48: return ("delete", try delete(id))
        case ..<75: return ("merge", try merge(id))
        case ..<80: return ("strict put", try put(id))
        case ..<83: return ("purge", try purge(id))
        case ..<90: return ("purge revisions", try purgeRevisions(id))
        case ..<93: return ("batch undone", try undone(id))
        case ..<95: return ("depth", try setDepth(id))
        case ..<98: return ("compact", try compact(id))
        default: return ("reopen", try reopen(id))
        }
    }

    // MARK: - Actions

    private mutating func body() -> JSONObject {
        var body: JSONObject = ["n": .integer(Int64(random.below(1_000)))]
        // Now and then a body so large that it lies elsewhere, in one piece or two.
        if random.oneIn(12) { body["t"] = .string(String(repeating: "x", count: 17_000)) }
        if random.oneIn(200) { body["t"] = .string(String(repeating: "y", count: 300_000)) }
        return body
    }

    /// Makes a body another than all before: the same edit of the same revision, made twice, is no conflict.
    private mutating func makeUnique(_ body: inout JSONObject) {
        invented += 1
        body["only"] = .integer(Int64(invented))
    }

    private mutating func note(_ document: Document, parent: RevisionID?, _ body: JSONObject) {
        reference.add(
            document.revisionID, to: document.id, parent: parent, isDeleted: document.isDeleted,
            body)
        peer[document.id, default: [:]][document.revisionID] = .some(parent)
    }

    private mutating func save(_ id: DocumentID) throws -> DocumentID {
        let body = body()
        let document: MutableDocument
        var parent: RevisionID?
        if let current = try database.document(withID: id) {
            copies.append(current)
            document = current.toMutable()
            parent = current.revisionID
        } else {
            document = MutableDocument(id: id)
            // A tombstone becomes the parent of a document created anew.
            parent = reference.documents[id]?.winner
        }
        document.setProperties(body)
        note(try database.save(document, .failOnConflict).document, parent: parent, body)
        return id
    }

    /// Saves or deletes a copy read some time ago.
    private mutating func saveStale() throws -> DocumentID {
        guard !copies.isEmpty else { return "" }
        let copy = copies.remove(at: random.below(copies.count))
        let record = reference.documents[copy.id]
        let isLeaf = record?.leaves.contains(copy.revisionID) ?? false
        let edit = copy.toMutable()
        var body = body()
        let failsOnConflict = random.oneIn(3)
        if failsOnConflict { makeUnique(&body) }
        edit.setProperties(body)
        if failsOnConflict {
            let failure = code { try database.save(edit, .failOnConflict) }
            #expect(failure == (isLeaf ? nil : .conflict))
            guard failure == nil else { return copy.id }
            note(
                try database.document(withID: copy.id, revision: edit.revisionID ?? "") ?? copy,
                parent: copy.revisionID, body)
            return copy.id
        }
        let result = try database.save(edit)
        #expect(result.overrode == !isLeaf)
        note(result.document, parent: isLeaf ? copy.revisionID : record?.winner, body)
        return copy.id
    }

    private mutating func delete(_ id: DocumentID) throws -> DocumentID {
        guard let record = reference.documents[id] else {
            #expect(code { try database.delete(id) } == .documentNotFound)
            return id
        }
        // Sometimes a losing leaf, which resolves a conflict.
        if record.liveLeaves.count > 1, random.oneIn(2) {
            let leaf = random.element(of: record.liveLeaves)
            let document = try #require(try database.document(withID: id, revision: leaf))
            note(try database.delete(document, .failOnConflict), parent: leaf, [:])
            return id
        }
        let tombstone = try database.delete(id)
        if record.isDeleted {
            #expect(tombstone.revisionID == record.winner)
        } else {
            note(tombstone, parent: record.winner, [:])
        }
        return id
    }

    /// Stores a revision that the peer has, or makes up below one that it has.
    private mutating func merge(_ id: DocumentID) throws -> DocumentID {
        var known = peer[id] ?? [:]
        var revision: RevisionID?
        if !known.isEmpty, !random.oneIn(8) { revision = random.element(of: known.keys.sorted()) }
        for _ in 0..<random.below(4) {
            let generation = revision.map { ReferenceDatabase.split($0).generation } ?? 0
            invented += 1
            let next: RevisionID = "\(generation + 1)-\(random.below(16))x\(invented)"
            known[next] = .some(revision)
            revision = next
        }
        peer[id] = known
        guard let revision else { return id }
        var history = [revision]
        while history.count < 1 + random.below(30), let last = history.last,
            let parent = known[last] ?? nil
        {
            history.append(parent)
        }
        let isDeleted = random.oneIn(5)
        let body = body()
        let isNew = reference.add(history: history, to: id, isDeleted: isDeleted, body)
        #expect(
            try database.putExistingRevision(id, body, history: history, isDeleted: isDeleted)
                == isNew)
        return id
    }

    private mutating func put(_ id: DocumentID) throws -> DocumentID {
        guard let record = reference.documents[id], !record.revisions.isEmpty else { return id }
        let parent = random.element(of: record.revisions.keys.sorted())
        var body = body()
        let isLeaf = record.leaves.contains(parent)
        if !isLeaf, random.oneIn(2) {
            makeUnique(&body)
            #expect(code { try database.put(id, body, parent: parent) } == .conflict)
            return id
        }
        let document = try database.put(
            id, body, parent: parent, options: isLeaf ? [] : .allowConflict)
        note(document, parent: parent, body)
        return id
    }

    private mutating func purge(_ id: DocumentID) throws -> DocumentID {
        #expect(try database.purge(id) == (reference.documents[id] != nil))
        reference.documents[id] = nil
        return id
    }

    private mutating func purgeRevisions(_ id: DocumentID) throws -> DocumentID {
        let revisions = (reference.documents[id]?.revisions.keys.sorted() ?? [])
            .filter { _ in random.oneIn(3) }
        let gone = reference.purge(
            id,
            leaves: revisions.filter {
                reference.documents[id]?.leaves.contains($0) ?? false
            })
        let leaves = revisions.filter { gone.contains($0) }
        #expect(try Set(database.purge(id, revisions: leaves)) == Set(gone))
        return id
    }

    /// Does several things in a batch, or in a savepoint of one, that fails.
    private mutating func undone(_ id: DocumentID) throws -> DocumentID {
        let saved = self
        var inside = self
        let isNested = random.oneIn(2)
        func work() throws {
            for _ in 0..<4 {
                let id = inside.random.element(of: Self.ids)
                switch inside.random.below(5) {
                case 0: _ = try inside.save(id)
                case 1: _ = try inside.delete(id)
                case 2: _ = try inside.merge(id)
                case 3: _ = try inside.purge(id)
                default: _ = try inside.purgeRevisions(id)
                }
            }
            throw Whim()
        }
        if isNested {
            try database.inBatch {
                #expect(throws: Whim()) { try database.inBatch { try work() } }
            }
        } else {
            #expect(throws: Whim()) { try database.inBatch { try work() } }
        }
        let random = inside.random
        self = saved
        self.random = random
        return id
    }

    private mutating func setDepth(_ id: DocumentID) throws -> DocumentID {
        reference.depth = random.element(of: [1, 2, 3, 5, 20])
        try database.setRevisionBodyLimit(reference.depth)
        return id
    }

    private mutating func compact(_ id: DocumentID) throws -> DocumentID {
        try database.compact()
        reference.compact()
        return id
    }

    private mutating func reopen(_ id: DocumentID) throws -> DocumentID {
        database.close()
        database = try sandbox.database()
        #expect(try database.revisionBodyLimit == reference.depth)
        return id
    }
}
