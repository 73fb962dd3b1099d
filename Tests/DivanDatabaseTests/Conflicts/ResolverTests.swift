// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

@Suite struct ResolverTests {
    private let database: Database

    init() throws { database = try Database.inMemory() }

    private func conflicted(_ ancestor: JSONObject, _ sides: [JSONObject]) throws -> Conflict {
        let first = try database.create("a", ancestor)
        for side in sides {
            try database.put("a", side, parent: first.revisionID, options: .allowConflict)
        }
        return try #require(try database.conflict(of: "a"))
    }

    @Test func `keeping the winner changes nothing that anybody sees`() throws {
        let conflict = try conflicted(["n": 0], [["n": 1], ["n": 2]])
        #expect(try database.resolveConflicts(of: "a", with: .keepWinner) == conflict.winner)
        #expect(try database.existing("a") == conflict.winner)
    }

    @Test func `the latest date wins whatever the revision IDs say`() throws {
        for (at, latest) in [
            (["2026-01-02T00:00:00Z", "2026-01-03T00:00:00.5Z", "2025-12-31T23:59:59Z"], 1),
            (["2026-01-02T02:00:00+02:00", "2026-01-02T00:00:01Z"], 1),
            ([10, 30.5, 20], 1), (["soon", 5], 1), ([.null, 1], 1),
        ] as [([JSONValue], Int)] {
            let sides = at.enumerated().map { ["n": .integer(Int64($0)), "at": $1] as JSONObject }
            _ = try conflicted(["n": -1], sides)
            let kept = try database.resolveConflicts(of: "a", with: .keepLatest(by: "at"))
            #expect(kept?["n"].int == latest)
            #expect(try database.existing("a")["n"].int == latest)
            try database.purge("a")
        }
    }

    @Test func `without dates or with equal ones the winner is the latest`() throws {
        for at in [nil, "2026-01-02T00:00:00Z"] as [JSONValue?] {
            var sides: [JSONObject] = [["n": 1], ["n": 2], ["n": 3]]
            for index in sides.indices { sides[index]["at"] = at }
            let conflict = try conflicted([:], sides)
            #expect(
                try database.resolveConflicts(of: "a", with: .keepLatest(by: "at"))
                    == conflict.winner)
            try database.purge("a")
        }
    }

    @Test func `merging fields keeps what both sides did`() throws {
        _ = try conflicted(
            ["name": "Ann", "age": 30], [["name": "Anna", "age": 30], ["name": "Ann", "age": 31]])
        let merged = try database.resolveConflicts(of: "a", with: .mergeFields)
        #expect(merged?.properties == ["name": "Anna", "age": 31])
    }

    @Test func `a resolver of one's own sees everything and decides`() throws {
        struct Sum: ConflictResolver {
            func resolve(_ conflict: Conflict) -> ConflictResolution {
                let base = conflict.ancestor?.int(forKey: "n") ?? 0
                let sum = conflict.leaves.reduce(base) { $0 + $1.int(forKey: "n") - base }
                return .save(["n": .integer(Int64(sum))])
            }
        }
        _ = try conflicted(["n": 10], [["n": 11], ["n": 15], ["n": 9]])
        #expect(try database.resolveConflicts(of: "a", with: Sum())?["n"].int == 15)
    }

    // The stubs stand in bodies as a replication brings them.
    private func stub(_ text: String, _ position: Int64) -> JSONValue {
        let digest = Blob(contentType: nil, Array(text.utf8)).digest
        return [
            "content_type": "text/plain", "digest": .string(digest), "length": 1,
            "revpos": .integer(position), "stub": true,
        ]
    }

    private func attached(_ sides: [JSONObject]) throws -> Conflict {
        // The content that the stubs stand for.
        let texts = ["o", "n", "m", "t", "x", "y"]
        try database.create(
            "contents",
            attachments: Dictionary(uniqueKeysWithValues: texts.map { ($0, Array($0.utf8)) }))
        try database.putExistingRevision(
            "a", ["_attachments": ["old": stub("o", 1)]], history: ["1-a"])
        for (number, side) in sides.enumerated() {
            try database.putExistingRevision("a", side, history: ["2-\(9 - number)", "1-a"])
        }
        return try #require(try database.conflict(of: "a"))
    }

    private func stubs() throws -> JSONValue? {
        try database.existing("a").body["_attachments"]?.jsonValue()
    }

    @Test func `a merge without word of attachments keeps the winner's`() throws {
        let conflict = try attached([["_attachments": ["new": stub("n", 2)]], ["n": 1]])
        try database.resolve(conflict, by: .save(["n": 2]))
        #expect(try stubs() == ["new": stub("n", 2)])
    }

    @Test func `attachments merge by name and those from elsewhere are new in the merge`() throws {
        _ = try attached([
            ["_attachments": ["old": stub("o", 1), "mine": stub("m", 2), "both": stub("x", 2)]],
            ["_attachments": ["theirs": stub("t", 2), "both": stub("y", 2)]],
        ])
        try database.resolveConflicts(of: "a", with: .mergeFields)
        #expect(
            try stubs() == ["mine": stub("m", 2), "both": stub("x", 2), "theirs": stub("t", 3)])
    }

    @Test func `an attachment that one side removed does not come back`() throws {
        _ = try attached([["_attachments": ["old": stub("o", 1)]], ["n": 1]])
        try database.resolveConflicts(of: "a", with: .mergeFields)
        #expect(try stubs() == nil)
        #expect(try database.existing("a")["n"].int == 1)
    }

    @Test func `an attachment that no revision has is refused`() throws {
        let conflict = try attached([["n": 1], ["n": 2]])
        for bad in [["x": stub("z", 2)], 7] as [JSONValue] {
            #expect(
                code { try database.resolve(conflict, by: .save(["_attachments": bad])) }
                    == .invalidDocument)
        }
    }
}
