// SPDX-License-Identifier: Apache-2.0

internal import DivanStorage
internal import DivanSystem

/// Removes the files that no stored revision refers to; a part of compaction.
///
///     sweep                              another writer              a backup
///     lock `attachments.lock` exclusively                            lock it shared
///     list the files, keep the unreferenced
///     ┌ write transaction                waits                       snapshot of the engine
///     │ still no row?                                                copy the files it refers to
///     │ sync the log
///     └ unlink                           stages, places, refers      unlock
///
/// The sweep asks again as the writer: since it made the list, another writer may have stored the same
/// content. The log is synced before the first file goes, since a power loss could otherwise bring back
/// rows whose removal was committed but not yet on the disk, and their files would be gone.
///
/// While a backup holds the lock, nothing is swept; the next compaction does it.
package struct AttachmentSweep {
    /// What a sweep did.
    package struct Result {
        /// The files that it removed.
        package var files = 0
        var bytes = 0
        /// Whether a backup or another sweep was at work, so that nothing was done.
        package var isSkipped = false
    }

    /// How many files are looked at in one transaction.
    static let batchSize = 200
    /// How long a backup is waited for.
    private static let patience = Duration.seconds(1)

    let core: DatabaseCore
    let progress: ProgressHandler?

    /// Prepares a sweep of a database's attachments.
    package init(core: DatabaseCore, progress: ProgressHandler?) {
        self.core = core
        self.progress = progress
    }

    /// Removes the files that no stored revision refers to.
    package func run() throws -> Result {
        var result = Result()
        guard let root = core.attachments.root,
            Files.isDirectory(AttachmentStore.folder(in: root))
        else { return result }
        guard let lock = try takeLock(AttachmentStore.lockPath(in: root)) else {
            result.isSkipped = true
            return result
        }
        defer { lock.unlock() }
        AttachmentStore.removeLeftovers(in: root)
        let orphans = try unreferenced()
        for start in stride(from: 0, to: orphans.count, by: Self.batchSize) {
            try progress.report(
                WorkProgress(
                    phase: "removing unused attachments", completed: start, total: orphans.count))
            let batch = orphans[start..<min(start + Self.batchSize, orphans.count)]
            try core.write { try remove(batch, $0, &result) }
        }
        if result.files > 0 {
            do { try core.attachments.synchronise() } catch { throw DatabaseError.io(error) }
        }
        return result
    }

    /// Takes the lock exclusively; nil if a backup holds it for longer than the patience.
    func takeLock(_ path: String) throws -> FileHandle? {
        do throws(SystemError) {
            let lock = try FileHandle(path: path, [.read, .write, .create])
            let patience = min(Self.patience, core.options.busyTimeout)
            return try lock.lock(exclusive: true, timeout: patience) ? lock : nil
        } catch { throw DatabaseError.io(error) }
    }

    /// The contents that no row names now, each batch of files looked up in a snapshot of its own.
    func unreferenced() throws -> [AttachmentKey] {
        guard let folder = core.attachments.folder, Files.isDirectory(folder) else { return [] }
        let names: [String]
        do { names = try Files.list(folder) } catch { throw DatabaseError.io(error) }
        let keys = names.compactMap(core.attachments.key(ofFile:))
        var orphans: [AttachmentKey] = []
        for start in stride(from: 0, to: keys.count, by: Self.batchSize) {
            try progress.report(
                WorkProgress(phase: "checking attachments", completed: start, total: keys.count))
            try core.read { snapshot in
                for key in keys[start..<min(start + Self.batchSize, keys.count)] {
                    if try !snapshot.isReferenced(key) { orphans.append(key) }
                }
            }
        }
        return orphans
    }

    private func remove(
        _ batch: ArraySlice<AttachmentKey>, _ context: WriteContext, _ result: inout Result
    ) throws {
        let (writer, snapshot) = try context.transaction()
        let orphans = try batch.filter { try !snapshot.isReferenced($0) }
        guard !orphans.isEmpty else { return }
        try writer.syncEarlierCommits()
        for key in orphans {
            let length = try core.attachments.length(of: key)
            do { try core.attachments.remove(key) } catch { throw DatabaseError.io(error) }
            guard let length else { continue }
            result.files += 1
            result.bytes += length
        }
    }
}
