// SPDX-License-Identifier: Apache-2.0

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
/// Nothing is decoded of a document that is passed over, beyond the byte that says whether it is deleted. Only
/// conflicts are wanted: then `conflicts` is walked, and each record is looked up.
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
    private var toSkip: Int
    private var left: Int

    /// What became of a row.
    private enum Step {
        case passedOver, given, isPastEnd
    }

    /// Begins a walk, which ``close()`` ends.
    init(_ snapshot: Snapshot, _ options: AllDocumentsOptions) throws {
        self.snapshot = snapshot
        self.options = options
        let stores = snapshot.core.stores
        cursor = try snapshot.reader.cursor(
            in: options.onlyConflicts ? stores.conflicts : stores.documents)
        end = options.endID.map { Array($0.text.utf8) }
        last = snapshot.context == nil ? nil : try snapshot.state().lastSequence
        toSkip = options.skip
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
        if hasBegun { return try options.descending ? cursor.previous() : cursor.next() }
        hasBegun = true
        guard let start = options.startID else {
            return try options.descending ? cursor.seekToLast() : cursor.seekToFirst()
        }
        return try start.text.withSpan { key in
            try options.descending ? cursor.seek(toAtMost: key) : cursor.seek(toAtLeast: key)
        }
    }

    private func isPast(_ id: Span<UInt8>) -> Bool {
        guard let end else { return false }
        for index in 0..<min(id.count, end.count) where id[index] != end[index] {
            return (id[index] > end[index]) != options.descending
        }
        return id.count == end.count ? false : (id.count > end.count) != options.descending
    }

    /// Lends a document, unless it is passed over.
    @inline(__always)
    private func give(
        _ id: Span<UInt8>, _ record: Span<UInt8>, _ body: (Span<UInt8>, Span<UInt8>) throws -> Void
    ) throws -> Step {
        guard try takesIn(id, record) else { return .passedOver }
        guard toSkip <= 0 else {
            toSkip -= 1
            return .passedOver
        }
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
