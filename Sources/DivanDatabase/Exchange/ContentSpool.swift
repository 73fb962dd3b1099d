// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanSystem
internal import Synchronization

/// Takes the content of an attachment as it arrives, piece by piece, straight into a database's
/// temporary files: only the piece is in memory.
///
/// ```swift
/// let spool = try ContentSpool(for: database)
/// while let piece = next() { try spool.write(piece) }
/// let content = try spool.finish()          // goes with the revision that refers to it
/// ```
///
/// A spool that is dropped, or content that is never saved, leaves nothing behind. State: the writer,
/// guarded by the mutex, under which the digests are fed, too.
package final class ContentSpool: Sendable {
    private let store: AttachmentStore
    private let file: TemporaryFile
    private let digests: ContentDigests
    private let writer: Mutex<ContentWriter>

    /// Makes a temporary file for content that will be saved in a database.
    ///
    /// - Throws: `DatabaseError` with code `.databaseClosed`, `.storageFull` or `.io`.
    package init(for database: Database) throws {
        try database.checkWritable()
        store = database.core.attachments
        let writer: ContentWriter
        (file, writer) = try store.makeTemporary()
        digests = ContentDigests(by: store.digest)
        self.writer = Mutex(writer)
    }

    /// The bytes so far.
    package var length: Int { writer.withLock { $0.length } }

    /// Appends a piece.
    ///
    /// - Throws: `DatabaseError` with code `.storageFull` or `.io`.
    package func write(_ piece: [UInt8]) throws {
        try writer.withLock { writer in
            do throws(SystemError) { try writer.write(piece) } catch {
                throw DatabaseError.io(error)
            }
            digests.update(piece)
        }
    }

    /// Ends the content and syncs its file.
    ///
    /// - Returns: The content, which knows its digests and need not be copied again.
    /// - Throws: `DatabaseError` with code `.storageFull` or `.io`.
    package func finish() throws -> AttachmentContent {
        let staged = try writer.withLock { writer throws -> StagedAttachment in
            try store.staged(file, writer, digests)
        }
        return AttachmentContent(.spooled(staged))
    }
}

extension AttachmentContent {
    /// Opens content that can be read more than once, from its start.
    ///
    /// - Throws: `DatabaseError` with code `.io` or `.attachmentNotFound`.
    package func makeReader() throws -> any AttachmentReader {
        switch source {
        case .bytes(let bytes): return BytesReader(bytes)
        case .stream(let reader): return reader
        case .reopened(let open): return try open()
        case .handle(let file, let length): return FileReader(file, length: length)
        case .spooled(let staged): return try staged.makeReader()
        case .file(let path):
            do throws(SystemError) {
                let file = try FileHandle(path: path, .read)
                return FileReader(ContentFile(file), length: nil)
            } catch { throw DatabaseError.io(error) }
        }
    }

    /// The bytes of the content, where they are known without reading it.
    package var knownLength: Int? {
        switch source {
        case .bytes(let bytes): bytes.count
        case .handle(_, let length): length
        case .spooled(let staged): staged.length
        case .file, .stream, .reopened: expectedLength
        }
    }

    /// The bytes of the content that are held in memory.
    package var heldBytes: Int {
        if case .bytes(let bytes) = source { bytes.count } else { 0 }
    }

    /// The digests that spooled bytes may be named by, `md5-` and `sha1-` with base64; none of other content.
    package var spooledDigests: [String] {
        guard case .spooled(let staged) = source else { return [] }
        return [ContentDigests.text(ofMD5: staged.md5), staged.key.digest]
    }

    /// Whether the bytes are coded by gzip.
    package var isCoded: Bool { encoding != nil }
}
