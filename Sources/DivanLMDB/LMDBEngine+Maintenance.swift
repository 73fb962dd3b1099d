// SPDX-License-Identifier: Apache-2.0

internal import CLMDB
public import DivanStorage
internal import DivanSystem

extension LMDBEngine {
    /// Returns the bytes the engine occupies on disk. See `StorageEngine`.
    public func diskSize() throws -> Int {
        guard let size = FileSystem.size(of: environment.place.path) else {
            throw StorageError(.io, "The database file is gone.")
        }
        return size
    }

    /// Returns the bytes that hold something. See `StorageEngine`.
    public func usedSize() throws -> Int {
        // A page may become free between the two.
        max(0, try diskSize() - unusedBytes())
    }

    // MARK: - Compacting

    /// Unused pages under this share of the file are left for the next writes.
    private static let leastUnusedShare = 16

    /// Gives unused space back to the file system. See `StorageEngine`.
    ///
    /// Space that is not used any more is used again by later writes; the file itself shrinks only by
    /// being written anew and put in the place of the old one. That is done when a sixteenth of it is
    /// unused and no other engine has it open, in this process or another; otherwise nothing is done,
    /// and 0 returned. Readers go on meanwhile, but for the moment of the exchange; writers wait.
    public func compact(progress: StorageProgressHandler?) throws -> Int {
        if options.isReadOnly {
            throw StorageError.openedReadOnly()
        }
        if environment.writer.isOwnedByCurrentThread {
            throw StorageError.misuse("compact() was called inside a write transaction.")
        }
        defer { closeIfAsked() }
        return try environment.writer.sync { writer in
            _ = try openTransaction(of: writer)
            try environment.lockWriter(timeout: options.busyTimeout)
            defer { environment.unlockWriter() }
            try environment.checkPlace()
            environment.clearStaleReaders()
            let before = try diskSize()
            let unused = try unusedBytes()
            guard unused >= 1 << 18, unused >= before / LMDBEngine.leastUnusedShare else {
                return 0
            }
            writer.transaction?.discard()
            writer.transaction = nil
            let isDone = try environment.replaceFile { path in
                try copySnapshot(to: path, whenClosed: true, progress)
            }
            return isDone ? max(before - (try diskSize()), 0) : 0
        }
    }

    /// The bytes of pages that the newest snapshot does not use.
    private func unusedBytes() throws -> Int {
        var pages = 0
        try withSnapshot(whenClosed: true) { pages = try $0.unusedPages() }
        return pages * environment.pageSize
    }

    // MARK: - Copying

    /// Copies one snapshot into an empty or missing directory. See `StorageEngine`.
    public func copy(to directory: String, progress: StorageProgressHandler?) throws {
        let path = directory + "/" + LMDBPlace.fileName
        guard FileSystem.size(of: path) == nil else {
            throw StorageError.misuse("A copy was to be made where there is a database already.")
        }
        try FileSystem.createDirectories(directory)
        do {
            try copySnapshot(to: path, progress)
            try FileSystem.sync(path)
        } catch {
            Files.removeFile(path)
            throw error
        }
        try FileSystem.sync(directory)
    }

    private func copySnapshot(
        to path: String, whenClosed: Bool = false, _ progress: StorageProgressHandler?
    ) throws {
        try withSnapshot(whenClosed: whenClosed) {
            try FileCopy(source: $0, progress: progress).write(to: path)
        }
    }

    // MARK: - Verifying

    /// The most problems that are listed: enough to see their kind.
    private static let problemLimit = 1_000
    /// How many snapshots are tried while other threads or processes commit.
    private static let snapshotLimit = 20
    /// The rows between two calls of the progress handler.
    private static let progressStep = 10_000

    /// Checks the engine's structure and the checksum of every value. See `StorageEngine`.
    ///
    /// LMDB trusts its pages and has no check of its own. So the file is read page by page first, and
    /// only if all of them are sound are the rows read through LMDB.
    public func verifyStructure(progress: StorageProgressHandler?) throws -> [String] {
        for _ in 0..<LMDBEngine.snapshotLimit {
            do {
                if let problems = try verifySnapshot(progress: progress) {
                    return Array(problems.prefix(LMDBEngine.problemLimit))
                }
            } catch let error as StorageError where error.code == .corrupted {
                // The file is so damaged that no reader can begin.
                return [String(describing: error)]
            }
        }
        return ["LMDB: no first page of the file tells of its newest state."]
    }

    /// The same for the newest snapshot; `nil` when other writers have committed too fast to check it.
    private func verifySnapshot(progress: StorageProgressHandler?) throws -> [String]? {
        var problems: [String]? = []
        try read { (reader: any StorageReader) throws -> Void in
            guard let transaction = reader as? LMDBTransaction else { return }
            if transaction.kind == .read {
                problems = try transaction.structureProblems()
            }
            guard var found = problems else { return }
            defer { problems = found }
            guard found.isEmpty else {
                found.append("The values were not checked, since the structure is damaged.")
                return
            }
            var checked = 0
            for name in try reader.storeNames() {
                try verify(name, reader, &found, &checked, progress)
            }
        }
        return problems
    }

    /// Checks the checksum of every value of one store.
    private func verify(
        _ name: StoreName, _ reader: any StorageReader, _ problems: inout [String],
        _ checked: inout Int, _ progress: StorageProgressHandler?
    ) throws {
        guard let store = environment.registry.storeUnlessTaken(name) else {
            problems.append("The file has a store \(name), which is the name of another one.")
            return
        }
        do {
            let cursor = try reader.cursor(in: store)
            defer { cursor.close() }
            var found = try cursor.seekToFirst()
            while found, problems.count < LMDBEngine.problemLimit {
                do { try cursor.withValue { _ in } } catch let error as StorageError
                    where error.code == .corrupted
                {
                    problems.append(String(describing: error))
                }
                checked += 1
                if checked.isMultiple(of: LMDBEngine.progressStep) {
                    try progress?(StorageProgress(completed: checked, total: checked))
                }
                found = try cursor.next()
            }
        } catch let error as StorageError where error.code == .corrupted {
            problems.append("\(error) The rest of the store \(name) was not checked.")
        }
    }
}

extension LMDBTransaction {
    /// What is wrong with the pages of the snapshot and its list of stores; `nil` when another snapshot
    /// must be taken.
    func structureProblems() throws -> [String]? {
        let problems = try PageChecker.check(
            environment.descriptor, pageSize: environment.pageSize, snapshot: snapshotID)
        guard problems?.isEmpty ?? false else { return problems }
        // The engine has the list in memory, so only this check reads the list in the file.
        do {
            // SAFETY: the transaction runs, and the environment copies what it reads.
            return try unsafe environment.load(in: current) == catalogue
                ? [] : ["LMDB: the list of stores is not what it was."]
        } catch let error as StorageError where error.code == .corrupted {
            return [String(describing: error)]
        }
    }
}
