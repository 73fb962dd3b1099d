// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import DivanModel
import DivanStorage
import DivanTestSupport
import Testing

@testable import DivanIndex

struct IndexRowsTests {
    @Test func `rows come in the order of their keys and then of the document IDs`() throws {
        let fixture = try IndexFixture()
        try fixture.replace([
            ("b", [("milk", 1)]), ("a", [("milk", 2), ("Bread", 3)]), ("ab", [("milk", 4)]),
        ])
        let rows = try fixture.allRows()
        #expect(rows.map(\.value) == [3, 2, 4, 1])
    }

    @Test func `a document may emit one key several times`() throws {
        let fixture = try IndexFixture()
        try fixture.replace([("a", (0..<300).map { (key: "k", value: Int64($0)) })])
        #expect(try fixture.allRows().map(\.value).sorted() == Array(0..<300))
        try fixture.replace([("a", [("k", 7)])])
        #expect(try fixture.allRows().map(\.value) == [7])
        #expect(try fixture.problems() == [])
    }

    @Test func `a row that is emitted again as before is not written`() throws {
        let fixture = try IndexFixture()
        try fixture.replace([("a", [(1, 1), (2, 2)])])
        let edits = try fixture.replace([("a", [(1, 1), (2, 5), (3, 3)])])
        #expect(edits.map(\.edit) == [.changed, .added])
    }

    @Test func `a document that emits nothing any more leaves nothing behind`() throws {
        let fixture = try IndexFixture()
        try fixture.replace([("a", [(1, 1)]), ("b", [(2, 2)])])
        let edits = try fixture.replace([("a", [])])
        #expect(edits.map(\.edit) == [.removed])
        #expect(try fixture.allRows().map(\.value) == [2])
        try fixture.replace([("b", [])])
        #expect(try fixture.engine.read { try $0.count(of: fixture.stores.emissions) } == 0)
        #expect(try fixture.engine.read { try $0.count(of: fixture.stores.rows) } == 0)
    }

    @Test func `the document's ID is read back from a row's key`() throws {
        let fixture = try IndexFixture()
        for (key, ordinal) in [(JSONValue.null, 0), ("\u{0}\u{1}", 1), ([1, "x"], 70_000)] {
            var rowKey: [UInt8] = []
            fixture.coder.append(key, to: &rowKey)
            RowKey.append(DocumentID(unchecked: "d\u{e9}j\u{e0} vu"), ordinal: ordinal, to: &rowKey)
            var offset = 0
            #expect(try fixture.coder.decode(rowKey.span, at: &offset) == key)
            #expect(try RowKey.documentID(in: rowKey.span, at: offset).text == "d\u{e9}j\u{e0} vu")
        }
    }

    @Test func `a damaged row key is an error`() {
        for bytes: [UInt8] in [[], [0], [0x61], [0xFF, 0]] {
            #expect(throws: IndexCorruption.self) {
                try RowKey.documentID(in: bytes.span, at: 0)
            }
        }
    }

    @Test func `a missing row of a known document is an error and not a wrong count`() throws {
        let fixture = try IndexFixture()
        try fixture.replace([("a", [(1, 1)])])
        let key = try #require(try fixture.allRows().first).key
        try fixture.engine.write {
            try fixture.edit(.remove, key, [], in: fixture.stores.rows, $0)
        }
        #expect(try fixture.problems().count == 2)
        #expect(throws: IndexCorruption.self) { try fixture.replace([("a", [])]) }
    }

    @Test func `dropping an index leaves no row of it`() throws {
        let fixture = try IndexFixture()
        try fixture.replace([("a", [(1, 1)])])
        try fixture.engine.write { try fixture.stores.drop($0) }
        #expect(try fixture.allRows().isEmpty)
        #expect(try fixture.read { try $0.count() } == 0)
        try fixture.replace([("a", [(1, 1)])])
        #expect(try fixture.problems() == [])
    }
}
