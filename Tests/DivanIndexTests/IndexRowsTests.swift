// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import DivanModel
import DivanPlatform
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

    @Test func `a row whose key is kept is left alone where its value only remembers something`()
        throws
    {
        let fixture = try IndexFixture(reduces: false)
        try fixture.replace([("a", [(1, 1), (2, 2)]), ("b", [(3, 3)])])
        let edits = try fixture.replace(
            [("a", [(1, 4), (4, 4)]), ("b", [(3, 5)])], leavesKeptRows: true)
        #expect(edits.map(\.edit) == [.removed, .added])
        #expect(try fixture.allRows().map(\.value) == [1, 3, 4])
    }

    @Test func `a document that emits nothing any more leaves nothing behind`() throws {
        let fixture = try IndexFixture()
        try fixture.replace([("a", [(1, 1)]), ("b", [(2, 2)])])
        let edits = try fixture.replace([("a", [])])
        #expect(edits.map(\.edit) == [.removed])
        #expect(try fixture.allRows().map(\.value) == [2])
        try fixture.replace([("b", [])])
        #expect(try fixture.engine.read { try $0.count(of: fixture.stores.purged) } == 0)
        #expect(try fixture.engine.read { try $0.count(of: fixture.stores.rows) } == 0)
    }

    @Test func `key and document ID are read back from a row's key`() throws {
        let fixture = try IndexFixture()
        let keys: [JSONValue] = [
            .null, "\u{0}\u{1}", [1, "x"], [1.0, "x", -0.0], 2.0, ["a": [3.0]],
        ]
        for key in keys {
            for ordinal in [0, 1, 247, 248, 255, 256, 70_000, 1 << 40] {
                var (rowKey, forms): ([UInt8], NumberForms) = ([], NumberForms())
                fixture.coder.append(key, to: &rowKey, &forms)
                let offset = rowKey.count
                let id = DocumentID("d\u{e9}j\u{e0} vu")
                RowKey.append(id, ordinal: ordinal, forms: forms.bytes, to: &rowKey)
                #expect(try RowKey.documentID(in: rowKey.span, at: offset) == id)
                #expect(try RowKey.emittedKey(in: rowKey.span, fixture.coder) == key)
            }
        }
    }

    @Test
    func `rows sort by value, then document, then ordinal, and never by how numbers are written`()
        throws
    {
        let fixture = try IndexFixture()
        let order = ValueOrder(.unicode, strings: ICUCollator.root)
        for round in Soak.rounds(test: 2_000, soak: 100_000) {
            var random = Soak.random(round: round, salt: 0x20E5)
            func row(_ value: JSONValue) -> (value: JSONValue, id: String, ordinal: Int) {
                let ids = ["a", "ab", "b", "\u{e9}", "1"]
                let ordinals = [0, 1, 2, 247, 248, 256, 65_536]
                return (
                    value, ids.randomElement(using: &random) ?? "",
                    ordinals.randomElement(using: &random) ?? 0
                )
            }
            func key(_ row: (value: JSONValue, id: String, ordinal: Int)) -> [UInt8] {
                var (key, forms): ([UInt8], NumberForms) = ([], NumberForms())
                fixture.coder.append(row.value, to: &key, &forms)
                RowKey.append(
                    DocumentID(row.id), ordinal: row.ordinal, forms: forms.bytes,
                    to: &key)
                return key
            }
            let left = row(RandomJSON.value(using: &random))
            let right = row(RandomJSON.variation(of: left.value, using: &random))
            let byValue = order.collate(left.value, right.value)
            let isBefore =
                byValue != 0
                ? byValue < 0
                : left.id != right.id
                    ? left.id.utf8.lexicographicallyPrecedes(right.id.utf8)
                    : left.ordinal < right.ordinal
            let isSame = byValue == 0 && left.id == right.id && left.ordinal == right.ordinal
            try #require(isSame || key(left).precedes(key(right)) == isBefore)
        }
    }

    @Test func `keys that collate as equal stay in the order in which a document emitted them`()
        throws
    {
        let fixture = try IndexFixture()
        try fixture.replace([
            ("b", [([1.0, "x"], 1), ([1, "x"], 2), ([1.0, "x"], 3)]),
            ("a", [([1, "x"], 4), ([1.0, "x"], 5), ([1, "a"], 6)]),
        ])
        #expect(try fixture.allRows().map(\.value) == [6, 4, 5, 1, 2, 3])
        #expect(try fixture.problems() == [])
        // The same numbers written in another way are another row.
        let edits = try fixture.replace([("b", [([1, "x"], 1), ([1, "x"], 2), ([1.0, "x"], 3)])])
        #expect(Set(edits.map(\.edit)) == [.added, .removed])
        #expect(try fixture.allRows().map(\.value) == [6, 4, 5, 1, 2, 3])
        try fixture.replace([("a", []), ("b", [([1.0], 7)])])
        #expect(try fixture.allRows().map(\.value) == [7])
        #expect(try fixture.problems() == [])
    }

    @Test func `a damaged list of emitted keys is an error`() {
        let id: [UInt8] = [0x61]
        for list: [UInt8] in [[5, 1], [0], [0, 1], [1, 0x10, 0], [1, 0x10, 0, 2, 4], [0x80]] {
            #expect(throws: IndexCorruption.self) {
                try EmittedKeys.rowKeys(list.span, of: id.span)
            }
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
