// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Testing

@Suite struct ClosedDatabaseTests {
    private let sandbox = Sandbox()

    /// Every public method that touches the database.
    private func calls(_ database: Database, _ document: Document) -> [() throws -> Void] {
        [
            { _ = try database.document(withID: "a") },
            { _ = try database.document(withID: "a", revision: "1-a") },
            { _ = try database.contains("a") },
            { try database.save(MutableDocument()) },
            { try database.save(document.toMutable(), .failOnConflict) },
            { _ = try database.save(MutableDocument()) { _, _ in true } },
            { try database.update("a") { _ in } },
            { try database.delete("a") },
            { try database.delete(document) },
            { try database.purge("a") },
            { try database.purge("a", revisions: ["1-a"]) },
            { try database.put("a", [:], parent: nil) },
            { try database.putExistingRevision("a", [:], history: ["1-a"]) },
            { _ = try database.revisionTree(of: "a") },
            { _ = try database.revisionHistory(of: "a") },
            { _ = try database.conflictingRevisions(of: "a") },
            { _ = try database.leafRevisions(of: "a") },
            { _ = try database.hasConflicts() },
            { _ = try database.allDocuments() },
            { try database.forEachDocument { _ in } },
            { try database.forEachDocumentID { _ in } },
            { _ = try database.changes() },
            { _ = try database.localDocument("l") },
            { try database.putLocalDocument("l", [:]) },
            { try database.deleteLocalDocument("l") },
            { try database.read { _ in } },
            { try database.write { _ in } },
            { try database.inBatch {} },
            { _ = try database.documentCount },
            { _ = try database.lastSequence },
            { _ = try database.diskSize },
            { try database.setRevisionBodyLimit(5) },
            { try database.replaceUUIDs() },
            { try database.sync() },
            { try database.compact() },
            { _ = try database.verify() },
            { try database.inspect { _ in } },
            { try database.delete() },
        ]
    }

    @Test func `after closing every method throws databaseClosed`() throws {
        let database = try sandbox.database()
        let document = try database.create("a", ["n": 1])
        database.close()
        database.close()
        #expect(database.isClosed)
        for (index, call) in calls(database, document).enumerated() {
            #expect(code { try call() } == .databaseClosed, "call \(index)")
        }
        // What was read before owns its bytes, and what needs no file still answers.
        #expect(document["n"].int == 1)
        #expect(database.name == "db")
        #expect(!database.publicUUID.isEmpty)
    }

    @Test func `after deleting every method throws databaseClosed`() throws {
        let database = try sandbox.database()
        let document = try database.create("a")
        try database.delete()
        #expect(database.isClosed)
        for (index, call) in calls(database, document).enumerated() {
            #expect(code { try call() } == .databaseClosed, "call \(index)")
        }
    }

    @Test func `after closing performing throws databaseClosed and sequences end`() async throws {
        let database = try sandbox.database()
        database.close()
        #expect(await code { try await database.perform { try $0.compact() } } == .databaseClosed)
        #expect(await code { try await database.performBatch { _ in } } == .databaseClosed)
        var stream = database.changeStream().makeAsyncIterator()
        #expect(try await stream.next() == nil)
    }

    @Test func `closing waits for a batch of another thread which is committed whole`() throws {
        let database = try sandbox.database()
        let inside = Gate()
        let batch = Running {
            try database.inBatch {
                try database.write { transaction in
                    _ = try transaction.save(MutableDocument(id: "a"))
                    inside.open()
                    _ = try transaction.save(MutableDocument(id: "b"))
                }
            }
        }
        inside.wait()
        database.close()
        _ = try batch.value()
        #expect(try sandbox.database().allDocuments().map(\.id) == ["a", "b"])
    }
}
