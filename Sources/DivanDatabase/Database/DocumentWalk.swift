// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanModel
internal import DivanStorage

/// A walk over the records of the documents that an enumeration takes in, in the order of IDs.
///
/// ```swift
/// let walk = try DocumentWalk(snapshot, options)
/// defer { walk.close() }
/// while try walk.next({ id, record in … }) {}
/// ```
///
/// Nothing is decoded of a document that is passed over, beyond the byte that says whether it is deleted, and not even
/// that is read where the counters of the database say that each row counts. Only conflicts are wanted: then
/// `conflicts` is walked, and each record is looked up.
///
/// ## Skipping
///
///     without start and end, of 10 documents      0 1 2 3 4 5 6 7 8 9
///     skip 3: three steps from the first           ────►3
///     skip 8: one step back from the last                        8◄
///
/// The counters tell how many documents there are, so the walk begins at the end that is nearer.
final class DocumentWalk {
    private let snapshot: Snapshot
    private let options: AllDocumentsOptions
    private let cursor: any StorageCursor
    /// The last ID, in bytes.
    private let end: [UInt8]?
    /// In a batch, the sequence before which it began. What the closure itself creates there is not part of the
    /// enumeration: it would never end if each document made another one behind it.
    private let last: SequenceNumber?
    private let flag = CancellationFlag.current
    private var hasBegun = false
    private var left: Int

    /// What became of a row.
    private enum Step {
        case passedOver, given, isPastEnd
    }

    /// Begins a walk, which ``close()`` ends.
    init(_ snapshot: Snapshot, _ options: AllDocumentsOptions) throws {
        try DatabaseError.check(skip: options.skip, limit: options.limit)
        self.snapshot = snapshot
        self.options = options
        let stores = snapshot.core.stores
        cursor = try snapshot.reader.cursor(
            in: options.onlyConflicts ? stores.conflicts : stores.documents)
        end = options.endID.map { Array($0.text.utf8) }
        last = snapshot.context == nil ? nil : try snapshot.state().lastSequence
        left = options.limit ?? .max
    }

    /// Ends the walk.
    func close() { cursor.close() }

    /// Lends ID and record of the next document.
    ///
    /// - Returns: Whether there was one.
    func next(_ body: (_ id: Span<UInt8>, _ record: Span<UInt8>) throws -> Void) throws -> Bool {
        while left > 0, try move() {
            try flag?.check()
            var step = Step.passedOver
            try cursor.withRow { id, value in
                guard !isPast(id) else {
                    step = .isPastEnd
                    return
                }
                guard options.onlyConflicts else {
                    step = try give(id, value, body)
                    return
                }
                _ = try snapshot.reader.withValue(forKey: id, in: snapshot.core.stores.documents) {
                    step = try give(id, $0, body)
                }
            }
            switch step {
            case .passedOver: continue
            case .given: return true
            case .isPastEnd: return false
            }
        }
        return false
    }

    /// Goes to the next row, or to the first.
    private func move() throws -> Bool {
        if hasBegun { return try step(descending: options.descending) }
        hasBegun = true
        return try options.skip > 0 ? seekSkipping() : seekStart()
    }

    private func step(descending: Bool) throws -> Bool {
        try descending ? cursor.previous() : cursor.next()
    }

    private func seekEdge(descending: Bool) throws -> Bool {
        try descending ? cursor.seekToLast() : cursor.seekToFirst()
    }

    private func seekStart() throws -> Bool {
        guard let start = options.startID else {
            return try seekEdge(descending: options.descending)
        }
        let found = try start.text.withSpan { key in
            try options.descending ? cursor.seek(toAtMost: key) : cursor.seek(toAtLeast: key)
        }
        guard found, options.excludesStart else { return found }
        var isStart = false
        try cursor.withKey { key in isStart = start.text.withSpan { Self.order(key, $0) == 0 } }
        return try isStart ? step(descending: options.descending) : true
    }

    // MARK: - Skipping

    /// Goes to the first row behind the documents to skip.
    private func seekSkipping() throws -> Bool {
        let state = try snapshot.state()
        // A document in conflict is never deleted, so each row of `conflicts` counts.
        let all = options.includeDeleted ? state.liveDocuments + state.deletedDocuments : nil
        let total =
            options.onlyConflicts ? state.conflictedDocuments : all ?? state.liveDocuments
        let isEveryRow = options.onlyConflicts || all != nil || state.deletedDocuments == 0
        if options.startID == nil, options.endID == nil {
            let behind = Int(clamping: total).subtractingSaturated(options.skip)
            guard behind > 0 else { return false }
            if behind <= options.skip {
                let back = !options.descending
                return try seekEdge(descending: back)
                    && pass(behind - 1, descending: back, isEveryRow)
            }
        }
        return try seekStart() && pass(options.skip, descending: options.descending, isEveryRow)
    }

    /// Steps over so many documents, beginning with the row where the cursor stands, to the next one.
    private func pass(_ count: Int, descending: Bool, _ isEveryRow: Bool) throws -> Bool {
        var left = count
        while true {
            try flag?.check()
            switch try isEveryRow ? lookAtKey() : lookAtRow() {
            case .isPastEnd: return false
            case .given where left == 0: return true
            case .given: left -= 1
            case .passedOver: break
            }
            guard try step(descending: descending) else { return false }
        }
    }

    private func lookAtKey() throws -> Step {
        guard end != nil else { return .given }
        var isPastEnd = false
        try cursor.withKey { isPastEnd = isPast($0) }
        return isPastEnd ? .isPastEnd : .given
    }

    private func lookAtRow() throws -> Step {
        var step = Step.passedOver
        try cursor.withRow { id, record in
            if isPast(id) {
                step = .isPastEnd
            } else if try takesIn(id, record) {
                step = .given
            }
        }
        return step
    }

    // MARK: - Looking

    private func isPast(_ id: Span<UInt8>) -> Bool {
        guard let end else { return false }
        let order = Self.order(id, end.span)
        return order == 0 ? options.excludesEnd : (order > 0) != options.descending
    }

    /// Compares IDs in the order of bytes: below zero if the first comes first.
    private static func order(_ id: Span<UInt8>, _ other: Span<UInt8>) -> Int {
        for index in 0..<min(id.count, other.count) where id[index] != other[index] {
            return id[index] > other[index] ? 1 : -1
        }
        return id.count - other.count
    }

    /// Lends a document, unless it is passed over.
    @inline(__always)
    private func give(
        _ id: Span<UInt8>, _ record: Span<UInt8>, _ body: (Span<UInt8>, Span<UInt8>) throws -> Void
    ) throws -> Step {
        guard try takesIn(id, record) else { return .passedOver }
        left -= 1
        try body(id, record)
        return .given
    }

    @inline(__always)
    private func takesIn(_ id: Span<UInt8>, _ record: Span<UInt8>) throws -> Bool {
        do {
            let flags = try DocumentRecord.flags(record)
            if flags.contains(.deleted), !options.includeDeleted { return false }
            if options.onlyConflicts, !flags.contains(.conflicted) { return false }
            guard let last else { return true }
            let head = try DocumentRecord.head(record)
            return head.winner.id.generation > 1 || head.updateSequence <= last
        } catch {
            throw DatabaseCore.corruption(error, DocumentID(copying: id))
        }
    }
}
