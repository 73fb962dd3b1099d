// SPDX-License-Identifier: Apache-2.0

import Divan
import FoundationEssentials
import Testing

/// Queries that are built of expressions: what each clause does.
@Suite struct QueryBuilderTests {
    private let database: Database

    init() throws {
        database = try Database.inMemory()
        let people: [(String, JSONObject)] = [
            (
                "ann",
                ["type": "person", "name": "Ann", "age": 30, "city": "Oslo", "tags": ["a", "b"]]
            ),
            ("bob", ["type": "person", "name": "bob", "age": 25, "city": "Rome", "tags": ["b"]]),
            ("cat", ["type": "person", "name": "Cat", "age": 30.5, "city": "Rome", "tags": []]),
            ("dan", ["type": "person", "name": "Dan", "city": "Oslo"]),
            ("eve", ["type": "person", "name": "Eve", "age": .null, "city": "Oslo"]),
            ("p1", ["type": "post", "title": "One", "author": "ann", "stars": 3]),
            ("p2", ["type": "post", "title": "Two", "author": "nobody", "stars": 5]),
            ("_design/d", ["type": "person", "name": "Design"]),
        ]
        try database.inBatch {
            for (id, body) in people { try database.create(DocumentID(id), body) }
        }
    }

    private func ids(_ condition: QueryExpression) throws -> [String] {
        try QueryBuilder.select(.expression(Meta.id)).from(.database(database))
            .where(condition).orderBy(.expression(Meta.id)).run()
            .compactMap { $0["id"].string }
    }

