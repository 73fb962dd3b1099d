// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex
internal import DivanJSON
internal import DivanModel
internal import DivanStorage

/// Goes one way to documents, and counts what that reads.
final class PlanRun {
    /// A document on the way.
    struct Candidate {
        var document: Document
        /// The key of the row that led to it; nil where IDs are the order of the way.
        var row: [UInt8]?
        /// Whether it is certain that it fulfils the constraint.
        var isProven = false
    }

    /// What became of a row that was offered in place of its document.
    enum RowOutcome {
        case needsDocument, taken, takenAsLast
    }

    /// What was read.
    struct Counters: Sendable {
        /// Rows of indexes, and IDs and times.
        var rows = 0
        /// Documents.
        var documents = 0
    }

    /// How it ended.
    enum Ending {
        case atEnd, stopped, overBudget
    }

    let snapshot: Snapshot
    var includesDeleted = false
    var isReversed = false
    /// Where to go on; nil for the beginning.
    var position: [UInt8]?
    /// How many rows to read at most.
    var budget = Int.max
    /// Whether all documents are wanted, in any order: nothing stops the run. All are read faster in the
    /// order of their sequences, in which their bodies lie.
    var takesAllInAnyOrder = false
    /// Gets each document where it lies, first; a document that it refuses is made. For a run of all
    /// documents in any order.
    var take: PlannedQuery.Take?
    /// Gets each row first of which it is certain that its document fulfils the constraint.
    var takeRow: ((Span<UInt8>) throws -> RowOutcome)?
    /// Gets each body where it lies of which it is certain that its document fulfils the constraint, where a row of an
    /// index leads to it; unless `takeRow` took the row. Returns whether more are wanted.
    var takeBody: ((DocumentID, Span<UInt8>) throws -> Bool)?
    private(set) var counters = Counters()
    private let flag = CancellationFlag.current

    init(_ snapshot: Snapshot) { self.snapshot = snapshot }

    /// Calls `body` with the documents that a way leads to, each once, until it returns false.
    func run(_ path: AccessPath, _ body: (Candidate) throws -> Bool) throws -> Ending {
        switch path {
        case .nothing: return .atEnd
        case .documents(.all) where takesAllInAnyOrder && !includesDeleted:
            return try runSequences(body)
        case .documents(let range): return try runDocuments(range, body)
        case .index(let access) where !access.mayRepeat: return try runRows(access, body)
        case .expirations, .index, .union: return try runSorted(path, body)
        }
    }

    private func count() throws -> Bool {
        guard counters.rows < budget else { return false }
        counters.rows += 1
        // A single document may take long to match.
        try flag?.check()
        return true
    }

    // MARK: - In the order of the store

    private func runDocuments(
        _ range: RowRange, _ body: (Candidate) throws -> Bool
    ) throws -> Ending {
        var ending = Ending.atEnd
        try snapshot.forEachDocument(
            in: clamped(range), descending: isReversed, includesDeleted: includesDeleted
        ) { document in
            guard try count() else {
                ending = .overBudget
                return false
            }
            counters.documents += 1
            if try body(Candidate(document: document, row: nil)) { return true }
            ending = .stopped
            return false
        }
        return ending
    }

    private func runSequences(_ body: (Candidate) throws -> Bool) throws -> Ending {
        // These are asked for each document: as constants that are no optionals, no reference to them is counted.
        let take = take ?? { _ in false }
        let flag = flag
        var documents = 0
        defer {
            counters.rows += documents
            counters.documents += documents
        }
        try snapshot.scan { scanned in
            guard try !scanned.scanner.isDesign else { return }
            documents += 1
            try flag?.check()
            if try take(scanned.scanner) { return }
            _ = try body(Candidate(document: try scanned.document(), row: nil))
        }
        return .atEnd
    }

