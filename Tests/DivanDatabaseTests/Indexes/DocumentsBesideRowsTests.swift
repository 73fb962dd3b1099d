// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON
import DivanTestChild
import DivanTestSupport
import Foundation
import Synchronization
import Testing

@testable import DivanDatabase
@testable import DivanQuery

/// Documents that come with rows are those that the rows were made of, whatever other threads commit meanwhile.
@Suite(.timeLimit(.minutes(5))) struct DocumentsBesideRowsTests {
    private let sandbox = Sandbox()

    /// Each pass is followed by a commit, a few times or until the writer has to wait.
    @Test(arguments: [2, 1_000])
    func `a row of a view carries the document that it was made of`(commits: Int) async throws {
        let database = try sandbox.database()
        defer { database.close() }
        let writer = try Writer(database, commits: commits)
        let view = database.view(named: "n")
        view.setMap(version: "1") { document, emit in
            emit(document["n"], nil)
            writer.commit()
        }
        var query = view.query()
        query.includeDocuments = true
        let rows = try await offPool { [query] in try query.run().map(Self.pair) }
        #expect(rows.count == 1 && rows.allSatisfy { $0[0] == $0[1] }, "\(rows)")
        await eventually { writer.isIdle }
    }

    /// The reduction comes after the last look at the documents.
    @Test func `a row of a one-shot query carries the document that it was made of`() async throws {
        let database = try sandbox.database()
        defer { database.close() }
        let writer = try Writer(database, commits: 1)
        var query = database.query(
            reduce: .custom { _, values, _ in
                writer.commit()
                return .integer(Int64(values.count))
            }
        ) { document, emit in emit(document["n"], nil) }
        (query.includeDocuments, query.mapOnly) = (true, true)
        let rows = try await offPool { [query] in try query.run().map(Self.pair) }
        #expect(rows == [[2, 2]], "\(rows)")
    }

    @Test func `a row of a read-only handle carries the document that it was made of`()
        async throws
    {
        let directory = try TestDirectory("beside")
        let path = directory.path("app.divan")
        let database = try Database.forTest(at: path, create: true)
        defer { database.close() }
        let reader = try Database.forTest(at: path, readOnly: true)
        defer { reader.close() }
        let writer = try Writer(database, commits: 1)
        let view = reader.view(named: "n")
        view.setMap(
            version: "1",
            reduce: .custom { _, values, _ in
                writer.commit()
                return .integer(Int64(values.count))
            }
        ) { document, emit in emit(document["n"], nil) }
        var query = view.query()
        (query.includeDocuments, query.mapOnly) = (true, true)
        let rows = try await offPool { [query] in try query.run().map(Self.pair) }
        #expect(rows == [[2, 2]], "\(rows)")
    }

    @Test(arguments: [false, true])
    func `a search finds documents that contain its words`(isReadOnly: Bool) async throws {
        let directory = try TestDirectory("beside")
        let path = directory.path("app.divan")
        let database = try Database.forTest(at: path, create: true)
        defer { database.close() }
        let other = isReadOnly ? try Database.forTest(at: path, readOnly: true) : nil
        defer { other?.close() }
        let writer = try Writer(database, commits: .max)
        let index = (other ?? database).fullTextIndex(named: "text", on: ["text"])
        let wrong = try await offPool {
            try writer.committing {
                try (0..<Soak.count(test: 300, soak: 10_000)).flatMap { _ in
                    try index.search("odd").run().compactMap { row in
                        row.document?.string(forKey: "text")
                    }.filter { $0 != "odd" }
                }
            }
        }
        #expect(wrong == [])
    }

    /// The first pass finds the word, and so does the third, but not the second.
    @Test func `a selector in a search index sees the documents that the search found`()
        async throws
    {
        let database = try sandbox.database()
        defer { database.close() }
        let writer = try Writer(database, commits: 2)
        let analyzers = try SearchAnalyzers(["analyzer": "whitespace"], for: .clouseau)
        let view = database.view(named: "_search t/t")
        SearchIndex.define(view, version: "1", by: CommittingMapper(writer, analyzers))
        let index = SearchIndex(view, analyzers, .clouseau)
        let query = try database.find(selector: ["text": "odd"])
        let found = try await offPool { [query] in
            var found = 0
            _ = try query.run(in: index, SearchQuery("odd")) { _ in found += 1 }
            return found
        }
        #expect(found == 1)
    }

    @Test func `the update comes before each look, and at last nothing can come between`() throws {
        let database = try sandbox.database()
        defer { database.close() }
        let core = database.core
        var (updates, looks) = (0, 0)
        let isInTransaction = try core.answer(
            afterUpdate: { updates += 1 },
            ifCurrent: { _ in
                looks += 1
                return false
            }
        ) { _ in core.isInTransaction }
        #expect(isInTransaction && updates == 5 && looks == 4)
        let isLooked = try core.answer(afterUpdate: {}, ifCurrent: { _ in true }) { _ in
            !core.isInTransaction
        }
        #expect(isLooked)
    }

    private static func pair(_ row: QueryRow) -> [Int] {
        [row.key.int64.map { Int($0) } ?? -1, row.includedDocument?.int(forKey: "n") ?? -2]
    }
}

/// Indexes the text of a document, and has it changed.
private final class CommittingMapper: GroupMapper {
    private let writer: Writer
    private let calling: CallingMapper

    init(_ writer: Writer, _ analyzers: SearchAnalyzers) {
        self.writer = writer
        calling = CallingMapper(analyzers)
    }

    func map(_ documents: [Document]) throws -> [PackedValue] {
        let rows = try calling.map(documents)
        writer.commit()
        return rows
    }
}

/// Another thread, which changes a document each time it is asked.
private final class Writer: Sendable {
    private struct State {
        var left: Int
        var isWriting = false
    }

    private let database: Database
    private let state: Mutex<State>

    /// Makes the document.
    init(_ database: Database, commits: Int) throws {
        self.database = database
        state = Mutex(State(left: commits))
        try database.create("a", ["n": 1, "text": "odd", "fields": Self.fields("odd")])
    }

    var isIdle: Bool { state.withLock { !$0.isWriting } }

    /// Has the document changed before it returns, unless that waits for the thread that asks: then there are no
    /// further changes.
    func commit() {
        let mayWrite = state.withLock { state in
            guard state.left > 0 else { return false }
            state.left -= 1
            state.isWriting = true
            return true
        }
        guard mayWrite else { return }
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread { [self] in
            try? change()
            state.withLock { $0.isWriting = false }
            done.signal()
        }
        if done.wait(timeout: .now() + 1) == .timedOut { state.withLock { $0.left = 0 } }
    }

    /// Changes the document again and again while `body` runs.
    func committing<Result>(_ body: () throws -> Result) rethrows -> Result {
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread { [self] in
            while state.withLock({ $0.left > 0 }) { try? change() }
            done.signal()
        }
        defer {
            state.withLock { $0.left = 0 }
            done.wait()
        }
        return try body()
    }

    /// What a search index has of a text.
    private static func fields(_ text: String) -> JSONValue {
        [["default", .string(text), [:]]]
    }

    private func change() throws {
        guard let document = try database.document(withID: "a")?.toMutable() else { return }
        let number = document.int(forKey: "n") + 1
        document.set(number, forKey: "n")
        let text = number.isMultiple(of: 2) ? "even" : "odd"
        document.set(text, forKey: "text")
        document.set(Self.fields(text), forKey: "fields")
        try database.save(document)
    }
}
