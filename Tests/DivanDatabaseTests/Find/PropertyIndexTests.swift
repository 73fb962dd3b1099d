// SPDX-License-Identifier: Apache-2.0

@testable import DivanDatabase
@testable import DivanQuery
import DivanIndex
import DivanJSON
internal import DivanModel
import DivanStorage
import Testing

/// Indexes on properties are declared once, kept, and followed by queries.
@Suite struct PropertyIndexTests {
    private let database: Database

    init() throws { database = try Database.inMemory() }

    private func ids(_ selector: JSONValue, index: String? = nil) throws -> [String] {
        try database.find(selector: selector) { $0.useIndex = index }.run().map(\.id.text).sorted()
    }

    private func index(of selector: JSONValue) throws -> String? {
        try database.find(selector: selector).explain().index?.name
    }

    /// Enough other documents that an index is worth while.
    private func fill() throws {
        try database.inBatch {
            for number in 0..<50 { try database.create("other-\(number)", ["kind": "other"]) }
        }
    }

    @Test
    func `the map of an index on very many properties does not nest as deep as they are many`()
        throws
    {
        let names = (0..<100_000).map { "p\($0)" }
        let map = try PropertyIndexMap(PropertyIndex(named: "many", on: names))
        guard let lentMap = map.definition.makeLentMap?() else {
            Issue.record("An index on properties needs a body alone.")
            return
        }
        var batch = EmissionBatch()
        let body = PackedValue(["p0": 1, "p99999": true])
        batch.begin(DocumentID("d"))
        body.withBytes { lentMap($0, &batch) }
        batch.end()
        #expect(batch.byteCount > 100_000)
    }

    @Test func `an index is listed until it is deleted`() throws {
        let index = PropertyIndex(on: "type", "age")
        #expect(try database.createIndex(index))
        #expect(try !database.createIndex(index))
        #expect(try database.indexes() == [index])
        #expect(index.name == "type, age")
        #expect(try database.deleteIndex(named: index.name))
        #expect(try !database.deleteIndex(named: index.name))
        #expect(try database.indexes().isEmpty)
    }

    @Test func `an index outlives its process, with collation and filter`() throws {
        let sandbox = Sandbox()
        let index = PropertyIndex(
            named: "n", on: ["a.b", "tags[]"], collation: .raw,
            filter: try DocumentSelector(json: ["type": "x"]))
        do {
            let database = try sandbox.database()
            try database.createIndex(index)
            database.close()
        }
        #expect(try sandbox.database().indexes() == [index])
    }

    @Test func `another index of the same name takes the place of the first`() throws {
        try fill()
        try database.create("a", ["x": 1, "y": 2])
        try database.createIndex(PropertyIndex(named: "i", on: "x"))
        #expect(try ids(["x": 1]) == ["a"])
        try database.createIndex(PropertyIndex(named: "i", on: "y"))
        #expect(try index(of: ["y": 2]) == "i")
        #expect(try index(of: ["x": 1]) == nil)
        #expect(try ids(["y": 2]) == ["a"])
    }

