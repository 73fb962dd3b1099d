// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON
import DivanTestSupport

/// A client that changes what belongs to a database as a whole: its `_security`, indexes, limits; and has it compacted.
struct KillAdministrator: Sendable {
    private var random: SeededRandom
    private(set) var state = KeptState()
    private(set) var doubtful: KeptState?
    private(set) var complaint: String?

    /// The fields that are indexed, by the names of the indexes.
    static let indexes = ["by-n": ["n"], "by-self": ["self", "n"]]

    init(_ random: SeededRandom) { self.random = random }

    mutating func begin(_ random: SeededRandom) {
        self.random = random
        doubtful = nil
    }

    /// Sends one request; false when it was not answered in whole, or not as it should be.
    mutating func step(_ connection: KeptConnection) -> Bool {
        var after = state
        let request = nextRequest(&after)
        doubtful = after
        guard let answer = connection.send(request) else { return false }
        guard answer.isSuccess else {
            let text = String(decoding: answer.body.prefix(500), as: UTF8.self)
            complaint = "\(request.method) \(request.target) was answered \(answer.status) \(text)"
            return false
        }
        state = after
        doubtful = nil
        return true
    }

    /// Compares with what is in the database, and goes on from that; returns what is wrong.
    mutating func settle(_ database: Database) throws -> String? {
        let found = try Self.read(database)
        defer {
            state = found
            doubtful = nil
        }
        guard let problem = state.difference(to: found) else { return nil }
        guard let doubtful else { return problem }
        return doubtful.difference(to: found).map { "\(problem); or \($0)" }
    }

    private static func read(_ database: Database) throws -> KeptState {
        var state = KeptState()
        for index in try database.indexes() {
            // A listener keeps them under the name of the design document and their own.
            if let name = indexes.keys.first(where: index.name.hasPrefix) {
                state.settings[name] = "there"
            }
        }
        let security = try database.localDocument("_divan/security")
        state.settings["security"] = security?["members"]?["roles"]?[0]?.string
        let limit = try database.revisionLimit
        state.settings["limit"] = limit == 1_000 ? nil : String(limit)
        return state
    }

    private mutating func nextRequest(_ after: inout KeptState) -> KillRequest {
        switch random.below(10) {
        case 0, 1:
            let role = "role-\(random.below(1_000_000))"
            after.settings["security"] = role
            return KillRequest(
                "PUT", "/notes/_security",
                json: ["admins": [:], "members": ["names": [], "roles": [.string(role)]]])
        case 2, 3, 4: return index(&after)
        case 5:
            let limit = 1_001 + random.below(1_000)
            after.settings["limit"] = String(limit)
            return KillRequest("PUT", "/notes/_revs_limit", json: .integer(Int64(limit)))
        case 6: return KillRequest("POST", "/notes/_ensure_full_commit", json: [:])
        case 7: return find()
        default: return KillRequest("POST", "/notes/_compact", json: [:])
        }
    }

    /// Makes an index, or deletes one.
    private mutating func index(_ after: inout KeptState) -> KillRequest {
        let name = random.element(of: Self.indexes.keys.sorted())
        guard state.settings[name] == nil else {
            after.settings[name] = nil
            return KillRequest("DELETE", "/notes/_index/\(name)/json/\(name)")
        }
        after.settings[name] = "there"
        let fields = (Self.indexes[name] ?? []).map { JSONValue.string($0) }
        return KillRequest(
            "POST", "/notes/_index",
            json: [
                "index": ["fields": .array(fields)], "ddoc": .string(name),
                "name": .string(name), "type": "json",
            ])
    }

    /// A question that brings an index up to date.
    private mutating func find() -> KillRequest {
        KillRequest(
            "POST", "/notes/_find",
            json: [
                "selector": ["n": ["$gte": .integer(Int64(random.below(100_000)))]], "limit": 5,
            ])
    }
}
