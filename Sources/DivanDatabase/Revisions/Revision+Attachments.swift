// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanModel

extension SavedRevision {
    /// The names of the attachments, sorted.
    public var attachmentNames: [String] { contents.document.attachmentNames }

    /// The attachments, in the order of their names. Nothing of their content is read.
    public var attachments: [DocumentAttachment] { contents.document.attachments }

    /// The attachment of a name; nil when there is none. Nothing of its content is read.
    public func attachment(named name: String) -> DocumentAttachment? {
        contents.document.attachment(named: name)
    }
}

extension UnsavedRevision {
    /// Adds an attachment, or replaces the one of this name; it is stored when this is saved.
    ///
    /// ```swift
    /// var revision = document.makeRevision()
    /// revision.setAttachment(named: "photo.jpg", contentType: "image/jpeg", .file(url))
    /// try revision.save()
    /// ```
    ///
    /// As `MutableDocument.setAttachment`. A stream can be read once, so in `LiveDocument.update` it
    /// has to be made anew at each call of the closure.
    ///
    /// - Parameters:
    ///   - name: The name, unique within the document.
    ///   - contentType: The media type, such as `image/jpeg`; nil when it is not known.
    ///   - content: The bytes, the file or the stream.
    public mutating func setAttachment(
        named name: String, contentType: String?, _ content: AttachmentContent
    ) {
        var pending = pending ?? PendingAttachments()
        pending.contents[name] = PendingAttachment(
            content, contentType: contentType, label: DatabaseError.label(ofAttachment: name))
        pending.removed.remove(name)
        self.pending = pending
    }

    /// Leaves an attachment out; a missing one is fine. Earlier revisions keep it until compaction.
    public mutating func removeAttachment(named name: String) {
        var pending = pending ?? PendingAttachments()
        pending.contents[name] = nil
        pending.removed.insert(name)
        self.pending = pending
    }

    /// The names of the attachments as saving would store them, sorted.
    public var attachmentNames: [String] {
        let kept = (stored.stubs?.keys ?? []).filter { !hidesStored($0) }
        return (kept + (pending?.contents.map(\.key) ?? [])).sortedByName
    }

    /// The parent's attachment of a name; nil when it has none, or when that was left out or replaced.
    public func attachment(named name: String) -> DocumentAttachment? {
        guard !hidesStored(name), case .object(let stub)? = stored.stubs?[name]?.jsonValue() else {
            return nil
        }
        return DocumentAttachment(
            name, stub: stub, store: store, documentID: documentID, revision: parentRevisionID)
    }

    private func hidesStored(_ name: String) -> Bool { pending?.replacesStub(name) ?? false }
}
