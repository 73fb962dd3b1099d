// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanModel
internal import Synchronization

extension MutableDocument {
    /// Adds an attachment, or replaces the one of this name; it is stored with the next save.
    ///
    /// ```swift
    /// note.setAttachment(named: "photo.jpg", contentType: "image/jpeg", .file(url))
    /// try database.save(note)                       // properties and attachments in one revision
    /// ```
    ///
    /// The content is read by the save, in pieces of 256 kB and before the save waits for other
    /// writers, unless that is part of a batch. The save refuses an empty name, one with NUL, and one that
    /// begins with an underscore, which other databases refuse; any other text will do, since a name is
    /// never a path.
    ///
    /// - Parameters:
    ///   - name: The name, unique within the document.
    ///   - contentType: The media type, such as `image/jpeg`; nil when it is not known.
    ///   - content: The bytes, the file or the stream.
    public func setAttachment(
        named name: String, contentType: String?, _ content: AttachmentContent
    ) {
        let pending = PendingAttachment(
            content, contentType: contentType, label: DatabaseError.label(ofAttachment: name))
        withState { state in
            state.pending = state.pending ?? PendingAttachments()
            state.pending?.contents[name] = pending
            state.pending?.removed.remove(name)
            state.noteEdit()
        }
    }

    /// Removes an attachment from the next revision; a missing one is fine.
    ///
    /// Earlier revisions keep it until they are compacted away.
    public func removeAttachment(named name: String) {
        withState { state in
            let isPending = state.pending?.contents.removeValue(forKey: name) != nil
            let isStored = state.properties.stubs?[name] != nil
            guard isPending || isStored else { return }
            if isStored {
                state.pending = state.pending ?? PendingAttachments()
                state.pending?.removed.insert(name)
            }
            state.noteEdit()
        }
    }

    /// The names of the attachments as the next save would store them, sorted.
    public var attachmentNames: [String] {
        withState { state in
            let stored = (state.properties.stubs?.keys ?? []).filter { !state.hidesStub($0) }
            return (stored + (state.pending?.contents.map(\.key) ?? [])).sortedByName
        }
    }

    /// The stored attachment of a name; nil when there is none, or when it was removed or replaced.
    public func attachment(named name: String) -> DocumentAttachment? {
        withState { state in
            guard !state.hidesStub(name),
                case .object(let stub)? = state.properties.stubs?[name]?.jsonValue()
            else { return nil }
            return DocumentAttachment(
                name, stub: stub, store: state.store, documentID: state.id, revision: state.base)
        }
    }

    /// Brings added content into a store's temporary files, so that a save need not do it as the writer.
    func stage(in store: AttachmentStore) throws {
        let (id, pending) = try withState { state in
            guard let pending = state.pending, !pending.blobs.isEmpty else {
                return (state.id, state.pending)
            }
            // A blob that is no longer in the document may be one whose content is gone.
            let body = try state.properties.pack(id: state.id)
            return (state.id, pending.needed(by: body))
        }
        try pending?.stage(in: store, for: id)
    }

    /// Whether there is content to stage.
    var hasPendingContent: Bool { withState { $0.pending != nil } }
}

extension MutableDocument.State {
    /// Keeps what brings the content of blobs that were set, until they are saved.
    mutating func addBlobs(_ blobs: [Blob]) {
        let blobs = blobs.filter(\.hasContent)
        guard !blobs.isEmpty else { return }
        pending = pending ?? PendingAttachments()
        pending?.add(blobs)
    }

    /// Whether the stub of a name was removed or replaced.
    func hidesStub(_ name: String) -> Bool { pending?.replacesStub(name) ?? false }
}