    @Test(arguments: [
        ["a..b"], ["a[x]"], [""], ["a[]", "b[]"], ["a[][]"], ["a", "a"], [], ["a[]b"],
    ])
    func `a path that cannot be is refused`(_ paths: [String]) {
        #expect(
            code { try database.createIndex(PropertyIndex(named: "i", on: paths)) } == .invalidQuery
        )
    }

    @Test func `nested properties and elements are indexed`() throws {
        try fill()
        try database.create("a", ["address": ["zip": "1010"], "tags": ["x", "y", "x"]])
        try database.create("b", ["address": ["zip": "2020"], "tags": ["y"]])
        try database.create("c", ["address": "1010", "tags": "x"])
        try database.create("d", ["items": [["n": 1], ["n": 2, "m": 3]]])
        try database.createIndex(PropertyIndex(named: "zip", on: "address.zip"))
        try database.createIndex(PropertyIndex(named: "tags", on: "tags[]"))
        try database.createIndex(PropertyIndex(named: "n", on: "items[].n"))
        #expect(try ids(["address.zip": "1010"]) == ["a"])
        #expect(try index(of: ["address": ["zip": "1010"]]) == "zip")
        #expect(try ids(["tags": ["$all": ["x", "y"]]]) == ["a"])
        #expect(try index(of: ["tags": ["$all": ["x", "y"]]]) == "tags")
        #expect(try ids(["tags": ["$elemMatch": ["$gte": "y"]]]) == ["a", "b"])
        #expect(try index(of: ["tags": ["$elemMatch": ["$gte": "y"]]]) == "tags")
        #expect(try ids(["items": ["$elemMatch": ["n": 2, "m": ["$gt": 2]]]]) == ["d"])
        #expect(try index(of: ["items": ["$elemMatch": ["n": 2, "m": 3]]]) == "n")
        // A value of its own is one of these, too; the index of elements does not know it.
        #expect(try ids(["tags": ["$in": ["x"]]]) == ["a", "c"])
    }

    @Test func `an index follows edits, deletions and purges`() throws {
        try fill()
        try database.createIndex(PropertyIndex(on: "x"))
        for name: DocumentID in ["a", "b", "c", "d"] { try database.create(name, ["x": 1]) }
        #expect(try ids(["x": 1]) == ["a", "b", "c", "d"])
        try database.update("a") { $0["x"] = 2 }
        try database.delete("b")
        try database.purge("c")
        #expect(try ids(["x": 1]) == ["d"])
        #expect(try ids(["x": 2]) == ["a"])
        #expect(try index(of: ["x": 1]) == "x")
        #expect(try database.problems() == [])
    }

    @Test func `missing, null and values are told apart by the index`() throws {
        try fill()
        try database.create("none", ["type": "t"])
        try database.create("null", ["type": "t", "x": .null])
        try database.create("one", ["type": "t", "x": 1.0])
        try database.createIndex(PropertyIndex(on: "type", "x"))
        #expect(try ids(["type": "t", "x": ["$exists": false]]) == ["none"])
        #expect(try ids(["type": "t", "x": .null]) == ["null"])
        #expect(try ids(["type": "t", "x": 1]) == ["one"])
        #expect(try ids(["type": "t", "x": ["$lt": 1]]) == ["null"])
        #expect(try index(of: ["type": "t", "x": ["$exists": false]]) == "type, x")
    }

    @Test func `rows hold the values of the paths as they are, of whatever kind`() throws {
        let values: [JSONValue] = [
            .null, true, false, 0, -7, 2.5, 3.0, .integer(.max), .unsigned(.max), "", "plain",
            "Ünïcödé \u{0}\u{1}", [1, ["a"], .null], ["k": [1, 2]],
        ]
        for (number, value) in values.enumerated() {
            try database.create("\(number)", ["v": value, "in": ["v": value]])
        }
        try database.create("missing", [:])
        for collation in [Collation.unicode, .raw] {
            let index = PropertyIndex(on: "v", "_id", "in.v", "_rev", collation: collation)
            try database.createIndex(index)
            try database.updateIndexes()
            let coder = try PropertyIndexMap(index).coder
            var expected: Set<[UInt8]> = []
            try database.forEachDocument { row in
                let document = try #require(try database.document(withID: row.id))
                var key: [UInt8] = []
                let parts: [JSONValue?] = [
                    document["v"].value, .string(row.id.text), document["in"]["v"].value,
                    .string(row.revisionID.description),
                ]
                parts.forEach { part in
                    guard let part else { return key.append(RowKeyCoder.missing) }
                    coder.append(part, to: &key)
                }
                expected.insert(key + Array(row.id.text.utf8) + [0])
            }
            #expect(try rows(of: index) == expected)
        }
    }

    /// The keys of an index's rows.
    private func rows(of index: PropertyIndex) throws -> Set<[UInt8]> {
        try database.core.read { snapshot in
            let record = try #require(
                try snapshot.indexRecord(index.indexName(in: index.orders[0])))
            var keys: Set<[UInt8]> = []
            try snapshot.reader(of: record).forEachRow { key, _ in
                keys.insert(key.indices.map { key[$0] })
                return true
            }
            return keys
        }
    }

    @Test func `a document with something too large for a key is found nevertheless`() throws {
        try fill()
        let long = String(repeating: "x", count: 1 << 20)
        try database.createIndex(PropertyIndex(on: "x"))
        try database.create("long", ["x": .string(long)])
        try database.create("short", ["x": "x"])
        #expect(try ids(["x": .string(long)]) == ["long"])
        #expect(try ids(["x": ["$beginsWith": "x"]]) == ["long", "short"])
        let sorted = try database.find(selector: ["x": ["$exists": true]]) {
            $0.sort = [.ascending("x")]
        }.run()
        #expect(sorted.map(\.id) == ["short", "long"])
    }

    @Test func `an index with a filter is used by queries that name it`() throws {
        try fill()
        try database.create("a", ["x": 1, "live": true])
        try database.create("b", ["x": 1])
        try database.createIndex(
            PropertyIndex(named: "live", on: "x", filter: DocumentSelector(json: ["live": true])))
        #expect(try ids(["x": 1]) == ["a", "b"])
        #expect(try ids(["x": 1, "live": true], index: "live") == ["a"])
    }

    @Test func `a query in a batch sees its writes, and a rollback leaves a right index`() throws {
        struct Undo: Error {}
        try fill()
        try database.createIndex(PropertyIndex(on: "x"))
        try database.create("a", ["x": 1])
        #expect(throws: Undo.self) {
            try database.inBatch {
                try database.create("b", ["x": 1])
                #expect(try ids(["x": 1]) == ["a", "b"])
                throw Undo()
            }
        }
        #expect(try ids(["x": 1]) == ["a"])
        #expect(try database.problems() == [])
    }

    @Test func `an ID compared with another type is found with an index and without`() throws {
        try fill()
        for id in ["a", "b", "c", "d"] { try database.create(DocumentID(id), ["type": "x"]) }
        let conditions: [(JSONValue, [String])] = [
            (["$lt": [:]], ["a", "b", "c", "d"]), (["$lt": []], ["a", "b", "c", "d"]),
            (["$gte": "c", "$lte": [1]], ["c", "d"]), (["$gt": []], []),
            (["$gt": 1, "$lt": "c"], ["a", "b"]), (["$gte": [:]], []),
        ]
        for collation in [nil] + Collation.allCases.map(Optional.some) {
            let index = collation.map {
                PropertyIndex(named: "by", on: ["type", "_id"], collation: $0)
            }
            if let index { try database.createIndex(index) }
            for (condition, expected) in conditions {
                let selector: JSONValue = ["type": "x", "_id": condition]
                #expect(try ids(selector) == expected, "\(condition)")
            }
            let below: JSONValue = ["type": "x", "_id": ["$lt": [:]]]
            #expect(try self.index(of: below) == index?.name)
            if let index { try database.deleteIndex(named: index.name) }
        }
    }

    @Test func `a damaged index is built anew by the next query`() throws {
        try fill()
        try database.create("a", ["x": 1])
        try database.createIndex(PropertyIndex(on: "x"))
        #expect(try ids(["x": 1]) == ["a"])
        _ = try database.core.write { context in
            let (writer, snapshot) = try context.transaction()
            let record = try #require(try snapshot.indexRecord(IndexName(.property, "x")))
            let stores = IndexStores(number: record.number, engine: database.core.engine)
            try writer.removeAll(in: stores.rows)
        }
        try database.update("a") { $0["x"] = 2 }
        #expect(try ids(["x": 2]) == ["a"])
        #expect(try database.problems() == [])
    }

    @Test(arguments: [false, true])
    func `rows taken before the damage of an index are not given twice`(isComputed: Bool) throws {
        try database.inBatch {
            for number in 1_000..<1_500 {
                try database.create("d\(number)", ["email": .string("m\(number)"), "n": 1])
            }
        }
        try database.createIndex(PropertyIndex(on: "email"))
        let more: [SelectResult] = isComputed ? [.expression(.value(true)).as("computed")] : []
        let query =
            QueryBuilder.select([.expression(Meta.id), .property("email")] + more)
            .from(.database(database)).where(.property("email").greaterThanOrEqualTo("m"))
            .orderBy(.property("email")).limit(499)
        let rows = try query.run()
        #expect(rows.count == 499)
        #expect(try query.explain().index?.name == "email")
        var damaged = 0
        _ = try database.core.write { context in
            let (writer, snapshot) = try context.transaction()
            for name in try snapshot.indexNames() where name.kind == .property {
                let record = try #require(try snapshot.indexRecord(name))
                let stores = IndexStores(number: record.number, engine: database.core.engine)
                let cursor = try writer.cursor(in: stores.rows)
                guard try cursor.seekToLast() else { continue }
                var last: [UInt8] = []
                try cursor.withKey { key in last = key.indices.map { key[$0] } }
                #expect(try cursor.previous())
                cursor.close()
                try writer.set([0xFF, 0xFF].span, forKey: last.span, in: stores.rows)
                damaged += 1
            }
        }
        #expect(damaged > 0)
        #expect(try query.run() == rows)
    }

    @Test func `all indexes are brought up to date in one pass`() throws {
        try fill()
        try database.createIndex(PropertyIndex(on: "x"))
        try database.createIndex(PropertyIndex(on: "kind"))
        try database.updateIndexes()
        let counts = try database.core.read { snapshot in
            try ["x", "kind"].map { name in
                let record = try #require(try snapshot.indexRecord(IndexName(.property, name)))
                return try snapshot.reader(of: record).count()
            }
        }
        #expect(counts == [50, 50])
    }

    @Test func `a query of old indexes finds what they knew`() throws {
        try fill()
        try database.createIndex(PropertyIndex(on: "x"))
        try database.create("a", ["x": 1])
        #expect(try ids(["x": 1]) == ["a"])
        try database.create("b", ["x": 1])
        var query = try database.find(selector: ["x": 1])
        query.updatesIndexes = false
        #expect(try query.run().map(\.id) == ["a"])
        query.updatesIndexes = true
        #expect(try query.run().map(\.id) == ["a", "b"])
    }

    @Test func `a database that is read only is scanned where an index is outdated`() throws {
        let sandbox = Sandbox()
        do {
            let database = try sandbox.database()
            for number in 0..<20 {
                try database.create("d\(number)", ["x": .integer(Int64(number))])
            }
            try database.createIndex(PropertyIndex(on: "x"))
            database.close()
        }
        let database = try sandbox.database { $0.readOnly = true }
        #expect(try database.find(selector: ["x": 7]).run().map(\.id) == ["d7"])
        #expect(code { try database.createIndex(PropertyIndex(on: "y")) } == .readOnly)
    }
}
