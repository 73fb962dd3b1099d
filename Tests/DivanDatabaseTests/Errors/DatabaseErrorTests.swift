// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

@Suite struct DatabaseErrorTests {
    private static let secret = "swordfish"

    /// One failure of each kind that a sound database can meet.
    private static func failures() throws -> [DatabaseError] {
        let sandbox = Sandbox()
        let database = try sandbox.database { $0.maximumDocumentSize = 2_000 }
        let body: JSONObject = [secret: .string(secret)]
        let document = try database.create("id-1", body)
        try database.update("id-1") { $0["n"] = 1 }
        let stale = document.toMutable()
        stale["n"] = 2
        let closed = try sandbox.database("closed")
        closed.close()
        let readOnly = try sandbox.database { $0.readOnly = true }
        let large: JSONObject = [secret: .string(String(repeating: secret, count: 1_000))]
        let calls: [() throws -> Void] = [
            { try database.save(stale, .failOnConflict) },
            { try database.create("id-1", body) },
            { try database.delete("nowhere") },
            { _ = try database.document(withID: "id-1", revision: "9-x") },
            { try database.create("id-2", ["_foo": .string(secret)]) },
            { try database.create("id-2", large) },
            { try database.create("id-2", [secret: .double(.nan)]) },
            { _ = try MutableDocument(json: "{\"\(secret)\":\(secret)}", id: "id-2") },
            { _ = try MutableDocument(json: "[\"\(secret)\"]", id: "id-2") },
            { _ = try MutableDocument(encoding: [secret]) },
            { _ = try document.decode([String: Int].self) },
            { try database.create("_x", body) },
            { _ = try database.localDocument("") },
            { try database.putExistingRevision("id-2", body, history: ["x"]) },
            { try database.putExistingRevision("id-2", body, history: []) },
            { _ = try sandbox.manager().database(named: "A") },
            { _ = try Database.open(at: sandbox.url("nowhere")) },
            { _ = try closed.documentCount },
            { try readOnly.create("id-2", body) },
            { try database.inBatch { _ = try database.compact() } },
        ]
        return calls.compactMap { call in
            do { try call() } catch let error as DatabaseError { return error } catch {
                Issue.record("Not a DatabaseError: \(error)")
            }
            return nil
        }
    }

    @Test func `every message is one sentence without content`() throws {
        let failures = try Self.failures()
        #expect(failures.count == 20)
        for error in failures {
            let message = error.message
            #expect(message.hasSuffix("."), "\(message)")
            #expect(!message.contains(". "), "\(message)")
            #expect(!message.contains("\n"), "\(message)")
            #expect(!message.contains(Self.secret), "\(message)")
            #expect(message.first?.isUppercase == true || message.hasPrefix("'"), "\(message)")
            #expect(message.count > 20 && message.count < 400, "\(message)")
        }
    }

    @Test func `a description is one line with the code, a debug description adds the rest`() throws
    {
        for error in try Self.failures() {
            #expect(error.description == "\(error.message) (\(error.code.rawValue))")
            #expect(error.debugDescription.hasPrefix(error.message))
            #expect(error.debugDescription.contains("code: \(error.code.rawValue)"))
            if let id = error.documentID { #expect(error.debugDescription.contains(id.text)) }
        }
    }

    @Test func `the failure of a document names it`() throws {
        let named = try Self.failures().prefix(9).map(\.documentID)
        #expect(
            named == [
                "id-1", "id-1", "nowhere", "id-1", "id-2", "id-2", "id-2", "id-2", "id-2",
            ])
    }

    @Test func `a conflict carries the revision that the edit was made from`() throws {
        let first = try #require(try Self.failures().first)
        #expect(first.code == .conflict)
        #expect(first.revisionID?.generation == 1)
    }

    @Test func `codes have names that can be stored and read`() {
        for code in DatabaseError.Code.allCases {
            #expect(DatabaseError.Code(rawValue: code.rawValue) == code)
        }
    }
}
