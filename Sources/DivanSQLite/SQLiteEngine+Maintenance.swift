// SPDX-License-Identifier: Apache-2.0

public import DivanStorage
internal import DivanSystem

extension SQLiteEngine {
    /// The pages moved in one write transaction of `compact`: about 10 ms, so other writers hardly wait.
    private static let compactionStep = 500

    /// Returns the bytes the engine occupies on disk; 0 in memory. See `StorageEngine`.
    public func diskSize() throws -> Int {
        guard let path = place.path else {
            return 0
        }
        guard let main = FileSystem.size(of: path) else {
            throw StorageError(.io, "The database file is gone.")
        }
        return main + (FileSystem.size(of: path + "-wal") ?? 0)
    }

    /// Returns the bytes that hold something; 0 in memory. See `StorageEngine`.
    public func usedSize() throws -> Int {
        guard place.path != nil else { return 0 }
        var used: Int64 = 0
        try withSnapshot { snapshot in
            let pages = try snapshot.connection.integer("PRAGMA page_count")
            let free = try snapshot.connection.integer("PRAGMA freelist_count")
            used = try (pages - free) * snapshot.connection.integer("PRAGMA page_size")
        }
        return Int(clamping: used)
    }

    // MARK: - Compacting

    /// Gives unused space back to the file system. See `StorageEngine`.
    public func compact(progress: StorageProgressHandler?) throws -> Int {
        if options.isReadOnly {
            throw StorageError.openedReadOnly()
        }
        if writer.isOwnedByCurrentThread {
            throw StorageError.misuse("compact() was called inside a write transaction.")
        }
        var reclaimed = 0
        var completed = 0
        while true {
            let step = try writer.sync { try compactStep(of: $0) }
            completed += step.moved
            reclaimed += step.reclaimed
            try progress?(
                StorageProgress(completed: completed, total: completed + step.remaining))
            if step.remaining == 0 || step.moved == 0 {
                break
            }
        }
        try writer.sync { writer in
            // The file gets shorter when the log has been moved into it; so does the log.
            _ = try openTransaction(of: writer).connection.checkpoint(.truncate)
        }
        return reclaimed
    }

    /// Moves some of the unused pages to the end of the file and cuts them off.
    private func compactStep(
        of writer: SQLiteWriter
    ) throws -> (moved: Int, remaining: Int, reclaimed: Int) {
        let connection = try openTransaction(of: writer).connection
        let free = try connection.integer("PRAGMA freelist_count")
        if free == 0 {
            return (0, 0, 0)
        }
        let before = try connection.integer("PRAGMA page_count")
        try connection.execute("PRAGMA incremental_vacuum(\(SQLiteEngine.compactionStep))")
        let after = try connection.integer("PRAGMA page_count")
        let remaining = try connection.integer("PRAGMA freelist_count")
        let size = try connection.integer("PRAGMA page_size")
        writer.checkpointIfDue(busyTimeout: options.busyTimeout)
        return (Int(free - remaining), Int(remaining), Int((before - after) * size))
    }

    // MARK: - Copying

    /// Copies one snapshot into an empty or missing directory. See `StorageEngine`.
    public func copy(to directory: String, progress: StorageProgressHandler?) throws {
        // A sealed copy is a file with an identity of its own, so it has a codec of its own.
        let codec = try options.encryptionKey.map { try PageCodec(key: $0) }
        let target = DatabasePlace.directory(directory, codec: codec)
        guard let path = target.path, FileSystem.size(of: path) == nil else {
            throw StorageError.misuse("A copy was to be made where there is a database already.")
        }
        try FileSystem.createDirectories(directory)
        do {
            let connection = try target.connect(readOnly: false, timeout: options.busyTimeout)
            // The file is not in use yet, and an unfinished one is removed, so it needs no journal.
            try connection.execute("PRAGMA journal_mode = OFF")
            if codec != nil {
                try connection.reserve(PageCodec.reserved)
            }
            try connection.execute("PRAGMA synchronous = FULL")
            try withSnapshot { try $0.connection.copy(to: connection, progress: progress) }
        } catch {
            for suffix in ["", "-wal", "-shm", "-journal"] {
                Files.removeFile(path + suffix)
            }
            throw error
        }
        try FileSystem.syncDirectory(directory)
    }

    // MARK: - Verifying

    /// The most problems that are listed: enough to see their kind.
    private static let problemLimit = 1_000
    /// The rows between two calls of the progress handler.
    private static let progressStep = 10_000

    /// Checks the engine's structure and the checksum of every value. See `StorageEngine`.
    ///
    /// SQLite's own check is one statement in one snapshot. Values do not depend on each other, so
    /// the walk over them takes another snapshot every 10,000 rows, and the log can be emptied in between.
    public func verifyStructure(progress: StorageProgressHandler?) throws -> [String] {
        var problems: [String] = []
        var names: [StoreName] = []
        try read { (reader: any StorageReader) throws -> Void in
            try addStructureProblems(to: &problems)
            do {
                names = try reader.storeNames()
            } catch let error as StorageError where error.code == .corrupted {
                // What was found so far must reach the caller all the same.
                problems.append("\(error) The values of the stores were not checked.")
            }
        }
        var checked = 0
        for name in names {
            try verify(name, &problems, &checked, progress)
        }
        return Array(problems.prefix(SQLiteEngine.problemLimit))
    }

    /// Runs SQLite's own check inside the current read.
    private func addStructureProblems(to problems: inout [String]) throws {
        var found: [String] = []
        var failure: StorageError?
        try withSnapshot { failure = SQLiteEngine.checkStructure($0.connection, &found) }
        if let failure {
            guard failure.code == .corrupted else { throw failure }
            found.append("\(failure) SQLite's own check did not finish.")
        }
        if found != ["SQLite: ok."] {
            problems += found
        }
    }

    /// Runs the check; returns why it did not finish. (Catching the error in the closure above makes
    /// the optimiser of Swift 6.3.1 crash.)
    private static func checkStructure(
        _ connection: Connection, _ found: inout [String]
    ) -> StorageError? {
        do throws(StorageError) {
            let check = try connection.prepare("PRAGMA integrity_check(1000)")
            defer { check.reset() }
            while try check.step() {
                found.append("SQLite: " + check.text(at: 0) + ".")
            }
            return nil
        } catch {
            return error
        }
    }

    /// Checks the checksum of every value of one store.
    private func verify(
        _ name: StoreName, _ problems: inout [String], _ checked: inout Int,
        _ progress: StorageProgressHandler?
    ) throws {
        // The names come from the file: a damaged one may be another store's in other letters.
        guard let store = registry.storeUnlessTaken(name) else {
            problems.append("The file has a store \(name), which is the name of another one.")
            return
        }
        var walk = ValueWalk(store: store, kind: name.kind)
        do {
            while !walk.isOver, problems.count < SQLiteEngine.problemLimit {
                var found: [String] = []
                defer { problems += found }
                try read { (reader: any StorageReader) throws -> Void in
                    try walk.check(SQLiteEngine.progressStep, with: reader, &found)
                }
                checked += SQLiteEngine.progressStep
                if !walk.isOver {
                    try progress?(StorageProgress(completed: checked, total: checked))
                }
            }
        } catch let error as StorageError where error.code == .corrupted {
            problems.append("\(error) The rest of the store \(name) was not checked.")
        }
    }
}
