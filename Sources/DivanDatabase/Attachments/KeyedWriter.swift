// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanSystem

/// Streams content into a temporary file of a store that must turn out to be that of a known key.
///
/// One thread at a time. A writer that is dropped leaves nothing behind.
package final class KeyedWriter {
    private let store: AttachmentStore
    private let key: AttachmentKey
    private let file: TemporaryFile
    private let writer: ContentWriter
    private let check: KeyCheck

    /// - Throws: `DatabaseError` with code `.storageFull` or `.io`.
    package init(_ key: AttachmentKey, in store: AttachmentStore) throws {
        self.store = store
        self.key = key
        (file, writer) = try store.makeTemporary()
        check = KeyCheck(key, by: store.digest, takingMD5: true)
    }

    /// The bytes so far.
    var length: Int { writer.length }

    /// Appends a piece.
    package func write(_ piece: [UInt8]) throws {
        check.update(piece)
        do throws(SystemError) { try writer.write(piece) } catch { throw DatabaseError.io(error) }
    }

    /// Ends the content and makes it durable; nil when it is another one.
    package func finish() throws -> StagedAttachment? {
        guard check.finish(), let md5 = check.foundMD5 else { return nil }
        do throws(SystemError) {
            try writer.finish(key)
            try writer.synchronise()
        } catch { throw DatabaseError.io(error) }
        return StagedAttachment(
            store: store, key: key, md5: md5, length: writer.length, file: file)
    }
}
