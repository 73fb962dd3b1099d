// SPDX-License-Identifier: Apache-2.0

public import DivanDatabase

// Content of attachments that comes when it is wanted, and goes when it is not.
extension Replication {
    /// Brings the content of an attachment that is not here, from the other end.
    ///
    /// ```swift
    /// let pull = database.pull(from: url) { $0.downloadsAttachments = false }   // documents come without content
    /// // … when it has brought the note
    /// if let photo = note.attachment(named: "photo.jpg"), !photo.isContentAvailable {
    ///     try await pull.downloadAttachment(photo) { print($0.completed, "of", photo.length) }
    ///     show(try photo.content())
    /// }
    /// ```
    ///
    /// The content goes to the disk as it arrives, is compared with its length and digest, and is then there for
    /// all revisions that refer to it; each of their documents gets a new place in the changes feed, so that
    /// pushes that lacked it go on. A connection that breaks is taken up where it broke, as often as `retry`
    /// says without progress. Cancelling the task ends it at once and keeps nothing; so does throwing from
    /// `progress`. What is here already is not fetched.
    ///
    /// It needs no running replication, of either direction.
    ///
    /// - Parameters:
    ///   - attachment: An attachment of a document that was read from this replication's database.
    ///   - progress: Gets the bytes that have arrived and those in all, as they are stored: of coded content,
    ///     the coded bytes. What it throws ends the download.
    /// - Throws: `ReplicationError` with code `.notFound` when the other end does not have it, `.invalidAnswer`
    ///   when what came is another content, `.database` when the document was purged meanwhile or the database
    ///   closed (`underlying` tells), `.unreachable`, `.timeout`, `.server` and the others as a replication;
    ///   `CancellationError`; and what `progress` throws.
    public func downloadAttachment(
        _ attachment: DocumentAttachment, progress: (@Sendable (WorkProgress) throws -> Void)? = nil
    ) async throws {
        let wanted = try wanted(attachment)
        guard !attachment.isContentAvailable else { return }
        let download = AttachmentDownload(
            attachment: attachment, wanted: wanted, source: try attachmentSource(),
            database: database, policy: settings.retry, progress: progress)
        try await download.run()
    }

    /// Lets go of the content of an attachment, once the other end has shown that it has it.
    ///
    /// The document stays as it is, its attachment says that its content is not available, and
    /// `downloadAttachment(_:progress:)` brings it back. Nothing goes unless the other end has this very
    /// revision, with the same digest, and the content itself. What another document or a blob refers to, too,
    /// stays. Servers that store a text compressed on their own account cannot show that they have it.
    ///
    /// Cancelling the task while the other end is asked leaves the content here. Once its removal has begun, that
    /// is finished.
    ///
    /// - Parameter attachment: An attachment of a document that was read from this replication's database.
    /// - Returns: The bytes that went; 0 when the content was not here.
    /// - Throws: `ReplicationError` with code `.rejected` when the other end does not show that it has it, or
    ///   something else here refers to it; `.database` with `.databaseBusy` below while a backup is made; and
    ///   the others as a replication; `CancellationError`, with nothing removed.
    @discardableResult
    public func removeLocalContent(of attachment: DocumentAttachment) async throws -> Int {
        let wanted = try wanted(attachment)
        guard attachment.isContentAvailable else { return 0 }
        let database = database
        let source = try attachmentSource()
        do {
            let isThere = try await source.has(wanted) {
                try await database.background { try attachment.storedMD5() }
            }
            guard isThere else {
                throw ReplicationError(
                    .rejected,
                    "'\(source.name)' does not show that it has the attachment "
                        + "'\(wanted.name.bounded)' of '\(wanted.documentID)'; it stays here.",
                    documentID: wanted.documentID)
            }
            return try await database.release(attachment)
        } catch is CancellationError {
            throw CancellationError()
        } catch { throw ReplicationError(error) }
    }

    private func wanted(_ attachment: DocumentAttachment) throws -> WantedAttachment {
        guard attachment.isStored(in: database), let wanted = WantedAttachment(attachment) else {
            throw ReplicationError(
                .invalidSetting,
                "The attachment '\(attachment.name.bounded)' was not read from the database "
                    + "'\(database.name)', or that was closed since.")
        }
        return wanted
    }

    private func attachmentSource() throws -> any AttachmentSource {
        switch remote {
        case .database(let other): return LocalPeer(other)
        case .url(let url): return try RemotePeers.make(url, settings, for: database, isPush: false)
        }
    }
}
