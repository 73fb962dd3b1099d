// SPDX-License-Identifier: Apache-2.0

import DivanHTTP
import DivanJSON

/// All that a database tells of its documents: winners, leaves, histories, bodies, attachments.
struct Snapshot: Sendable {
    struct Attachment: Sendable {
        var properties: JSONObject
        var content: [UInt8]
    }

    struct Leaf: Sendable {
        var isDeleted: Bool
        var history: [String]
        var body: JSONObject
        var attachments: [ExactString: Attachment]
    }

    struct Document: Sendable {
        var winner: String
        var isDeleted: Bool
        var leaves: [String: Leaf]
    }

    var documents: [ExactString: Document] = [:]

    /// Asks for everything.
    static func take(_ database: RemoteDatabase) async throws -> Snapshot {
        let feed = try await database.get("_changes?style=all_docs")
        var rows = (feed["results"]?.array ?? []).makeIterator()
        var snapshot = Snapshot()
        try await withThrowingTaskGroup(of: (ExactString, Document).self) { group in
            var running = 0
            while true {
                while running < 8, let row = rows.next() {
                    group.addTask { try await document(row, database) }
                    running += 1
                }
                guard let (id, document) = try await group.next() else { break }
                running -= 1
                snapshot.documents[id] = document
            }
        }
        return snapshot
    }

    private static func document(_ row: JSONValue, _ database: RemoteDatabase) async throws
        -> (ExactString, Document)
    {
        guard let id = row["id"]?.string,
            let winner = row["changes"]?.array?.first?["rev"]?.string
        else { throw Trouble("\(database.server.name) has a row without an ID or a revision.") }
        let path = RemoteDatabase.path(id)
        let answers = try await database.get("\(path)?open_revs=all&revs=true").array ?? []
        var document = Document(
            winner: winner, isDeleted: row["deleted"]?.bool ?? false, leaves: [:])
        for answer in answers {
            guard let object = answer["ok"]?.object, let revision = object["_rev"]?.string else {
                continue
            }
            document.leaves[revision] = try await leaf(object, path, revision, database)
        }
        return (ExactString(id), document)
    }

    private static func leaf(
        _ object: JSONObject, _ path: String, _ revision: String, _ database: RemoteDatabase
    ) async throws -> Leaf {
        var leaf = Leaf(
            isDeleted: object["_deleted"]?.bool ?? false, history: [],
            body: JSONObject(object.filter { $0.key.utf8.first != UInt8(ascii: "_") }),
            attachments: [:])
        let start = object["_revisions"]?["start"]?.int64 ?? 0
        for (index, digest) in (object["_revisions"]?["ids"]?.array ?? []).enumerated() {
            leaf.history.append("\(start - Int64(index))-\(digest.string ?? "?")")
        }
        for (name, value) in object["_attachments"]?.object ?? [:] {
            let answer = try await database.send(
                .get,
                "\(path)/\(PercentEncoding.encode(name))?rev=\(PercentEncoding.encode(revision))",
                nil, ["Accept": "*/*"])
            leaf.attachments[ExactString(name)] = Attachment(
                properties: value.object ?? [:],
                content: answer.status == 200 ? answer.bytes : Array("status \(answer)".utf8))
        }
        return leaf
    }
}
