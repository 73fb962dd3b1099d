// SPDX-License-Identifier: Apache-2.0

@testable import DivanDatabase
@testable import DivanMaintenance
import DivanJSON
import DivanModel
import DivanTestChild
import FoundationEssentials
import Testing

/// What an interruption left in a directory goes when no process has the database open.
@Suite struct LeftoverTests {
    private let sandbox = Sandbox()
    private let whole = ["changes", "data-1", "lock", "manifest"]

    @Test func `opening removes other generations and unfinished files`() throws {
        try makeWithLeftovers()
        let database = try sandbox.database()
        #expect(try names() == whole)
        #expect(try database.contains("a"))
        #expect(try database.problems() == [])
    }

    @Test func `what an interrupted deletion left is no database that has lost its manifest`()
        throws
    {
        let directory = try TestDirectory("leftover-deleted")
        try directory.makeDatabase("app.divan", documents: 400)
        try FileManager.default.moveItem(
            atPath: directory.path("app.divan/manifest"),
            toPath: directory.path("app.divan/manifest.new-deleted"))
        let database = try Database.forTest(at: directory.path("app.divan"), create: true)
        #expect(try database.documentCount == 0)
        let names = try FileManager.default.contentsOfDirectory(
            atPath: directory.path("app.divan"))
        #expect(names.sorted() == whole)
        try database.delete()
        #expect(!FileManager.default.fileExists(atPath: directory.path("app.divan")))
    }

    @Test func `opening read-only removes nothing`() throws {
        try makeWithLeftovers()
        let before = try names()
        let database = try sandbox.database { $0.readOnly = true }
        #expect(try database.contains("a"))
        #expect(try names() == before)
    }

    @Test func `a generation is discarded unless the manifest names it`() throws {
        try makeWithLeftovers()
        let path = sandbox.url().path(percentEncoded: false)
        let installation = Installation(
            path: path, purpose: .replacement, transfer: .copying, progress: nil)
        // The rename was done and the directory could not be forced to the disk.
        installation.discard(1, isOccupied: true)
        #expect(try names().contains("data-1"))
        installation.discard(2, isOccupied: true)
        #expect(try !names().contains("data-2"))
        #expect(try sandbox.database().contains("a"))
    }

    @Test func `nothing is removed while another process has the database open`() async throws {
        try makeWithLeftovers()
        try await offPool { [self] in
            // The leftovers come while the child has it open, as in use by it.
            let child = try TestChild("serve", sandbox.url().path(percentEncoded: false))
            #expect(child.readLine() == "ready")
            #expect(try names() == whole)
            try leaveOver()
            let before = try names()
            let database = try sandbox.database()
            #expect(try names() == before)
            #expect(try child.ask("save b 1")?.hasPrefix("saved") == true)
            #expect(try database.existing("b")["n"].int == 1)
            database.close()
            #expect(try names() == before)
            #expect(try child.ask("close") == "closed")
            #expect(try sandbox.database().contains("b"))
            #expect(try names() == whole)
            #expect(child.finish() == 0)
        }
    }

    @Test func `nothing is removed while this process has the database open`() throws {
        let first = try sandbox.database()
        try leaveOver()
        let before = try names()
        let second = try sandbox.database { $0.readOnly = true }
        #expect(try names() == before)
        first.close()
        second.close()
        try sandbox.database().close()
        #expect(try names() == whole)
    }

    // MARK: - What is not Divan's

    /// Files of a person's, whose names a database's could have.
    private static let foreign = [
        "data-2026/measurements.csv", "data-1000000000000/x", "data-01/main.sqlite3",
        "data-7/main.py",
        "data-8/source/main.swift", "data-9/attachments/letter.pdf", "data-10/place",
        "data-final.csv", "data-3", "notes.new-1", "photos/a.jpg",
    ]

    private func putForeign() throws {
        for name in Self.foreign {
            let file = sandbox.url().appending(path: name)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(name.utf8).write(to: file)
        }
    }

    private func expectForeign(sourceLocation: SourceLocation = #_sourceLocation) {
        for name in Self.foreign {
            let content = try? Data(contentsOf: sandbox.url().appending(path: name))
            #expect(content == Data(name.utf8), sourceLocation: sourceLocation)
        }
    }

    @Test func `what is not Divan's stays when a database is made, opened, converted and deleted`()
        throws
    {
        try putForeign()
        let made = try sandbox.database()
        try made.create("a")
        made.close()
        expectForeign()
        try leaveOver()
        try sandbox.database().close()
        expectForeign()
        #expect(try !names().contains("data-0"))
        // Building the data anew takes a number that no folder has.
        try Database.convert(at: sandbox.url(), to: EngineConversionTests.other)
        let database = try sandbox.database()
        #expect(try database.contains("a"))
        expectForeign()
        try database.delete()
        expectForeign()
        let rest = Set(Self.foreign.map { String($0.prefix { $0 != "/" }) })
        #expect(try Set(names()) == rest)
        #expect(try sandbox.database().documentCount == 0)
        expectForeign()
    }

    @Test func `a backup does not go where other files are, and changes none of them`() throws {
        let database = try sandbox.database("other")
        try database.create("a")
        for name in ["data-2026/x", "data-final.csv", "notes.new-1"] {
            let target = sandbox.url("target-" + name.replacing("/", with: "-"))
            let file = target.appending(path: name)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data("x".utf8).write(to: file)
            let error = #expect(throws: DatabaseError.self) { try database.backup(to: target) }
            #expect(error?.code == .databaseExists)
            #expect(try Data(contentsOf: file) == Data("x".utf8))
        }
    }

    private func makeWithLeftovers() throws {
        let database = try sandbox.database()
        try database.create("a")
        database.close()
        try leaveOver()
    }

    private func leaveOver() throws {
        let root = sandbox.url()
        let manager = FileManager.default
        for name in ["data-0", "data-2"] {
            let folder = root.appending(path: name)
            try manager.createDirectory(at: folder, withIntermediateDirectories: false)
            try Data().write(to: folder.appending(path: "place"))
            try Data("x".utf8).write(to: folder.appending(path: "main.sqlite3"))
        }
        try Data("x".utf8).write(to: root.appending(path: "manifest.new-1"))
    }

    private func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(
            atPath: sandbox.url().path(percentEncoded: false)
        ).sorted()
    }
}
