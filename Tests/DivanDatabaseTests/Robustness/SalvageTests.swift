// SPDX-License-Identifier: Apache-2.0

@testable import DivanDatabase
import DivanJSON
import DivanMaintenance
internal import DivanModel
import DivanStorage
import DivanTestChild
import DivanTestSupport
import FoundationEssentials
import Testing

/// Salvage copies every readable document of a damaged database and lists the rest.
@Suite struct SalvageTests {
    @Test func `a sound database is copied whole`() throws {
        let directory = try TestDirectory("salvage-sound")
        try DamageFixture.make(in: directory.path)
        let result = try Database.salvage(from: directory.url("closed"), to: directory.url("copy"))
        #expect(result.problems.isEmpty)
        let source = try Database.forTest(at: directory.path("closed"), readOnly: true)
        let copy = try Database.forTest(at: directory.path("copy"))
        defer {
            source.close()
            copy.close()
        }
        #expect(try copy.verify().isEmpty)
        #expect(try copy.documentCount == source.documentCount)
        for id in DamageFixture.ids {
            #expect(try DocumentState.line(id, in: copy) == DocumentState.line(id, in: source))
        }
        for id in DamageFixture.localIDs {
            #expect(try copy.localDocument(id) == source.localDocument(id))
        }
    }

    @Test func `a damaged body is listed and every other document is copied`() throws {
        let directory = try TestDirectory("salvage-body")
        try directory.makeDatabase("app.divan", documents: 40)
        try directory.damage("app.divan/data-1/\(TestEngine.mainFile)", at: "document-17 ")
        let result = try Database.salvage(
            from: directory.url("app.divan"), to: directory.url("copy"))
        #expect(result.problems.contains { $0.documentID == "document-17" })
        #expect(result.documentsCopied == 39)
        let copy = try Database.forTest(at: directory.path("copy"))
        defer { copy.close() }
        #expect(try copy.verify().isEmpty)
        for n in 0..<40 {
            let document = try copy.document(withID: "document-\(n)")
            #expect(document.map(KnownBody.isWhole) == (n == 17 ? nil : true))
        }
    }

