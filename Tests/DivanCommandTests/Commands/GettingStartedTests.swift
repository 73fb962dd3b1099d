// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanListener
import DivanTestSupport
import Foundation
import Testing

/// The program in Examples/GettingStarted, as a user runs it.
@Suite(.timeLimit(.minutes(10))) struct GettingStartedTests {
    private let tool: TestTool

    init() throws { tool = try TestTool() }

    /// Starts the program with its output in a file.
    private func start(_ arguments: [String], _ file: String, input: ChildProcess.Stream = .null)
        throws -> ChildProcess
    {
        try tool.write("", to: file)
        let program = TestTool.executable.deletingLastPathComponent()
            .appendingPathComponent("DivanGettingStarted")
        return try ChildProcess(
            program.path, arguments, in: tool.directory.path, input: input,
            output: .file(tool.path(file)))
    }

    private func lines(of file: String) throws -> [String] {
        try tool.read(file).split(separator: "\n").map(String.init)
    }

    /// Whether a database has one document, and that says that it is done.
    private func isFinished(_ database: Database) throws -> Bool {
        var options = AllDocumentsOptions()
        options.includeDocuments = true
        return try database.allDocuments(options).map { $0.document?["done"].bool } == [true]
    }

    private func save(_ id: DocumentID, to database: Database) throws {
        try database.save(MutableDocument(["type": "note"], id: id))
    }

    private func open(_ name: String) throws -> Database {
        try Database.open(at: tool.directory.appendingPathComponent(name))
    }

    @Test
    func `the starter program stores a document, edits it and finds it, also in a second run`()
        throws
    {
        for run in 1...2 {
            #expect(try start(["here"], "out").wait() == 0)
            let lines = try lines(of: "out")
            #expect(lines.count == 5)
            #expect(lines[0].hasPrefix("Document ID :: "))
            #expect(lines[0].count > 30)
            #expect(lines[1] == "Learning Divan with Swift")
            #expect(lines[2].hasPrefix("Revision :: 2-"))
            #expect(lines[3] == "Lessons :: \(run), done :: \(run)")
            #expect(lines[4] == "Documents :: \(run)")
        }
    }

    @Test func `the starter program keeps its database in sync with a server's`() async throws {
        let manager = try Manager(directory: tool.directory.appendingPathComponent("server"))
        let there = try manager.database(named: "app")
        var options = ListenerOptions()
        options.access = .everybodyOnLoopback
        let listener = Listener(manager, options)
        try listener.start()
        defer {
            listener.stop()
            manager.close()
        }
        let input = Pipe()
        let address = "http://127.0.0.1:\(try #require(listener.port))/app"
        let program = try start(
            ["here", address], "out",
            input: .descriptor(input.fileHandleForReading.fileDescriptor))
        // The finished document has come over.
        try await eventually { try isFinished(there) }
        try save("from the server", to: there)
        let here = try open("here/app.divan")
        try await eventually { try here.contains("from the server") }
        here.close()
        // Return ends it.
        try input.fileHandleForWriting.write(contentsOf: Data("\n".utf8))
        #expect(program.wait() == 0)
        let lines = try lines(of: "out")
        #expect(lines.contains("In sync with \(address); press Return to end."))
        #expect(!lines.contains { $0.hasPrefix("Sync :: ") })
        #expect(lines.last == "Documents :: 2")
    }
}
