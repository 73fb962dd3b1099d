// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanLogging
internal import DivanModel
internal import DivanSQLite
internal import DivanStorage
internal import DivanSystem
internal import FoundationEssentials

/// Brings a Couchbase Lite 1.x database over into an empty one that no other handle or process has open.
///
/// Revisions come in the order of their sequences and keep them: a push then goes on from the
/// sequence it had come to, since its checkpoint says how far in this very numbering. Each comes with
/// its ancestors' IDs, so the trees are what they were, conflicts and tombstones included, and with
/// its body where that is still there.
///
///     revs                                        the new database
///     201  a  1-x            {…}                  201  a  1-x
///     202  b  1-y            gone                 –    (an ID in the tree of b)
///     203  b  2-z  of 202    {…}                  203  b  2-z, 1-y
///     AUTOINCREMENT stood at 207                  the next sequence is 208
///
/// A record that breaks a rule becomes a problem and the rest goes on. What fails in the new
/// database, such as a full disk, ends the import.
final class CouchbaseLiteImporter {
    /// One transaction of the new database each.
    private static let batchSize = 1_000
    /// More ancestors than any database keeps.
    private static let deepestTree = 100_000
    /// Sequences beyond the whole numbers of JSON were never given out, and would leave none for new revisions.
    private static let lastSequence: Int64 = 1 << 53

    private let files: CouchbaseLiteFiles
    private let core: DatabaseCore
    private let incarnation: String
    private let progress: ProgressHandler?
    private let reader: CouchbaseLiteReader
    private var result = CouchbaseLiteImport()
    private(set) var publicUUID: String?
    private(set) var privateUUID: String?
    private var checkpoints: [(id: String, sequence: String)] = []
    private var maximumDepth: UInt64 = 20
    /// The contents that were brought over, or could not be.
    private var contents: Set<AttachmentKey> = []

    init(
        _ files: CouchbaseLiteFiles, _ source: ForeignDatabase, into core: DatabaseCore,
        incarnation: String, progress: ProgressHandler?
    ) throws {
        self.files = files
        self.core = core
        self.incarnation = incarnation
        self.progress = progress
        reader = try CouchbaseLiteReader(source)
    }

    func run() throws -> CouchbaseLiteImport {
        try readSettings()
        try importRevisions()
        try importExpirations()
        try importLocals()
        try core.write { context in
            context.state.revisionBodyLimit = self.maximumDepth
            context.state.revisionLimit = max(
                DatabaseState.standardRevisionLimit, self.maximumDepth)
            result.documents = Int(
                clamping: context.state.liveDocuments + context.state.deletedDocuments)
        }
        Log.maintenance.info(
            "Imported '\(files.path)' into the database '\(core.name)': \(result.documents) documents,"
                + " \(result.problemCount) problems.")
        return result
    }

    private func readSettings() throws {
        try attempt("The settings") {
            try reader.forEachSetting { key, value in
                switch key {
                case "publicUUID": publicUUID = value
                case "privateUUID": privateUUID = value
                case "max_revs":
                    maximumDepth = UInt64(value, radix: 10).flatMap(Self.depth) ?? maximumDepth
                default:
                    guard let id = key.afterBytePrefix("checkpoint/") else { return }
                    checkpoints.append((id, value))
                }
            }
            try reader.forEachReplicator { checkpoints.append(($0, $1)) }
        }
        if privateUUID == nil {
            result.add("The database's private UUID is lost, so replications start over.")
        }
    }

    private static func depth(_ number: UInt64) -> UInt64? {
        number > 0 && number < UInt64(clamping: Int32.max) ? number : nil
    }

    // MARK: - Revisions

    private func importRevisions() throws {
        var last = Int64(0)
        try attempt("The last sequence") { last = try reader.lastSequence() }
        let total = reader.revisionCount()
        // No tree is cut short while it is brought over, whatever the app had set in its code.
        try core.write {
            $0.state.revisionBodyLimit = DatabaseState.limits.upperBound
            $0.state.revisionLimit = DatabaseState.limits.upperBound
        }
        var batch: [CouchbaseLiteReader.Revision] = []
        var completed = 0
        func flush() throws {
            try report("importing revisions", completed, of: total)
            try core.batch { context in
                for revision in batch { try add(revision, context) }
            }
            completed += batch.count
            batch.removeAll(keepingCapacity: true)
        }
        var bytes = 0
        try reader.forEachRevision(upTo: last) { lost in
            result.add(
                lost.count == 1
                    ? "The revision at sequence \(lost.lowerBound) cannot be read."
                    : "The revisions from sequence \(lost.lowerBound) to \(lost.upperBound) cannot"
                        + " be read.")
        } _: { revision in
            batch.append(revision)
            bytes += revision.json?.count ?? 0
            guard batch.count == Self.batchSize || bytes > 16 << 20 else { return }
            try flush()
            bytes = 0
        }
        try flush()
        try report("importing revisions", completed, of: total)
        // Sequences of revisions that are gone are not given out again.
        try core.write { context in
            context.state.lastSequence = max(
                context.state.lastSequence,
                SequenceNumber(clamping: min(max(0, last), Self.lastSequence)))
        }
    }

