// SPDX-License-Identifier: Apache-2.0

import DivanHTTP
import DivanJSON
import DivanTestSupport

/// Edits a database at random by requests, as its users would, and keeps in mind what was acknowledged.
struct Writer {
    let database: RemoteDatabase
    /// How the IDs begin.
    let prefix: String
    /// How many documents there are.
    let documents: Int
    private var random: SeededRandom
    /// The revisions that the server says it has.
    private(set) var acknowledged: [Written] = []

    struct Written: Sendable {
        var id: String
        var revision: String
    }

    init(_ database: RemoteDatabase, prefix: String, documents: Int, _ random: SeededRandom) {
        self.database = database
        self.prefix = prefix
        self.documents = documents
        self.random = random
    }

    /// Makes one edit.
    ///
    /// - Returns: Whether the server was there.
    @discardableResult
    mutating func write() async -> Bool {
        let id = "\(prefix)\(random.below(documents))"
        guard let answer = try? await database.send(.get, RemoteDatabase.path(id)) else {
            return false
        }
        var body: JSONObject = answer.status == 200 ? answer.json?.object ?? [:] : [:]
        if answer.status == 200, random.oneIn(8) {
            body = ["_rev": body["_rev"] ?? .null, "_deleted": true]
        } else {
            body["n"] = .integer(Int64(random.below(1_000_000)))
            body["text"] = .string(RandomJSON.string(using: &random))
            if random.oneIn(5) {
                let bytes = random.bytes(random.below(20_000))
                body["_attachments"] = [
                    "a": ["content_type": "image/png", "data": .string(Base64.encode(bytes))]
                ]
            }
        }
        guard let put = try? await database.send(.put, RemoteDatabase.path(id), json: body) else {
            return false
        }
        if put.isSuccess, let revision = put.json?["rev"]?.string {
            acknowledged.append(Written(id: id, revision: revision))
        }
        return put.isSuccess || put.status == 409 || put.status == 404
    }
}

extension Harness {
    /// Tells of each acknowledged revision that a snapshot knows nothing of.
    func check(
        _ acknowledged: [Writer.Written], _ snapshot: Snapshot, _ part: String,
        _ circumstance: String
    ) {
        report.checked(acknowledged.count)
        var known: [ExactString: Set<String>] = [:]
        for (id, document) in snapshot.documents {
            known[id] = document.leaves.values.reduce(into: []) { $0.formUnion($1.history) }
        }
        for written in acknowledged
        where known[ExactString(written.id)]?.contains(written.revision) != true {
            report.fail(
                part, circumstance, written.id, "\(written.revision) was acknowledged and is lost")
        }
    }

    /// Waits until two databases have the same leaves.
    func waitUntilEqual(_ one: RemoteDatabase, _ other: RemoteDatabase) async throws -> Bool {
        try await wait {
            let leaves = try await [one.leaves(), other.leaves()]
            return leaves[0] == leaves[1]
        }
    }
}