    @Test func `the expiration query of the guide works as it is written`() throws {
        for (id, seconds) in [("ann", 60.0), ("bob", 86_400), ("cat", 299)] {
            try database.setExpiration(of: DocumentID(id), at: Date(timeIntervalSinceNow: seconds))
        }
        // Query documents that will be expired in less than five minutes
        let fiveMinutesFromNow = Date(timeIntervalSinceNow: 60 * 5).timeIntervalSince1970
        let query =
            QueryBuilder
            .select(SelectResult.expression(Meta.id))
            .from(DataSource.database(database))
            .where(Meta.expiration.lessThan(QueryExpression.double(fiveMinutesFromNow)))
        #expect(try query.run().compactMap { $0["id"].string }.sorted() == ["ann", "cat"])
        #expect(try query.explain().text.contains("expire"))
        // In milliseconds, and with a date, it is the same.
        let milliseconds = Meta.expiration.lessThan(.double(fiveMinutesFromNow * 1_000))
        #expect(try ids(milliseconds) == ["ann", "cat"])
        #expect(
            try ids(Meta.expiration.lessThan(Date(timeIntervalSinceNow: 300))) == ["ann", "cat"])
        #expect(try ids(Meta.expiration.greaterThan(Date(timeIntervalSinceNow: 300))) == ["bob"])
        #expect(try ids(Meta.expiration.isValued()) == ["ann", "bob", "cat"])
    }

    @Test func `only a constant is read as seconds beside the time of expiration`() throws {
        try database.inBatch {
            for (id, limit): (DocumentID, JSONValue) in [
                ("x", 2_000_000_000), ("y", 2_000_000_000_000), ("z", "2033-05-18T03:33:20Z"),
            ] {
                try database.create(id, ["limit": limit, "kind": "timed"])
                try database.setExpiration(of: id, at: Date(timeIntervalSince1970: 1.9e9))
            }
        }
        let limit = QueryExpression.property("limit")
        #expect(try ids(Meta.expiration.lessThan(limit)) == ["y", "z"])
        #expect(try ids(limit.greaterThan(Meta.expiration)) == ["y", "z"])
        #expect(try ids(Meta.expiration.between(0, and: limit)) == ["y", "z"])
        #expect(try ids(Meta.expiration.lessThan(2_000_000_000)) == ["x", "y", "z"])
        // Nor is what is computed of documents; what is computed of constants is one.
        #expect(try ids(Meta.expiration.lessThan(limit.add(1))) == ["y"])
        let soon = QueryExpression.int(1_999_999_000).add(1_000)
        #expect(try ids(Meta.expiration.lessThan(soon)) == ["x", "y", "z"])
        let groups = QueryBuilder.select(.expression(Function.count())).from(.database(database))
            .where(.property("kind").equalTo("timed")).groupBy(.property("limit"))
        let least = Function.minimum(.property("limit"))
        #expect(try groups.having(Meta.expiration.lessThan(least)).run().count == 2)
    }

    @Test func `an empty list of orders is as none`() throws {
        let query = QueryBuilder.select(.expression(Meta.id)).from(.database(database))
        let rows = try query.orderBy([]).run()
        #expect(try rows == query.run())
        #expect(try query.orderBy([]).explain().isSorted == false)
    }

    @Test func `sources and orders are bounded`() throws {
        let base = QueryBuilder.select(.expression(Meta.id)).from(.database(database).as("s"))
        let orders = Array(repeating: Ordering.expression(.property("age").add(1)), count: 1_001)
        #expect(try base.orderBy(Array(orders.dropLast())).run().count == 7)
        #expect(code { try base.orderBy(orders).run() } == .invalidQuery)
        let joins = (0..<1_000).map { number in
            Join.leftOuter(
                .database(database).as("j\(number)"),
                on: Meta.id.from("j\(number)").equalTo("none"))
        }
        func joined(_ joins: [Join]) -> SelectQuery { joins.reduce(base) { $0.join($1) } }
        #expect(try joined(Array(joins.dropLast())).run().count == 7)
        #expect(code { try joined(joins).run() } == .invalidQuery)
    }

    @Test func `comparisons are of one type, and unknown is not true`() throws {
        #expect(try ids(.property("age").equalTo(30)) == ["ann"])
        #expect(try ids(.property("age").equalTo(30.0)) == ["ann"])
        #expect(try ids(.property("age").notEqualTo(30)) == ["bob", "cat"])
        #expect(try ids(.property("age").lessThan(30)) == ["bob"])
        #expect(try ids(.property("age").greaterThanOrEqualTo(30)) == ["ann", "cat"])
        #expect(try ids(.property("age").lessThan("x")) == [])
        #expect(try ids(.property("age").between(25, and: 30)) == ["ann", "bob"])
        #expect(try ids(.not(.property("age").equalTo(30))) == ["bob", "cat"])
        #expect(try ids(.property("city").in("Rome", "Paris")) == ["bob", "cat"])
        #expect(try ids(.not(.property("city").in("Rome", "Paris"))) == ["ann", "dan", "eve"])
        #expect(try ids(.property("age").equalTo(.value(.null))) == [])
    }

    @Test func `missing, null and valued are told apart`() throws {
        let person = QueryExpression.property("type").equalTo("person")
        #expect(try ids(person.and(.property("age").isMissing())) == ["dan"])
        #expect(try ids(person.and(.property("age").isNull())) == ["eve"])
        #expect(try ids(person.and(.property("age").isNotValued())) == ["dan", "eve"])
        #expect(try ids(person.and(.property("age").isValued())) == ["ann", "bob", "cat"])
        #expect(
            try ids(person.and(.property("age").greaterThan(30).or(.property("age").isNull())))
                == ["cat", "eve"])
    }

    @Test func `texts are matched by form, by expression and by collation`() throws {
        #expect(try ids(.property("name").like("%a%")) == ["cat", "dan"])
        #expect(try ids(.property("name").like("_nn")) == ["ann"])
        #expect(try ids(.property("name").like("D%")) == ["dan"])
        #expect(try ids(.property("name").regex("^[A-C]")) == ["ann", "cat"])
        #expect(try ids(.property("name").lessThan("Cat")) == ["ann"])
        #expect(try ids(.property("name").collate(.unicode).lessThan("Cat")) == ["ann", "bob"])
        #expect(
            try ids(Function.lower(.property("name")).equalTo("ann")) == ["ann"])
    }

    @Test func `quantifiers go over elements`() throws {
        let isB = QueryExpression.variable("t").equalTo("b")
        #expect(try ids(.any("t", in: .property("tags"), satisfies: isB)) == ["ann", "bob"])
        #expect(try ids(.every("t", in: .property("tags"), satisfies: isB)) == ["bob", "cat"])
        #expect(try ids(.anyAndEvery("t", in: .property("tags"), satisfies: isB)) == ["bob"])
        #expect(try ids(Function.arrayContains(.property("tags"), "a")) == ["ann"])
        #expect(try ids(Function.arrayLength(.property("tags")).equalTo(0)) == ["cat"])
    }

    @Test func `several values are selected, named after what they are`() throws {
        let rows =
            try QueryBuilder
            .select(
                .expression(Meta.id), .property("age"),
                .expression(.property("age").add(1)).as("next"),
                .expression(.property("age").multiply(2)), .property("tags[0]")
            )
            .from(.database(database)).where(Meta.id.equalTo("ann")).run()
        #expect(rows.keys == ["id", "age", "next", "$1", "$2"])
        #expect(
            rows.map(\.properties) == [["id": "ann", "age": 30, "next": 31, "$1": 60, "$2": "a"]])
        #expect(rows[0].toJSON() == #"{"id":"ann","age":30,"next":31,"$1":60,"$2":"a"}"#)
        #expect(rows[0][1].int == 30)
        #expect(!rows[0]["nothing"].exists)
    }

    @Test func `rows decode as Swift values`() throws {
        struct Person: Codable, Equatable {
            var id: String
            var age: Double?
        }
        let rows = try QueryBuilder.select(.expression(Meta.id), .property("age"))
            .from(.database(database)).where(.property("city").equalTo("Oslo"))
            .orderBy(.expression(Meta.id)).run()
        #expect(
            try rows.decode(Person.self) == [
                Person(id: "ann", age: 30), Person(id: "dan", age: nil),
                Person(id: "eve", age: nil),
            ])
        #expect(throws: DecodingError.self) { try rows.decode([String: Int].self) }
    }

    @Test func `a whole document is a column, distinct rows come once`() throws {
        let whole = try QueryBuilder.select(.all()).from(.database(database))
            .where(Meta.id.equalTo("p1")).run()
        #expect(whole[0]["*"]["title"].string == "One")
        let cities = try QueryBuilder.selectDistinct(.property("city")).from(.database(database))
            .where(.property("city").isValued()).orderBy(.property("city")).run()
        #expect(cities.map { $0["city"].string } == ["Oslo", "Rome"])
    }

    @Test func `a computed column gives what a document could not hold, beside others`() throws {
        let most = QueryExpression.double(.infinity)
        let rows =
            try QueryBuilder
            .select(.expression(most).as("most"), .property("age"), .property("none"))
            .from(.database(database)).where(Meta.id.equalTo("ann")).run()
        #expect(rows[0]["most"].value == .double(.infinity))
        #expect(rows[0]["age"].int == 30 && !rows[0]["none"].exists)
    }

    @Test func `rows are equal when columns and values are, however they were found`() throws {
        func run(_ name: String) throws -> SelectRows {
            try QueryBuilder.select(.property("age").as(name), .property("name"))
                .from(.database(database)).where(.property("type").equalTo("person"))
                .orderBy(.property("name")).run()
        }
        let rows = try run("age")
        try database.createIndex(PropertyIndex(on: "type", "name", "age"))
        let found = try run("age")
        #expect(found == rows && rows.count == 5)
        #expect(try run("years") != rows)
        #expect(rows[0] != rows[1] && rows[0] == found[0])
        let ann = try #require(try database.document(withID: "ann")).toMutable()
        ann["age"] = 31
        try database.save(ann)
        #expect(try run("age") != rows)
    }

    @Test func `rows are sorted by any expression, and cut to a window`() throws {
        let people = QueryBuilder.select(.expression(Meta.id)).from(.database(database))
            .where(.property("type").equalTo("person"))
        func ids(_ query: SelectQuery) throws -> [String] {
            try query.run().compactMap { $0["id"].string }
        }
        #expect(
            try ids(people.orderBy(.property("age"), .property("name").descending()))
                == ["dan", "bob", "ann", "cat", "eve"])
        #expect(try ids(people.orderBy(.property("name"))) == ["ann", "cat", "dan", "eve", "bob"])
        #expect(
            try ids(people.orderBy(.expression(.property("name").collate(.unicode))))
                == ["ann", "bob", "cat", "dan", "eve"])
        #expect(
            try ids(
                people.orderBy(.expression(Function.length(.property("city")).multiply(-1)))
                    .limit(2, offset: 1)) == ["bob", "cat"])
        #expect(
            try ids(people.orderBy(.expression(Meta.id).descending()).limit(2)) == ["eve", "dan"])
        #expect(try ids(people.limit(0)) == [])
    }

    @Test func `rows are grouped and groups are chosen`() throws {
        let query =
            QueryBuilder
            .select(
                .property("city"), .expression(Function.count()).as("people"),
                .expression(Function.average(.property("age"))).as("age"),
                .expression(Function.maximum(.property("name"))).as("last")
            )
            .from(.database(database)).where(.property("type").equalTo("person"))
            .groupBy(.property("city"))
            .orderBy(.expression(Function.count()).descending())
        #expect(
            try query.run().map(\.properties) == [
                ["city": "Oslo", "people": 3, "age": 30.0, "last": "Eve"],
                ["city": "Rome", "people": 2, "age": 27.75, "last": "bob"],
            ])
        let large = query.having(Function.count().greaterThan(2))
        #expect(try large.run().map { $0["city"].string } == ["Oslo"])
        #expect(try query.limit(1, offset: 1).run().map { $0["city"].string } == ["Rome"])
    }

    @Test func `groups are of equal values, however they are written`() throws {
        let database = try Database.inMemory()
        let values: [JSONValue?] = [
            1, 1.0, 2, "1", "one", "ONE", true, .null, nil, [1], [1.0], ["a": 1], nil, .null, 1,
        ]
        try database.inBatch {
            for (number, value) in values.enumerated() {
                let id = String(Array("abcdefghijklmno")[number])
                try database.create(DocumentID(id), value.map { ["v": $0] } ?? [:])
            }
        }
        func counts(_ node: QueryExpression) throws -> [Int] {
            try QueryBuilder
                .select(.expression(node), .expression(Function.count()))
                .from(.database(database)).groupBy(node).run()
                .map { $0[1].int ?? 0 }
        }
        // In the order of the least ID in each.
        #expect(try counts(.property("v")) == [3, 1, 1, 1, 1, 1, 2, 2, 2, 1])
        // What is computed is grouped in the same way; what is missing stays so.
        #expect(try counts(Function.lower(.property("v"))).reduce(0, +) == values.count)
    }

    @Test func `groups come by the least ID of each, in whatever order documents were changed`()
        throws
    {
        let database = try Database.inMemory()
        // The later an ID, the earlier it was saved; but for one, which was changed last.
        for id: DocumentID in ["h", "g", "f", "e", "d", "c", "b", "a", "_design/x"] {
            try database.create(
                id, ["kind": ["a", "d", "g"].contains(id) ? "x" : "y", "of": .string(id.text)])
        }
        try database.update("h") { $0.set("z", forKey: "kind") }
        try database.update("f") { $0.set(1, forKey: "changed") }
        try database.update("e") { $0.set("x", forKey: "kind") }
        _ = try database.delete("b")
        let losing = try #require(try database.document(withID: "c"))
        try database.putExistingRevision(
            "c", ["kind": "z", "of": "c"],
            history: ["2-ffffffffffffffffffffffffffffffff", losing.revisionID])
        try database.putExistingRevision(
            "c", ["kind": "lost", "of": "c"],
            history: ["2-00000000000000000000000000000000", losing.revisionID])
        func groups(_ aggregate: QueryExpression) throws -> [[String]] {
            try QueryBuilder
                .select(.property("kind"), .property("of"), .expression(aggregate))
                .from(.database(database)).groupBy(.property("kind")).run()
                .map { [$0[0].string ?? "", $0[1].string ?? "", "\($0[2].int ?? 0)"] }
        }
        let expected = [["x", "a", "4"], ["z", "c", "2"], ["y", "f", "1"]]
        #expect(try groups(Function.count()) == expected)
        // For a sum documents are made, which is another way to the same groups.
        #expect(
            try groups(Function.sum(.value(1))).map { Array($0[..<2]) }
                == expected.map { Array($0[..<2]) })
        try database.inBatch {
            try database.create("0", ["kind": "y", "of": "0"])
            _ = try database.delete("a")
            #expect(
                try groups(Function.count())
                    == [["y", "0", "2"], ["z", "c", "2"], ["x", "d", "3"]])
        }
        let sorted = try QueryBuilder.select(.expression(Meta.id)).from(.database(database))
            .orderBy(.property("kind").descending()).run().map { $0[0].string ?? "" }
        #expect(sorted == ["h", "c", "f", "0", "g", "e", "d"])
    }

    @Test func `without groups an aggregate is of all rows, be there none`() throws {
        func aggregate(_ condition: QueryExpression) throws -> [JSONObject] {
            try QueryBuilder
                .select(
                    .expression(Function.count()).as("n"),
                    .expression(Function.count(.property("age"))).as("aged"),
                    .expression(Function.sum(.property("age"))).as("sum"),
                    .expression(Function.minimum(.property("age"))).as("min")
                )
                .from(.database(database)).where(condition).run().map(\.properties)
        }
        #expect(
            try aggregate(.property("type").equalTo("person"))
                == [["n": 5, "aged": 3, "sum": 85.5, "min": 25]])
        #expect(
            try aggregate(.property("type").equalTo("x"))
                == [["n": 0, "aged": 0, "sum": 0, "min": .null]])
    }

    @Test func `documents are joined by ID, inner and left outer`() throws {
        let posts =
            QueryBuilder
            .select(.property("title"), .expression(.property("name").from("writer")))
            .from(.database(database).as("post"))
            .where(.property("type").from("post").equalTo("post"))
            .orderBy(.property("title"))
        let isWriter = Meta.id.from("writer").equalTo(.property("author").from("post"))
        let source = DataSource.database(database).as("writer")
        #expect(
            try posts.join(.inner(source, on: isWriter)).run().map(\.properties)
                == [["title": "One", "name": "Ann"]])
        #expect(
            try posts.join(.leftOuter(source, on: isWriter)).run().map(\.properties)
                == [["title": "One", "name": "Ann"], ["title": "Two"]])
    }

    @Test func `sources whose names look alike are told apart`() throws {
        let (composed, decomposed) = ("\u{E9}", "e\u{301}")
        let query = QueryBuilder.select(
            .expression(Function.maximum(.property("type").from(composed))),
            .expression(Function.maximum(.property("type").from(decomposed)))
        )
        .from(.database(database).as(composed))
        .join(
            .inner(
                .database(database).as(decomposed),
                on: Meta.id.from(decomposed).equalTo(.property("author").from(composed)))
        )
        .where(.property("type").from(composed).equalTo("post"))
        let row = try #require(try query.run().first)
        #expect(row[0].string == "post" && row[1].string == "person")
    }

    @Test func `parameters get their values when the query runs`() throws {
        let query = QueryBuilder.select(.expression(Meta.id)).from(.database(database))
            .where(.property("age").greaterThan(.parameter("age")))
            .orderBy(.expression(Meta.id))
        #expect(try query.bind(["age": 29]).run().count == 2)
        #expect(try query.bind(["age": 30]).run().compactMap { $0["id"].string } == ["cat"])
        #expect(code { try query.run() } == .invalidQuery)
    }

    @Test func `deleted documents are found by queries that ask`() throws {
        try database.delete("bob")
        #expect(try ids(Meta.isDeleted) == ["bob"])
        #expect(try ids(.property("type").equalTo("person")) == ["ann", "cat", "dan", "eve"])
        #expect(try ids(Meta.sequence.equalTo(9).and(.not(Meta.isDeleted))) == [])
        let revision = try #require(try database.document(withID: "ann")?.revisionID)
        #expect(try ids(Meta.revisionID.equalTo(.string(revision.description))) == ["ann"])
    }

    @Test func `an index is used whatever its order where numbers are compared`() throws {
        try database.inBatch {
            for number in 0..<50 {
                try database.create("x\(number)", ["n": .integer(Int64(number))])
            }
        }
        let query = QueryBuilder.select(.expression(Meta.id)).from(.database(database))
            .where(.property("n").between(10, and: 12))
        #expect(try query.explain().index == nil)
        for collation in [nil] + Collation.allCases {
            let index = PropertyIndex(on: "n", collation: collation)
            try database.createIndex(index)
            let explanation = try query.explain()
            #expect(explanation.index == index)
            #expect(explanation.actualRows == 3)
            let ordered = query.orderBy(.property("n").descending())
            #expect(try ordered.explain().isSorted == false)
            #expect(try ordered.run().compactMap { $0["id"].string } == ["x12", "x11", "x10"])
            try database.deleteIndex(named: index.name)
        }
        try database.createIndex(PropertyIndex(on: "n"))
        let unicode = QueryBuilder.select(.expression(Meta.id)).from(.database(database))
            .where(.property("n").collate(.unicode).greaterThan(47))
        #expect(try unicode.explain().index?.name == "n")
        #expect(try unicode.run().count == 2)
    }

    @Test func `what makes no sense is refused`() throws {
        let base = QueryBuilder.select(.expression(Meta.id)).from(.database(database))
        let other = try Database.inMemory()
        let bad: [SelectQuery] = [
            base.where(.property("a..b").equalTo(1)), base.where(.property("a").regex("(")),
            base.where(.property("a").from("x").equalTo(1)), base.limit(-1),
            base.where(Function.count().greaterThan(1)),
            base.join(.inner(.database(database), on: Meta.id.equalTo("x"))),
            base.join(.inner(.database(database).as("x"), on: .property("a").equalTo(1))),
            base.join(.inner(.database(other).as("x"), on: Meta.id.from("x").equalTo("a"))),
        ]
        for query in bad { #expect(code { try query.run() } == .invalidQuery) }
        database.close()
        #expect(code { try base.run() } == .databaseClosed)
    }
}
