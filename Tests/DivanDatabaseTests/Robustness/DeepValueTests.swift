// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

/// Values that a program nests deeper than the stack has room for: whatever takes one refuses it.
///
/// The value is never released, since Swift would do that level by level.
@Suite struct DeepValueTests {
    private static let deep: JSONValue = (0..<30_000).reduce(1) { value, _ in .array([value]) }
    private static let object: JSONObject = ["v": deep]

    private let database: Database

    init() throws {
        database = try Database.inMemory()
        try database.create("d", ["n": 1, "t": "a"])
    }

    private var view: DatabaseView {
        let view = database.view(named: "v")
        view.setMap(version: "1") { document, emit in emit(document["n"], 1) }
        return view
    }

    @Test func `a document with one is refused`() {
        #expect(code { try database.create("a", Self.object) } == .invalidDocument)
        #expect(
            code { try database.update("d") { $0["v"] = Fragment(Self.deep) } } == .invalidDocument)
        #expect(code { try database.putLocalDocument("a", Self.object) } == .invalidDocument)
    }

    @Test func `a key of a query that is one is refused`() throws {
        let selections: [KeySelection] = [
            .keys(1, Self.deep), .range(from: Self.deep), .range(from: nil, through: Self.deep),
        ]
        for selection in selections {
            #expect(code { try view.query(selection).run() } == .invalidQuery)
            #expect(code { try database.allDocumentsQuery(selection).run() } == .invalidQuery)
        }
    }

    @Test func `a value and a parameter of a query that is one is refused`() throws {
        let n = QueryExpression.property("n")
        let query = QueryBuilder.select(.expression(Meta.id)).from(.database(database))
        #expect(code { try query.where(n.equalTo(.value(Self.deep))).run() } == .invalidQuery)
        let asking = query.where(n.equalTo(.parameter("p")))
        #expect(code { try asking.bind(["p": Self.deep]).run() } == .invalidQuery)
        #expect(
            code {
                try QueryBuilder.select(.expression(.value(Self.deep)))
                    .from(.database(database)).run()
            } == .invalidQuery)
        #expect(code { try database.find(selector: ["n": Self.deep]).run() } == .invalidQuery)
    }

    @Test func `a key or value that is emitted fails the document`() throws {
        let keys = database.view(named: "keys")
        keys.setMap(version: "1") { _, emit in emit(Self.deep) }
        #expect(try keys.query().run().isEmpty)
        #expect(keys.failures.map(\.documentID) == ["d"])
        let values = database.view(named: "values")
        values.setMap(version: "1") { _, emit in emit(1, Self.deep) }
        #expect(try values.query().run().isEmpty)
        #expect(values.failures.map(\.documentID) == ["d"])
    }

    @Test func `a reduce function that gives one fails the query`() throws {
        let view = view
        view.setMap(version: "2", reduce: .custom { _, _, _ in Self.deep }) { document, emit in
            emit(document["n"])
        }
        let error = #expect(throws: DatabaseError.self) { try view.query().run() }
        #expect(error?.code == .invalidQuery)
        #expect(error?.description.contains("512 levels") ?? false)
        #expect(code { try Reduce.total(of: [Self.deep]) } == .invalidQuery)
    }

    @Test func `an expression to search for that nests as deep is refused`() throws {
        let index = database.fullTextIndex(named: "f", on: ["t"])
        for levels in [500, 2_000] {
            let expression = (0..<levels).reduce(FullTextExpression.word("a")) { inner, _ in
                .any([inner, .word("b")])
            }
            if levels == 500 {
                #expect(try index.search(expression).run().count == 1)
            } else {
                #expect(code { try index.search(expression).run() } == .invalidQuery)
            }
        }
    }

    @Test func `a type that encodes as deep is refused`() throws {
        func list(_ levels: Int) -> List { (0..<levels).reduce(.end) { list, _ in .more(list) } }
        let document = try MutableDocument(encoding: ["l": list(200)])
        #expect(
            try database.save(document).document.decode([String: List].self) == ["l": list(200)])
        #expect(code { try MutableDocument(encoding: ["l": list(5_000)]) } == .invalidDocument)
        #expect(throws: DecodingError.self) {
            try JSONValueDecoder().decode(Nested.self, from: Self.deep)
        }
    }

    @Test func `parameters of a replication that nest as deep are refused`() async throws {
        let other = try Database.inMemory()
        let push = database.makePushReplication(to: other) { $0.filterParameters = Self.object }
        let error = await #expect(throws: ReplicationError.self) { try await push.run() }
        #expect(error?.code == .invalidSetting)
        await #expect(throws: ReplicationError.self) { try await push.pendingDocumentIDs() }
        let chosen = database.makePushReplication(to: other) { $0.selector = Self.object }
        await #expect(throws: (any Error).self) { try await chosen.run() }
        await #expect(throws: (any Error).self) { try await chosen.pendingDocumentIDs() }
    }
}

private indirect enum List: Codable, Equatable {
    case more(List)
    case end
}

private struct Nested: Decodable {
    init(from decoder: any Decoder) throws {
        var container = try decoder.unkeyedContainer()
        _ = try container.decode(Nested.self)
    }
}
