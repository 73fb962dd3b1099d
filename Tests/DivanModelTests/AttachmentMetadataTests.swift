// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import DivanModel
import Testing

@Suite struct AttachmentMetadataTests {
    private let stub: JSONObject = [
        "content_type": "text/plain", "digest": "sha1-qvTGHdzF6KLavt4PO0gs2a6pQ00=", "length": 5,
        "revpos": 1, "stub": true,
    ]

    @Test func `a stub is read`() throws {
        let metadata = try AttachmentMetadata(stub)
        #expect(metadata.contentType == "text/plain")
        #expect(metadata.digest == "sha1-qvTGHdzF6KLavt4PO0gs2a6pQ00=")
        #expect(metadata.length == 5)
        #expect(metadata.revisionPosition == 1)
        #expect(metadata.encoding == nil)
    }

    @Test func `a stub comes back with all that it had, known or not`() throws {
        var full = stub
        full["encoding"] = "gzip"
        full["encoded_length"] = 25
        full["x-camera"] = ["lens": 35]
        #expect(try AttachmentMetadata(full).stub == full)
        #expect(try AttachmentMetadata(stub).stub == stub)
    }

    @Test func `content that comes along is no part of the metadata`() throws {
        var inline = stub
        inline["stub"] = nil
        inline["data"] = "aGVsbG8="
        #expect(try AttachmentMetadata(inline).stub == stub)
    }

    @Test(
        arguments: [("digest", nil), ("length", -1), ("revpos", "1"), ("content_type", 7)]
            as [(String, JSONValue?)])
    func `a missing or wrong property is named`(property: String, value: JSONValue?) {
        var broken = stub
        broken[property] = value
        #expect(throws: AttachmentMetadata.Failure(property: property)) {
            try AttachmentMetadata(broken)
        }
    }
}
