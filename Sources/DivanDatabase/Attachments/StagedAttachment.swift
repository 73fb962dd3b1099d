// SPDX-License-Identifier: Apache-2.0

internal import DivanSystem

/// Content that lies in a temporary file of a store, synced, and waits for a transaction.
///
/// It can be placed more than once: a save may be rolled back and tried again. The temporary file goes
/// with the last reference to this.
package final class StagedAttachment: Sendable {
    let store: AttachmentStore
    /// The content's digest, which is its name.
    package let key: AttachmentKey
    /// Its MD5, 16 bytes.
    let md5: [UInt8]
    /// The bytes of the content.
    let length: Int
    let file: TemporaryFile

    init(
        store: AttachmentStore, key: AttachmentKey, md5: [UInt8], length: Int, file: TemporaryFile
    ) {
        self.store = store
        self.key = key
        self.md5 = md5
        self.length = length
        self.file = file
    }

    /// The file, read as the content.
    ///
    /// - Throws: `DatabaseError` with code `.io` or `.corrupted`.
    func open() throws -> ContentFile {
        do { return try ContentFile(file.open(), dataKey: store.dataKey, key) } catch {
            throw DatabaseError.io(error)
        }
    }

    /// A reader of the content.
    ///
    /// - Throws: `DatabaseError` with code `.io` or `.corrupted`.
    func makeReader() throws -> FileReader { FileReader(try open(), length: length) }
}
