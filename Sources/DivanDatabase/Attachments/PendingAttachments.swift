// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanModel

/// What an edit does to the attachments of a document, besides the stubs in its body.
struct PendingAttachments {
    /// Content to add, by name; it takes the place of a stub.
    var contents: [String: PendingAttachment] = [:]
    /// Stubs to leave out.
    var removed: Set<String> = []
    /// The content of blobs in the body.
    var blobs: [Blob] = []
    /// Whether an empty `_attachments` is stored, as the body had one.
    var keepsEmpty = false

    /// Without the blobs that are no longer in the body.
    func needed(by body: PackedValue) -> PendingAttachments {
        guard !blobs.isEmpty else { return self }
        let keys = Set(body.attachmentKeys.map(\.digest))
        var needed = self
        needed.blobs = blobs.filter { keys.contains($0.digest) }
        return needed
    }

    /// Brings all content into a store's temporary files, as far as it is not there.
    func stage(in store: AttachmentStore, for id: String) throws {
        for pending in contents.values { _ = try pending.stage(in: store, for: id) }
        for blob in blobs { _ = try blob.pending?.stage(in: store, for: id) }
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
    /// `following` is content that comes apart, by name.
    ///
    /// - Throws: `.invalidDocument` when an entry is none of these.
    init(
        given body: PackedValue, isDeleted: Bool, following: [String: AttachmentContent] = [:],
        id: DocumentID
    ) throws {
        self.init(body: body, isDeleted: isDeleted)
        let given = body["_attachments"]
        guard given != nil || !following.isEmpty else { return }
        var entries: JSONObject = [:]
        if let given {
            guard case .object(let object) = given.jsonValue() else {
                throw DatabaseError.attachmentsMalformed(id.text)
            }
            entries = object
        }
        var pending = PendingAttachments()
        pending.keepsEmpty = given != nil
        var stubs: JSONObject = [:]
        for (name, value) in entries {
            guard case .object(let entry) = value else {
                throw DatabaseError.attachmentsMalformed(id.text)
            }
            guard let content = try Self.content(entry, name, following[name], id.text) else {
                stubs[name] = value
                continue
            }
            pending.contents[name] = PendingAttachment(
                content, contentType: entry["content_type"]?.string,
                label: DatabaseError.label(ofAttachment: name), given: entry)
        }
        for (name, content) in following where entries[name] == nil {
            pending.contents[name] = PendingAttachment(
                content, contentType: nil, label: DatabaseError.label(ofAttachment: name))
        }
        self.pending = pending
        if !pending.contents.isEmpty {
            self.body = body.replacing(["_attachments": .object(stubs)])
        }
    }

    /// The content of an entry, inline or following, with what it declares; nil for a stub.
    private static func content(
        _ entry: JSONObject, _ name: String, _ following: AttachmentContent?, _ id: String
    ) throws -> AttachmentContent? {
        var content: AttachmentContent
        if let data = entry["data"] {
            guard let text = data.string, let bytes = Base64.decode(text) else {
                throw DatabaseError.attachmentMalformed(name, id, "has data that is not base64")
            }
            content = .bytes(bytes)
        } else if let following {
            content = following
        } else {
            return nil
        }
        let length = try declaredLength("length", entry, name, id)
        guard let encoding = entry["encoding"] else {
            return content.expecting(length: length, digest: entry["digest"]?.string)
        }
        guard encoding.string == AttachmentEncoding.gzip else {
            throw DatabaseError.attachmentMalformed(name, id, "has an encoding other than gzip")
        }
        content = content.gzipped(decodedLength: length)
        return content.expecting(
            length: try declaredLength("encoded_length", entry, name, id),
            digest: entry["digest"]?.string)
    }

    private static func declaredLength(
        _ key: String, _ entry: JSONObject, _ name: String, _ id: String
    ) throws -> Int? {
        guard let value = entry[key] else { return nil }
        guard let length = value.int64, length >= 0 else {
            throw DatabaseError.attachmentMalformed(name, id, "has a '\(key)' that is no length")
        }
        return Int(length)
    }
}
