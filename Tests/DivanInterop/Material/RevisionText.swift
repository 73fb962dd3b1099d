// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import DivanTestSupport

/// One revision as JSON text, as a replication sends it. It is text, since some of what is tried has no other form.
///
/// ```swift
/// let text = RevisionText("a", ["2-b", "1-a"], #""n": 1e5"#).text
/// ```
struct RevisionText {
    struct Attachment {
        var name: String
        var type: String
        var content: [UInt8]
        var position: Int?
    }

    var id: String
    /// Its ID and those of its ancestors, from the newest to the oldest.
    var history: [String]
    /// Its properties, as they stand between braces.
    var properties: String
    var isDeleted = false
    var attachments: [Attachment] = []

    init(_ id: String, _ history: [String], _ properties: String = "") {
        self.id = id
        self.history = history
        self.properties = properties
    }

    /// A document with one revision.
    init(_ id: String, _ properties: String = "") {
        self.init(id, [Self.revision(1, id)], properties)
    }

    /// A document with one revision and attachments.
    init(_ id: String, _ attachments: [Attachment]) {
        self.init(id, #""has": "attachments""#)
        self.attachments = attachments.map { attachment in
            var attachment = attachment
            attachment.position = attachment.position ?? 1
            return attachment
        }
    }

    var text: String {
        let parts = history.map { $0.split(separator: "-", maxSplits: 1).map(String.init) }
        let ids = parts.map { Self.quoted($0[1]) }.joined(separator: ",")
        var fields = [
            "\"_id\":\(Self.quoted(id))", "\"_rev\":\(Self.quoted(history[0]))",
            "\"_revisions\":{\"start\":\(parts[0][0]),\"ids\":[\(ids)]}",
        ]
        if isDeleted { fields.append("\"_deleted\":true") }
        if !attachments.isEmpty {
            let texts = attachments.map { attachment in
                let position = attachment.position.map { ",\"revpos\":\($0)" } ?? ""
                return "\(Self.quoted(attachment.name)):{\"content_type\":"
                    + "\(Self.quoted(attachment.type)),\"data\":"
                    + "\"\(Base64.encode(attachment.content))\"\(position)}"
            }
            fields.append("\"_attachments\":{\(texts.joined(separator: ","))}")
        }
        if !properties.isEmpty { fields.append(properties) }
        return "{\(fields.joined(separator: ","))}"
    }

    /// A revision ID of 32 hexadecimal digits that words decide.
    static func revision(_ generation: Int, _ words: String...) -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in words.joined(separator: "\0").utf8 {
            hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3
        }
        var random = SeededRandom(seed: hash, UInt64(generation))
        let digits = (0..<32).map { _ in String(random.below(16), radix: 16) }
        return "\(generation)-\(digits.joined())"
    }

    /// Revision IDs of a generation and those before it, from the newest to the oldest.
    static func history(_ from: Int, downTo last: Int = 1, _ branch: String) -> [String] {
        stride(from: from, through: last, by: -1).map { revision($0, branch) }
    }

    static func quoted(_ text: String) -> String { JSONWriter.string(.string(text)) }
}

extension SeededRandom {
    /// Bytes without order, which cannot be compressed.
    mutating func bytes(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + 8)
        while bytes.count < count {
            withUnsafeBytes(of: next()) { bytes.append(contentsOf: $0) }
        }
        return Array(bytes.prefix(count))
    }
}
