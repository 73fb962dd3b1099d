// SPDX-License-Identifier: Apache-2.0

import Divan
import FoundationEssentials
import Synchronization

/// Contents that the tests of attachments use, with their digests.
enum Sample {
    static let hello = Array("hello".utf8)
    static let helloDigest = "sha1-qvTGHdzF6KLavt4PO0gs2a6pQ00="
    static let helloMD5 = "md5-XUFAKrxLKna5cZ2REBfFkg=="
    static let helloFile = "aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d"
    /// "hello" as gzip.
    static let helloGzip: [UInt8] = [
        31, 139, 8, 0, 0, 0, 0, 0, 0, 255, 203, 72, 205, 201, 201, 7, 0, 134, 166, 16, 54, 5, 0, 0,
        0,
    ]

    static func bytes(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
        var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
        return (0..<count).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt8(truncatingIfNeeded: state >> 33)
        }
    }

    static func stub(
        _ digest: String = helloDigest, length: Int = 5, position: Int = 1
    ) -> JSONValue {
        [
            "content_type": "text/plain", "digest": .string(digest),
            "length": .integer(Int64(length)), "revpos": .integer(Int64(position)), "stub": true,
        ]
    }
}

/// A stream that makes its bytes as it goes, and may fail.
final class MadeStream: AttachmentReader {
    private let length: Int
    private let failure: (any Error & Sendable)?
    private let position = Mutex(0)

    init(length: Int, failure: (any Error & Sendable)? = nil) {
        self.length = length
        self.failure = failure
    }

    func read(upTo count: Int) throws -> [UInt8] {
        try position.withLock { position in
            let step = min(count, length - position)
            if step == 0, let failure { throw failure }
            defer { position += step }
            return (position..<position + step).map { Self.byte(at: $0) }
        }
    }

    static func byte(at position: Int) -> UInt8 { UInt8(truncatingIfNeeded: position &* 31 >> 3) }
}

extension AttachmentReader {
    /// All that is left.
    func readAll(by count: Int = 1_000) throws -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            let piece = try read(upTo: count)
            if piece.isEmpty { return bytes }
            bytes += piece
        }
    }
}

extension Database {
    /// Saves a new document with attachments of bytes.
    @discardableResult
    func create(
        _ id: DocumentID, _ properties: JSONObject = [:], attachments: [String: [UInt8]]
    ) throws -> Document {
        let document = MutableDocument(properties, id: id)
        for (name, bytes) in attachments {
            document.setAttachment(named: name, contentType: "text/plain", .bytes(bytes))
        }
        return try save(document).document
    }

    /// The files with attachments' content, sorted.
    func attachmentFiles() throws -> [String] {
        try names(in: path + "/data-1/attachments").filter { $0 != "tmp" }
    }

    /// What lies in the folder for temporary files.
    func temporaryFiles() throws -> [String] { try names(in: path + "/data-1/attachments/tmp") }

    private func names(in folder: String) throws -> [String] {
        guard FileManager.default.fileExists(atPath: folder) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    }

    /// The rows of `attachmentReferences`, as `inspect` shows them.
    func references() throws -> [String] {
        var rows: [String] = []
        try inspect(store: "attachmentReferences") { rows.append($0.key) }
        return rows
    }
}
