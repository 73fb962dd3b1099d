// SPDX-License-Identifier: Apache-2.0

public import DivanDatabase
internal import DivanJSON
internal import DivanLogging
internal import DivanModel
internal import DivanStorage
internal import DivanSystem
public import FoundationEssentials

/// What a salvage recovered.
public struct SalvageResult: Sendable {
    /// Documents copied with all their stored revisions.
    public var documentsCopied = 0
    /// Revisions copied.
    public var revisionsCopied = 0
    /// The files of attachments copied.
    public var attachmentsCopied = 0
    /// What could not be read, a sentence each; at most 1,000.
    public var problems: [VerificationProblem] = []
}

extension Database {
    /// Copies every readable document of a damaged database into a new one.
    ///
    /// The source is only read. Documents are found by their records first; those whose records are
    /// damaged are rebuilt from their stored leaves, each then without its history. A salvage does
    /// not need the manifest, so that may be damaged or missing; the copy gets one of its own, with
    /// new UUIDs. It takes its name in one step when it is whole; what interrupts a salvage leaves no database, and the
    /// next one to the same place removes what is left of it.
    ///
    /// - Parameters:
    ///   - source: The damaged database's directory.
    ///   - destination: Where the new database goes: a path where nothing is yet, an empty directory, or what an interrupted
    ///     salvage has left.
    ///   - encryptionKey: The key of the damaged database; nil when it is not encrypted. The copy is
    ///     encrypted with it, too. Without a manifest nothing can be read, since the manifest has the key of
    ///     the data.
    ///   - progress: Gets reports; throwing stops the work, and nothing of it is left.
    /// - Returns: What was copied, and what could not be read.
    /// - Throws: `DatabaseError` with code `.databaseExists` when something is at `destination`; as
    ///   opening the source, when it cannot be opened at all; `.databaseBusy` when others write too much
    ///   to it meanwhile.
    public static func salvage(
        from source: URL, to destination: URL, encryptionKey: EncryptionKey? = nil,
        progress: ProgressHandler? = nil
    ) throws -> SalvageResult {
        let (damaged, problems) = try openDamaged(at: source, encryptionKey)
        defer { damaged.close() }
        let engine = KnownEngines.standard
        var result = SalvageResult()
        try Installation(
            path: try destination.directoryPath, purpose: .copy, transfer: .copying,
            progress: progress
        ).run { dataPath in
            let access = try DatabaseAccess(making: encryptionKey)
            var manifest = Manifest(engine: engine.identifier)
            manifest.encryption = access.wrapping
            // Without a manifest it is not known; any ID is good then.
            manifest.isPartitioned = damaged.isPartitioned
            let copy = try newData(at: dataPath, engine, access.dataKey)
            defer { copy.close() }
            result = try Salvage(from: damaged, to: copy, progress: progress).run()
            try copy.sync()
            return (manifest, access.dataKey)
        }
        result.problems.insert(contentsOf: problems, at: 0)
        return result
    }

    /// Makes the data of a database that has no manifest yet.
    private static func newData(
        at dataPath: String, _ engine: StorageEngineFactory, _ dataKey: DataKey?
    ) throws -> Database {
        let options = DatabaseOptions().unlocked(dataKey)
        do {
            try Files.makeDirectory(dataPath)
            try DatabaseCore.openEngine(
                at: dataPath, named: engine.identifier, options, creating: true
            ).close()
        } catch let error as SystemError { throw DatabaseError.io(error) }
        let core = try DatabaseCore(
            name: "salvaged", directory: nil,
            engine: DatabaseCore.openEngine(at: dataPath, named: engine.identifier, options),
            options: options, dataPath: dataPath)
        // Expired documents are copied, too; they are purged when the copy is first opened.
        core.expirationTimer.stop()
        return Database(name: "salvaged", core: core, readOnly: false, registration: nil)
    }

    /// Opens a database read-only, if need be by its newest data without the manifest.
    private static func openDamaged(
        at url: URL, _ key: EncryptionKey?
    ) throws -> (Database, [VerificationProblem]) {
        var options = DatabaseOptions()
        options.encryptionKey = key
        options.readOnly = true
        options.isDamaged = true
        let path = try url.localPath
        do {
            return (try open(at: url, options: options), [])
        } catch let error as DatabaseError
            where (error.code == .corrupted || error.code == .databaseNotFound) && key == nil
        {
            let (database, others) = try openMost(at: path, options, error)
            let problem = VerificationProblem(message: error.message, documentID: nil)
            return (database, [problem] + others)
        }
    }

