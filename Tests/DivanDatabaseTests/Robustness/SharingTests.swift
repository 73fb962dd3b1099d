// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Testing

/// Everything at once from many tasks and threads; most telling under the thread sanitizer.
@Suite struct SharingTests {
    @Test func `many tasks share a database, documents and mutable documents`() async throws {
        let sandbox = Sandbox()
        let database = try sandbox.database()
        let shared = MutableDocument(["n": 0], id: "shared")
        let snapshot = try database.save(shared).document
        let steps = Soak.count(test: 15, soak: 500)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    var random = Soak.random(round: task, salt: 51)
                    for step in 0..<steps {
                        try await Self.act(
                            database, shared, snapshot, id: "\(task)-\(step)", random.below(10))
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try database.problems() == [])
        #expect(snapshot["n"].int == 0)
        #expect(try database.existing("shared").count >= 1)
    }

    private static func act(
        _ database: Database, _ shared: MutableDocument, _ snapshot: Document, id: DocumentID,
        _ choice: Int
    ) async throws {
        switch choice {
        case 0:
            shared[id.text] = Fragment(id)
            try database.save(shared)
        case 1:
            _ = shared.properties
            _ = snapshot["n"].int
            _ = snapshot.toJSON()
        case 2:
            try database.inBatch {
                try database.create(id)
                try database.update(id) { $0["n"] = 1 }
            }
        case 3: _ = try database.document(withID: "shared")
        case 4: _ = try database.read { try $0.changes(limit: 10).changes.count }
        case 5: _ = try? database.allDocuments()
        case 6:
            _ = try? database.putExistingRevision("torn", [:], history: ["1-\(id)"])
        case 7: _ = try database.compact()
        case 8:
            var stream = database.changeStream().makeAsyncIterator()
            _ = try await stream.next()
        default:
            try database.write { transaction in
                _ = try transaction.save(MutableDocument(id: id))
                _ = try transaction.purge(id)
            }
        }
    }

    @Test func `handles of one directory come and go under load`() throws {
        let sandbox = Sandbox()
        let keeper = try sandbox.database()
        let work = (0..<4).map { thread in
            Running {
                for step in 0..<10 {
                    let database = try sandbox.database()
                    try database.create("\(thread)-\(step)")
                    _ = try database.allDocuments()
                }
            }
        }
        for one in work { _ = try one.value() }
        #expect(try keeper.documentCount == 40)
        #expect(try keeper.problems() == [])
    }

    @Test func `closing while others work gives them databaseClosed and nothing else`() throws {
        let sandbox = Sandbox()
        let database = try sandbox.database()
        let started = Gate()
        let work = (0..<4).map { thread in
            Running {
                var saved: [String] = []
                while true {
                    let id: DocumentID = "\(thread)-\(saved.count)"
                    let failure = code {
                        try database.create(id)
                        _ = try database.allDocuments()
                    }
                    if saved.count == 2 { started.open() }
                    guard failure == nil else {
                        #expect(failure == .databaseClosed)
                        return saved
                    }
                    saved.append(id.text)
                }
            }
        }
        started.wait()
        database.close()
        let saved = try work.flatMap { try $0.value() ?? [] }
        let again = try sandbox.database()
        // Everything that was acknowledged is there.
        #expect(try Set(again.allDocuments().map(\.id.text)).isSuperset(of: saved))
        #expect(try again.problems() == [])
    }
}
