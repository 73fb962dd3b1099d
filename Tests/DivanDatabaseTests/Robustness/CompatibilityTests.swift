// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestChild
import enum DivanTestSupport.TestFolder
import FoundationEssentials
import Testing

@testable import DivanDatabase

/// Databases that earlier releases wrote are read as they were, and written on.
///
/// Each format has a folder in Tests/Compatibility with a database and what it must answer. A folder that is added there
/// takes part by itself; the README there says how one is made.
@Suite struct CompatibilityTests {
    /// One of the folders.
    struct Golden: CustomTestStringConvertible, Sendable {
        static let folder = TestFolder.tests.appending(path: "Compatibility")
        static let all: [Golden] = {
            let folder = Golden.folder.path(percentEncoded: false)
            let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            return names.filter { $0.hasPrefix("format-") }.sorted().map(Golden.init)
        }()
        static let encrypted = all.filter { (try? $0.isEncrypted) ?? false }

        let name: String
        var testDescription: String { name }

        private var place: URL { Self.folder.appending(path: name) }
        var manifest: Manifest {
            get throws { try Manifest(at: place.appending(path: "app.divan")) }
        }
        var isEncrypted: Bool { get throws { try manifest.encryption != nil } }
        /// The format that it has once it was opened for writing.
        var upgradedFormat: Int {
            get throws { try manifest.isPartitioned ? 5 : isEncrypted ? 4 : 3 }
        }
        /// The ID of a document of the database, in a partition where it has these.
        func id(_ name: String) throws -> DocumentID {
            try manifest.isPartitioned ? DocumentID(partition: "a", name) : DocumentID(name)
        }
        var answers: [String] {
            get throws {
                try String(contentsOf: place.appending(path: "answers.txt"), encoding: .utf8)
                    .split(separator: "\n").map(String.init)
            }
        }

        /// Copies the database to where a test may write to it, and returns its path.
        func copy(to directory: TestDirectory) throws -> String {
            let path = directory.path("app.divan")
            try FileManager.default.copyItem(
                atPath: place.appending(path: "app.divan").path(percentEncoded: false), toPath: path
            )
            return path
        }

        func open(_ path: String, readOnly: Bool = false) throws -> Database {
            var options = DatabaseOptions()
            options.readOnly = readOnly
            if try isEncrypted { options.encryptionKey = try GoldenDatabase.key() }
            return try Database.open(at: URL(filePath: path), options: options)
        }

        func expectAnswers(of database: Database, sourceLocation: SourceLocation = #_sourceLocation)
            throws
        {
            let (now, then) = (try GoldenDatabase.answers(database), try answers)
            for (now, then) in zip(now, then) {
                #expect(now == then, sourceLocation: sourceLocation)
            }
            #expect(now.count == then.count, sourceLocation: sourceLocation)
        }
    }

