// SPDX-License-Identifier: Apache-2.0

public import DivanJSON
public import DivanModel

/// The open write transaction, lent to the closure of `Database.write(_:)`.
///
/// ```swift
/// try database.write { transaction in
///     for note in notes { try transaction.save(note) }
/// }
/// ```
///
/// Everything done here is committed together when the closure returns, and undone together when it
/// throws. It reads what it has written. An operation that is refused (a conflict, say) changes
/// nothing, so the closure may catch the error and go on.
public struct WriteTransaction: ~Copyable {
    let context: WriteContext

    /// Not inlined, for the reason given at `ReadTransaction.init`.
    @inline(never)
    init(_ context: WriteContext) { self.context = context }

    /// Makes a transaction, lends it to `body`, and ends it; not inlined for the same reason as
    /// `ReadTransaction.lend`.
    @inline(never)
    static func lend<T>(
        _ context: WriteContext, to body: (borrowing WriteTransaction) throws -> T
    ) throws -> T {
        try body(WriteTransaction(context))
    }

    private var snapshot: Snapshot { get throws { try context.transaction().snapshot } }

    // MARK: - Writing

    /// Saves a document; see `Database.save(_:_:)`.
    @discardableResult
    public func save(_ document: MutableDocument, _ control: ConcurrencyControl = .lastWriteWins)
        throws -> SaveResult
    {
        let result = try save(document, staleness: control == .lastWriteWins ? .override : .refuse)
        // Only a handler can give up.
        guard let result else { throw DatabaseError.cancelled() }
        return result
    }

    /// Saves a document, asking `handler` when it has changed since it was read.
    ///
    /// - Returns: nil when the handler gave up.
    @discardableResult
    public func save(
        _ document: MutableDocument,
        conflictHandler handler: (_ mine: MutableDocument, _ theirs: Document?) throws -> Bool
    ) throws -> SaveResult? {
        try withoutActuallyEscaping(handler) { handler in
            try save(
                document,
                staleness: .resolve { theirs in
                    guard try handler(document, theirs) else { return nil }
                    return try document.draft().content
                })
        }
    }

    private func save(
        _ document: MutableDocument, staleness: WriteContext.Staleness,
        known: DocumentRecord? = nil
    ) throws -> SaveResult? {
        let draft = try document.draft()
        let id = draft.hasGeneratedID ? draft.id : try draft.id.checked()
        if let base = draft.base, !draft.hasChanges, try holds(draft, base) {
            let unchanged = Document(
                id: id, revisionID: base, sequence: draft.sequence, isDeleted: false,
                body: draft.body, store: try snapshot.core.attachments.number)
            return SaveResult(document: unchanged, overrode: false)
        }
        let content = draft.content
        guard
            let saved = try context.operation({
                try context.save(
                    id, base: draft.base, content, staleness: staleness, known: known)
            })
        else { return nil }
        if document.adopt(saved.document, savedIn: context.outcome) {
            context.releaseAtEnd(document)
        }
        return SaveResult(document: saved.document, overrode: saved.overrode)
    }

    /// Whether the revision of a document without edits is in this database, which it may not come from.
    private func holds(_ draft: MutableDocument.Draft, _ base: RevisionID) throws -> Bool {
        let snapshot = try snapshot
        if [0, snapshot.core.attachments.number].contains(draft.origin) { return true }
        return try snapshot.record(draft.id)?.tree.node(base) != nil
    }

    /// Reads a document, lets `edit` change it, and saves it.
    ///
    /// - Throws: `DatabaseError` with code `.documentNotFound`, and whatever `edit` throws.
    @discardableResult
    public func update(_ id: DocumentID, _ edit: (MutableDocument) throws -> Void) throws
        -> Document
    {
        let id = try id.checked()
        let snapshot = try snapshot
        guard let record = try snapshot.record(id), let winner = record.tree.winner,
            !winner.isTombstone
        else { throw DatabaseError.documentNotFound(id) }
        let copy = try snapshot.document(id, node: winner).toMutable()
        let before = (context.state, context.rewrites)
        try edit(copy)
        // The record just read serves the save, too, unless the closure has changed something.
        let known = (context.state, context.rewrites) == before ? record : nil
        guard let saved = try save(copy, staleness: .refuse, known: known) else {
            throw DatabaseError.cancelled()
        }
        return saved.document
    }

    /// Deletes a document by adding a tombstone; see `Database.delete(_:)`.
    @discardableResult
    public func delete(_ id: DocumentID) throws -> Document {
        try context.operation {
            try context.delete(id.checked(), base: nil, refuseStale: false)
        }
    }

    /// Deletes a document as it was read.
    @discardableResult
    public func delete(_ document: Document, _ control: ConcurrencyControl = .lastWriteWins)
        throws -> Document
    {
        try context.operation {
            try context.delete(
                document.id, base: document.revisionID,
                refuseStale: control == .failOnConflict)
        }
    }

