// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import FoundationEssentials
import Testing

/// Blobs and documents that are read from one database and saved in another one.
@Suite struct ForeignDocumentTests {
    struct Card: DocumentModel {
        var identity = ModelIdentity()
        var photo: Blob?
    }

    private let sandbox = Sandbox()
    private let source: Database
    private let target: Database

    init() throws {
        source = try sandbox.database("source")
        target = try sandbox.database("target")
        let document = MutableDocument(id: "x")
        document["photo"] = Blob(contentType: "image/png", Sample.hello)
        document["album"]["first"] = Blob(contentType: nil, [1, 2, 3])
        document.setAttachment(named: "note", contentType: nil, .bytes([4]))
        try source.save(document)
        try source.save(MutableDocument(["n": 1], id: "unedited"))
    }

    private var photo: Blob {
        get throws { try #require(try source.existing("x").blob(forKey: "photo")) }
    }

    /// The photo of a document of the target, which has the content of its own.
    private func expectPhoto(_ id: DocumentID) throws {
        try source.purge("x")
        try source.compact()
        try target.compact()
        let blob = try #require(try target.existing(id).blob(forKey: "photo"))
        #expect(try blob.content() == Sample.hello)
        try blob.verify()
        #expect(try target.problems() == [])
    }

    @Test func `a save copies the content of a blob of another database`() throws {
        let copy = MutableDocument(id: "y")
        copy["photo"] = try photo
        #expect(try copy.blob(forKey: "photo")?.content() == Sample.hello)
        try target.save(copy)
        try expectPhoto("y")
    }

    @Test func `in a batch the content is copied, too`() throws {
        let copy = MutableDocument(id: "y")
        copy["photo"] = try photo
        try target.inBatch { try target.save(copy) }
        try expectPhoto("y")
    }

    @Test(.enabled(if: TestEngine.isSQLite, "It encrypts, which SQLite alone can."))
    func `large content is copied in pieces, also between encrypted databases`() throws {
        let sealed = try sandbox.database("sealed") { $0.encryptionKey = .password("a") }
        defer { sealed.close() }
        let large = MutableDocument(id: "x")
        large["film"] = try Blob(contentType: nil, stream: MadeStream(length: 3_000_000))
        try sealed.save(large)
        let copy = MutableDocument(id: "y")
        copy["film"] = try sealed.existing("x").blob(forKey: "film")
        try target.save(copy)
        #expect(try target.existing("y").blob(forKey: "film")?.length == 3_000_000)
        try target.existing("y").blob(forKey: "film")?.verify()
        #expect(try target.problems() == [])
    }

    @Test func `values that hold blobs of another database bring their content`() throws {
        let stored = try source.existing("x")
        let copy = MutableDocument(id: "y")
        copy["photo"] = stored["photo"]
        copy["album"] = stored["album"]
        copy.set([stored["photo"]], forKey: "list")
        copy["deep"]["deeper"] = stored["album"]["first"]
        try target.save(copy)
        try expectPhoto("y")
        let saved = try target.existing("y")
        #expect(try saved["album"]["first"].blob?.content() == [1, 2, 3])
        #expect(try saved["list"][0].blob?.content() == Sample.hello)
        #expect(try saved["deep"]["deeper"].blob?.content() == [1, 2, 3])
    }

    @Test func `a model brings the content of its blob from another database`() throws {
        var card = Card(photo: try photo)
        try target.save(&card)
        try expectPhoto(card.id)
    }

    @Test func `a revision object keeps blobs that are set, of this database and of another one`()
        throws
    {
        try target.create("y")
        var revision = try target.liveDocument(withID: "y").makeRevision()
        revision.set(try photo, forKey: "photo")
        revision["new"] = Fragment(Blob(contentType: nil, [9]))
        #expect(try revision["new"].blob?.content() == [9])
        try revision.save()
        try expectPhoto("y")
        #expect(try target.existing("y").blob(forKey: "new")?.content() == [9])
    }

    @Test func `a document of another database brings its blobs when it is edited`() throws {
        let plain = MutableDocument(id: "y")
        plain["photo"] = try photo
        try source.save(plain)
        let edited = try source.existing("y").toMutable()
        edited["n"] = 1
        try target.save(edited)
        try source.purge("y")
        try expectPhoto("y")
    }

    @Test func `a blob is stored in another database before there is a document for it`() throws {
        let saved = try target.saveBlob(photo)
        #expect(try saved.content() == Sample.hello)
        source.close()
        #expect(try saved.content() == Sample.hello)
        #expect(target.blob(for: saved.properties) != nil)
    }

    @Test func `a blob whose content is gone is refused, and nothing is saved`() throws {
        let copy = MutableDocument(id: "y")
        let blob = try photo
        copy["photo"] = blob
        try source.purge("x")
        try source.compact()
        #expect(code { try target.save(copy) } == .attachmentNotFound)
        #expect(code { try target.inBatch { try target.save(copy) } } == .attachmentNotFound)
        #expect(code { try target.saveBlob(blob) } == .attachmentNotFound)
        #expect(try target.document(withID: "y") == nil)
        #expect(try target.temporaryFiles() == [])
        copy["photo"] = nil
        try target.save(copy)
        #expect(try target.problems() == [])
    }

    @Test func `a blob of a database that is closed is refused unless its content is here`() throws
    {
        let (copy, blob) = (MutableDocument(id: "y"), try photo)
        let plain = MutableDocument(id: "plain")
        plain["photo"] = blob
        try source.save(plain)
        let whole = try source.existing("plain").toMutable()
        copy["photo"] = blob
        source.close()
        #expect(code { try target.save(copy) } == .attachmentNotFound)
        whole["n"] = 1
        #expect(code { try target.save(whole) } == .attachmentNotFound)
        let own = MutableDocument(id: "own")
        own["photo"] = Blob(contentType: nil, Sample.hello)
        try target.save(own)
        try target.save(copy)
        #expect(try target.existing("y").blob(forKey: "photo")?.content() == Sample.hello)
        #expect(try target.problems() == [])
    }

    @Test func `an object of a blob that comes as JSON is kept without content`() throws {
        let stored = try source.existing("x")
        try target.save(MutableDocument(json: stored.toJSON(), id: "json"))
        try target.save(MutableDocument(stored.properties, id: "properties"))
        let held = try target.existing("json").toMutable()
        target.close()
        let again = try sandbox.database("target")
        defer { again.close() }
        // Read before the database was closed, it still carries what is known here.
        held["n"] = 1
        try again.save(held)
        #expect(try again.existing("json").blob(forKey: "photo")?.isContentAvailable == false)
        #expect(try again.existing("json").int(forKey: "n") == 1)
        #expect(try again.problems() == [])
    }

    @Test func `content that was altered on its way is refused`() throws {
        let copy = MutableDocument(id: "y")
        let blob = try photo
        copy["photo"] = blob
        guard let file = blob.fileURL else { return }
        try Data("hallo".utf8).write(to: file)
        #expect(code { try target.save(copy) } == .invalidDocument)
        #expect(try target.document(withID: "y") == nil)
    }

    @Test func `edits beside a blob that is not saved yet do not add it again and again`() throws {
        let document = MutableDocument(id: "y")
        document["album"]["first"] = Blob(contentType: nil, [7])
        for number in 0..<40 { document["album"]["n"] = Fragment(number) }
        try target.save(document)
        #expect(try target.existing("y")["album"]["first"].blob?.content() == [7])
    }

    @Test func `a message names a blob in the middle of a sentence`() throws {
        let properties: JSONObject = [
            "photo": ["@type": "blob", "digest": .string(Sample.helloDigest), "length": 5]
        ]
        try target.create("a", properties)
        let blob = try #require(try target.existing("a").blob(forKey: "photo"))
        let error = #expect(throws: DatabaseError.self) { try blob.content() }
        #expect(error?.message.hasPrefix("The content of a blob is not stored here") == true)
    }

    // MARK: - Documents without edits

    @Test func `a document without edits is saved in another database`() throws {
        let copy = try source.existing("unedited").toMutable()
        let saved = try target.save(copy)
        #expect(try target.existing("unedited").properties == ["n": 1])
        #expect(try target.existing("unedited").revisionID == saved.document.revisionID)
        // It is the target's now.
        #expect(copy.revisionID == saved.document.revisionID && !copy.hasUnsavedChanges)
        #expect(try target.save(copy).document.revisionID == saved.document.revisionID)
    }

    @Test func `a document without edits takes the place of another one only if that is asked for`()
        throws
    {
        try target.save(MutableDocument(["n": 2], id: "unedited"))
        let copy = try source.existing("unedited").toMutable()
        #expect(throws: DatabaseError.self) { try target.save(copy, .failOnConflict) }
        #expect(try target.existing("unedited").properties == ["n": 2])
        try target.save(copy)
        #expect(try target.existing("unedited").properties == ["n": 1])
    }

    @Test func `a document without edits whose revision is there is not saved again`() throws {
        let document = try source.existing("unedited")
        let sequence = try source.lastSequence
        source.close()
        let again = try sandbox.database("source")
        let saved = try again.save(document.toMutable())
        #expect(saved.document.revisionID == document.revisionID)
        #expect(try again.lastSequence == sequence)
    }

    @Test func `attachments come along`() throws {
        let document = try source.existing("unedited").toMutable()
        document.setAttachment(named: "note", contentType: "text/plain", .bytes([4]))
        try source.save(document)
        try target.save(source.existing("unedited").toMutable())
        try source.purge("unedited")
        try source.compact()
        #expect(try target.existing("unedited").attachment(named: "note")?.content() == [4])
    }
}
