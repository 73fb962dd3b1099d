// SPDX-License-Identifier: Apache-2.0

import Divan
import FoundationEssentials
import Testing

/// Blobs that are stored before there is a document for them.
@Suite struct SavedBlobTests {
    private let sandbox = Sandbox()

    @Test func `a saved blob is found by its properties, also after reopening`() async throws {
        let database = try sandbox.database()
        let blob = Blob(contentType: "image/png", [1, 2, 3])
        #expect(database.blob(for: blob.properties) == nil)
        let saved = try database.saveBlob(blob)
        #expect(saved == blob)
        #expect(try saved.content() == [1, 2, 3])
        database.close()
        let again = try sandbox.database()
        let found = try #require(again.blob(for: blob.properties))
        #expect(try found.content() == [1, 2, 3])
        #expect(found.contentType == "image/png")
        #expect(again.blob(for: ["digest": "nonsense"]) == nil)
        #expect(again.blob(for: [:]) == nil)
    }

    @Test func `a saved blob goes with compaction unless a document refers to it`() throws {
        let database = try sandbox.database()
        let kept = try database.saveBlob(Blob(contentType: nil, [1]))
        let lost = try database.saveBlob(Blob(contentType: nil, [2]))
        let document = MutableDocument(id: "a")
        document.set(kept, forKey: "blob")
        try database.save(document)
        #expect(try database.compact().attachmentsRemoved == 1)
        #expect(database.blob(for: kept.properties) != nil)
        #expect(database.blob(for: lost.properties) == nil)
        #expect(try database.existing("a").blob(forKey: "blob")?.content() == [1])
        #expect(try database.problems() == [])
    }

    @Test func `saving a blob in a batch that is undone harms nothing`() throws {
        let database = try sandbox.database()
        #expect(throws: Whim.self) {
            try database.inBatch {
                try database.saveBlob(Blob(contentType: nil, [1]))
                throw Whim()
            }
        }
        try database.compact()
        #expect(try database.problems() == [])
        var options = DatabaseOptions()
        options.readOnly = true
        database.close()
        let reader = try Database.open(at: sandbox.url(), options: options)
        #expect(code { try reader.saveBlob(Blob(contentType: nil, [1])) } == .readOnly)
    }
}
