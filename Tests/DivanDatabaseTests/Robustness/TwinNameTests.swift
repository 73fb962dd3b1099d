// SPDX-License-Identifier: Apache-2.0

import DivanJSON
internal import DivanModel
import DivanQuery
import DivanStorage
import Testing

@testable import DivanDatabase

/// Names that Swift's `==` holds for one and that are two by their bytes, in everything that a database names.
@Suite struct TwinNameTests {
    /// Something that has a name: how a number is put under it, and how the number is read.
    struct Kind: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let put: @Sendable (Database, _ name: String, Int64) throws -> Void
        let get: @Sendable (Database, _ name: String) throws -> Int64?
    }

    /// By composition, by a sign of Unicode for a letter of ASCII, and by one for a mark of ASCII.
    private static let twins = [("\u{E9}", "e\u{301}"), ("K", "\u{212A}"), ("a`", "a\u{1FEF}")]

    private static let kinds = [
        Kind(testDescription: "documents") {
            try $0.save(MutableDocument(["n": .integer($2)], id: DocumentID($1)))
        } get: {
            try $0.document(withID: DocumentID($1))?["n"].value?.int64
        },
        Kind(testDescription: "local documents") {
            try $0.putLocalDocument(DocumentID($1), ["n": .integer($2)])
        } get: {
            try $0.localDocument(DocumentID($1))?["n"]?.int64
        },
        Kind(testDescription: "properties of a document that is edited") {
            let document = try $0.document(withID: "d")?.toMutable() ?? MutableDocument(id: "d")
            document.setInt64($2, forKey: $1)
            document.setInt64($2, forKey: $1 + "x")
            try $0.save(document)
        } get: {
            try $0.document(withID: "d")?[$1].value?.int64
        },
        Kind(testDescription: "attachments of put") {
            let old = try $0.document(withID: "d")
            let stubs = old?.body["_attachments"]?.jsonValue() ?? [:]
            try $0.put(
                "d", ["_attachments": stubs], parent: old?.revisionID,
                attachments: [$1: .bytes([UInt8(clamping: $2)])])
        } get: {
            try $0.document(withID: "d")?.attachment(named: $1)?.content().first.map { Int64($0) }
        },
        Kind(testDescription: "views") { database, name, number in
            if try !database.contains("a") { try database.save(MutableDocument(id: "a")) }
            database.view(named: name).setMap(version: "\(number)") { _, emit in
                emit(number)
            }
        } get: {
            try $0.existingView(named: $1)?.query().run().map(\.key).first?.int64
        },
        Kind(testDescription: "indexes on properties") {
            try $0.createIndex(PropertyIndex(named: $1, on: "p\($2)"))
        } get: { database, name in
            try database.indexes().first { $0.name.hasSameBytes(as: name) }
                .flatMap { Int64($0.paths[0].dropFirst()) }
        },
        Kind(testDescription: "filters") { database, name, number in
            if try !database.contains("a") { try database.save(MutableDocument(id: "a")) }
            database.setFilter(named: name) { _, _ in number == 1 }
        } get: { database, name in
            let document = try #require(try database.document(withID: "a"))
            return try database.filter(named: name).map { try $0(document, [:]) ? 1 : 2 }
        },
    ]

    @Test(arguments: kinds, twins)
    func `two names that look the same are two`(kind: Kind, twins: (String, String)) throws {
        let database = try Database.inMemory()
        try kind.put(database, twins.0, 1)
        #expect(try kind.get(database, twins.1) == nil)
        try kind.put(database, twins.1, 2)
        #expect(try kind.get(database, twins.0) == 1)
        #expect(try kind.get(database, twins.1) == 2)
    }

    @Test(arguments: twins)
    func `attachments by literal and by dictionary are all there`(twins: (String, String)) throws {
        let database = try Database.inMemory()
        let both: NameMap<AttachmentContent> = [twins.0: .bytes([1]), twins.1: .bytes([2])]
        let document = try database.put("a", [:], parent: nil, attachments: both)
        try database.putExistingRevision("b", [:], history: ["1-b"], attachments: both)
        for document in [document, try #require(try database.document(withID: "b"))] {
            #expect(document.attachmentNames.count == 2)
            #expect(try document.attachment(named: twins.0)?.content() == [1])
            #expect(try document.attachment(named: twins.1)?.content() == [2])
        }
        let dictionary: [String: AttachmentContent] = ["plain": .bytes([3])]
        let other = try database.put(
            "c", [:], parent: nil, attachments: NameMap(dictionary))
        #expect(try other.attachment(named: "plain")?.content() == [3])
    }

    @Test(arguments: twins)
    func `queries and values tell documents of such names apart`(
        twins: (String, String)
    ) throws {
        let database = try Database.inMemory()
        for (number, id) in [twins.0, twins.1].enumerated() {
            try database.save(
                MutableDocument(["n": .integer(Int64(number)), "text": "soup"], id: DocumentID(id)))
        }
        var query = database.allDocumentsQuery()
        query.keys = [.string(twins.0)]
        #expect(try query.run().map(\.documentID).count == 1)
        query.keys = nil
        (query.endKey, query.inclusiveEnd) = (.string(max(twins)), false)
        #expect(try query.run().count == 1)
        let index = database.fullTextIndex(named: "words", on: ["text"])
        #expect(try index.search("soup").run().count == 2)
        #expect(try index.search("soup -stew").run().count == 2)
        let changes = try database.changes(since: 0).changes
        #expect(changes[0] != changes[1])
        #expect(PropertyIndex(named: twins.0, on: "a") != PropertyIndex(named: twins.1, on: "a"))
        #expect(ModelIdentity(id: DocumentID(twins.0)) != ModelIdentity(id: DocumentID(twins.1)))
    }

    private func max(_ twins: (String, String)) -> String {
        twins.0.utf8.lexicographicallyPrecedes(twins.1.utf8) ? twins.1 : twins.0
    }

    @Test func `databases and stores have names without such twins`() throws {
        for name in ["caf\u{E9}", "cafe\u{301}", "\u{212A}", "a\u{301}", "a/\u{301}b"] {
            #expect(!Manager.isValidDatabaseName(name))
            #expect(DatabaseName.name(ofDirectory: name + ".divan") == nil)
            #expect(!StoreName.isValid(name))
        }
        #expect(DatabaseName.name(ofDirectory: "a.divan") == "a")
        #expect(DatabaseName.name(ofDirectory: "a\u{301}.divan") == nil)
        #expect(DatabaseName.name(ofDirectory: "a.\u{301}divan") == nil)
    }
}
