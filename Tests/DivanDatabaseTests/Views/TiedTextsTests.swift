// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

/// Texts that collate as equal are told apart, in the same order by an index and by a scan: first the plain
/// one, which its sort key tells, then the others by their bytes.
@Suite struct TiedTextsTests {
    private static let long = String(repeating: "m", count: 97)

    /// In order; those of a line collate as equal.
    private static let texts = [
        "", "\u{1}",
        "ab", "a\u{1}b", "a\u{2}b", "ab\u{1}", "a\u{AD}b",
        "AB", "A\u{1}B",
        "K", "K\u{1}", "\u{212A}",
        String(long.dropLast()), String(long.dropLast()) + "\u{1}",
        // Too long to be told by its sort key.
        "\u{1}" + long, long,
    ]

    private let database: Database

    init() throws {
        database = try Database.inMemory()
        try database.inBatch {
            for (number, text) in Self.texts.enumerated().reversed() {
                try database.create("\(number)", ["text": .string(text)])
            }
        }
    }

    private func view() -> DatabaseView {
        let view = database.view(named: "texts")
        view.setMap(version: "1", reduce: .count) { document, emit in
            emit(["x", document["text"]], nil)
        }
        return view
    }

    @Test func `rows come in the order of the texts, and show them`() throws {
        var query = view().query()
        query.mapOnly = true
        let rows = try query.run()
        #expect(rows.map { $0.key[1]?.string } == Self.texts)
        query.descending = true
        #expect(try query.run().map { $0.key[1]?.string } == Self.texts.reversed())
    }

    @Test func `a text finds itself alone, as a key, a range and a group`() throws {
        let view = view()
        for (number, text) in Self.texts.enumerated() {
            let key: JSONValue = ["x", .string(text)]
            var query = view.query(.keys(key))
            query.mapOnly = true
            #expect(try query.run().map(\.documentID) == ["\(number)"])
            var rest = view.query()
            rest.mapOnly = true
            rest.startKey = key
            #expect(try rest.run().count == Self.texts.count - number)
        }
        var groups = view.query()
        groups.grouping = .exact
        #expect(try groups.run().map(\.value) == Self.texts.map { _ in 1 })
    }

    @Test func `an index sorts as a scan does`() throws {
        func sorted() throws -> [String] {
            var query = try database.find(selector: ["text": ["$gte": ""]])
            query.sort = [SortKey("text")]
            return try query.run().map(\.id.text)
        }
        let scanned = try sorted()
        #expect(scanned == Self.texts.indices.map { "\($0)" })
        try database.createIndex(PropertyIndex(on: "text"))
        #expect(try sorted() == scanned)
    }

    @Test func `a text that takes the place of one that collates alike moves its row`() throws {
        let view = view()
        try view.updateIndex()
        for (number, text) in zip(Self.texts.indices, Self.texts.dropFirst() + ["end"]) {
            try database.update("\(number)") { $0["text"] = Fragment(text) }
            try view.updateIndex()
            #expect(try database.problems() == [])
        }
        var query = view.query()
        query.mapOnly = true
        let texts = try query.run().map { $0.key[1]?.string }
        #expect(texts == Self.texts[1...8] + ["end"] + Self.texts[9...])
    }
}
