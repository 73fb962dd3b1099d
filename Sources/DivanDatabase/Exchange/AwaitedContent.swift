// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
package import DivanModel
internal import DivanPlatform
internal import DivanSystem
internal import Synchronization

/// Takes the content of an attachment that is not here as it arrives, straight into a temporary file of its
/// database: only the piece is in memory.
///
/// ```swift
/// let content = try AwaitedContent(of: attachment, in: database)
/// while let piece = try await next() { try content.write(piece) }
/// try await content.supply(from: url)          // compared with its digest, then given to all that wait
/// ```
///
/// One that is dropped leaves nothing behind. State: the writer, guarded by the mutex.
package final class AwaitedContent: Sendable {
    private let database: Database
    private let attachment: DocumentAttachment
    private let writer: Mutex<KeyedWriter>

    /// Makes a temporary file.
    ///
    /// - Throws: `DatabaseError` with code `.databaseClosed`, `.readOnly`, `.storageFull` or `.io`, and
    ///   `.attachmentNotFound` when the attachment's digest is of a kind that is not known here.
    package init(of attachment: DocumentAttachment, in database: Database) throws {
        try database.checkWritable()
        guard let key = attachment.stored.key else {
            throw DatabaseError.attachmentUnknown(
                attachment.stored.label, attachment.stored.documentID ?? "")
        }
        self.database = database
        self.attachment = attachment
        writer = Mutex(try KeyedWriter(key, in: database.core.attachments))
    }

    /// The bytes so far.
    package var length: Int { writer.withLock { $0.length } }

    /// Appends a piece.
    ///
    /// - Throws: `DatabaseError` with code `.invalidDocument` when it is longer than the attachment says,
    ///   `.storageFull` or `.io`.
    package func write(_ piece: [UInt8]) throws {
        try database.checkOpen()
        try writer.withLock { writer in
            guard writer.length + piece.count <= attachment.storedLength else {
                throw DatabaseError.attachmentLength(
                    attachment.stored.label, attachment.stored.documentID ?? "", found: nil,
                    declared: attachment.storedLength)
            }
            try writer.write(piece)
        }
    }

    /// Compares the whole with its length and digest, and gives it to the revisions that wait for it.
    ///
    /// - Parameter source: The peer, without credentials: changes give it as their source.
    /// - Throws: `DatabaseError` with code `.invalidDocument` when it is another content,
    ///   `.documentNotFound` when no revision waits for it any more, `.storageFull`, `.io` or
    ///   `.databaseClosed`.
    package func supply(from source: String) async throws {
        let id = attachment.stored.documentID
        let staged = try await database.background { [self] in
            try writer.withLock { writer in
                let label = attachment.stored.label
                guard writer.length == attachment.storedLength else {
                    throw DatabaseError.attachmentLength(
                        label, id ?? "", found: writer.length, declared: attachment.storedLength)
                }
                guard let staged = try writer.finish() else {
                    throw DatabaseError.attachmentDigest(
                        label, id ?? "", found: "of other bytes", declared: attachment.digest)
                }
                return staged
            }
        }
        try database.checkWritable()
        try await database.core.batchAsync(source: .replication(source)) { context in
            try context.supply(staged, of: id)
        }
    }
}

extension DocumentAttachment {
    /// The document and the revision that it was read from; nil when it belongs to none that is stored.
    package var owner: (documentID: DocumentID, revisionID: RevisionID)? {
        guard let id = stored.documentID, let revision = stored.revision else { return nil }
        return (id, revision)
    }

    /// The MD5 of the stored bytes, as CouchDB names content.
    ///
    /// - Throws: As `content()`.
    package func storedMD5() throws -> String {
        guard let md5 = try knownMD5() else {
            throw DatabaseError.attachmentGone(stored.label, stored.documentID, stored.revision)
        }
        return md5
    }

    /// The same; nil when nothing here tells it.
    package func knownMD5() throws -> String? {
        guard let key = stored.key, let store = AttachmentStores.store(stored.store) else {
            return nil
        }
        return try store.md5(of: key)
    }

    /// Whether it was read from a database that is open.
    package func isStored(in database: Database) -> Bool {
        stored.store == database.core.attachments.number
    }
}

extension Database {
    /// Gives up the content of an attachment, which its document then does without.
    ///
    /// The caller has made sure that another replica has it.
    ///
    /// - Returns: The bytes of it; 0 when it was not here.
    /// - Throws: `DatabaseError` with code `.conflict` when another document refers to the same content, or a
    ///   blob, or comes to do so meanwhile; `.databaseBusy` while a backup is made, `.io`, `.databaseClosed`.
    package func release(_ attachment: DocumentAttachment) async throws -> Int {
        try checkWritable()
        guard let key = attachment.stored.key, let owner = attachment.owner else { return 0 }
        let core = core
        return try await background {
            let store = core.attachments
            guard let length = try store.length(of: key), let root = store.root else { return 0 }
            let sweep = AttachmentSweep(core: core, progress: nil)
            // A backup copies what the rows of its snapshot need.
            guard let lock = try sweep.takeLock(AttachmentStore.lockPath(in: root)) else {
                throw DatabaseError(
                    .databaseBusy,
                    "The content of an attachment cannot go while a backup is made; try again.")
            }
            defer { lock.unlock() }
            try core.write { try $0.release(key, of: owner.documentID) }
            guard try core.write({ try $0.removeReleased(key) }) else {
                throw DatabaseError.attachmentShared(owner.documentID)
            }
            do throws(SystemError) { try core.attachments.synchronise() } catch {
                throw DatabaseError.io(error)
            }
            return length
        }
    }
}
