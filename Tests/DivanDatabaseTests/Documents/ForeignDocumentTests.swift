// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Testing

/// Documents that are read from one database and saved in another one.
@Suite struct ForeignDocumentTests {
    private let sandbox = Sandbox()
    private let source: Database
    private let target: Database

    init() throws {
        source = try sandbox.database("source")
        target = try sandbox.database("target")
        try source.save(MutableDocument(["n": 1], id: "x"))
    }

    @Test func `a document without edits is saved in another database`() throws {
        let copy = try source.existing("x").toMutable()
        let saved = try target.save(copy)
        #expect(try target.existing("x").properties == ["n": 1])
        #expect(try target.existing("x").revisionID == saved.document.revisionID)
        // It is the target's now.
        #expect(copy.revisionID == saved.document.revisionID && !copy.hasUnsavedChanges)
        #expect(try target.save(copy).document.revisionID == saved.document.revisionID)
    }

    @Test func `a document without edits takes the place of another one only if that is asked for`()
        throws
    {
        try target.save(MutableDocument(["n": 2], id: "x"))
        let copy = try source.existing("x").toMutable()
        #expect(throws: DatabaseError.self) { try target.save(copy, .failOnConflict) }
        #expect(try target.existing("x").properties == ["n": 2])
        try target.save(copy)
        #expect(try target.existing("x").properties == ["n": 1])
    }

    @Test func `a document without edits whose revision is there is not saved again`() throws {
        let document = try source.existing("x")
        source.close()
        let again = try sandbox.database("source")
        let saved = try again.save(document.toMutable())
        #expect(saved.document.revisionID == document.revisionID)
        #expect(try again.lastSequence == 1)
    }

    @Test func `attachments come along`() throws {
        let document = try source.existing("x").toMutable()
        document.setAttachment(named: "note", contentType: "text/plain", .bytes([4]))
        try source.save(document)
        try target.save(source.existing("x").toMutable())
        try source.purge("x")
        try source.compact()
        #expect(try target.existing("x").attachment(named: "note")?.content() == [4])
    }
}
