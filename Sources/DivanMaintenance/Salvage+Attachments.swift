// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanModel
internal import DivanSystem

extension Salvage {
    /// Stores a revision in the copy, with the contents that it refers to.
    ///
    /// A content that is lost or damaged becomes a problem; the revision then comes without it.
    func add(_ id: DocumentID, _ history: RevisionHistory, _ content: RevisionContent) throws
        -> Bool
    {
        try copy.core.write { context in
            for key in content.body.attachmentKeys where contents.insert(key).inserted {
                try copyContent(key, of: id, context)
            }
            return try context.addExisting(id, history, content, allowsMissing: true)
        }
    }

    /// Opens a content; nil when it cannot be read.
    ///
    /// - Throws: `DatabaseError` with code `.io` when the process has no descriptor or memory left: then nothing is lost.
    private func open(_ key: AttachmentKey, of id: DocumentID) throws -> ContentFile? {
        do throws(SystemError) { return try source.attachments.open(key) } catch {
            if error.isShortage { throw DatabaseError.io(error) }
            add(DatabaseError.io(error).message, id)
            return nil
        }
    }

    private func copyContent(_ key: AttachmentKey, of id: DocumentID, _ context: WriteContext)
        throws
    {
        guard let file = try open(key, of: id) else {
            return add("The attachment \(key.fileName) of document '\(id)' is lost.", id)
        }
        let reader = FileReader(file, length: nil)
        let store = copy.core.attachments
        let writer = try KeyedWriter(key, in: store)
        // What cannot be read ends the content, whose digest is then another one.
        while let piece = attempt(id, { try reader.read(upTo: AttachmentStore.chunkSize) }),
            !piece.isEmpty
        {
            try writer.write(piece)
        }
        guard let staged = try writer.finish() else {
            return add("The attachment \(key.fileName) of document '\(id)' is damaged.", id)
        }
        try store.place(staged)
        context.hasPlacedAttachments = true
        result.attachmentsCopied += 1
    }
}
