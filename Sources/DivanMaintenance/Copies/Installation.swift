// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanSystem

/// Puts a copy of a database into a directory, so that at every moment it holds a whole database or
/// none.
///
///     a new one                           in the place of another one
///     NAME.divan/                         NAME.divan/
///       lock      held exclusively          lock      held exclusively
///       data-1/   built, checked, synced    data-8/   built, checked, synced
///       manifest  renamed into place        changes   zeros
///       changes   zeros                     manifest  renamed over the old one
///                                           data-7/   removed
///
/// The manifest is the one switch: before its rename there is the old database or none, after it the
/// new one. A crash leaves a `data-` that no manifest names, which the next opening removes, or the
/// next attempt to put a database there.
///
/// ## Identity
///
/// Every copy gets a new incarnation. A backup keeps the UUIDs: put back in its original's place,
/// it is that database at an earlier time. All others are new databases.
struct Installation {
    /// What the copy is to be.
    enum Purpose {
        /// The same database at a time, kept aside.
        case backup
        /// A new database, where there is none.
        case copy
        /// A new database, also in the place of another one.
        case replacement
    }

    let path: String
    let purpose: Purpose
    let transfer: GenerationCopy.FileTransfer
    var encryption = CopyEncryption.unchanged
    let progress: ProgressHandler?

    /// Copies an open database.
    ///
    /// - Throws: As `run(making:)`, or as `GenerationCopy`. The directory is then as it was.
    func run(_ source: DatabaseCore) throws {
        try run { dataPath in
            let copy = GenerationCopy(
                source: source, transfer: transfer, form: try encryption.form(of: source, at: path),
                progress: progress)
            try copy.run(to: dataPath)
            if purpose != .backup || copy.form != nil {
                try check(dataPath, engine: source.engineName, copy.dataKey)
            }
            let original = source.identity
            var manifest = Manifest(engine: source.engineName)
            manifest.isPartitioned = source.isPartitioned
            if let form = copy.form {
                form.record(&manifest)
            } else {
                manifest.encryption = original.encryption
            }
            if purpose == .backup {
                manifest.publicUUID = original.publicUUID
                manifest.privateUUID = original.privateUUID
            }
            return (manifest, copy.dataKey)
        }
    }

    /// Puts a database into the directory whose data `make` makes, in a directory that does not exist.
    ///
    /// - Parameter make: Gets the path of that directory, and returns a manifest with the UUIDs and the
    ///   incarnation, and the key of the data; where the data lie is filled in here.
    /// - Throws: `DatabaseError` with code `.databaseExists` when there is something that a purpose
    ///   does not allow to replace, `.databaseBusy` when the database to be replaced is open; and what
    ///   `make` throws. The directory is then as it was.
    func run(making make: Making) throws {
        // Nothing is made in a directory that already holds something; only a database may be replaced.
        guard isFree || (purpose == .replacement && DatabaseDirectory.exists(at: path)) else {
            throw DatabaseError.databaseExists(path)
        }
        let isOurs = !Files.exists(path)
        do {
            try Files.makeDirectory(path)
            do { try replaceAlone(by: make) } catch {
                if isOurs { removeEmptied() }
                throw error
            }
            try Files.synchroniseDirectory(Files.parent(of: path))
        } catch let error as SystemError { throw DatabaseError.io(error) }
    }

    /// Makes the data in a directory.
    typealias Making = (_ dataPath: String) throws -> (Manifest, DataKey?)

    /// Does it with the directory's lock. Another thread or process may make a database there meanwhile.
    private func replaceAlone(by make: Making) throws {
        guard purpose != .replacement else {
            return try DirectoryLock.whileExclusive(at: path, timeout: DirectoryLock.moment) {
                try replace(by: make)
            }
        }
        var isMade = false
        try DirectoryLock.whileExclusive(
            at: path, timeout: DatabaseOptions().busyTimeout,
            unless: { DatabaseDirectory.exists(at: path) }
        ) {
            guard !DatabaseDirectory.exists(at: path) else { return }
            try replace(by: make)
            isMade = true
        }
        if !isMade { throw DatabaseError.databaseExists(path) }
    }