    private func add(_ row: CouchbaseLiteReader.Revision, _ context: WriteContext) throws {
        guard let id = row.documentID.map({ DocumentID($0) }) else {
            return result.add("The revision at sequence \(row.sequence) belongs to no document.")
        }
        let what = "Revision \(row.revisionID ?? "?") of document '\(id)'"
        guard let body = row.json ?? (row.isCurrent && row.isDeleted ? [] : nil) else {
            // An ancestor's body may be gone; a leaf without one is a loss.
            if row.isCurrent { result.add("\(what) has no body.", id) }
            return
        }
        guard (1...Self.lastSequence).contains(row.sequence),
            SequenceNumber(clamping: row.sequence) > context.state.lastSequence
        else {
            return result.add("\(what) has a sequence that cannot be.", id)
        }
        do {
            let id = try id.checked()
            let revision = try RevisionID(row.revisionID ?? "").checked(of: id)
            let history = try history(of: row, revision, id)
            let content = try content(body, row, id, context)
            for key in content.body.attachmentKeys where contents.insert(key).inserted {
                try bring(key, of: id, context)
            }
            let before = context.state.lastSequence
            context.state.lastSequence = SequenceNumber(clamping: row.sequence) - 1
            do {
                if try context.addExisting(id, history, content, allowsMissing: true) {
                    result.revisions += 1
                } else {
                    context.state.lastSequence = before
                }
            } catch {
                context.state.lastSequence = before
                throw error
            }
        } catch let error as DatabaseError where Self.concernsRecord(error) {
            result.add("\(what) was left out: \(error.message)", id)
        }
    }

    /// Whether an error says something of a record and nothing of the new database.
    private static func concernsRecord(_ error: DatabaseError) -> Bool {
        switch error.code {
        case .invalidDocument, .invalidID, .attachmentNotFound, .conflict: true
        default: false
        }
    }

    /// The revision's ID and those of its ancestors, as far back as they make sense.
    private func history(
        of row: CouchbaseLiteReader.Revision, _ revision: RevisionID, _ id: DocumentID
    ) throws -> RevisionHistory {
        var ids = [revision]
        var next = row.parent
        while let sequence = next, ids.count < Self.deepestTree {
            var parent: (document: Int64, revisionID: String?, parent: Int64?)?
            let isRead = try attempt("An ancestor of revision \(revision)", id) {
                parent = try reader.ancestor(sequence)
            }
            guard isRead, let parent, parent.document == row.document,
                let text = parent.revisionID, let parentID = try? RevisionID(validating: text),
                parentID.generation + 1 == ids[ids.count - 1].generation
            else {
                result.add(
                    "The history of revision \(revision) of document '\(id)' ends at"
                        + " \(ids[ids.count - 1]).", id)
                break
            }
            ids.append(parentID)
            next = parent.parent
        }
        return try RevisionHistory(ids)
    }

    private func content(
        _ json: [UInt8], _ row: CouchbaseLiteReader.Revision, _ id: DocumentID,
        _ context: WriteContext
    ) throws -> RevisionContent {
        var body: PackedValue
        do { body = try PackedValue(parsing: json.isEmpty ? Array("{}".utf8) : json) } catch {
            throw DatabaseError(
                .invalidDocument, "Its body is not JSON.", documentID: id, underlying: error)
        }
        var stubs: JSONObject?
        try attempt("The attachments of a revision", id) {
            stubs = try reader.attachmentStubs(row.sequence)
        }
        if let stubs, body.isObject, body["_attachments"] == nil {
            body = body.replacing(["_attachments": .object(stubs)])
        }
        body = withTrueLengths(body, id)
        let content = RevisionContent(body: body, isDeleted: row.isDeleted)
        try context.check(content, of: id, limit: core.options.maximumDocumentSize)
        return content
    }

    // MARK: - Attachments