    /// Adds a revision below exactly the given parent; see `Database.put`.
    @discardableResult
    public func put(
        _ id: DocumentID, _ properties: JSONObject, parent: RevisionID?, options: PutOptions = [],
        attachments: NameMap<AttachmentContent> = [:]
    ) throws -> Document {
        let content = try Self.content(
            id, properties, options.contains(.tombstone), attachments, .passedOver)
        return try put(
            id, content, parent: parent, allowConflict: options.contains(.allowConflict))
    }

    /// Adds a revision from content that is made already.
    package func put(
        _ id: DocumentID, _ content: RevisionContent, parent: RevisionID?, allowConflict: Bool,
        repetition: WriteContext.Repetition = .succeeds
    ) throws -> Document {
        let id = try id.checked()
        let parent = try parent?.checked(of: id)
        return try context.operation {
            try context.put(
                id, parent: parent, content, allowConflict: allowConflict,
                repetition: repetition)
        }
    }

    /// What `put` and `putExistingRevision` store, made before there is a transaction.
    package static func content(
        _ id: DocumentID, _ properties: JSONObject, _ isDeleted: Bool,
        _ attachments: NameMap<AttachmentContent>, _ claims: InlineClaims
    ) throws -> RevisionContent {
        return try RevisionContent(
            given: packed(properties, id), isDeleted: isDeleted,
            following: attachments, claims: claims,
            id: id.checked())
    }

    /// Stores a revision made elsewhere; see `Database.putExistingRevision`.
    @discardableResult
    public func putExistingRevision(
        _ id: DocumentID, _ properties: JSONObject, history: [RevisionID], isDeleted: Bool = false,
        attachments: NameMap<AttachmentContent> = [:]
    ) throws -> Bool {
        let content = try Self.content(id, properties, isDeleted, attachments, .verified)
        return try putExistingRevision(id, content, history: history).isNew
    }

    /// Stores a revision made elsewhere from its packed body.
    @discardableResult
    public func putExistingRevision(
        _ id: DocumentID, body: PackedValue, history: [RevisionID], isDeleted: Bool = false,
        attachments: NameMap<AttachmentContent> = [:]
    ) throws -> Bool {
        let content = try RevisionContent(
            given: body, isDeleted: isDeleted,
            following: attachments, claims: .verified, id: id.checked())
        return try putExistingRevision(id, content, history: history).isNew
    }

    /// Stores a revision made elsewhere from content that is made already; `isDeferring` as in ``ExistingRevision``.
    package func putExistingRevision(
        _ id: DocumentID, _ content: RevisionContent, history: [RevisionID],
        isDeferring: Bool = false
    ) throws -> RevisionArrival {
        let id = try id.checked()
        let checked: RevisionHistory
        do { checked = try RevisionHistory(history) } catch {
            let wrong = history.first { !$0.isValid } ?? history.first
            throw DatabaseError.invalidRevision(wrong, of: id, error)
        }
        return try context.operation {
            try context.putExisting(id, checked, content, isDeferring: isDeferring)
        }
    }

    /// Removes a document without a trace; see `Database.purge(_:)`.
    @discardableResult
    public func purge(_ id: DocumentID) throws -> Bool {
        try context.operation { try context.purge(id.checked()) }
    }

    /// Removes single leaf revisions; see `Database.purge(_:revisions:)`.
    @discardableResult
    public func purge(_ id: DocumentID, revisions: [RevisionID]) throws -> [RevisionID] {
        let leaves = try revisions.map { try $0.checked(of: id) }
        return try context.operation { try context.purge(id.checked(), leaves: leaves) }
    }

    /// Replaces a local document.
    public func putLocalDocument(_ id: DocumentID, _ properties: JSONObject) throws {
        try context.operation {
            try context.putLocal(LocalID.name(in: id), Self.packed(properties, id))
        }
    }

    /// Removes a local document; a missing one is fine.
    public func deleteLocalDocument(_ id: DocumentID) throws {
        try context.operation { try context.putLocal(LocalID.name(in: id), nil) }
    }

    private static func packed(_ properties: JSONObject, _ id: DocumentID) throws -> PackedValue {
        let value = JSONValue.object(properties)
        try value.checkStorable(id: id)
        return PackedValue(value)
    }

    // MARK: - Reading

    /// Returns the winning revision of a document as this transaction has it.
    public func document(withID id: DocumentID) throws -> Document? {
        try snapshot.document(id.checked())
    }

    /// Returns the revision tree of a document as this transaction has it; see `Database.revisionTree(of:)`.
    public func revisionTree(of id: DocumentID) throws -> RevisionTree? {
        try snapshot.wholeTree(id.checked())
    }

    /// Everything that a read transaction offers, on what this transaction sees.
    public func read<T>(_ body: (borrowing ReadTransaction) throws -> T) throws -> T {
        try ReadTransaction.lend(try snapshot, to: body)
    }
}
