// SPDX-License-Identifier: Apache-2.0

public import DivanJSON
internal import DivanModel
public import FoundationEssentials

// The suspending forms of verbs that write. Each waits for its turn without a thread, then runs the
// blocking form of the same name on the writer's: nothing is said twice, so the two cannot come apart.
extension Database {
    /// Runs a blocking form when the writer's turn comes.
    private func writing<T: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> T
    ) async throws -> T {
        try await inBatch { [self] in try body(self) }
    }

    /// Reads the content of added attachments before waiting for the writer.
    private func stage(_ document: MutableDocument) async throws {
        guard document.hasPendingContent else { return }
        try checkWritable()
        let store = core.attachments
        try await BlockingWork.run { try document.stage(in: store) }
    }

    // MARK: - Saving

    /// As the blocking form, off the calling task's thread.
    @discardableResult
    public func save(_ document: MutableDocument, _ control: ConcurrencyControl = .lastWriteWins)
        async throws -> SaveResult
    {
        try checkWritable()
        try await stage(document)
        return try await core.batchAsync { try WriteTransaction($0).save(document, control) }
    }

    /// As the blocking form, off the calling task's thread.
    ///
    /// `handler` runs on the writer's thread, inside the transaction.
    @discardableResult
    public func save(
        _ document: MutableDocument,
        conflictHandler handler:
            @escaping @Sendable (_ mine: MutableDocument, _ theirs: Document?) throws -> Bool
    ) async throws -> SaveResult? {
        try await stage(document)
        return try await writing { try $0.save(document, conflictHandler: handler) }
    }

    /// As the blocking form, off the calling task's thread.
    ///
    /// `edit` runs outside the transaction, where the calling task runs; it may be called several
    /// times, each time with the then current document.
    ///
    /// - Throws: also `CancellationError` when the task was cancelled before the edit was saved.
    @discardableResult
    public func update(_ id: String, _ edit: (MutableDocument) throws -> Void) async throws
        -> Document
    {
        while true {
            guard let document = try await document(withID: id) else {
                throw DatabaseError.documentNotFound(try DocumentID.parse(id))
            }
            let copy = document.toMutable()
            try edit(copy)
            do {
                return try await save(copy, .failOnConflict).document
            } catch let error as DatabaseError where error.code == .conflict {
                continue
            }
        }
    }

    /// As the blocking form, off the calling task's thread.
    @discardableResult
    public func put(
        _ id: String, _ properties: JSONObject, parent: String?, isDeleted: Bool = false,
        allowConflict: Bool = false, attachments: [String: AttachmentContent] = [:]
    ) async throws -> Document {
        let content = try await staged(id, properties, isDeleted, attachments)
        return try await core.batchAsync {
            try WriteTransaction($0).put(
                id, content, parent: parent, allowConflict: allowConflict)
        }
    }

    /// As the blocking form, off the calling task's thread.
    @discardableResult
    public func putExistingRevision(
        _ id: String, history: [String], isDeleted: Bool = false, _ properties: JSONObject,
        attachments: [String: AttachmentContent] = [:]
    ) async throws -> Bool {
        let content = try await staged(id, properties, isDeleted, attachments)
        return try await core.batchAsync {
            try WriteTransaction($0).putExistingRevision(id, history: history, content)
        }
    }

    /// What a put stores, with the content of attachments read before waiting for the writer.
    private func staged(
        _ id: String, _ properties: JSONObject, _ isDeleted: Bool,
        _ attachments: [String: AttachmentContent]
    ) async throws -> RevisionContent {
        try checkWritable()
        let content = try WriteTransaction.content(id, properties, isDeleted, attachments)
        guard let pending = content.pending else { return content }
        let store = core.attachments
        try await BlockingWork.run { try pending.stage(in: store, for: id) }
        return content
    }

    // MARK: - Deleting

    /// As the blocking form, off the calling task's thread.
    @discardableResult
    public func delete(_ id: String) async throws -> Document {
        try await writing { try $0.delete(id) }
    }

    /// As the blocking form, off the calling task's thread.
    @discardableResult
    public func delete(_ document: Document, _ control: ConcurrencyControl = .lastWriteWins)
        async throws -> Document
    {
        try await writing { try $0.delete(document, control) }
    }

    /// As the blocking form, off the calling task's thread.
    @discardableResult
    public func purge(_ id: String) async throws -> Bool {
        try await writing { try $0.purge(id) }
    }

    /// As the blocking form, off the calling task's thread.
    @discardableResult
    public func purge(_ document: Document) async throws -> Bool {
        try await writing { try $0.purge(document) }
    }

    /// As the blocking form, off the calling task's thread.
    @discardableResult
    public func purge(_ id: String, revisions: [String]) async throws -> [String] {
        try await writing { try $0.purge(id, revisions: revisions) }
    }

    // MARK: - Local documents, settings, expiration

    /// As the blocking form, off the calling task's thread.
    public func putLocalDocument(_ id: String, _ properties: JSONObject) async throws {
        try await writing { try $0.putLocalDocument(id, properties) }
    }

    /// As the blocking form, off the calling task's thread.
    public func deleteLocalDocument(_ id: String) async throws {
        try await writing { try $0.deleteLocalDocument(id) }
    }

    /// As the blocking form, off the calling task's thread.
    public func setMaxRevTreeDepth(_ depth: Int) async throws {
        try await writing { try $0.setMaxRevTreeDepth(depth) }
    }

    /// As the blocking form, off the calling task's thread.
    public func setExpiration(of id: String, at date: Date?) async throws {
        try await writing { try $0.setExpiration(of: id, at: date) }
    }

    /// As the blocking form, off the calling task's thread.
    public func setExpiration(of id: String, after duration: Duration) async throws {
        try await writing { try $0.setExpiration(of: id, after: duration) }
    }
}
