// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON
import DivanListener
import DivanTestChild
import DivanTestSupport
import Foundation

/// A client that lets the server replicate with another one, in both directions.
///
/// The other one is a listener of the tests, which nothing kills: its database `inbox` is pulled into `notes`, and `notes`
/// is pushed into its `mirror`.
struct KillReplicator: Sendable {
    private var random: SeededRandom
    private let inbox: Database
    let mirror: Database
    private let base: String
    /// The generation of each document of the inbox that an answered replication has brought.
    private var brought: [String: Int] = [:]
    private(set) var complaint: String?

    init(_ random: SeededRandom, _ manager: Manager, url: String) throws {
        self.random = random
        inbox = try manager.database(named: "inbox")
        mirror = try manager.database(named: "mirror")
        base = url
    }

    mutating func begin(_ random: SeededRandom) { self.random = random }

    /// Lets it replicate once; false when that was not answered in whole, or not as it should be.
    mutating func step(_ connection: KeptConnection) -> Bool {
        do {
            return random.oneIn(2) ? push(connection) : try pull(connection)
        } catch {
            complaint = "the inbox cannot be written: \(error)"
            return false
        }
    }

    mutating func push(_ connection: KeptConnection) -> Bool {
        replicate(["source": "notes", "target": .string(base + "mirror")], connection)
    }

    private mutating func pull(_ connection: KeptConnection) throws -> Bool {
        for _ in 0..<random.below(4) {
            let id: DocumentID = "in-\(random.below(12))"
            let document = try inbox.document(withID: id)?.toMutable() ?? MutableDocument(id: id)
            document.setProperties(KnownBody.make(id.text, random.below(1_000)))
            if random.oneIn(3) {
                document.setAttachment(
                    named: "a", contentType: nil, .bytes(KillContent.bytes(random.below(40))))
            }
            try inbox.save(document)
        }
        var there: [String: Int] = [:]
        for row in try inbox.allDocuments() {
            there[row.id.text] = Int(row.revisionID.generation)
        }
        guard replicate(["source": .string(base + "inbox"), "target": "notes"], connection) else {
            return false
        }
        brought = there
        return true
    }

    private mutating func replicate(_ body: JSONValue, _ connection: KeptConnection) -> Bool {
        guard let answer = connection.send(KillRequest("POST", "/_replicate", json: body)) else {
            return false
        }
        guard answer.isSuccess, answer.json["ok"]?.bool == true else {
            let text = String(decoding: answer.body.prefix(500), as: UTF8.self)
            complaint = "_replicate was answered \(answer.status) \(text)"
            return false
        }
        return true
    }

    /// Says what is wrong with the documents that came from the inbox.
    func problem(_ found: FoundState) throws -> String? {
        for (id, leaves) in found.documents where id.hasPrefix("in-") {
            for revision in leaves.keys
            where try inbox.document(withID: DocumentID(id), revision: RevisionID(revision)) == nil
            {
                return "\(id) \(revision) was never in the inbox"
            }
        }
        for (id, generation) in brought {
            let leaves = found.documents[id] ?? [:]
            guard leaves.values.contains(where: { $0.generation >= generation }) else {
                return "\(id) was brought in generation \(generation), and has \(leaves)"
            }
        }
        return nil
    }

    /// Says what the mirror lacks of what was found before the last replication; and what of it is not whole.
    func problemOfMirror(_ found: FoundState) throws -> String? {
        for (id, leaves) in found.documents {
            let tree = try mirror.revisionTree(of: DocumentID(id))
            for revision in leaves.keys {
                guard tree?.nodes.contains(where: { "\($0.id)" == revision }) ?? false else {
                    return "the mirror lacks \(id) \(revision)"
                }
            }
        }
        _ = try FoundState(mirror)
        return nil
    }
}
