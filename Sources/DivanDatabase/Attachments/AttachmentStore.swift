// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
package import DivanSystem
internal import FoundationEssentials
internal import Synchronization

/// The files with the content of attachments, beside the engine's: one for each content.
///
///     data-1/
///         attachments.lock        the sweep holds it exclusively, a backup shared
///         attachments/
///             aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d      content, named by its SHA-1
///             tmp/5f0c…/          content on its way in, or left by a process that died
///
/// The life of a content, and what a crash leaves at each point:
///
///     stage      stream into tmp/<random>/1, beside a lock; fsync              a leftover in tmp
///     place      in the write transaction: link to the final name              an orphan
///                fsync the directory, before the commit                        an orphan
///     refer      in the same transaction: a row in `attachmentReferences`      an orphan
///     commit                                                                   all of it, or an orphan
///     release    the row goes with its revision (compaction, purge, pruning)
///     sweep      in a write transaction: no row? then unlink
///
/// ## Invariants
/// 1. A file under a final name is whole: it was synced before it got that name.
/// 2. A committed reference has its file: the name was synced before the commit, and only a
///    writer that sees no row for a file unlinks it. Both survive a power loss, since a sweep first
///    makes the commits durable that took the rows away.
/// 3. A file without a reference is no damage; the next sweep removes it.
/// 4. A folder in `tmp` whose lock no process holds by flock is a leftover of a process that died.
///
/// The folders are made for the first attachment, so a database without attachments has none of this.
/// A database in memory keeps them in a temporary folder, which goes when it is closed.
package final class AttachmentStore: Sendable {
    /// How much is read or written at a time, so that memory is bounded whatever the content's size.
    package static let chunkSize = 256 * 1_024

    /// What values made by the database carry instead of a reference; see `AttachmentStores`.
    package let number: UInt32
    let digest: any MessageDigest
    let knownMD5s = KnownMD5s()
    /// Finds the MD5 of a content in the rows of the database; set while that is open.
    private let rows = Mutex<MD5Search?>(nil)
    /// What the files are sealed with; nil when they are not.
    let dataKey: DataKey?
    private let names: AttachmentNames
    /// The folder of the generation; nil in memory.
    private let dataPath: String?
    /// The folder that stands in for it in memory, once there is one.
    private let scratch = Mutex<String?>(nil)
    /// The folder of the temporary files, while there are any.
    private let temporaries = Mutex(Temporaries())

    private struct Temporaries {
        weak var folder: TemporaryFolder?
    }

    /// - Parameters:
    ///   - dataPath: The folder of the generation, `data-N`; nil in memory.
    ///   - readOnly: Whether nothing may be written.
    ///   - digest: Makes the hashes.
    ///   - dataKey: What the files are sealed with; nil when they are not.
    init(dataPath: String?, readOnly: Bool, digest: any MessageDigest, dataKey: DataKey?) {
        self.dataPath = dataPath
        self.dataKey = dataKey
        names = AttachmentNames(key: dataKey?.names)
        self.digest = digest
        number = AttachmentStores.newNumber()
        if !readOnly, let dataPath { Self.removeLeftovers(in: dataPath) }
    }

    /// Lets the values made by the database find the store.
    ///
    /// - Parameter search: Finds the MD5 of a content in the rows that refer to it.
    func open(searching search: @escaping MD5Search) {
        rows.withLock { $0 = search }
        AttachmentStores.register(self)
    }

    typealias MD5Search = @Sendable (AttachmentKey) throws -> [UInt8]?

    /// The MD5 of a content in the rows of the database.
    func referredMD5(of key: AttachmentKey) throws -> [UInt8]? {
        try rows.withLock { $0 }?(key)
    }

    /// Ends the use of the store. What lies in memory goes.
    ///
    /// - Parameter search: What is asked for an MD5 from now on, in place of the database.
    func close(searching search: @escaping MD5Search) {
        rows.withLock { $0 = search }
        AttachmentStores.forget(number)
        let scratch = scratch.withLock { path in
            defer { path = nil }
            return path
        }
        if let scratch { try? Files.remove(scratch) }
    }

    // MARK: - Places

    static func folder(in dataPath: String) -> String { dataPath + "/attachments" }
    static func temporaryFolder(in dataPath: String) -> String { folder(in: dataPath) + "/tmp" }
    /// The file that a backup and a sweep lock.
    package static func lockPath(in dataPath: String) -> String { dataPath + "/attachments.lock" }

    /// The folder that holds everything; nil in memory while there is no attachment.
    var root: String? { dataPath ?? scratch.withLock { $0 } }

    /// The folder of the files; nil in memory while there is no attachment.
    var folder: String? { root.map(Self.folder(in:)) }

    /// Whether the process may look for files, where there are any. Those that it may not see would look like ones that are
    /// gone.
    var isReadable: Bool {
        guard let folder, Files.isDirectory(folder) else { return true }
        return FileManager.default.isReadableFile(atPath: folder)
            && FileManager.default.isExecutableFile(atPath: folder)
    }

    /// The bytes of all files.
    var size: Int { folder.map { Files.size(of: $0) } ?? 0 }

    /// The name of the file of a content.
    func fileName(of key: AttachmentKey) -> String { names.name(of: key) }

    /// The content whose file has a name; nil for a name that is none of a content's.
    func key(ofFile name: String) -> AttachmentKey? { names.content(of: name) }

    /// The file of a content, whether it is there or not.
    func path(of key: AttachmentKey) -> String? { folder.map { $0 + "/" + fileName(of: key) } }

    /// The length of a stored content, going by its file's; nil when it is not there.
    ///
    /// - Throws: `DatabaseError` with code `.io` when that cannot be found out, as where the process has no descriptor left.
    func length(of key: AttachmentKey) throws -> Int? {
        guard let path = path(of: key) else { return nil }
        do throws(SystemError) {
            let status = try FileStatus(at: path)
            guard status.kind == .regular else { return nil }
            guard dataKey != nil else { return status.length }
            let magic = try FileHandle(path: path, .read).read(
                at: 0, upTo: SealedContent.magicSize)
            // A file that is too short for one that is sealed, or is none, is there, with nothing in it.
            return SealedContent.Form(magic: magic)?.length(ofFile: status.length) ?? 0
        } catch {
            guard error.isMissing else { throw DatabaseError.io(error) }
            return nil
        }
    }

    /// Whether a content need not be stored: its file has the right length and, where it is sealed, is proven to be its own.
    /// What follows the head of the file is not read.
    ///
    /// - Parameters:
    ///   - key: The content.
    ///   - expected: Its length; nil where that is not known.
    /// - Returns: Whether it is here.
    /// - Throws: As `length(of:)`.
    func has(_ key: AttachmentKey, length expected: Int?) throws -> Bool {
        guard let found = try length(of: key), found == expected ?? found else { return false }
        // A file that cannot be opened as this content's is none.
        return dataKey == nil || (try? open(key)) != nil
    }

    /// Opens a stored content; nil when it is not there.
    package func open(_ key: AttachmentKey) throws(SystemError) -> ContentFile? {
        guard let path = path(of: key) else { return nil }
        do throws(SystemError) {
            return try ContentFile(
                FileHandle(path: path, .read), dataKey: dataKey, key)
        } catch {
            guard error.isMissing else { throw error }
            return nil
        }
    }

    /// Makes the folders when they are missing, and returns the one that holds them.
    private func makeFolders() throws(SystemError) -> String {
        let root: String
        if let dataPath { root = dataPath } else { root = try scratchFolder() }
        let temporary = Self.temporaryFolder(in: root)
        guard !Files.isDirectory(temporary) else { return root }
        try Files.makeDirectory(temporary)
        try Files.synchroniseDirectory(Self.folder(in: root))
        try Files.synchroniseDirectory(root)
        return root
    }

    /// The folder that holds everything; in memory it is made when it is missing.
    package func makeRoot() throws(SystemError) -> String {
        if let dataPath { return dataPath }
        return try scratchFolder()
    }

    private func scratchFolder() throws(SystemError) -> String {
        try scratch.withLock { (path) throws(SystemError) -> String in
            if let path { return path }
            let made = try Files.makeTemporaryDirectory(prefix: "divan-attachments-")
            path = made
            return made
        }
    }

    // MARK: - Adding

    /// Streams content into a temporary file and names it by what it holds.
    ///
    /// Nothing refers to it yet; `place` does the rest in a write transaction.
    ///
    /// - Parameter next: Returns the next piece; an empty one at the end.
    /// - Returns: The staged content, named by its digest.
    /// - Throws: `DatabaseError` with code `.storageFull` or `.io`, and what `next` throws; the
    ///   temporary file is then gone.
    package func stage(_ next: (_ upTo: Int) throws -> [UInt8]) throws -> StagedAttachment {
        // Should something fail from here on, the deinit of the file removes it.
        let (file, writer) = try makeTemporary()
        let digests = ContentDigests(by: digest)
        while true {
            let piece = try next(Self.chunkSize)
            if piece.isEmpty { break }
            digests.update(piece)
            do { try writer.write(piece) } catch { throw DatabaseError.io(error) }
        }
        return try staged(file, writer, digests)
    }

    /// Names what was written into a temporary file, and makes it durable.
    ///
    /// - Throws: `DatabaseError` with code `.storageFull` or `.io`.
    func staged(
        _ file: TemporaryFile, _ writer: ContentWriter, _ digests: ContentDigests
    ) throws -> StagedAttachment {
        guard let names = digests.finish() else {
            throw DatabaseError(.io, "The digest of an attachment has the wrong length.")
        }
        do throws(SystemError) {
            try writer.finish(names.key)
            try writer.synchronise()
        } catch { throw DatabaseError.io(error) }
        return StagedAttachment(
            store: self, key: names.key, md5: names.md5, length: writer.length, file: file)
    }

    /// Makes a temporary file, which no other process takes for a leftover.
    ///
    /// - Throws: `DatabaseError` with code `.storageFull` or `.io`.
    func makeTemporary() throws -> (TemporaryFile, ContentWriter) {
        do throws(SystemError) {
            let parent = Self.temporaryFolder(in: try makeFolders())
            let folder = try temporaries.withLock {
                (temporaries) throws(SystemError) -> TemporaryFolder in
                if let folder = temporaries.folder { return folder }
                let folder = try TemporaryFolder.make(in: parent)
                temporaries.folder = folder
                return folder
            }
            let file = TemporaryFile(in: folder)
            return (file, try ContentWriter(file.make(), dataKey: dataKey))
        } catch { throw DatabaseError.io(error) }
    }

    /// Gives staged content its final name; called in the write transaction that will refer to it.
    ///
    /// A file that is there already is taken if it will do, and replaced when not; see `has(_:length:)`.
    /// `synchronise` must follow before the commit.
    ///
    /// - Throws: `DatabaseError` with code `.storageFull` or `.io`.
    package func place(_ staged: StagedAttachment) throws {
        if try has(staged.key, length: staged.length) { return }
        do throws(SystemError) {
            guard let path = path(of: staged.key) else {
                throw SystemError.missing("link", staged.key.fileName)
            }
            try staged.file.link(to: path)
        } catch { throw DatabaseError.io(error) }
    }

    /// Makes the names given so far survive a power loss.
    func synchronise() throws(SystemError) {
        if let folder { try Files.synchroniseDirectory(folder) }
    }

    // MARK: - Removing

    /// Removes a file that nothing refers to.
    func remove(_ key: AttachmentKey) throws(SystemError) {
        if let path = path(of: key) { try Files.remove(path) }
    }

    /// Removes what died processes left in `tmp`.
    static func removeLeftovers(in root: String) {
        TemporaryFolder.removeLeftovers(in: temporaryFolder(in: root))
    }
}
