// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestChild
import FoundationEssentials
import Testing

/// The directory of an open database goes away, or cannot be written.
@Suite struct VanishedDirectoryTests {
    @Test func `a database whose directory was deleted refuses to write`() throws {
        let directory = try TestDirectory("deleted")
        try directory.makeDatabase("app.divan")
        let database = try Database.forTest(at: directory.path("app.divan"))
        defer { database.close() }
        try FileManager.default.removeItem(atPath: directory.path("app.divan"))
        let error = #expect(throws: DatabaseError.self) {
            try database.save(MutableDocument(["n": 1]))
        }
        #expect(error?.code == .io)
        // Reading gives what was there or an error; it must not crash.
        _ = try? database.document(withID: "document-1")
        _ = try? database.verify()
        #expect(!FileManager.default.fileExists(atPath: directory.path("app.divan")))
    }

    @Test func `a database made anew in its place is another one`() throws {
        let directory = try TestDirectory("replaced")
        try directory.makeDatabase("app.divan")
        let old = try Database.forTest(at: directory.path("app.divan"))
        defer { old.close() }
        try FileManager.default.removeItem(atPath: directory.path("app.divan"))
        let new = try Database.forTest(at: directory.path("app.divan"), create: true)
        defer { new.close() }
        #expect(try new.documentCount == 0)
        #expect(throws: DatabaseError.self) { try old.save(MutableDocument(["n": 1], id: "old")) }
        try new.save(MutableDocument(["n": 1], id: "new"))
        #expect(try new.changes().changes.map(\.id) == ["new"])
        #expect(try new.verify().isEmpty)
    }

    @Test func `a directory that was moved away is not written either`() throws {
        let directory = try TestDirectory("moved")
        try directory.makeDatabase("app.divan")
        let database = try Database.forTest(at: directory.path("app.divan"))
        defer { database.close() }
        try FileManager.default.moveItem(
            atPath: directory.path("app.divan"), toPath: directory.path("other.divan"))
        // The files are still the same ones, so a write either reaches them or is refused.
        _ = try? database.save(MutableDocument(["n": 1], id: "moved"))
        let moved = try Database.forTest(at: directory.path("other.divan"))
        defer { moved.close() }
        #expect(try moved.verify().isEmpty)
    }

    @Test(.enabled(if: Mounting.isAllowed, "It has to mount a file system."))
    func `a read-only medium is read and not written`() throws {
        let directory = try TestDirectory("readonly")
        try directory.makeDatabase("medium/app.divan")
        let place = directory.path("medium")
        try #require(try Mounting.bindReadOnly(place))
        defer { Mounting.unmount(place) }
        let refusal = #expect(throws: DatabaseError.self) {
            try Database.forTest(at: directory.path("medium/app.divan"))
        }
        #expect(refusal?.code == .io)
        let database = try Database.forTest(
            at: directory.path("medium/app.divan"), readOnly: true)
        #expect(try database.documentCount == 20)
        #expect(try database.document(withID: "document-3").map(KnownBody.isWhole) == true)
        #expect(try database.verify().isEmpty)
        let error = #expect(throws: DatabaseError.self) {
            try database.save(MutableDocument(["n": 1]))
        }
        #expect(error?.code == .readOnly)
        database.close()
    }

    @Test func `a database opened read-only changes no byte of its directory`() throws {
        let directory = try TestDirectory("untouched")
        try directory.makeDatabase("app.divan")
        let before = try directory.bytes(of: "app.divan")
        let database = try Database.forTest(at: directory.path("app.divan"), readOnly: true)
        #expect(try database.documentCount == 20)
        for attempt in [
            { _ = try database.save(MutableDocument(["n": 1])) },
            { _ = try database.delete("document-1") },
            { _ = try database.compact() },
            { try database.delete() },
        ] {
            let error = #expect(throws: DatabaseError.self) { try attempt() }
            #expect(error?.code == .readOnly)
        }
        database.close()
        #expect(try directory.bytes(of: "app.divan") == before)
    }
}

extension TestDirectory {
    /// The bytes of every file below a path that has any, but for what tells of readers.
    func bytes(of name: String) throws -> [String: Data] {
        var bytes: [String: Data] = [:]
        for file in try FileManager.default.subpathsOfDirectory(atPath: path(name)) {
            let contents = FileManager.default.contents(atPath: path(name) + "/" + file)
            let isOfReaders = file.hasSuffix("-shm") || file.hasSuffix("-lock")
            if let contents, !contents.isEmpty, !isOfReaders { bytes[file] = contents }
        }
        return bytes
    }
}
