// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

/// What was written is what is read next, by whichever way.
@Suite struct ReadYourWritesTests {
    private let sandbox = Sandbox()
    private let database: Database
    private let view: DatabaseView

    init() throws {
        database = try sandbox.database()
        view = database.view(named: "byN")
        view.setMap(version: "1") { document, emit in emit(document["n"]) }
        try database.createIndex(PropertyIndex(on: "n"))
    }

    private func ids(_ n: Int64) throws -> [[DocumentID]] {
        let selector = try DocumentSelector(json: ["n": .integer(n)])
        return [
            try view.query(.keys(.integer(n))).run().compactMap(\.documentID),
            try FindQuery(selector, in: database).run().map(\.id),
            try database.allDocuments().filter { try database.existing($0.id)["n"].int64 == n }
                .map(\.id),
        ]
    }

    @Test func `what was saved is read at once, by its ID, in lists and by queries`() throws {
        let live = try database.liveDocument(withID: "a")
        let other = try sandbox.database()
        try database.create("a", ["n": 0])
        for n in Int64(1)...40 {
            try database.update("a") { $0["n"] = Fragment(.integer(n)) }
            #expect(try database.existing("a")["n"].int64 == n)
            #expect(try other.existing("a")["n"].int64 == n)
            #expect(live["n"].int64 == n)
            #expect(try ids(n) == [["a"], ["a"], ["a"]])
            #expect(try ids(n - 1) == [[], [], []])
        }
        try database.delete("a")
        #expect(try ids(40) == [[], [], []])
    }

    @Test func `a document created in a batch that was undone can be created again`() throws {
        for round in 0..<3 {
            #expect(throws: Whim()) {
                try database.inBatch {
                    try database.create("a", ["n": 1])
                    #expect(try ids(1) == [["a"], ["a"], ["a"]])
                    throw Whim()
                }
            }
            #expect(try database.document(withID: "a") == nil, "round \(round)")
            #expect(try ids(1) == [[], [], []])
        }
        try database.create("a", ["n": 1])
        #expect(try ids(1) == [["a"], ["a"], ["a"]])
        #expect(try database.documentCount == 1)
        #expect(try database.problems() == [])
    }
}