    /// Opens the generation of a directory without a manifest that has the most documents: another one may be unfinished, or
    /// a folder of a person's.
    ///
    /// - Throws: `error` when there is none; as opening one that cannot be opened, where no other has a document.
    private static func openMost(
        at path: String, _ options: DatabaseOptions, _ error: DatabaseError
    ) throws -> (Database, [VerificationProblem]) {
        let names = ((try? Files.list(path)) ?? []).filter { name in
            let files = try? Files.list(path + "/" + name)
            return files?.contains { $0.hasBytePrefix("main.") } == true
        }
        .compactMap(DatabaseDirectory.generation).sorted(by: >).map { "data-\($0)" }
        var best: (core: DatabaseCore, count: Int, name: String)?
        var fewer: [String] = []
        var failures: [(name: String, error: any Error)] = []
        for name in names {
            do {
                let core = try openData(at: path + "/" + name, options)
                let count =
                    (try? core.read { try $0.reader.count(of: core.stores.documents) }) ?? 0
                let isBest = best.map { count > $0.count } ?? true
                let loser = isBest ? best : (core, count, name)
                if isBest { best = (core, count, name) }
                loser?.core.close()
                if let loser { fewer.append(loser.name) }
            } catch let refusal {
                failures.append((name, refusal))
            }
        }
        // Data without documents are not taken for those that cannot be opened.
        guard let best, best.count > 0 || failures.isEmpty else {
            best?.core.close()
            throw failures.first?.error ?? error
        }
        let problems =
            fewer.map { "What is in '\($0)' was passed over; '\(best.name)' has more documents." }
            + failures.map { "What is in '\($0.name)' cannot be opened: \($0.error)" }
        let database = Database(
            name: "damaged", core: best.core, readOnly: true, registration: nil)
        return (database, problems.map { VerificationProblem(message: $0, documentID: nil) })
    }

    private static func openData(at dataPath: String, _ options: DatabaseOptions) throws
        -> DatabaseCore
    {
        try DatabaseCore(
            name: "damaged", directory: nil,
            engine: DatabaseCore.openEngine(
                at: dataPath, named: KnownEngines.engine(ofDataAt: dataPath).identifier, options),
            options: options, dataPath: dataPath)
    }
}

/// One run of salvage. Works through the source in batches, each one transaction of the copy.
final class Salvage {
    private static let batchSize = 1_000

    let source: DatabaseCore
    let copy: Database
    private let progress: ProgressHandler?
    var result = SalvageResult()
    /// The contents that were copied, or could not be.
    var contents: Set<AttachmentKey> = []
    private let log: LogGuard
    /// The documents copied by their records, whose stored revisions are no strays.
    private var copied: Set<DocumentID> = []
    /// The documents rebuilt from stored revisions.
    private var rebuilt: Set<DocumentID> = []

    init(from source: Database, to copy: Database, progress: ProgressHandler?) {
        self.source = source.core
        log = LogGuard(source.core)
        self.copy = copy
        self.progress = progress
    }

    func run() throws -> SalvageResult {
        try checkStructure()
        try source.read { snapshot in
            if let state = attempt(nil, { try snapshot.state() }) {
                try copy.setRevisionBodyLimit(Int(clamping: state.revisionBodyLimit))
                try copy.setRevisionLimit(Int(clamping: state.revisionLimit))
            }
            if let limit = attempt(nil, { try snapshot.setting(.keptPurges) }) ?? nil, limit > 0 {
                try copy.setPurgeHistoryLimit(Int(clamping: limit))
            }
            try copyDocuments(snapshot)
            try copyStrays(snapshot)
            try copyExpirations(snapshot)
            try copyLocals(snapshot)
        }
        Log.maintenance.info(
            "Salvaged the database '\(source.name)': \(result.documentsCopied) documents came over, "
                + "\(result.problems.count) problems were met.")
        return result
    }

    /// Refuses a database whose structure is damaged, if its engine would not notice that while reading.
    private func checkStructure() throws {
        guard !type(of: source.engine).noticesDamagedStructure else { return }
        let problems = try DatabaseCore.blaming(nil) {
            try source.engine.verifyStructure(progress: nil)
        }
        // A value that does not match its checksum is met again, where its document is copied.
        guard let first = source.structuralDamage(in: problems) else { return }
        throw DatabaseError(
            .corrupted,
            "The structure of the database's file is damaged, and its storage engine cannot read "
                + "around that; restore a backup. First problem: \(first)")
    }

