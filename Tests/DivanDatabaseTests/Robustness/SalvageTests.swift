// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestChild
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
        try directory.damage("app.divan/data-1/main.sqlite3", at: "document-17 ")
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

    @Test func `damaged counters do not keep documents from being copied`() throws {
        let directory = try TestDirectory("salvage-counters")
        try directory.makeDatabase("app.divan", documents: 40)
        try directory.damage("app.divan/data-1/main.sqlite3", at: "state")
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

    @Test func `what cannot be opened at all is refused and leaves nothing behind`() throws {
        let directory = try TestDirectory("salvage-garbage")
        try directory.makeDatabase("app.divan")
        try Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
            .write(to: directory.url("app.divan/data-1/main.sqlite3"))
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
