// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanStorage
internal import DivanSystem

/// Copies one snapshot of an open database into a new directory, while readers and writers go on.
///
///     source                          others                     the copy
///     takes attachments.lock shared                              data-1/
///     begins a snapshot               save, delete, compact        main.sqlite3
///     copies its pages                attach, sweep: waits
///     ends it
///     lists its references                                         attachments/aaf4c6…
///     links or copies those files
///     gives the lock back             the sweep goes on
///
/// The copy has the attachments that its own rows refer to and no others: all of them are there,
/// since a file is put in its place before the commit that refers to it, and only the sweep, which
/// waits, removes any.
struct GenerationCopy {
    /// How a copy gets the files with the content of attachments.
    enum FileTransfer {
        /// By a second name where the file system can, else by copying; both sides never change them.
        case linking
        /// By copying: the files belong to another program, which may write into them.
        case copying

        /// The function that does so for one content.
        fileprivate var ofContent: GenerationForm.ContentTransfer {
            switch self {
            case .linking: GenerationForm.link
            case .copying: GenerationForm.copy
            }
        }
    }

    private static let dataPhase = "copying the data"
    private static let attachmentPhase = "copying attachments"

    let source: DatabaseCore
    let transfer: FileTransfer
    /// Another form for the copy; nil for that of its source, whose files are then copied as they are.
    var form: GenerationForm?
    let progress: ProgressHandler?

    /// Makes the copy in a directory that does not exist, and forces it to the disk.
    ///
    /// - Throws: `DatabaseError` with code `.storageFull`, `.io`, `.databaseClosed`, `.databaseBusy`,
    ///   `.corrupted` when the content of an attachment is missing; and what `progress` throws. What
    ///   was copied by then is left to the caller to remove.
    func run(to dataPath: String) throws {
        try progress.report(WorkProgress(phase: Self.dataPhase, completed: 0, total: nil))
        let lock = try lockAttachments()
        defer { lock?.unlock() }
        do { try Files.makeDirectory(dataPath) } catch { throw DatabaseError.io(error) }
        try DatabaseCore.blaming(nil) { try copyData(to: dataPath) }
        try copyAttachments(attachmentContents(of: dataPath), to: dataPath)
        do { try Files.synchroniseDirectory(dataPath) } catch { throw DatabaseError.io(error) }
    }

    private func copyData(to dataPath: String) throws {
        if let form {
            return try form.fill(dataPath, from: source.engine) { done, total in
                try progress.report(
                    WorkProgress(phase: Self.dataPhase, completed: done, total: total))
            }
        }
        try source.engine.copy(to: dataPath) { report in
            try progress.report(
                WorkProgress(
                    phase: Self.dataPhase, completed: report.completed, total: report.total))
        }
    }

    /// The key of the copy's data.
    var dataKey: DataKey? {
        if let form { form.dataKey } else { source.options.dataKey }
    }

    /// Holds off the sweep.
    ///
    /// Without a lock file there has been no attachment yet. A read-only database makes none: it is
    /// on a medium that is not written, or a vanished file is noticed.
    private func lockAttachments() throws -> FileHandle? {
        // In memory there is no folder before the first attachment, and the first one may come, and go
        // again, while this copies.
        let root: String
        do { root = try source.attachments.makeRoot() } catch { throw DatabaseError.io(error) }
        let path = AttachmentStore.lockPath(in: root)
        do {
            guard !source.options.readOnly || Files.exists(path) else { return nil }
            let options: OpenOptions = source.options.readOnly ? .read : [.read, .write, .create]
            let lock = try FileHandle(path: path, options)
            guard try lock.lock(exclusive: false, timeout: source.options.busyTimeout) else {
                throw DatabaseError.busy(root)
            }
            return lock
        } catch let error as SystemError { throw DatabaseError.io(error) }
    }

    /// The contents that the copied rows refer to, in order, and whether each must be there.
    private func attachmentContents(of dataPath: String) throws -> [AttachmentReference.Content] {
        var options = DatabaseOptions().unlocked(dataKey)
        options.readOnly = true
        let engine = try DatabaseCore.openEngine(
            at: dataPath, named: source.engineName, options, unchanging: true)
        defer { engine.close() }
        return try AttachmentReference.contents(in: source, of: engine)
    }

    private func copyAttachments(_ contents: [AttachmentReference.Content], to dataPath: String)
        throws
    {
        do {
            try GenerationForm.transfer(
                contents, from: source.attachments, to: dataPath,
                by: form?.transfer ?? transfer.ofContent
            ) { done, total in
                try progress.report(
                    WorkProgress(phase: Self.attachmentPhase, completed: done, total: total))
            }
        } catch let error as SystemError { throw DatabaseError.io(error) }
    }
}
