// SPDX-License-Identifier: Apache-2.0

public import DivanJSON
public import DivanModel
public import FoundationEssentials

// The suspending forms of verbs that read. Each is the blocking form of the same name, run off the
// calling task's thread: nothing is said twice, so the two cannot come apart.
extension Database {
    /// Runs a blocking form on another thread.
    private func reading<T: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> T
    ) async throws -> T {
        try await BlockingWork.run { [self] in try body(self) }
    }

    // MARK: - Documents

    /// As the blocking form, off the calling task's thread.
    public func document(withID id: String) async throws -> Document? {
        let documentID = try DocumentID.parse(id)
        try checkOpen()
        return try await core.readAsync { try $0.document(documentID) }
    }

    /// As the blocking form, off the calling task's thread.
    public func document(withID id: String, revision: String) async throws -> Document? {
        try await reading { try $0.document(withID: id, revision: revision) }
    }

    /// As the blocking form, off the calling task's thread.
    public func contains(_ id: String) async throws -> Bool {
        try await reading { try $0.contains(id) }
    }

    /// As the blocking form, off the calling task's thread.
    public func localDocument(_ id: String) async throws -> JSONObject? {
        try await reading { try $0.localDocument(id) }
    }

    /// As the blocking form, off the calling task's thread.
    public func expirationDate(of id: String) async throws -> Date? {
        try await reading { try $0.expirationDate(of: id) }
    }

    /// As the blocking form, off the calling task's thread.
    public func documentsExpiring(before date: Date? = nil, limit: Int? = nil) async throws
        -> [Expiration]
    {
        try await reading { try $0.documentsExpiring(before: date, limit: limit) }
    }

    // MARK: - Revisions

    /// As the blocking form, off the calling task's thread.
    public func revisionTree(of id: String) async throws -> RevisionTree? {
        try await reading { try $0.revisionTree(of: id) }
    }

    /// As the blocking form, off the calling task's thread.
    public func revisionHistory(of id: String) async throws -> [String] {
        try await reading { try $0.revisionHistory(of: id) }
    }

    /// As the blocking form, off the calling task's thread.
    public func conflictingRevisions(of id: String) async throws -> [Document] {
        try await reading { try $0.conflictingRevisions(of: id) }
    }

    /// As the blocking form, off the calling task's thread.
    public func leafRevisions(of id: String) async throws -> [Document] {
        try await reading { try $0.leafRevisions(of: id) }
    }

    /// As the blocking form, off the calling task's thread.
    public func hasConflicts() async throws -> Bool {
        try await reading { try $0.hasConflicts() }
    }

    // MARK: - Enumerations

    /// As the blocking form, off the calling task's thread.
    public func changes(since sequence: SequenceNumber = 0, limit: Int? = nil) async throws
        -> ChangesBatch
    {
        try await reading { try $0.changes(since: sequence, limit: limit) }
    }

    /// As the blocking form, off the calling task's thread; cancelling the task ends it early.
    public func allDocuments(
        _ options: AllDocumentsOptions = AllDocumentsOptions()
    ) async throws -> [DocumentRow] {
        try await BlockingWork.runCancellably { [self] flag in
            var rows: [DocumentRow] = []
            try forEachDocument(options) { row in
                try flag.check()
                rows.append(row)
            }
            return rows
        }
    }

    /// As the blocking form, off the calling task's thread; cancelling the task ends it early.
    ///
    /// `body` runs on that other thread, one document after the other.
    public func forEachDocument(
        _ options: AllDocumentsOptions = AllDocumentsOptions(),
        _ body: @escaping @Sendable (DocumentRow) throws -> Void
    ) async throws {
        try await BlockingWork.runCancellably { [self] flag in
            try forEachDocument(options) { row in
                try flag.check()
                try body(row)
            }
        }
    }
}
