// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import FoundationEssentials
import Testing

/// Attachments and expiration of live documents.
@Suite struct RevisionAttachmentTests {
    private let sandbox = Sandbox()
    private let database: Database
    private let document: LiveDocument

    init() throws {
        database = try sandbox.database()
        document = try database["Robin"]
        try document.putProperties(["n": 1])
    }

    @Test func `an attachment is added, replaced and removed by an unsaved revision`() throws {
        var revision = document.makeRevision()
        revision.setAttachment(named: "a", contentType: "text/plain", .bytes([1, 2, 3]))
        revision.setAttachment(named: "b", contentType: nil, .bytes([4]))
        #expect(revision.attachmentNames == ["a", "b"])
        let first = try revision.save()
        #expect(first.attachmentNames == ["a", "b"] && first.attachments.count == 2)
        #expect(try first.attachment(named: "a")?.content() == [1, 2, 3])
        #expect(document.currentRevision?.attachment(named: "a")?.contentType == "text/plain")

        // A child has the same attachments; an edit of properties keeps them.
        try document.update { $0["n"] = 2 }
        #expect(try document.currentRevision?.attachment(named: "b")?.content() == [4])

        let next = try document.update { revision in
            #expect(revision.attachmentNames == ["a", "b"])
            revision.setAttachment(named: "a", contentType: nil, .bytes([9]))
            revision.removeAttachment(named: "b")
            #expect(revision.attachmentNames == ["a"])
            #expect(revision.attachment(named: "a") == nil)
        }
        #expect(next.attachmentNames == ["a"] && document["n"].int == 2)
        #expect(try next.attachment(named: "a")?.content() == [9])
        #expect(try first.attachment(named: "b")?.content() == [4])
        #expect(try database.problems() == [])
    }

    @Test func `properties carry the stubs and what they leave out is gone`() throws {
        try document.update { revision in
            revision.setAttachment(named: "a", contentType: nil, .bytes([1]))
            revision.setAttachment(named: "b", contentType: nil, .bytes([2]))
        }
        var properties = document.properties
        #expect(properties["_attachments"]?["a"]?["stub"] == true)
        try document.putProperties(properties)
        #expect(document.currentRevision?.attachmentNames == ["a", "b"])
        properties = document.properties
        guard case .object(var stubs)? = properties["_attachments"] else {
            Issue.record("no stubs")
            return
        }
        stubs["b"] = nil
        stubs["c"] = ["data": "AwQ=", "content_type": "x/y"]
        properties["_attachments"] = .object(stubs)
        let saved = try document.putProperties(properties)
        #expect(saved.attachmentNames == ["a", "c"])
        #expect(try saved.attachment(named: "c")?.content() == [3, 4])
        #expect(document.userProperties == ["n": 1])
        #expect(try database.problems() == [])
    }

    @Test func `a revision with attachments is saved off the calling task's thread`() async throws {
        var revision = document.makeRevision()
        revision.setAttachment(named: "a", contentType: nil, .bytes([1]))
        let edited = revision
        let saved = try edited.save()
        #expect(try saved.attachment(named: "a")?.content() == [1])
    }

    @Test func `a live document has an expiration date and is gone after it`() async throws {
        #expect(try document.expirationDate == nil)
        let later = Date(timeIntervalSince1970: 4_000_000_000)
        try document.setExpirationDate(later)
        #expect(try document.expirationDate == later)
        try document.setExpirationDate(nil)
        #expect(try document.expirationDate == nil && document.exists)
        try document.setExpirationDate(Date(timeIntervalSinceNow: -1))
        await eventually { !document.exists }
        #expect(document.properties == [:])
    }
}
