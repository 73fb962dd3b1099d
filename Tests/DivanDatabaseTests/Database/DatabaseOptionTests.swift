// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Testing

/// Options of a database with the largest, the smallest and no numbers: each is refused clearly, or works.
@Suite(.timeLimit(.minutes(5))) struct DatabaseOptionTests {
    private let sandbox = Sandbox()

    /// Opens a database twice, writes and reads, and makes an index.
    private func use(_ adjust: (inout DatabaseOptions) -> Void) throws {
        for number in 0..<2 {
            let database = try sandbox.database("db", adjust)
            defer { database.close() }
            try database.save(MutableDocument(["n": .integer(Int64(number))]))
            let view = database.view(named: "v")
            view.setMap(version: "1") { document, emit in emit(document["n"]) }
            #expect(try view.query().run().count == number + 1)
            #expect(try database.verify().isEmpty)
        }
    }

    @Test(arguments: [Duration.seconds(Int64.max), .seconds(Int64.min), .zero, .seconds(-1)])
    func `any time to wait for another process works`(time: Duration) throws {
        try use { $0.busyTimeout = time }
    }

    @Test(arguments: [Int.max, 0, 1])
    func `any number of bytes of memory works`(bytes: Int) throws {
        try use {
            ($0.cacheSize, $0.mappedSize, $0.indexingMemory) = (bytes, bytes, bytes)
        }
    }

    @Test func `the largest number of bytes of a document works`() throws {
        try use { $0.maximumDocumentSize = .max }
    }

    @Test(arguments: [0, -1, Int.min, 1])
    func `an index is built with hardly any memory, a document at a time`(bytes: Int) throws {
        let database = try sandbox.database { $0.indexingMemory = bytes }
        defer { database.close() }
        try database.inBatch {
            for number in 0..<200 {
                try database.create(DocumentID("\(number)"), ["text": "some words \(number)"])
            }
        }
        let view = database.view(named: "v")
        view.setMap(version: "1") { document, emit in emit(document["text"]) }
        #expect(try view.query().run().count == 200)
        let text = database.fullTextIndex(named: "t", on: ["text"])
        #expect(try text.search("words").run().count == 200)
        try database.update("7") { $0["text"] = "other" }
        #expect(try text.search("words").run().count == 199)
        #expect(try database.problems() == [])
    }

    @Test(arguments: [-1, -5, Int.min])
    func `a negative number of bytes is refused by its name`(bytes: Int) throws {
        let options: [(String, (inout DatabaseOptions) -> Void)] = [
            ("cacheSize", { $0.cacheSize = bytes }), ("mappedSize", { $0.mappedSize = bytes }),
            ("maximumDocumentSize", { $0.maximumDocumentSize = bytes }),
        ]
        for (name, adjust) in options {
            let error = #expect(throws: DatabaseError.self) {
                _ = try sandbox.database("new", adjust)
            }
            #expect(error?.code == .invalidQuery)
            #expect(error?.message.contains("'\(name)'") == true)
        }
        // Nothing was made.
        var options0 = DatabaseOptions()
        options0.create = false
        #expect(code { _ = try Database.open(at: sandbox.url("new"), options: options0) } != nil)
    }

    @Test func `an editor whose delay is the longest there is waits`() throws {
        struct Note: DocumentModel {
            var identity = ModelIdentity()
            var text = ""
        }
        let database = try sandbox.database()
        defer { database.close() }
        let editor = try database.editor(of: Note())
        editor.autosaveDelay = .seconds(Int64.max)
        editor.autosaves = true
        editor.text = "x"
        #expect(editor.needsSave)
        try editor.save()
    }

    @Test func `a live query whose interval is the longest there is runs once`() async throws {
        let database = try sandbox.database()
        defer { database.close() }
        try database.create("a", ["n": 1])
        let query = try database.find(selector: ["n": 1]).live(interval: .seconds(Int64.max))
        query.start()
        #expect(try await query.waitForRows()?.count == 1)
        try database.create("b", ["n": 1])
        query.stop()
    }
}
