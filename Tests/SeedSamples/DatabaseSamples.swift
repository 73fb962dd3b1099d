// SPDX-License-Identifier: Apache-2.0

import Divan
import FoundationEssentials
import Synchronization
import Testing

/// The samples of the reference of version 1.4: managers, databases, attachments.
@Suite struct DatabaseSamples {
    private let sample: Sample
    private var database: Database { sample.database }

    init() throws { sample = try Sample() }

    @Test func `the starter code makes a database and a document`() throws {
        let properties: JSONObject = ["title": "Couchbase Mobile", "sdk": "Swift"]
        let document = database.makeDocument()
        try document.putProperties(properties)
        #expect(document.property(forKey: "title") == "Couchbase Mobile")
        #expect(document.property(forKey: "sdk") == "Swift")
        #expect(try sample.manager.allDatabaseNames() == ["app"])
    }

    @Test func `a database opens with options, and without create only if it is there`() throws {
        var options = DatabaseOptions()
        options.create = false
        #expect(
            code { try sample.manager.openDatabase(named: "other", options: options) }
                == .databaseNotFound)
        options.create = true
        let other = try sample.manager.openDatabase(named: "other", options: options)
        #expect(other.storageEngineName == "sqlite")
        #expect(try sample.manager.database(named: "other") === other)
    }

    @Test func `a prebuilt database is installed at the first launch`() throws {
        let packaged = sample.manager.directory.appending(path: "packaged.divan")
        var options = DatabaseOptions()
        options.create = true
        let original = try Database.open(at: packaged, options: options)
        try original.save(MutableDocument(["n": 1], id: "a"))
        let uuid = original.publicUUID
        original.close()
        if !sample.manager.databaseExists(named: "catalogue") {
            try sample.manager.replaceDatabase(named: "catalogue", from: packaged)
        }
        let installed = try sample.manager.database(named: "catalogue")
        #expect(try installed.document(withID: "a")?.int(forKey: "n") == 1)
        #expect(installed.publicUUID != uuid)
    }

    @Test func `a database tells which documents changed, and in which revision`() async throws {
        let seen = Mutex<[DocumentChange]>([])
        let token = try database.addChangeListener { change in
            seen.withLock { $0 += change.changes }
        }
        defer { token.remove() }
        let saved = try database.save(MutableDocument(id: "a")).document
        await eventually { seen.withLock { $0.contains { $0.revisionID == saved.revisionID } } }
    }

    @Test func `deleting a database removes it`() throws {
        let directory = try sample.manager.database(named: "gone")
        try directory.delete()
        #expect(!sample.manager.databaseExists(named: "gone"))
        #expect(code { try directory.documentCount } == .databaseClosed)
    }

    @Test func `old revisions are pruned beyond the depth of trees`() throws {
        try database.save(MutableDocument(["n": 0], id: "a"))
        for number in 1...30 { try database.update("a") { $0["n"] = Fragment(number) } }
        #expect(try database.revisionBodyLimit == 20)
        let tree = try database.revisionTree(of: "a")
        #expect(tree?.nodes.filter { $0.sequence != nil }.count == 20)
        try database.compact()
        let document = try database.liveDocument(withID: "a")
        #expect(document.currentRevision?.propertiesAvailable == true)
        #expect(try document.currentRevision?.parentRevision?.propertiesAvailable == false)
    }

    // MARK: - Attachments

    private let photo = [UInt8]((0..<1_000).map { UInt8(truncatingIfNeeded: $0) })

    private func makeRobin() throws -> LiveDocument {
        let document = try database.liveDocument(withID: "Robin")
        try document.putProperties(["name": "Robin"])
        var revision = try #require(document.currentRevision?.makeRevision())
        revision.setAttachment(named: "photo.jpg", contentType: "image/jpeg", .bytes(photo))
        _ = try revision.save()
        return document
    }

    @Test func `an attachment is written with a revision and read from the current one`() throws {
        let document = try makeRobin()
        let revision = try #require(document.currentRevision)
        #expect(revision.attachmentNames == ["photo.jpg"])
        #expect(revision.attachments.count == 1)
        let attachment = try #require(revision.attachment(named: "photo.jpg"))
        #expect(attachment.contentType == "image/jpeg" && attachment.length == 1_000)
        #expect(try attachment.content() == photo)
        #expect(document["name"].string == "Robin")
    }

    @Test func `setting an attachment of the same name replaces it`() throws {
        let document = try makeRobin()
        var revision = try #require(document.currentRevision?.makeRevision())
        revision.setAttachment(named: "photo.jpg", contentType: "image/png", .bytes([1, 2]))
        let saved = try revision.save()
        #expect(saved.attachmentNames == ["photo.jpg"])
        #expect(try saved.attachment(named: "photo.jpg")?.content() == [1, 2])
        #expect(saved.attachment(named: "photo.jpg")?.contentType == "image/png")
    }

    @Test func `an attachment is removed by a revision without it`() throws {
        let document = try makeRobin()
        var revision = try #require(document.currentRevision?.makeRevision())
        revision.removeAttachment(named: "photo.jpg")
        #expect(try revision.save().attachmentNames.isEmpty)
        #expect(document.currentRevision?.attachment(named: "photo.jpg") == nil)
    }

    @Test func `the same content is one file, which goes after compaction when nobody needs it`()
        throws
    {
        let document = try makeRobin()
        let other = MutableDocument(id: "twin")
        other.setAttachment(named: "copy.jpg", contentType: "image/jpeg", .bytes(photo))
        try database.save(other)
        func files() throws -> Int {
            try FileManager.default
                .subpathsOfDirectory(atPath: sample.manager.directory.path(percentEncoded: false))
                .filter {
                    $0.contains("/attachments/") && $0.split(separator: "/").last?.count == 40
                }
                .count
        }
        #expect(try files() == 1)
        try document.delete()
        try database.compact()
        #expect(try files() == 1)
        try database.delete("twin")
        try database.compact()
        #expect(try files() == 0)
    }
}
