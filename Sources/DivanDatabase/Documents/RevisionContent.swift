// SPDX-License-Identifier: Apache-2.0

package import DivanJSON
package import DivanModel

/// What an edit stores: checked before the first write.
package struct RevisionContent {
    /// The packed body.
    package var body: PackedValue
    var isDeleted: Bool
    /// Attachments and blobs that the edit adds or removes; nil for most.
    var pending: PendingAttachments?
    /// The contents that the body refers to, once `WriteContext.resolve` has found them.
    var references: [AttachmentReference] = []
    /// The store of the database that the body was read from, by number; 0 for none. What the body refers to is copied
    /// from there, where that is another database.
    var origin: UInt32 = 0
    /// Whether a stub may only stand for content that a stored revision of the same document has.
    var isLimitedToOwnContents = false

    /// An edit that adds and removes no attachment.
    package init(body: PackedValue, isDeleted: Bool) {
        self.init(body: body, isDeleted: isDeleted, pending: nil)
    }

    init(body: PackedValue, isDeleted: Bool, pending: PendingAttachments?) {
        self.body = body
        self.isDeleted = isDeleted
        self.pending = pending
    }
}

extension RevisionContent {
    /// A body as REST and replication give it: with stubs, and with content inline.
    ///
    ///     "_attachments": {
    ///         "a": {"stub": true, "digest": "sha1-…", "length": 5, "revpos": 1},
    ///         "b": {"data": "aGVsbG8=", "content_type": "text/plain"},
    ///         "c": {"follows": true, "length": 5}                  content in `following`
    ///     }
    ///
    /// `following` is content that comes apart, by name; what is declared of it always counts.
    ///
    /// - Throws: `.invalidDocument` when an entry is none of these.
    package init(
        given body: PackedValue, isDeleted: Bool,
        following: NameMap<AttachmentContent> = [:], claims: InlineClaims, id: DocumentID
    ) throws {
        self.init(body: body, isDeleted: isDeleted)
        let given = body["_attachments"]
        guard given != nil || !following.isEmpty else { return }
        guard given?.isObject ?? true else { throw DatabaseError.attachmentsMalformed(id) }
        var pending = PendingAttachments()
        pending.keepsEmpty = given != nil
        var stubs: JSONObject = [:]
        try given?.forEachProperty { name, value in
            guard let entry = Self.entry(value) else {
                throw DatabaseError.attachmentsMalformed(id)
            }
            guard
                let (content, given) = try Self.content(
                    entry, value["data"], name, following[name], claims, id)
            else { return stubs[name] = .object(entry) }
            pending.contents[name] = PendingAttachment(
                content, contentType: entry["content_type"]?.string,
                label: DatabaseError.label(ofAttachment: name), given: given)
        }
        for (name, content) in following
        where stubs[name] == nil && pending.contents[name] == nil {
            pending.contents[name] = PendingAttachment(
                content, contentType: nil, label: DatabaseError.label(ofAttachment: name))
        }
        self.pending = pending
        if !pending.contents.isEmpty {
            self.body = body.replacing(["_attachments": .object(stubs)])
        }
    }

    /// An entry without the content that stands in it, of which no value is made; nil for what is no object.
    private static func entry(_ value: PackedValue) -> JSONObject? {
        guard value.isObject else { return nil }
        var entry: JSONObject = [:]
        value.forEachProperty { key, value in
            if !key.hasSameBytes(as: "data") { entry[key] = value.jsonValue() }
        }
        return entry
    }

    /// The content of an entry, inline or following, and what else counts of the entry; nil for a stub.
    private static func content(
        _ entry: JSONObject, _ data: PackedValue?, _ name: String,
        _ following: AttachmentContent?, _ claims: InlineClaims, _ id: DocumentID
    ) throws -> (AttachmentContent, JSONObject)? {
        if let following, data == nil || entry["follows"]?.bool == true {
            return (try declared(following, entry, name, id), entry)
        }
        guard let data else { return nil }
        guard let bytes = data.base64Bytes else {
            throw DatabaseError.attachmentData(name, id)
        }
        switch claims {
        case .verified: return (try declared(.bytes(bytes), entry, name, id), entry)
        case .passedOver:
            let position = entry["revpos"].map { ["revpos": $0] as JSONObject } ?? [:]
            return (isCoded(bytes, entry) ? .bytes(bytes).gzipped() : .bytes(bytes), position)
        }
    }

    /// Whether content in place is coded as its entry says, and not plain content beside an old entry.
    private static func isCoded(_ bytes: [UInt8], _ entry: JSONObject) -> Bool {
        guard entry["encoding"]?.string == AttachmentEncoding.gzip else { return false }
        let length = entry["encoded_length"]
        return bytes.starts(with: [0x1F, 0x8B])
            && (length == nil || length?.int64 == Int64(bytes.count))
    }

    /// Content that must be as its entry declares.
    private static func declared(
        _ content: AttachmentContent, _ entry: JSONObject, _ name: String, _ id: DocumentID
    ) throws -> AttachmentContent {
        let length = try declaredLength("length", entry, name, id)
        guard let encoding = entry["encoding"] else {
            return content.expecting(length: length, digest: entry["digest"]?.string)
        }
        guard encoding.string == AttachmentEncoding.gzip else {
            throw DatabaseError.attachmentMalformed(name, id, "has an encoding other than gzip")
        }
        return content.gzipped(decodedLength: length).expecting(
            length: try declaredLength("encoded_length", entry, name, id),
            digest: entry["digest"]?.string)
    }

    private static func declaredLength(
        _ key: String, _ entry: JSONObject, _ name: String, _ id: DocumentID
    ) throws -> Int? {
        guard let value = entry[key] else { return nil }
        guard let length = value.int64, length >= 0 else {
            throw DatabaseError.attachmentMalformed(name, id, "has a '\(key)' that is no length")
        }
        return Int(clamping: length)
    }
}
