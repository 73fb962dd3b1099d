// SPDX-License-Identifier: Apache-2.0

public import DivanDatabase
internal import DivanJSON
internal import DivanModel
internal import Synchronization

/// All models of a type that a condition holds for, as the source of a live query.
///
///     first     goes through all documents, and keeps the models
///     later     reads the documents that were changed or purged since, and no others
///
/// ## Invariants
///
/// `checkInvariants()` tests both.
///
/// 1. When `mark` is not nil, `models` are those that a new source would find where the database stood then, but for
///    documents that have changed since: of these a run that failed may have read some.
/// 2. `sorted` are the models, in order, or nil.
///
/// State: `kept`, guarded by its mutex. The one live query that has the source asks it once at a time, so the mutex is
/// held while the app's condition is called.
final class ModelLiveSource<Model: DocumentModel>: LiveSource {
    private struct Kept {
        var mark: DatabaseMark?
        var models: [DocumentID: (sequence: SequenceNumber, model: Model)] = [:]
        var sorted: [Model]?
    }

    private let database: QueriedDatabase
    private let documentType: String
    private let isIncluded: @Sendable (Model) throws -> Bool
    private let comesBefore: (@Sendable (Model, Model) -> Bool)?
    private let kept = Mutex(Kept())

    var core: DatabaseCore { database.core }
    var isClosed: Bool { database.isClosed }

    /// How many documents were read to keep the models.
    let reads = Atomic(0)

    init(
        _ database: Database, _ isIncluded: @escaping @Sendable (Model) throws -> Bool,
        _ comesBefore: (@Sendable (Model, Model) -> Bool)?
    ) throws {
        self.database = QueriedDatabase(database).unheld
        documentType = try Model.requiredDocumentType()
        self.isIncluded = isIncluded
        self.comesBefore = comesBefore
    }

    func follow(_ changed: @escaping @Sendable () -> Void) -> [any Sendable] { [] }

    func fetch() throws -> LiveFetch<[Model]> {
        try core.read { snapshot in
            try kept.withLock { kept in
                // A failure leaves the mark, so that the next run reads again what this one has not.
                if let mark = kept.mark, try !catchUp(from: mark, snapshot, &kept) {
                    kept = Kept()
                }
                if kept.mark == nil { try findAll(snapshot, &kept) }
                let rows = kept.sorted ?? sorted(kept)
                kept.sorted = rows
                return LiveFetch(rows: rows, dependency: DependencyOnEverything())
            }
        }
    }

    // MARK: - Reading

    private func findAll(_ snapshot: Snapshot, _ kept: inout Kept) throws {
        kept = Kept()
        try snapshot.scan { scanned in
            guard documentType.hasSameBytes(as: try scanned.string(forKey: Model.typeKey)) else {
                return
            }
            try keep(scanned.document(), &kept)
        }
        kept.mark = try snapshot.state().mark
    }

    /// Reads what was touched since a mark.
    ///
    /// - Returns: Whether that can be told; not when purges were forgotten.
    private func catchUp(
        from mark: DatabaseMark, _ snapshot: Snapshot, _ kept: inout Kept
    ) throws -> Bool {
        var (mark, isAtEnd) = (mark, false)
        while !isAtEnd {
            let touched = try snapshot.touchedDocuments(after: mark, limit: Self.step)
            if touched.hasForgottenPurges { return false }
            for id in touched.purges.map(\.id) + touched.changes.map(\.id) {
                try read(id, snapshot, &kept)
            }
            (mark, isAtEnd) = (touched.end, touched.isAtEnd)
        }
        kept.mark = mark
        return true
    }

    private static var step: Int { 1_000 }

    private func read(_ id: DocumentID, _ snapshot: Snapshot, _ kept: inout Kept) throws {
        reads.add(1, ordering: .relaxed)
        if kept.models.removeValue(forKey: id) != nil { kept.sorted = nil }
        guard let document = try snapshot.document(id),
            documentType.hasSameBytes(as: document[Model.typeKey].string)
        else { return }
        try keep(document, &kept)
    }

    private func keep(_ document: Document, _ kept: inout Kept) throws {
        let model = try document.model(Model.self)
        guard try isIncluded(model) else { return }
        kept.models[document.id] = (document.sequence, model)
        kept.sorted = nil
    }

    private func sorted(_ kept: Kept) -> [Model] {
        let found = kept.models.values.sorted { left, right in
            if let comesBefore {
                if comesBefore(left.model, right.model) { return true }
                if comesBefore(right.model, left.model) { return false }
            }
            return left.sequence < right.sequence
        }
        return found.map(\.model)
    }

    /// Stops the program where an invariant does not hold; for tests.
    ///
    /// - Throws: What `fetch()` throws.
    func checkInvariants() throws {
        try core.read { snapshot in
            try kept.withLock { kept in
                if let rows = kept.sorted {
                    precondition(areEqual(rows, sorted(kept)), "invariant 2")
                }
                guard let mark = kept.mark else { return }
                var found = Kept()
                try findAll(snapshot, &found)
                var (known, fresh) = (kept.models, found.models)
                var (place, isAtEnd) = (mark, false)
                while !isAtEnd {
                    let touched = try snapshot.touchedDocuments(after: place, limit: Self.step)
                    // What changed then can no longer be told.
                    if touched.hasForgottenPurges { return }
                    for id in touched.purges.map(\.id) + touched.changes.map(\.id) {
                        (known[id], fresh[id]) = (nil, nil)
                    }
                    (place, isAtEnd) = (touched.end, touched.isAtEnd)
                }
                precondition(
                    known.mapValues(\.sequence) == fresh.mapValues(\.sequence), "invariant 1")
            }
        }
    }

    // MARK: - Comparing

    func areEqual(_ old: [Model], _ new: [Model]) -> Bool {
        old.count == new.count && zip(old, new).allSatisfy { $0.identity == $1.identity }
    }

    func difference(from old: [Model]?, to new: [Model]) -> RowDifference {
        RowDifference(
            from: old.map { $0.map(\.identity) } ?? [], to: new.map(\.identity),
            by: \.id, orBy: { _ in String?.none })
    }
}

extension Database {
    /// Makes a live query of the models of a type: all of them at once, and again whenever they have changed.
    ///
    /// ```swift
    /// let open = try database.live(Todo.self) { !$0.isDone }
    /// for try await todos in open { show(todos) }
    /// ```
    ///
    /// See ``LiveQuery``. It goes through all documents of the database when it begins, and keeps the models; later it reads
    /// only documents that have changed. A document of the type that does not have its properties ends the loops with
    /// `.invalidDocument` until it is mended.
    ///
    /// - Parameters:
    ///   - type: The type, which declares its `documentType`.
    ///   - interval: The least time from one look at changes to the next; 0 looks at each commit.
    ///   - isIncluded: Says which models are wanted; all unless given.
    ///   - comesBefore: The order; nil for that of the last change.
    /// - Returns: The live query, which has not begun.
    /// - Throws: `DatabaseError` with code `.invalidQuery` when the type declares no `documentType`.
    public func live<Model: DocumentModel>(
        _ type: Model.Type = Model.self, interval: Duration = .milliseconds(200),
        where isIncluded: @escaping @Sendable (Model) throws -> Bool = { _ in true },
        sortedBy comesBefore: (@Sendable (Model, Model) -> Bool)? = nil
    ) throws -> LiveQuery<[Model]> {
        LiveQuery(try ModelLiveSource(self, isIncluded, comesBefore), interval: interval)
    }
}
