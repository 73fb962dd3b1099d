// SPDX-License-Identifier: Apache-2.0

internal import DivanSystem
internal import Synchronization

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
        do { return try ContentFile(file.handle, dataKey: store.dataKey, key) } catch {
            throw DatabaseError.io(error)
        }
    }

    /// A reader of the content.
    ///
    /// - Throws: `DatabaseError` with code `.io` or `.corrupted`.
    func makeReader() throws -> FileReader { FileReader(try open(), length: length) }
}

/// A file under a temporary name, which it loses when this goes.
final class TemporaryFile: Sendable {
    let handle: FileHandle
    /// Whether the temporary name became the final one, where links cannot be made.
    private let isMoved = Atomic<Bool>(false)

    init(_ handle: FileHandle) { self.handle = handle }

    deinit {
        if !isMoved.load(ordering: .relaxed) { try? Files.remove(handle.path) }
    }

    /// Gives the file a second name, in place of whatever has that name.
    func link(to path: String) throws(SystemError) {
        do throws(SystemError) {
            try Files.link(handle.path, to: path)
        } catch {
            if error.isExisting {
                // Another name first, since a rename replaces at once what a link refuses to.
                let other = handle.path + "+"
                try Files.remove(other)
                try Files.link(handle.path, to: other)
                try Files.rename(other, to: path)
            } else if error.isWithoutLinks {
                try Files.rename(handle.path, to: path)
                isMoved.store(true, ordering: .relaxed)
            } else {
                throw error
            }
        }
    }
}
