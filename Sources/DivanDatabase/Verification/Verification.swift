// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanLogging
public import DivanModel
internal import DivanStorage
internal import DivanSystem

/// Something wrong with a database.
public struct VerificationProblem: Sendable, CustomStringConvertible {
    /// One sentence.
    public var message: String
    /// The document concerned, where there is one.
    public var documentID: DocumentID?

    /// Makes a problem of a sentence.
    package init(message: String, documentID: DocumentID?) {
        self.message = message
        self.documentID = documentID
    }

    /// The sentence.
    public var description: String { message }
}

/// Something about a database that is no damage, and that its owner may want to change.
public struct VerificationNotice: Sendable, CustomStringConvertible {
    /// One sentence.
    public var message: String
    /// The document concerned.
    public var documentID: DocumentID

    /// The sentence.
    public var description: String { message }
}

/// What a verification found.
public struct VerificationReport: Sendable {
    /// What is wrong; empty when all is well. At most 1,000.
    public var problems: [VerificationProblem]
    /// What is right here but other databases may refuse: names of attachments that begin with an underscore,
    /// or are empty, which came from elsewhere. At most 1,000.
    public var notices: [VerificationNotice]
    /// Whether a salvage can copy what is sound. It cannot where the structure of a file is damaged that LMDB keeps: LMDB
    /// does not notice damage while it reads, so only a backup helps.
    public var canBeSalvaged = true
}

extension Database {
    /// Checks everything the database's rules demand and lists what is wrong.
    ///
    /// It reads every row: the engine's structure and checksums, each document's tree and bodies, the
    /// marks, the counters. It changes nothing and runs beside readers and writers: what it compares
    /// is of one moment. The space of what other threads and processes commit meanwhile cannot be
    /// reclaimed before it is done. So it gives up when that is more than half the database and 64 MB.
    ///
    /// - Parameter progress: Gets reports; throwing stops the work.
    /// - Returns: The problems; empty when all is well. At most 1,000.
    /// - Throws: `DatabaseError` with code `.databaseClosed`, `.io`, or `.databaseBusy` when others
    ///   write too much meanwhile, and what `progress` throws.
    public func verify(progress: ProgressHandler? = nil) throws -> [VerificationProblem] {
        try verify(readsAttachments: true, progress: progress)
    }

    /// As `verify(progress:)`, with a choice: reading all attachments may take long.
    ///
    /// - Parameters:
    ///   - readsAttachments: Whether the content of attachments is read and compared with its digest;
    ///     without, only that it is there and has its length.
    ///   - progress: Gets reports; throwing stops the work.
    /// - Returns: The problems; empty when all is well. At most 1,000.
    /// - Throws: As `verify(progress:)`.
    public func verify(
        readsAttachments: Bool, progress: ProgressHandler? = nil
    ) throws -> [VerificationProblem] {
        try verificationReport(readsAttachments: readsAttachments, progress: progress).problems
    }

    /// As `verify(readsAttachments:progress:)`, with notices of what is no damage but worth knowing.
    ///
    /// - Parameters:
    ///   - readsAttachments: Whether the content of attachments is read and compared with its digest.
    ///   - progress: Gets reports; throwing stops the work.
    /// - Returns: The problems and the notices.
    /// - Throws: As `verify(progress:)`.
    public func verificationReport(
        readsAttachments: Bool = true, progress: ProgressHandler? = nil
    ) throws -> VerificationReport {
        try checkOpen()
        let verification = Verification(
            core: core, readsAttachments: readsAttachments, progress: progress)
        let problems = try verification.run()
        return VerificationReport(
            problems: problems, notices: verification.notices,
            canBeSalvaged: core.structuralDamage(in: problems.map(\.message)) == nil)
    }
}

extension DatabaseCore {
    /// The first problem of the engine's that it cannot read around; nil when there is none.
    package func structuralDamage(in problems: [String]) -> String? {
        guard !type(of: engine).noticesDamagedStructure else { return nil }
        return problems.first { $0.hasBytePrefix("LMDB:") }
    }
}

