// SPDX-License-Identifier: Apache-2.0

import DivanDatabase
import DivanMaintenance
import DivanModel
import FoundationEssentials
import Testing

/// URLs that name nothing of this machine, where a file or a directory is wanted.
@Suite struct ForeignURLTests {
    private let sandbox = Sandbox()

    /// The URL of a directory that is there, but for its scheme.
    private func foreign(_ name: String) throws -> URL {
        let path = sandbox.url(name).path(percentEncoded: false)
        return try #require(URL(string: "https://ann:secret@example.com" + path))
    }

    @Test func `a URL of another scheme is no database, backup or attachment`() throws {
        let database = try sandbox.database()
        try database.create("a")
        var options = DatabaseOptions()
        options.create = true
        let works: [() throws -> Void] = [
            { _ = try Database.open(at: try foreign("db"), options: options) },
            { _ = try Database.open(at: try foreign("new"), options: options) },
            { _ = try Manager(directory: try foreign("folder")) },
            { try database.backup(to: try foreign("backup")) },
            { _ = try Database.salvage(from: sandbox.url(), to: try foreign("salvaged")) },
            { try Database.convert(at: try foreign("db"), to: EngineConversionTests.other) },
            { _ = try Blob(contentType: nil, file: try foreign("db/manifest")) },
            {
                let document = MutableDocument(id: "b")
                document.setAttachment(
                    named: "x", contentType: "text/plain",
                    .file(try foreign("db/manifest")))
                try database.save(document)
            },
        ]
        let before = try FileManager.default.contentsOfDirectory(
            atPath: sandbox.folder.path(percentEncoded: false))
        for work in works {
            let error = #expect(throws: DatabaseError.self) { try work() }
            #expect(error?.code == .io)
            #expect(error?.message.contains("'https'") == true)
            #expect(error?.message.contains("secret") == false)
        }
        #expect(
            try FileManager.default.contentsOfDirectory(
                atPath: sandbox.folder.path(percentEncoded: false)) == before)
        #expect(try !database.contains("b"))
    }
}