    @Test(.enabled(if: TestEngine.isSQLite, "LMDB cannot read around damage of its structure."))
    func `a file that has lost its last pages gives what is in the others`() throws {
        let directory = try TestDirectory("salvage-short")
        try directory.makeDatabase("app.divan", documents: 400)
        let file = directory.url("app.divan/data-1/\(TestEngine.mainFile)")
        let whole = try Data(contentsOf: file)
        for pages in [1, 2, 5] {
            try whole.prefix(whole.count - pages * 4_096).write(to: file)
            let error = #expect(throws: DatabaseError.self) {
                try Database.forTest(at: directory.path("app.divan"))
            }
            #expect(error?.code == .corrupted)
            let result = try Database.salvage(
                from: directory.url("app.divan"), to: directory.url("copy-\(pages)"))
            #expect(!result.problems.isEmpty)
            let copy = try Database.forTest(at: directory.path("copy-\(pages)"))
            defer { copy.close() }
            #expect(try copy.verify().isEmpty)
            // A page holds about ten of these documents.
            #expect(try copy.documentCount >= 400 - 20 * pages)
            for n in 0..<400 {
                let document = try copy.document(withID: "document-\(n)")
                #expect(document.map(KnownBody.isWhole) ?? true)
            }
        }
    }

    @Test(.enabled(if: !TestEngine.isSQLite, "SQLite notices damage while it reads."))
    func `a verification says whether a salvage can help`() throws {
        let directory = try TestDirectory("salvage-help")
        try directory.makeDatabase("app.divan", documents: 100)
        let file = directory.url("app.divan/data-1/\(TestEngine.mainFile)")
        let whole = try Data(contentsOf: file)
        var refused = 0
        for page in 2..<whole.count / 4_096 {
            // The number that a page has of itself.
            var damaged = whole
            damaged[page * 4_096] ^= 0xFF
            try damaged.write(to: file)
            guard let database = try? Database.forTest(at: directory.path("app.divan")) else {
                continue
            }
            let report = try database.verificationReport()
            database.close()
            var isRefused = false
            do {
                _ = try Database.salvage(
                    from: directory.url("app.divan"), to: directory.url("copy-\(page)"))
            } catch let error as DatabaseError {
                isRefused = error.message.contains("restore a backup")
            }
            #expect(report.canBeSalvaged == !isRefused, "page \(page)")
            refused += isRefused ? 1 : 0
        }
        #expect(refused > 0)
    }

    @Test func `damaged counters do not keep documents from being copied`() throws {
        let directory = try TestDirectory("salvage-counters")
        try directory.makeDatabase("app.divan", documents: 40)
        try directory.damage("app.divan/data-1/\(TestEngine.mainFile)", at: "state")
        let damaged = try Database.forTest(at: directory.path("app.divan"))
        #expect(try !damaged.verify().isEmpty)
        damaged.close()
        let result = try Database.salvage(
            from: directory.url("app.divan"), to: directory.url("copy"))
        #expect(result.documentsCopied == 40)
        let copy = try Database.forTest(at: directory.path("copy"))
        defer { copy.close() }
        #expect(try copy.verify().isEmpty)
        #expect(try copy.documentCount == 40)
        #expect(try copy.localDocument("local") == ["n": 1])
    }

    @Test(arguments: ["marked", "damaged marks"])
    func `a document without its record gets its current revision`(_ way: String) throws {
        let directory = try TestDirectory("salvage-stray")
        let database = try Database.forTest(at: directory.path("app.divan"), create: true)
        for id: DocumentID in ["changed", "deleted"] {
            let document = MutableDocument(KnownBody.make(id.text, 1), id: id)
            try database.save(document)
            document.setProperties(KnownBody.make(id.text, 2))
            try database.save(document)
        }
        try database.delete("deleted")
        let sequences = try database.lastSequence
        try database.core.write { context in
            let (writer, snapshot) = try context.transaction()
            for id in ["changed", "deleted"] {
                try writer.set(
                    [255].span, forKey: Array(id.utf8).span, in: snapshot.core.stores.documents)
            }
            guard way != "marked" else { return }
            for sequence in 1...Int64(sequences) {
                try writer.set([255].span, forKey: sequence, in: snapshot.core.stores.superseded)
            }
        }
        database.close()
        let result = try Database.salvage(
            from: directory.url("app.divan"), to: directory.url("copy"))
        #expect(result.documentsCopied == 2)
        let copy = try Database.forTest(at: directory.path("copy"))
        defer { copy.close() }
        #expect(try copy.verify().isEmpty)
        #expect(try copy.document(withID: "changed")?.properties == KnownBody.make("changed", 2))
        #expect(try copy.document(withID: "deleted") == nil)
        #expect(try copy.documentCount == 1)
    }

    @Test(.enabled(if: TestEngine.isSQLite, "It looks into pages of SQLite's."))
    func `a damaged page in the middle does not cost the rows after it`() throws {
        let directory = try TestDirectory("salvage-page")
        try directory.makeDatabase("app.divan", documents: 2_000)
        let url = directory.url("app.divan/data-1/\(TestEngine.mainFile)")
        var file = try Data(contentsOf: url)
        var zeroed = 0
        for start in stride(from: 0, to: file.count, by: 4_096) {
            let page = Array(file[start..<min(start + 4_096, file.count)])
            // A space follows the ID in bodies only, so this is a page of records.
            guard page.contains(Array("document-1501".utf8)),
                !page.contains(Array("document-1501 ".utf8))
            else { continue }
            file.replaceSubrange(start..<start + page.count, with: Data(count: page.count))
            zeroed += 1
        }
        #expect(zeroed == 1)
        try file.write(to: url)
        let result = try Database.salvage(
            from: directory.url("app.divan"), to: directory.url("copy"))
        #expect(result.documentsCopied == 2_000)
        // Only the records of that page are lost; the others are read from the end of the store.
        let rebuilt = result.problems.filter { $0.message.contains("was rebuilt") }
        #expect(rebuilt.count > 0 && rebuilt.count < 500)
        #expect(result.problems.contains { $0.message.contains("from the store's end") })
        let copy = try Database.forTest(at: directory.path("copy"))
        defer { copy.close() }
        #expect(try copy.verify().isEmpty)
    }

    @Test(arguments: ["unfinished", "a person's"])
    func `without a manifest the data with the most documents are copied`(_ kind: String) throws {
        let directory = try TestDirectory("salvage-generations")
        try directory.makeDatabase("app.divan", documents: 40)
        try directory.makeDatabase("other.divan", documents: 3)
        if kind == "unfinished" {
            try FileManager.default.moveItem(
                atPath: directory.path("other.divan/data-1"),
                toPath: directory.path("app.divan/data-2"))
        } else {
            try FileManager.default.createDirectory(
                atPath: directory.path("app.divan/data-2026"), withIntermediateDirectories: true)
            try Data("1".utf8).write(to: directory.url("app.divan/data-2026/note"))
        }
        try FileManager.default.removeItem(atPath: directory.path("app.divan/manifest"))
        let result = try Database.salvage(
            from: directory.url("app.divan"), to: directory.url("copy"))
        #expect(result.documentsCopied == 40)
        let others = result.problems.filter { $0.message.contains("'data-2'") }
        #expect(others.count == (kind == "unfinished" ? 1 : 0))
    }

    @Test func `empty data are not taken for data that cannot be opened`() throws {
        let directory = try TestDirectory("salvage-unopenable")
        try directory.makeDatabase("app.divan", documents: 40)
        try directory.makeDatabase("other.divan", documents: 0)
        try FileManager.default.moveItem(
            atPath: directory.path("other.divan/data-1"),
            toPath: directory.path("app.divan/data-2"))
        try Data(repeating: 7, count: 40_000)
            .write(to: directory.url("app.divan/data-1/\(TestEngine.mainFile)"))
        try FileManager.default.removeItem(atPath: directory.path("app.divan/manifest"))
        #expect(throws: DatabaseError.self) {
            try Database.salvage(from: directory.url("app.divan"), to: directory.url("copy"))
        }
        #expect(!FileManager.default.fileExists(atPath: directory.path("copy")))
    }

    @Test func `a deleted document stays deleted when its tombstone cannot be read`() throws {
        let directory = try TestDirectory("salvage-tombstone")
        let database = try Database.forTest(at: directory.path("app.divan"), create: true)
        try database.save(MutableDocument(KnownBody.make("secret", 1), id: "secret"))
        try database.delete("secret")
        let last = try database.lastSequence
        try database.core.write { context in
            let (writer, snapshot) = try context.transaction()
            try writer.set([255].span, forKey: Int64(last), in: snapshot.core.stores.revisions)
        }
        try database.putLocalDocument("counted", ["n": 1])
        try database.putLocalDocument("counted", ["n": 2])
        database.close()
        let result = try Database.salvage(
            from: directory.url("app.divan"), to: directory.url("copy"))
        #expect(result.problems.contains { $0.documentID == "secret" })
        let copy = try Database.forTest(at: directory.path("copy"))
        defer { copy.close() }
        #expect(try copy.document(withID: "secret") == nil)
        #expect(try copy.revisionTree(of: "secret")?.winner?.isTombstone == true)
        #expect(try copy.core.read { try $0.localDocument("counted")?.revision } == 2)
        #expect(try copy.verify().isEmpty)
    }

    @Test(arguments: ["missing", "damaged"])
    func `a database whose manifest is gone is still copied`(_ way: String) throws {
        let directory = try TestDirectory("salvage-manifest")
        try directory.makeDatabase("app.divan", documents: 40)
        if way == "missing" {
            try FileManager.default.removeItem(atPath: directory.path("app.divan/manifest"))
        } else {
            try Data("{}".utf8).write(to: directory.url("app.divan/manifest"))
        }
        let result = try Database.salvage(
            from: directory.url("app.divan"), to: directory.url("copy"))
        #expect(result.documentsCopied == 40)
        #expect(!result.problems.isEmpty)
        let copy = try Database.forTest(at: directory.path("copy"))
        defer { copy.close() }
        #expect(try copy.verify().isEmpty)
    }

    @Test func `a salvage that is interrupted leaves no database, and can be run again`() throws {
        let directory = try TestDirectory("salvage-again")
        try directory.makeDatabase("app.divan", documents: 40)
        let (source, target) = (directory.url("app.divan"), directory.url("copy"))
        struct Enough: Error {}
        #expect(throws: Enough.self) {
            try Database.salvage(from: source, to: target) { _ in throw Enough() }
        }
        #expect(!FileManager.default.fileExists(atPath: directory.path("copy")))
        // What a kill leaves: data that no manifest names.
        try FileManager.default.createDirectory(
            at: directory.url("copy/data-1"), withIntermediateDirectories: true)
        try Data().write(to: directory.url("copy/data-1/place"))
        try Data("half".utf8).write(to: directory.url("copy/data-1/\(TestEngine.mainFile)"))
        try Data().write(to: directory.url("copy/lock"))
        #expect(try Database.salvage(from: source, to: target).documentsCopied == 40)
        let copy = try Database.forTest(at: directory.path("copy"))
        defer { copy.close() }
        #expect(try copy.verify().isEmpty)
        #expect(try copy.localDocument("local")?["n"] == 1)
        #expect(code { try Database.salvage(from: source, to: target) } == .databaseExists)
    }

    @Test func `what cannot be opened at all is refused and leaves nothing behind`() throws {
        let directory = try TestDirectory("salvage-garbage")
        try directory.makeDatabase("app.divan")
        try Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
            .write(to: directory.url("app.divan/data-1/\(TestEngine.mainFile)"))
        #expect(throws: DatabaseError.self) {
            try Database.salvage(from: directory.url("app.divan"), to: directory.url("copy"))
        }
        #expect(!FileManager.default.fileExists(atPath: directory.path("copy")))
    }
}

extension TestDirectory {
    /// Changes the byte in the middle of a text wherever a file has it; it must have it.
    func damage(_ name: String, at text: String) throws {
        var data = try Data(contentsOf: url(name))
        let needle = Array(text.utf8)
        let bytes = Array(data)
        var found = false
        for start in bytes.indices.dropLast(needle.count)
        where bytes[start] == needle[0] && bytes[start..<start + needle.count].elementsEqual(needle)
        {
            // The byte after it belongs to the same value.
            data[data.startIndex + start + needle.count] ^= 1
            found = true
        }
        guard found else { throw TestChild.Failure(description: "\(text) is not in \(name).") }
        try data.write(to: url(name))
    }
}