    @Test func `every format has a database of it`() throws {
        let formats = try Golden.all.map { try $0.manifest.format }
        for format in 1...Manifest.currentFormat { #expect(formats.contains(format)) }
        for golden in Golden.all {
            #expect(golden.name.hasPrefix("format-\(try golden.manifest.format)"))
        }
    }

    @Test(arguments: Golden.all)
    func
        `a database of each format gives the answers it gave then, and stays of its format while it is read`(
            _ golden: Golden
        ) throws
    {
        let directory = try TestDirectory("compatibility")
        let path = try golden.copy(to: directory)
        let manifest = try Data(contentsOf: directory.url("app.divan/manifest"))
        let database = try golden.open(path, readOnly: true)
        #expect(database.isEncrypted == (try golden.isEncrypted))
        try golden.expectAnswers(of: database)
        database.close()
        #expect(try Data(contentsOf: directory.url("app.divan/manifest")) == manifest)
    }

    @Test(arguments: Golden.all)
    func `the first writer brings a database of each format to the newest, and writes on`(
        _ golden: Golden
    ) throws {
        let directory = try TestDirectory("compatibility")
        let path = try golden.copy(to: directory)
        let database = try golden.open(path)
        #expect(try Manifest(at: directory.url("app.divan")).format == golden.upgradedFormat)
        try golden.expectAnswers(of: database)
        // Written on, it stays sound, and sequences go on where they were.
        let last = try database.lastSequence
        let new = MutableDocument(["n": 1], id: try golden.id("new"))
        new.setAttachment(named: "a", contentType: nil, .bytes([1, 2, 3]))
        #expect(try database.save(new).document.sequence == last + 1)
        for n in 0..<40 {
            try database.update(golden.id("edited")) { $0["n"] = Fragment(100 + n) }
        }
        try database.update(golden.id("numbers")) { $0["more"] = true }
        try database.compact()
        #expect(try database.verify().isEmpty)
        let count = try database.documentCount
        database.close()
        // What was written is of the newest format in all its parts.
        let again = try golden.open(path, readOnly: true)
        defer { again.close() }
        #expect(try again.verify().isEmpty)
        #expect(try again.documentCount == count)
        #expect(try again.document(withID: golden.id("edited"))?["n"].int64 == 139)
        #expect(
            try again.document(withID: golden.id("new"))?.attachment(named: "a")?.content() == [
                1, 2, 3,
            ])
    }

    @Test(arguments: Golden.encrypted)
    func
        `an encrypted database of each format is opened by its key alone, also once it is upgraded`(
            _ golden: Golden
        ) throws
    {
        let directory = try TestDirectory("compatibility")
        let path = try golden.copy(to: directory)
        let other = try EncryptionKey(rawBytes: [UInt8](repeating: 1, count: 32))
        for isUpgraded in [false, true] {
            if isUpgraded { try golden.open(path).close() }
            for key in [nil, other] {
                for readOnly in [true, false] {
                    var options = DatabaseOptions()
                    options.encryptionKey = key
                    options.readOnly = readOnly
                    #expect(
                        code { try Database.open(at: URL(filePath: path), options: options) }
                            == .unauthorized)
                }
            }
        }
        try golden.expectAnswers(of: golden.open(path, readOnly: true))
    }

    @Test(arguments: Golden.all)
    func `a database of a later format is refused as such, and left as it is`(_ golden: Golden)
        throws
    {
        let directory = try TestDirectory("compatibility")
        let path = try golden.copy(to: directory)
        let format = try golden.manifest.format
        let later = Manifest.currentFormat + 1
        try rewriteManifest(at: directory.url("app.divan/manifest")) {
            $0.replacing("\"format\":\(format),", with: "\"format\":\(later),")
        }
        let manifest = try Data(contentsOf: directory.url("app.divan/manifest"))
        for readOnly in [true, false] {
            let error = #expect(throws: DatabaseError.self) {
                try golden.open(path, readOnly: readOnly)
            }
            #expect(error?.code == .unsupportedVersion)
            let message = error?.message ?? ""
            #expect(message.contains("format \(later)"))
            #expect(message.contains("up to \(Manifest.currentFormat)"))
            #expect(message.contains("newer release"))
        }
        #expect(try Data(contentsOf: directory.url("app.divan/manifest")) == manifest)
    }

    /// Changes the first line of a manifest, and lets its checksum be right.
    private func rewriteManifest(at url: URL, _ change: (String) -> String) throws {
        let lines = try String(contentsOf: url, encoding: .utf8).split(separator: "\n")
        let line = change(String(lines[0]))
        #expect(line != lines[0])
        try Data("\(line)\n\(ManifestChecksum.text(of: line))\n".utf8).write(to: url)
    }
}

extension Manifest {
    /// Reads the manifest of a database's directory.
    fileprivate init(at directory: URL) throws {
        let bytes = try Data(contentsOf: directory.appending(path: "manifest"))
        try self.init(Array(bytes), path: directory.path(percentEncoded: false))
    }
}