    /// Documents by their records.
    private func copyDocuments(_ snapshot: Snapshot) throws {
        try batches(of: source.stores.documents, snapshot) { cursor in
            var id: DocumentID?
            _ = attempt(nil) { try cursor.withKey { id = DocumentID(String(utf8: $0)) } }
            guard let id else { return }
            var record: DocumentRecord?
            _ = attempt(id) {
                try cursor.withValue { row in
                    record = try DatabaseCore.decoding(id) { try DocumentRecord(row) }
                }
            }
            if let record { try copyDocument(id, record, snapshot) }
        }
    }

    private func copyDocument(_ id: DocumentID, _ record: DocumentRecord, _ snapshot: Snapshot)
        throws
    {
        var count = 0
        // Where the older part cannot be read, the recent one is copied without it.
        let tree = attempt(id) { try snapshot.whole(record.tree, of: id) } ?? record.tree
        // Oldest first, so that each revision's history is there when it comes.
        for node in record.tree.nodes.sorted(by: { $0.id < $1.id }) {
            guard let sequence = node.sequence else { continue }
            var body = attempt(id) { try snapshot.body(id, sequence, expecting: node.id) } ?? nil
            if let read = body, (try? read.validate()) == nil || read.kind != .object { body = nil }
            if body == nil, node.isLeaf {
                add("Revision \(node.id) of document '\(id)' is lost.", id)
                // That the document is deleted is known, and an older body must not bring it back.
                if node.isTombstone { body = PackedValue(.object([:])) }
            }
            guard let body else { continue }
            let history = try RevisionHistory(tree.history(of: node.id))
            let content = RevisionContent(body: body, isDeleted: node.isTombstone)
            if try add(id, history, content) { count += 1 }
        }
        guard count > 0 else { return }
        if let time = record.expiration { try copy.core.write { try $0.setExpiration(id, time) } }
        copied.insert(id)
        result.documentsCopied += 1
        result.revisionsCopied += count
    }

    /// A stored revision whose document's record could not be read.
    private struct Stray {
        var sequence: SequenceNumber
        var row: RevisionRow
        var isDead: Bool
    }

    /// Revisions whose documents' records could not be read: the leaves, as far as the marks tell.
    private func copyStrays(_ snapshot: Snapshot) throws {
        var doubtful: [Stray] = []
        try batches(of: source.stores.revisions, snapshot) { cursor in
            guard cursor.integerKey > 0 else {
                return add("A stored revision has the sequence \(cursor.integerKey).", nil)
            }
            var row: RevisionRow?
            _ = attempt(nil) {
                try cursor.withValue { value in
                    row = try DatabaseCore.decoding(nil) { try RevisionRow(value) }
                }
            }
            // A row without a body only holds a place in the feed.
            guard let row, !copied.contains(row.documentID),
                row.flags.contains(.largeBody) || !row.body.isEmpty
            else { return }
            let sequence = SequenceNumber(cursor.integerKey)
            let mark = attempt(row.documentID) { try self.mark(sequence, snapshot) }
            let stray = Stray(sequence: sequence, row: row, isDead: mark == .some(.dead))
            switch mark {
            case .some(.none), .some(.shadowed): try copyStray(stray, snapshot)
            case .some(.dead), nil: doubtful.append(stray)
            }
        }
        try copyDoubtful(doubtful, snapshot)
    }

    /// What is left once the certain leaves are copied: rows with unreadable marks, and dead ones.
    ///
    /// An unreadable mark may hide a leaf, so its revision comes too, but never below a tombstone:
    /// an older body must not bring a deleted document back. A dead revision comes only where it is
    /// all there is of its document.
    private func copyDoubtful(_ strays: [Stray], _ snapshot: Snapshot) throws {
        // Rows with unreadable marks first, the newest of each kind first.
        let ordered = strays.sorted {
            $0.isDead == $1.isDead ? $0.row.revisionID > $1.row.revisionID : !$0.isDead
        }
        for stray in ordered {
            if let head = try copy.core.read({ try $0.head(stray.row.documentID) }) {
                let newest = head.winner.id.generation
                if stray.isDead { continue }
                if head.isDeleted, newest >= stray.row.revisionID.generation { continue }
            }
            try copyStray(stray, snapshot)
        }
    }

