// SPDX-License-Identifier: Apache-2.0

internal import DivanLogging
internal import DivanStorage
internal import DivanSystem

/// Rewrites a database into a generation of another form, so that at every moment there is the old
/// one whole or the new one whole.
///
///     NAME.divan/                          a crash here leaves
///       lock      held exclusively
///       data-7/   only read
///       data-8/   stores copied, synced    the old one; the next opening removes data-8
///                 attachments, synced      the old one
///                 checked as verify does   the old one
///       manifest  renamed over the old     the old one or the new one
///       data-7/   removed                  the new one; the next opening removes data-7
///
/// It is the same database afterwards: documents, revisions, sequences, local documents, indexes, both
/// UUIDs, and its incarnation, so that replications go on where they were.
///
/// ## Invariants
///
/// 1. The caller holds the directory's lock exclusively, so no process has the database open, and the manifest
///    names the generation that is rewritten: all others are removed.
/// 2. Not a byte of the old generation changes before the manifest names the new one.
/// 3. Everything the new manifest names is on the disk before the manifest is.
struct GenerationRewriting {
    /// The directory, whose lock is held exclusively.
    let directory: DatabaseDirectory
    /// The form of the new generation.
    let form: GenerationForm
    /// How the old generation is opened: read-only, and with its key when it has one.
    let options: DatabaseOptions
    let progress: ProgressHandler?

    /// Does the work. The directory's own `manifest` is of the old generation then: open it anew.
    ///
    /// - Throws: `DatabaseError` with code `.corrupted` when a row or an attachment cannot be read,
    ///   `.storageFull`, `.io`, also when a symbolic link leads to the data, and what `progress` throws. The database is then as it was.
    func run() throws {
        _ = try directory.readManifest()
        let generation: Int
        do {
            try refuseLinks()
            generation = try DatabaseDirectory.nextGeneration(at: directory.path)
        } catch let error as SystemError { throw DatabaseError.io(error) }
        let dataPath = DatabaseDirectory.dataPath(directory.path, generation)
        do {
            for name in try DatabaseDirectory.leftovers(
                at: directory.path, besides: directory.manifest.generation)
            {
                try Files.remove(directory.path + "/" + name)
            }
            _ = try DatabaseDirectory.makeGeneration(generation, at: directory.path)
            try build(dataPath)
            try name(generation)
        } catch {
            discard(generation)
            if let error = error as? StorageError { throw DatabaseError(error, documentID: nil) }
            if let error = error as? SystemError { throw DatabaseError.io(error) }
            throw error
        }
        // The new generation counts from here on; a later opening removes what cannot be removed now.
        try? Files.remove(directory.dataPath)
        Log.maintenance.info(
            "Converted the database at '\(directory.path)' from '\(directory.manifest.engine)' to "
                + "'\(form.engine)'.")
    }

    /// Refuses data that lie elsewhere: only the link to them would be removed, and they would stay as they are.
    private func refuseLinks() throws {
        let parts = try Files.list(directory.dataPath).map { directory.dataPath + "/" + $0 }
        for path in [directory.dataPath] + parts
        where try FileStatus(at: path, followingLinks: false).kind == .other {
            throw DatabaseError(
                .io,
                "The data behind '\(path)' would stay as they are, since that is no folder or file of the "
                    + "database's own but a link; put there what it leads to.")
        }
    }

    /// Builds the new generation whole.
    private func build(_ dataPath: String) throws {
        try progress.report(WorkProgress(phase: Self.copyPhase, completed: 0, total: nil))
        let source = try openSource()
        defer { source.close() }
        try form.fill(dataPath, from: source.engine) { done, total in
            try progress.report(WorkProgress(phase: Self.copyPhase, completed: done, total: total))
        }
        try GenerationForm.transfer(
            AttachmentReference.contents(in: source), from: source.attachments, to: dataPath,
            by: form.transfer
        ) { done, total in
            try progress.report(
                WorkProgress(phase: Self.attachmentPhase, completed: done, total: total))
        }
        try Files.synchroniseDirectory(dataPath)
        try check(dataPath)
    }

    private func openSource() throws -> DatabaseCore {
        var options = options
        options.readOnly = true
        let core = try DatabaseCore(
            name: Files.lastComponent(of: directory.path), directory: nil,
            engine: DatabaseCore.openEngine(
                at: directory.dataPath, named: directory.manifest.engine, options,
                unchanging: true),
            options: options, dataPath: directory.dataPath)
        return core
    }

    /// Refuses a damaged result, before it replaces anything.
    private func check(_ dataPath: String) throws {
        var storage = form.options
        storage.isReadOnly = true
        storage.isUnchanging = true
        storage.createsIfMissing = false
        var options = options.unlocked(form.dataKey)
        options.readOnly = true
        let core = try DatabaseCore(
            name: Files.lastComponent(of: directory.path), directory: nil,
            engine: form.engine.open(directory: dataPath, options: storage),
            options: options, dataPath: dataPath)
        defer { core.close() }
        let problems = try Verification(core: core, readsAttachments: false) { report in
            try progress.report(
                WorkProgress(
                    phase: "checking the new data", completed: report.completed,
                    total: report.total))
        }.run()
        if let first = problems.first {
            throw DatabaseError.damagedSource(first, count: problems.count)
        }
    }

    /// Lets the manifest name the new generation.
    private func name(_ generation: Int) throws {
        var probe = directory.manifest
        probe.generation = generation
        DatabaseDirectory.markPlace(in: &probe, at: directory.path)
        try Files.synchroniseDirectory(
            DatabaseDirectory.dataPath(directory.path, generation))
        try Files.synchroniseDirectory(directory.path)
        let place = probe.place
        _ = try directory.changeManifest(provenBy: form.dataKey) { manifest in
            manifest.generation = generation
            manifest.engine = form.engine.identifier
            manifest.place = place
            form.record(&manifest)
        }
    }

    /// Removes an unfinished generation, unless the manifest names it already.
    ///
    /// That is so when the directory could not be forced to the disk after the rename. After a power
    /// failure either manifest may be the one that is found, so both generations stay.
    private func discard(_ generation: Int) {
        if let manifest = try? Manifest(at: directory.path), manifest.generation == generation {
            return
        }
        try? Files.remove(DatabaseDirectory.dataPath(directory.path, generation))
    }

    private static let copyPhase = "converting the data"
    private static let attachmentPhase = "converting attachments"
}
