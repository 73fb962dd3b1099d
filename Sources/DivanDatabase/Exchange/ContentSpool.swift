// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import Synchronization

/// Takes the content of an attachment as it arrives, piece by piece, straight into a database's
/// temporary files: what stands in memory is the piece.
///
/// ```swift
/// let spool = try ContentSpool(for: database)
/// while let piece = next() { try spool.write(piece) }
/// let content = try spool.finish()          // goes with the revision that refers to it
/// ```
///
/// A spool that is dropped, or content that is never saved, leaves nothing behind. State: the hashers
/// and the length, guarded by the mutex.
package final class ContentSpool: Sendable {
    private struct State {
        var sha1: any DigestHasher
        var md5: any DigestHasher
        var length = 0
    }

    private let store: AttachmentStore
    private let file: TemporaryFile
    private let state: Mutex<State>

    /// Makes a temporary file for content that will be saved in a database.
    ///
    /// - Throws: `DatabaseError` with code `.databaseClosed`, `.storageFull` or `.io`.
    package init(for database: Database) throws {
        try database.checkWritable()
        store = database.core.attachments
        do { file = TemporaryFile(try store.makeTemporary()) } catch {
            throw DatabaseError.io(error)
        }
        let digest = store.digest
        state = Mutex(State(sha1: digest.makeHasher(.sha1), md5: digest.makeHasher(.md5)))
    }

    /// The bytes so far.
    package var length: Int { state.withLock { $0.length } }

    /// Appends a piece.
    ///
    /// - Throws: `DatabaseError` with code `.storageFull` or `.io`.
    package func write(_ piece: [UInt8]) throws {
        try state.withLock { state in
            do throws(SystemError) { try file.handle.write(piece) } catch {
                throw DatabaseError.io(error)
            }
            state.sha1.update(piece.span)
            state.md5.update(piece.span)
            state.length += piece.count
        }
    }

    /// Ends the content and syncs its file.
    ///
    /// - Returns: The content, which knows its digests and need not be copied again.
    /// - Throws: `DatabaseError` with code `.storageFull` or `.io`.
    package func finish() throws -> AttachmentContent {
        let (sha1, md5, length) = state.withLock { ($0.sha1.finish(), $0.md5.finish(), $0.length) }
        do { try file.handle.synchronise() } catch { throw DatabaseError.io(error) }
        guard let key = AttachmentKey(sha1.span) else {
            throw DatabaseError(.io, "The digest of an attachment has the wrong length.")
        }
        let staged = StagedAttachment(store: store, key: key, length: length, file: file)
        return AttachmentContent(.spooled(staged, md5: "md5-" + Base64.encode(md5)))
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
        case .handle(let handle, let length): return FileReader(handle, length: length)
        case .spooled(let staged, _): return FileReader(staged.file.handle, length: staged.length)
        case .file(let path):
            do throws(SystemError) {
                return FileReader(
                    try FileHandle(path: path, flags: FileHandle.readOnly), length: nil)
            } catch { throw DatabaseError.io(error) }
        }
    }

    /// The bytes of the content, where they are known without reading it.
    package var knownLength: Int? {
        switch source {
        case .bytes(let bytes): bytes.count
        case .handle(_, let length): length
        case .spooled(let staged, _): staged.length
        case .file, .stream, .reopened: expectedLength
        }
    }

    /// Whether spooled bytes have a digest, `sha1-` or `md5-` with base64.
    package func hasDigest(_ digest: String) -> Bool {
        guard case .spooled(let staged, let md5) = source else { return false }
        return digest == md5 || digest == staged.key.digest
    }

    /// Whether the bytes are coded by gzip.
    package var isCoded: Bool { encoding != nil }
}