    private func copyStray(_ stray: Stray, _ snapshot: Snapshot) throws {
        let (id, revision) = (stray.row.documentID, stray.row.revisionID)
        let body = attempt(id) { try snapshot.body(id, stray.sequence, expecting: revision) } ?? nil
        guard let body, (try? body.validate()) != nil, body.kind == .object else {
            return add("Revision \(revision) of document '\(id)' is lost.", id)
        }
        let content = RevisionContent(body: body, isDeleted: stray.row.flags.contains(.tombstone))
        let history = RevisionHistory(revision)
        guard try add(id, history, content) else { return }
        result.revisionsCopied += 1
        guard rebuilt.insert(id).inserted else { return }
        result.documentsCopied += 1
        add(
            stray.isDead
                ? "Document '\(id)' was rebuilt from an old revision; no newer one can be read."
                : "Document '\(id)' was rebuilt from a stored revision, without its history.", id)
    }

    /// How a stored revision is marked; nil for one that is not.
    private func mark(_ sequence: SequenceNumber, _ snapshot: Snapshot) throws -> SupersededMark? {
        var mark: SupersededMark?
        _ = try snapshot.reader.withValue(
            forKey: Int64(sequence), in: source.stores.superseded
        ) { value in
            mark = value.count == 1 ? SupersededMark(rawValue: value[0]) : nil
            if mark == nil {
                throw DatabaseError.corrupted("The mark of sequence \(sequence)", nil)
            }
        }
        return mark
    }

    /// The dates of documents that were rebuilt without their records.
    private func copyExpirations(_ snapshot: Snapshot) throws {
        try batches(of: source.stores.expirations, snapshot) { cursor in
            var key: ExpirationKey?
            _ = attempt(nil) {
                try cursor.withRow { bytes, _ in
                    key = try DatabaseCore.decoding(nil) { try ExpirationKey(bytes) }
                }
            }
            guard let key, rebuilt.contains(key.documentID) else { return }
            try copy.core.write { try $0.setExpiration(key.documentID, key.time) }
        }
    }

    private func copyLocals(_ snapshot: Snapshot) throws {
        try batches(of: source.stores.local, snapshot) { cursor in
            var id = ""
            var record: LocalRecord?
            _ = attempt(nil) {
                try cursor.withRow { key, value in
                    id = String(utf8: key)
                    record = try DatabaseCore.decoding(nil) { try LocalRecord(value) }
                }
            }
            if let record, (try? record.body.validate()) != nil {
                try copy.core.write {
                    try $0.putLocal(id, record.body, revision: record.revision)
                }
            }
        }
    }

    // MARK: - Walking

    /// Walks a store of the source; every `batchSize` rows are one transaction of the copy.
    ///
    /// Where damage ends the walk, a second one comes from the store's end down to the last row seen,
    /// so that only rows between two damaged places are lost.
    private func batches(
        of store: Store, _ snapshot: Snapshot, _ body: (any StorageCursor) throws -> Void
    ) throws {
        let cursor = try snapshot.reader.cursor(in: store)
        defer { cursor.close() }
        var last: [UInt8] = []
        let isWhole = try walk(
            from: { try cursor.seekToFirst() }, by: { try cursor.next() }
        ) {
            try cursor.withKey { key in
                last.removeAll(keepingCapacity: true)
                last.append(copying: key)
            }
            try body(cursor)
            return true
        }
        guard !isWhole else { return }
        add("A damaged place ended the reading of a store; it went on from the store's end.", nil)
        let isMet = try walk(
            from: { try cursor.seekToLast() }, by: { try cursor.previous() }
        ) {
            var key: [UInt8] = []
            try cursor.withKey { key.append(copying: $0) }
            // `KeyEncoding` keeps the order of integers, so bytes compare in either kind of store.
            guard last.lexicographicallyPrecedes(key) else { return false }
            try body(cursor)
            return true
        }
        if !isMet { add("Rows of a store between two damaged places are lost.", nil) }
    }

    /// Walks until `body` returns false or the rows end; false when a step fails.
    private func walk(
        from start: () throws -> Bool, by step: () throws -> Bool, _ body: () throws -> Bool
    ) throws -> Bool {
        var found = attempt(nil, start)
        while found == true {
            try log.check()
            try progress.report(
                WorkProgress(phase: "copying", completed: result.documentsCopied, total: nil))
            try copy.core.batch { _ in
                for _ in 0..<Self.batchSize where found == true {
                    found = try body() ? attempt(nil, step) : false
                }
            }
        }
        return found != nil
    }

    func add(_ message: String, _ id: DocumentID?) {
        guard result.problems.count < 1_000 else { return }
        result.problems.append(VerificationProblem(message: message, documentID: id))
    }

    /// Runs a read of the source; whatever fails becomes a problem and nil.
    func attempt<T>(_ id: DocumentID?, _ body: () throws -> T) -> T? {
        do { return try body() } catch {
            add((error as? DatabaseError)?.message ?? "\(error)", id)
            return nil
        }
    }
}