    private func replace(by make: Making) throws {
        let isOccupied = DatabaseDirectory.exists(at: path)
        let current = isOccupied ? try currentGeneration() : nil
        if !isOccupied || current != nil { try removeLeftovers(besides: current) }
        // Nothing of a database whose manifest is damaged is removed before the new one is whole.
        let generation = try DatabaseDirectory.nextGeneration(at: path)
        do {
            let (manifest, dataKey) = try build(generation, make)
            // A mark without a commit fits the old data and the new.
            let mark = ChangeMark().bytes
            let markPath = DatabaseDirectory.changesPath(path)
            if isOccupied { try Files.replace(markPath, with: mark) }
            try Files.replace(
                DatabaseDirectory.manifestPath(path), with: manifest.bytes(provenBy: dataKey))
            // Of a new database it comes last: data with it and without a manifest are a database that has lost its own, and
            // not what an interrupted copy has left. Opening makes the file where it is missing.
            if !isOccupied { try? Files.replace(markPath, with: mark) }
        } catch {
            discard(generation, isOccupied: isOccupied)
            throw error
        }
        // The new database counts from here on; the next opening removes what cannot be removed now.
        try? removeLeftovers(besides: generation)
    }

    /// The generation of the database that is to be replaced; nil when its manifest is damaged, which
    /// does not prevent the replacement.
    private func currentGeneration() throws -> Int? {
        do { return try Manifest(at: path).generation } catch let error as DatabaseError {
            guard error.code == .corrupted else { throw error }
            return nil
        }
    }

    /// Builds a generation whole, and returns the manifest that makes it count.
    private func build(_ generation: Int, _ make: Making) throws -> (Manifest, DataKey?) {
        let dataPath = try DatabaseDirectory.makeGeneration(generation, at: path)
        let made = try make(dataPath)
        var manifest = made.0
        manifest.generation = generation
        DatabaseDirectory.markPlace(in: &manifest, at: path)
        try Files.synchroniseDirectory(dataPath)
        return (manifest, made.1)
    }

    /// Refuses a copy of a damaged database, before anything is replaced by it.
    func check(_ dataPath: String, engine: String, _ dataKey: DataKey? = nil) throws {
        var options = DatabaseOptions().unlocked(dataKey)
        options.readOnly = true
        let core = try DatabaseCore(
            name: Files.lastComponent(of: path), directory: nil,
            engine: DatabaseCore.openEngine(
                at: dataPath, named: engine, options, unchanging: true),
            options: options, dataPath: dataPath)
        defer { core.close() }
        let problems = try Verification(core: core, readsAttachments: true) { report in
            try progress.report(
                WorkProgress(
                    phase: "checking the copy", completed: report.completed, total: report.total))
        }.run()
        if let first = problems.first {
            throw DatabaseError.damagedSource(first, count: problems.count)
        }
    }

    // MARK: - The place

    /// Whether there is nothing at the path, or an empty directory, or the remains of an unfinished attempt.
    private var isFree: Bool {
        guard Files.exists(path) else { return true }
        guard Files.isDirectory(path), !DatabaseDirectory.exists(at: path),
            (try? DatabaseDirectory.checkIsNoDatabase(at: path)) != nil,
            let names = try? Files.list(path)
        else { return false }
        return names.allSatisfy { DatabaseDirectory.isOwn($0, at: path) }
    }

    private func removeLeftovers(besides generation: Int?) throws(SystemError) {
        for name in try DatabaseDirectory.leftovers(at: path, besides: generation) {
            try Files.remove(path + "/" + name)
        }
    }

    /// Removes an unfinished generation, as far as that is possible.
    ///
    /// An error after the manifest's rename, when the directory cannot be forced to the disk, leaves
    /// a manifest that names it. Then nothing is removed: after a power failure either manifest may
    /// be the one that is found, and each has its data.
    func discard(_ generation: Int, isOccupied: Bool) {
        if let manifest = try? Manifest(at: path), manifest.generation == generation { return }
        try? Files.remove(DatabaseDirectory.dataPath(path, generation))
        if !isOccupied { removeRest() }
    }

    /// Removes the parts of an unfinished database, as far as that is possible.
    private func removeRest() {
        try? removeLeftovers(besides: nil)
        try? Files.remove(DatabaseDirectory.changesPath(path))
        try? Files.remove(DirectoryLock.path(path))
    }

    /// Removes the directory that was made for an unfinished database.
    private func removeEmptied() {
        if (try? Files.list(path))?.isEmpty == true { try? Files.remove(path) }
    }
}