    /// The body with the lengths that its attachments have in their files: one that tells another would be damage in the
    /// new database, and the digest says which content is meant.
    private func withTrueLengths(_ body: PackedValue, _ id: DocumentID) -> PackedValue {
        guard var entries = body["_attachments"]?.jsonValue().object else { return body }
        var isChanged = false
        for (name, value) in entries {
            guard var entry = value.object,
                let key = entry["digest"]?.string.flatMap(AttachmentKey.init(ofStub:)),
                let length = files.attachment(key).flatMap(Files.length(of:))
            else { continue }
            let member = entry["encoding"] == nil ? "length" : "encoded_length"
            guard entry[member] != JSONValue(length) else { continue }
            entry[member] = JSONValue(length)
            entries[name] = .object(entry)
            isChanged = true
            result.add(
                "The attachment \(key.fileName) of document '\(id)' has \(length) bytes, and not as many as its"
                    + " revision told; that was put right.", id)
        }
        return isChanged ? body.replacing(["_attachments": .object(entries)]) : body
    }

    /// Brings a content over, once; one that is lost or damaged becomes a problem.
    private func bring(_ key: AttachmentKey, of id: DocumentID, _ context: WriteContext) throws {
        guard let path = files.attachment(key) else {
            return result.add(
                "The attachment \(key.fileName) of document '\(id)' is lost.", id)
        }
        var failure: (any Error)?
        let store = core.attachments
        let file: FileHandle
        do { file = try FileHandle(path: path, .read) } catch {
            return result.add(
                "The attachment \(key.fileName) of document '\(id)' cannot be read.", id)
        }
        let content = FileReader(ContentFile(file), length: nil)
        let staged = try store.stage { count in
            // What cannot be read ends the content, whose digest is then another one.
            do { return try content.read(upTo: count) } catch {
                failure = error
                return []
            }
        }
        guard failure == nil, staged.key == key else {
            return result.add(
                "The attachment \(key.fileName) of document '\(id)' is damaged.", id)
        }
        try store.place(staged)
        context.hasPlacedAttachments = true
        result.attachments += 1
    }

    // MARK: - The rest

    private func importExpirations() throws {
        var dates: [(id: DocumentID, time: ExpirationTime)] = []
        try attempt("Dates of expiration") {
            try reader.forEachExpiration { text, seconds in
                guard let id = try? text.map({ try DocumentID($0).checked() }) else { return }
                dates.append(
                    (id, ExpirationTime(Date(timeIntervalSince1970: Double(seconds)))))
            }
        }
        for start in stride(from: 0, to: dates.count, by: Self.batchSize) {
            try report("importing expirations", start, of: dates.count)
            try core.batch { context in
                let (_, snapshot) = try context.transaction()
                for (id, time) in dates[start..<min(start + Self.batchSize, dates.count)] {
                    // A document that was left out is in the list of problems already.
                    guard try snapshot.record(id) != nil else { continue }
                    try context.setExpiration(id, time)
                    result.expirations += 1
                }
            }
        }
    }

    private func importLocals() throws {
        var locals: [(name: String, revision: UInt64, body: PackedValue)] = []
        try attempt("Local documents") {
            try reader.forEachLocal { text, revision, json in
                guard let text, let name = try? LocalID.name(in: DocumentID(text)),
                    let body = try? PackedValue(parsing: json), body.isObject
                else {
                    return result.add("The local document '\(text ?? "?")' cannot be read.")
                }
                let number = revision.flatMap { UInt64($0.prefix { $0 != "-" }, radix: 10) }
                locals.append((name, number.flatMap(Self.depth) ?? 1, body))
            }
        }
        try core.batch { context in
            for local in locals {
                try context.putLocal(local.name, local.body, revision: local.revision)
                result.localDocuments += 1
            }
            for (id, sequence) in checkpoints {
                guard let name = try? LocalID.name(in: DocumentID(id)) else {
                    result.add("A checkpoint has an ID that cannot be.")
                    continue
                }
                let checkpoint: JSONObject = [
                    "lastSequence": .string(sequence), "incarnation": .string(incarnation),
                ]
                try context.putLocal(name, PackedValue(.object(checkpoint)))
                result.checkpoints += 1
            }
        }
    }

    private func report(_ phase: String, _ completed: Int, of total: Int?) throws {
        try progress.report(WorkProgress(phase: phase, completed: completed, total: total))
    }

    /// Runs a read of the source, whose damage becomes a problem; says whether there was none.
    @discardableResult
    private func attempt(_ what: String, _ id: DocumentID? = nil, _ body: () throws -> Void) throws
        -> Bool
    {
        do { try body() } catch let error as StorageError where error.code == .corrupted {
            result.add("\(what) cannot be read: \(error.message)", id)
            return false
        }
        return true
    }
}