/// One run of verification.
///
/// ## Invariants checked
///
/// 1. The engine finds its structure sound and every value's checksum right.
/// 2. Each document's record decodes; its tree's own invariants hold; flags say what the tree says.
/// 3. Each tree node with a sequence has a row of that document and revision in `revisions`, which
///    agrees whether it is a tombstone, with a well-formed body; the winner has one. `largeBodies`
///    holds the pieces of such bodies and nothing else.
/// 4. Each document's update sequence has a row and is not marked in `superseded`.
/// 5. Each row of `revisions` belongs to a node of a tree or is its document's place in the feed.
/// 6. A row is marked dead exactly if its node has a child, shadowed exactly if it is a leaf that is
///    not its document's place.
/// 7. The counters equal what the rows say; no sequence is above the last one.
/// 8. Local documents and purges decode, there is a row for each purge not forgotten, and there is no store that is none of a database's.
///    `conflicts` names the documents in conflict and no others.
/// 9. `expirations` has a row for exactly the documents whose records have a date, with that date.
/// 10. Each row of `olderRevisions` is a block of a document, whose own invariants hold; no leaf of the document
///    is a parent in it, and where the record says who a revision's parent is, the block says the same.
/// 11. The file `changes` names no later commit than the database has: a damaged log loses its end
///    without a trace in the engine, and so does a power loss without full durability.
/// 12. Beside encrypted data lie no earlier ones.
/// 13. A stored revision and `attachmentReferences` name the same contents, and each content is there
///    with its length and its digest. A file that nothing refers to is no problem.
package final class Verification {
    static let problemLimit = 1_000

    let core: DatabaseCore
    let readsAttachments: Bool
    let progress: ProgressHandler?
    private var problems: [VerificationProblem] = []
    /// What is no problem but worth knowing.
    var notices: [VerificationNotice] = []
    private var tally = DatabaseState()
    /// What `revisions` and `superseded` must hold: nil for a row in the feed.
    private var expected: [SequenceNumber: SupersededMark?] = [:]
    /// The dates that documents' records have, and `expirations` must have.
    private var expirations: [DocumentID: ExpirationTime] = [:]
    /// How many pieces each large body has, by its sequence; nil where its row cannot be read.
    private var largeBodies: [SequenceNumber: Int?] = [:]
    /// The documents in conflict that `conflicts` has yet to name.
    private var conflicted: Set<DocumentID> = []
    /// The documents whose rows in `olderRevisions` were checked with their records.
    var withOlder: Set<DocumentID> = []
    /// What stored revisions refer to.
    var attachments = AttachmentAudit()

    /// Prepares a verification.
    package init(core: DatabaseCore, readsAttachments: Bool, progress: ProgressHandler?) {
        self.core = core
        self.readsAttachments = readsAttachments
        self.progress = progress
    }

    /// Checks everything, and returns what is wrong.
    package func run() throws -> [VerificationProblem] {
        try checkStructure()
        // Other problems cannot be found without following the damage.
        let isReadable = problems.isEmpty || type(of: core.engine).noticesDamagedStructure
        guard isReadable else { return problems }
        // Read before the snapshot is taken, since other processes may commit meanwhile.
        let mark = core.directory.flatMap { try? ChangeMark(Files.read($0.changesPath)) }
        let log = LogGuard(core)
        try core.read { snapshot in
            snapshot.forgetNotes()
            let state = try attempt(nil) { try snapshot.state() } ?? DatabaseState()
            if let mark { checkEnd(mark, state) }
            try checkStores(snapshot)
            try checkPurges(snapshot, state)
            let count = Int(clamping: state.liveDocuments &+ state.deletedDocuments)
            try checkDocuments(snapshot, count: count, log)
            try checkRevisions(snapshot, state, log)
            try checkMarks(snapshot)
            try checkLargeBodies(snapshot)
            try checkExpirations(snapshot)
            try checkConflicts(snapshot)
            try checkOlderRevisions(snapshot)
            try checkReferences(snapshot)
            checkCounters(state)
        }
        try checkFiles()
        try checkEarlierData()
        if problems.isEmpty {
            Log.maintenance.info("Verified the database '\(core.name)': all is well.")
        } else {
            Log.maintenance.warning(
                "Verified the database '\(core.name)': \(problems.count) problems were found.")
        }
        return problems
    }

    // MARK: - Parts

    private func checkStructure() throws {
        do {
            let found = try core.engine.verifyStructure { report in
                try self.progress.report(
                    WorkProgress(
                        phase: "checking the file", completed: report.completed,
                        total: report.total))
            }
            for sentence in found { add(sentence, nil) }
        } catch let error as StorageError where error.code == .corrupted {
            add(error.description, nil)
        } catch let error as StorageError {
            throw DatabaseError(error, documentID: nil)
        }
    }

    /// Lists what may be readable without the key of an encrypted database.
    private func checkEarlierData() throws {
        guard core.options.dataKey != nil else { return }
        for name in try core.directory?.earlierData() ?? [] {
            add(
                "Earlier data lie in '\(name)', which may be readable without the key; open the database "
                    + "for writing while no other process has it open, and they are removed.", nil)
        }
    }

    private func checkEnd(_ mark: ChangeMark, _ state: DatabaseState) {
        guard mark.lastSequence > state.lastSequence || mark.lastPurge > state.lastPurge else {
            return
        }
        add(
            "The newest commits are lost: the file 'changes' names sequence \(mark.lastSequence) and "
                + "purge \(mark.lastPurge), but the database ends at \(state.lastSequence) and "
                + "\(state.lastPurge).", nil)
    }

    /// Checks the stores that no counter and no tree refers to.
    private func checkStores(_ snapshot: Snapshot) throws {
        try checkIndexes(snapshot)
        try forEachRow(of: core.stores.local, snapshot) { cursor in
            try cursor.withValue { row in
                let record = try DatabaseCore.decoding(nil) { try LocalRecord(row) }
                try DatabaseCore.decoding(nil) { try record.body.validate() }
            }
        }
    }

    private func checkPurges(_ snapshot: Snapshot, _ state: DatabaseState) throws {
        var count: UInt64 = 0
        try forEachRow(of: core.stores.purges, snapshot) { cursor in
            count += 1
            let key = cursor.integerKey
            if key <= Int64(clamping: state.forgottenPurge)
                || key > Int64(clamping: state.lastPurge)
            {
                add("The store 'purges' has a row under \(key), which is no purge to be kept.", nil)
            }
            try cursor.withValue { row in
                _ = try DatabaseCore.decoding(nil) { try PurgeRecord(row) }
            }
        }
        let expected = state.lastPurge - min(state.lastPurge, state.forgottenPurge)
        if count != expected {
            add("There are \(count) rows of purges, but there should be \(expected).", nil)
        }
    }

    func forEachRow(
        of store: Store, _ snapshot: Snapshot, _ body: (any StorageCursor) throws -> Void
    ) throws {
        let cursor = try snapshot.reader.cursor(in: store)
        defer { cursor.close() }
        var found = try attempt(nil) { try cursor.seekToFirst() } ?? false
        while found {
            try attempt(nil) { try body(cursor) }
            found = try attempt(nil) { try cursor.next() } ?? false
        }
    }

    private func checkDocuments(_ snapshot: Snapshot, count: Int, _ log: LogGuard) throws {
        let cursor = try snapshot.reader.cursor(in: core.stores.documents)
        defer { cursor.close() }
        var found = try attempt(nil) { try cursor.seekToFirst() } ?? false
        var done = 0
        while found {
            if done % 1_000 == 0 {
                try log.check()
                try progress.report(
                    WorkProgress(phase: "checking documents", completed: done, total: count))
            }
            done += 1
            var id: DocumentID?
            try attempt(nil) { try cursor.withKey { id = DocumentID(String(utf8: $0)) } }
            if let id { try check(id, cursor, snapshot) }
            found = try attempt(id) { try cursor.next() } ?? false
        }
    }

    private func check(_ id: DocumentID, _ cursor: any StorageCursor, _ snapshot: Snapshot) throws {
        if !id.isValid {
            add("Document '\(id)' has an invalid ID.", id)
        }
        var record: DocumentRecord?
        var head: DocumentRecord.Head?
        try attempt(id) {
            try cursor.withValue { row in
                record = try DatabaseCore.decoding(id) { try DocumentRecord(row) }
                head = try DatabaseCore.decoding(id) { try DocumentRecord.head(row) }
            }
        }
        guard let record, let head else { return }
        for sentence in record.tree.invariantViolations() {
            add("The revision tree of document '\(id)': \(sentence)", id)
        }
        if head.isDeleted != record.tree.isDeleted || head.isConflicted != record.tree.isConflicted
        {
            add("The flags of document '\(id)' do not say what its tree says.", id)
        }
        tally.add(record)
        if let time = record.expiration { expirations[id] = time }
        if record.tree.isConflicted { conflicted.insert(id) }
        try checkBodies(id, record, snapshot)
        try checkOlder(id, record.tree, snapshot)
    }

    private func checkBodies(_ id: DocumentID, _ record: DocumentRecord, _ snapshot: Snapshot)
        throws
    {
        for node in record.tree.nodes {
            guard let sequence = node.sequence else {
                if node.isLeaf { add("Leaf \(node.id) of document '\(id)' has no body.", id) }
                continue
            }
            let mark: SupersededMark? =
                sequence == record.updateSequence ? nil : node.isLeaf ? .shadowed : .dead
            if expected.updateValue(mark, forKey: sequence) != nil {
                add("Sequence \(sequence) is used twice, once by document '\(id)'.", id)
            }
            try checkRow(sequence, of: id, node, snapshot)
            let body = try attempt(id) { try snapshot.body(id, sequence, expecting: node.id) }
            switch body {
            case .some(.some(let body)):
                attachments.note(body, of: id, sequence)
                if node.isLeaf { noteNames(in: body, of: id) }
                do { try body.validate() } catch {
                    add("The body of revision \(node.id) of document '\(id)' is malformed.", id)
                }
                if body.kind != .object {
                    add("The body of revision \(node.id) of document '\(id)' is no object.", id)
                }
            case .some(.none):
                add("The body of revision \(node.id) of document '\(id)' is missing.", id)
            case .none: break
            }
        }
        // A pointer holds the place when no revision does.
        if expected[record.updateSequence] == nil {
            expected[record.updateSequence] = .some(nil)
            let exists = try checkRow(record.updateSequence, of: id, nil, snapshot)
            if exists == false { add("Document '\(id)' is missing from the changes feed.", id) }
        }
    }

    /// Checks which document the row of a sequence belongs to; false when there is no row, nil when
    /// it cannot be read.
    ///
    /// A pointer has no node, and its tombstone flag is the winner's of when it was written.
    @discardableResult
    private func checkRow(
        _ sequence: SequenceNumber, of id: DocumentID, _ node: RevisionTree.Node?,
        _ snapshot: Snapshot
    ) throws -> Bool? {
        var row: RevisionRow?
        // Damage is reported where the body is read; a pointer has none.
        func read() throws {
            let key = Int64(sequence)
            _ = try snapshot.reader.withValue(forKey: key, in: core.stores.revisions) { value in
                row = try DatabaseCore.decoding(id) { try RevisionRow(value) }
            }
        }
        if node == nil {
            guard try attempt(id, read) != nil else { return nil }
        } else {
            do { try read() } catch {
                largeBodies[sequence] = .some(nil)
                return nil
            }
        }
        guard let row else { return false }
        if row.flags.contains(.largeBody) {
            largeBodies[sequence] = LargeBody.chunkCount(row.largeLength)
        }
        if row.flags.contains(.attachments) { attachments.marked.insert(sequence) }
        if row.documentID != id {
            add("Sequence \(sequence) of document '\(id)' is that of '\(row.documentID)'.", id)
        }
        if let node, row.flags.contains(.tombstone) != node.isTombstone {
            add(
                "Revision \(node.id) of document '\(id)' is a tombstone in only one of its row and "
                    + "its tree.", id)
        }
        return true
    }

    private func checkLargeBodies(_ snapshot: Snapshot) throws {
        var reported: SequenceNumber?
        try forEachRow(of: core.stores.largeBodies, snapshot) { cursor in
            try cursor.withKey { key in
                var reader = RowReader()
                let sequence = try DatabaseCore.decoding(nil) { try reader.bigEndian64(key) }
                var piece = 0
                for position in reader.rest(key) { piece = piece << 8 | Int(key[position]) }
                guard let count = largeBodies[sequence] ?? 0, reported != sequence,
                    key.count != 12 || piece >= count
                else { return }
                reported = sequence
                add("A large body under sequence \(sequence) belongs to no stored revision.", nil)
            }
        }
    }

    private func checkExpirations(_ snapshot: Snapshot) throws {
        try forEachRow(of: core.stores.expirations, snapshot) { cursor in
            var key: ExpirationKey?
            try cursor.withRow { bytes, value in
                key = try DatabaseCore.decoding(nil) { try ExpirationKey(bytes) }
                if !value.isEmpty { add("A row of 'expirations' has a value.", key?.documentID) }
            }
            guard let key else { return }
            if expirations[key.documentID] == key.time {
                expirations[key.documentID] = nil
            } else {
                add(
                    "A date of expiration of document '\(key.documentID)' is not that of its "
                        + "record.", key.documentID)
            }
        }
        for id in expirations.keys.sorted() {
            add("The date of expiration of document '\(id)' is missing from 'expirations'.", id)
        }
    }

    private func checkRevisions(
        _ snapshot: Snapshot, _ state: DatabaseState, _ log: LogGuard
    ) throws {
        let cursor = try snapshot.reader.cursor(in: core.stores.revisions)
        defer { cursor.close() }
        var found = try attempt(nil) { try cursor.seekToFirst() } ?? false
        var done = 0
        while found {
            if done % 10_000 == 0 {
                try log.check()
                try progress.report(
                    WorkProgress(
                        phase: "checking revisions", completed: done, total: expected.count))
            }
            done += 1
            guard let sequence = sequence(at: cursor, in: "revisions") else {
                found = try attempt(nil) { try cursor.next() } ?? false
                continue
            }
            if expected[sequence] == nil {
                add("The revision stored under sequence \(sequence) belongs to no document.", nil)
            }
            if sequence > state.lastSequence {
                add("Sequence \(sequence) is above the last one, \(state.lastSequence).", nil)
            }
            found = try attempt(nil) { try cursor.next() } ?? false
        }
    }

    /// The sequence that is the key of a row; nil, and a problem, when the key can be none.
    private func sequence(at cursor: any StorageCursor, in store: String) -> SequenceNumber? {
        let key = cursor.integerKey
        if key > 0 { return SequenceNumber(key) }
        add("The store '\(store)' has a row under \(key), which is no sequence.", nil)
        return nil
    }

    private func checkMarks(_ snapshot: Snapshot) throws {
        let cursor = try snapshot.reader.cursor(in: core.stores.superseded)
        defer { cursor.close() }
        var marked: Set<SequenceNumber> = []
        var found = try attempt(nil) { try cursor.seekToFirst() } ?? false
        while found {
            guard let sequence = sequence(at: cursor, in: "superseded") else {
                found = try attempt(nil) { try cursor.next() } ?? false
                continue
            }
            var mark: SupersededMark?
            try attempt(nil) {
                try cursor.withValue {
                    mark = $0.count == 1 ? SupersededMark(rawValue: $0[0]) : nil
                }
            }
            marked.insert(sequence)
            if mark == .dead { tally.deadBodies += 1 }
            if mark == nil || expected[sequence].flatMap({ $0 }) != mark {
                add("Sequence \(sequence) has a wrong mark among the superseded ones.", nil)
            }
            found = try attempt(nil) { try cursor.next() } ?? false
        }
        for (sequence, mark) in expected where mark != nil && !marked.contains(sequence) {
            add("Sequence \(sequence) lacks its mark among the superseded ones.", nil)
        }
    }

    private func checkConflicts(_ snapshot: Snapshot) throws {
        try forEachRow(of: core.stores.conflicts, snapshot) { cursor in
            try cursor.withRow { key, value in
                let id = DocumentID(String(utf8: key))
                if conflicted.remove(id) == nil {
                    add("Document '\(id)' is listed as in conflict, but is not.", id)
                }
                if !value.isEmpty { add("The list of conflicts has a malformed row.", id) }
            }
        }
        for id in conflicted.sorted(by: { $0.text < $1.text }) {
            add("Document '\(id)' is in conflict, but not listed so.", id)
        }
    }

    private func checkCounters(_ state: DatabaseState) {
        let pairs = [
            ("live documents", state.liveDocuments, tally.liveDocuments),
            ("deleted documents", state.deletedDocuments, tally.deletedDocuments),
            ("conflicted documents", state.conflictedDocuments, tally.conflictedDocuments),
            ("superseded bodies", state.deadBodies, tally.deadBodies),
        ]
        for (what, counted, found) in pairs where counted != found {
            add("The counter of \(what) says \(counted), but there are \(found).", nil)
        }
    }

    // MARK: - Problems

    func add(_ message: String, _ id: DocumentID?) {
        guard problems.count < Self.problemLimit else { return }
        problems.append(VerificationProblem(message: message, documentID: id))
    }

    /// Runs a read; damage becomes a problem and nil, everything else is thrown.
    @discardableResult
    func attempt<T>(_ id: DocumentID?, _ body: () throws -> T) throws -> T? {
        do { return try body() } catch let error as StorageError where error.code == .corrupted {
            add(error.description, id)
        } catch let error as DatabaseError where error.code == .corrupted {
            add(error.message, id ?? error.documentID)
        } catch let error as DatabaseError where error.code == .revisionNotFound {
            add(error.message, id)
        }
        return nil
    }
}

extension DatabaseState {
    fileprivate mutating func add(_ record: DocumentRecord) {
        if record.tree.isDeleted { deletedDocuments += 1 } else { liveDocuments += 1 }
        if record.tree.isConflicted { conflictedDocuments += 1 }
    }
}

extension RevisionTree {
    /// The tree's own invariants, as sentences; empty when all hold.
    fileprivate func invariantViolations() -> [String] {
        do {
            try checkInvariants()
            return []
        } catch { return ["\(error)"] }
    }
}