    private func runRows(
        _ access: IndexAccess, _ body: (Candidate) throws -> Bool
    ) throws -> Ending {
        // These are read for each row, so that references to them are counted once.
        let (takeRow, takeBody) = (takeRow, takeBody)
        var ending = Ending.atEnd
        var documents = RememberedSequences(snapshot)
        try forEachRow(access) { key, value in
            guard try count() else {
                ending = .overBudget
                return false
            }
            let isProven = access.isExact && key.count > 0 && key[0] != RowKeyCoder.unindexable
            if isProven, let takeRow {
                switch try takeRow(key) {
                case .needsDocument: break
                case .taken: return true
                case .takenAsLast:
                    ending = .stopped
                    return false
                }
            }
            let id = try access.map.documentID(in: key)
            counters.documents += 1
            var found: Document?
            if isProven, let takeBody {
                var isLast = false
                let isTaken = try documents.lendBody(of: id, rememberedIn: value) {
                    isLast = try !takeBody(id, $0)
                }
                if isLast { ending = .stopped }
                if isTaken { return !isLast }
                found = try snapshot.document(id)
            } else {
                found = try documents.document(id, rememberedIn: value)
            }
            // A row belongs to a document that exists; if it does not exist, the index is damaged.
            guard let document = found else {
                throw IndexCorruption("A row belongs to no document.")
            }
            let row = [UInt8](copying: key)
            if try body(Candidate(document: document, row: row, isProven: isProven)) { return true }
            ending = .stopped
            return false
        }
        return ending
    }

    private func forEachRow(
        _ access: IndexAccess, _ body: (_ key: Span<UInt8>, _ value: Span<UInt8>) throws -> Bool
    ) throws {
        let reader = snapshot.reader(of: access.record)
        var goesOn = true
        for range in isReversed ? access.ranges.reversed() : access.ranges where goesOn {
            try reader.forEachRow(in: clamped(range), descending: isReversed) { key, value in
                goesOn = try body(key, value)
                return goesOn
            }
        }
    }

    /// What is left of a range behind the position.
    private func clamped(_ range: RowRange) -> RowRange {
        guard let position else { return range }
        return range.clamped(
            to: isReversed
                ? RowRange(lower: nil, upper: position)
                : RowRange(lower: position + [0], upper: nil))
    }

    // MARK: - In the order of IDs

    /// Collects IDs, sorts them, and reads each document once.
    private func runSorted(
        _ path: AccessPath, _ body: (Candidate) throws -> Bool
    ) throws -> Ending {
        var sorter = ExternalSorter()
        guard try collect(path, &sorter) else { return .overBudget }
        var ending = Ending.atEnd
        var last: [UInt8]?
        let (isReversed, position) = (isReversed, position)
        try sorter.forEach { item in
            guard item.payload != last else { return true }
            last = item.payload
            if let position {
                let isBehind =
                    isReversed
                    ? item.payload.precedes(position) : position.precedes(item.payload)
                guard isBehind else { return true }
            }
            let id = DocumentID(String(decoding: item.payload, as: UTF8.self))
            guard
                let document = try snapshot.document(id, includingDeleted: includesDeleted)
            else { return true }
            counters.documents += 1
            if try body(Candidate(document: document, row: item.payload)) { return true }
            ending = .stopped
            return false
        }
        return ending
    }

    /// Adds the IDs of a way; false when that costs too much.
    private func collect(_ path: AccessPath, _ sorter: inout ExternalSorter) throws -> Bool {
        var isAffordable = true
        func add(_ id: [UInt8]) throws -> Bool {
            isAffordable = try count()
            guard isAffordable else { return false }
            var key = id + [0]
            if isReversed { for index in key.indices { key[index] = ~key[index] } }
            try sorter.add(ExternalSorter.Item(key: key, payload: id))
            return true
        }
        switch path {
        case .nothing: break
        case .documents(let range):
            try snapshot.forEachID(in: range, includesDeleted: includesDeleted, add)
        case .expirations(let range): try snapshot.forEachExpiringID(in: range, add)
        case .index(let access):
            let reader = snapshot.reader(of: access.record)
            for range in access.ranges where isAffordable {
                try reader.forEachRow(in: range) { key, _ in
                    try add(Array(access.map.documentID(in: key).text.utf8))
                }
            }
        case .union(let paths):
            for path in paths { guard try collect(path, &sorter) else { return false } }
        }
        return isAffordable
    }
}
