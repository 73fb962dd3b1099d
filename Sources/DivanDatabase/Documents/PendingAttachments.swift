// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanModel

/// What an edit does to the attachments of a document, besides the stubs in its body.
struct PendingAttachments {
    /// Content to add, by name; it takes the place of a stub.
    var contents: NameMap<PendingAttachment> = [:]
    /// Stubs to leave out.
    var removed: NameSet = []
    /// Blobs in the body whose content is in no database yet, or in one that may be another.
    private(set) var blobs: [Blob] = []
    /// The content of the latter, by digest; it is copied where it is not there.
    private var transfers: NameMap<PendingAttachment> = [:]
    /// Whether an empty `_attachments` is stored, as the body had one.
    var keepsEmpty = false

    /// Whether the stub of a name is left out, or has other content in its place.
    func replacesStub(_ name: String) -> Bool {
        removed.contains(name) || contents[name] != nil
    }

    /// Adds blobs, each once, with what brings their content.
    mutating func add(_ more: [Blob]) {
        for blob in more where !blobs.contains(where: { $0.isSame(as: blob) }) {
            blobs.append(blob)
            if transfers[blob.digest] == nil { transfers[blob.digest] = blob.transfer }
        }
    }

    /// Does what a later edit does, too.
    mutating func add(later: PendingAttachments) {
        for name in later.removed { contents[name] = nil }
        removed.formUnion(later.removed)
        for (name, content) in later.contents {
            contents[name] = content
            removed.remove(name)
        }
        add(later.blobs)
    }

    /// Adds the blobs of another edit.
    mutating func addBlobs(of other: PendingAttachments) { add(other.blobs) }

    /// What brings the content of a blob into a store; nil when it is there, or when nothing does.
    ///
    /// - Throws: As `AttachmentStore.length(of:)`.
    func content(of blob: Blob, for store: AttachmentStore) throws -> PendingAttachment? {
        if let pending = blob.pending { return pending }
        let isGiven = blobs.contains {
            $0.pending != nil && $0.digest.hasSameBytes(as: blob.digest)
        }
        return try !isGiven && blob.isLacking(in: store) ? transfers[blob.digest] : nil
    }

    /// What brings contents that the body of a stored revision names, by digest, and a store lacks.
    ///
    /// - Throws: As `AttachmentStore.length(of:)`.
    func missing(from store: AttachmentStore, namedBy body: PackedValue) throws -> [(
        digest: String, pending: PendingAttachment
    )] {
        var missing: [(digest: String, pending: PendingAttachment)] = []
        let stubs = body["_attachments"]
        for (name, pending) in contents {
            // What is kept coded has another digest than what it decodes to.
            guard let stub = stubs?[name], let digest = stub["digest"]?.string,
                (stub["encoding"] == nil) == !pending.content.isCoded
            else { continue }
            let key = AttachmentKey(ofStub: digest)
            let length = (stub["encoded_length"] ?? stub["length"])?.int64
            if try key.flatMap({ try store.length(of: $0) }).map(Int64.init) != length {
                missing.append((digest, pending))
            }
        }
        let named = NameSet(body.attachmentKeys.map(\.digest))
        for blob in blobs where named.contains(blob.digest) {
            let key = AttachmentKey(digest: blob.digest)
            if try key.flatMap({ try store.length(of: $0) }) != blob.length,
                let pending = try content(of: blob, for: store)
            {
                missing.append((blob.digest, pending))
            }
        }
        return missing
    }

    /// Without the blobs that are no longer in the body.
    func needed(by body: PackedValue) -> PendingAttachments {
        guard !blobs.isEmpty else { return self }
        let keys = NameSet(body.attachmentKeys.map(\.digest))
        var needed = self
        needed.blobs = blobs.filter { keys.contains($0.digest) }
        return needed
    }

    /// Brings all content into a store's temporary files, as far as it is not there.
    func stage(in store: AttachmentStore, for id: DocumentID) throws {
        for pending in contents.values { try pending.stage(in: store, for: id) }
        for blob in blobs { try content(of: blob, for: store)?.stage(in: store, for: id) }
    }
}

/// What counts of an entry of `_attachments` that comes with its content in place.
package enum InlineClaims: Sendable {
    /// All that it declares: content that has another length or digest is refused. It is how replications and imports
    /// know that content has arrived unaltered.
    case verified
    /// The content and its media type. An app that replaces the content of a document it has read leaves the old length
    /// and digest beside it, so CouchDB passes them over, and with them whatever else stands there.
    case passedOver
}
