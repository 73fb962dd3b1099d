// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
package import DivanModel
internal import DivanStorage

extension IndexReader {
    /// Checks that the parts of the index agree: emissions with rows, rows with partial reductions.
    ///
    /// - Parameters:
    ///   - reducer: The reducer, to compute the reductions anew; without one, counts are compared only.
    ///   - hasPartials: Whether partial reductions are stored.
    ///   - owner: Finds the document of a revision by its sequence: its ID as an index has it, and the sequences in its tree, the
    ///     highest first. Nil for none.
    ///   - check: Called now and then; throws to stop the work.
    /// - Returns: One sentence for each kind of problem; empty when all is well.
    /// - Throws: `StorageError`, ``IndexCorruption``, and what `owner` and `check` throw.
    package func verify(
        reducer: (any RowReducer)?, hasPartials: Bool,
        owner: (_ sequence: SequenceNumber) throws -> (id: [UInt8], sequences: [SequenceNumber])?,
        check: (_ rows: Int) throws -> Void
    ) throws -> [String] {
        var problems: [String] = []
        let expected = try checkLists(owner, check, &problems)
        let count = try countRows(check)
        if count > expected {
            problems.append("The index has \(count - expected) rows that no document emitted.")
        }
        if hasPartials { problems += try verifyPartials(reducer, check) }
        return problems
    }

    /// Looks for the rows of each list that counts, and returns how many rows there should be.
    private func checkLists(
        _ owner: (_ sequence: SequenceNumber) throws -> (id: [UInt8], sequences: [SequenceNumber])?,
        _ check: (_ rows: Int) throws -> Void, _ problems: inout [String]
    ) throws -> Int {
        var (expected, missing) = (0, [String]())
        let rows = try BlockLookup(stores.rows, reader)
        let known = try EmissionLists(stores, reader)
        defer {
            rows.close()
            known.close()
        }
        func checkRows(_ list: Span<UInt8>, of id: Span<UInt8>) throws {
            for key in try EmittedKeys.rowKeys(list, of: id) {
                expected += 1
                if expected.isMultiple(of: 4_096) { try check(expected) }
                if try rows.contains(key.span) { continue }
                let text = try RowDocumentID.decode(id).text
                missing.append("A row of document '\(text)' is missing.")
            }
        }
        try BlockCursor.forEachRow(of: stores.emissions, reader) { key, list in
            let sequence = try EmissionLists.sequence(key)
            guard let (id, sequences) = try owner(sequence), sequences.contains(sequence) else {
                missing.append("No revision has the sequence \(sequence) of a list of keys.")
                return
            }
            // A list that is out of date says nothing of rows.
            guard try known.known(of: id.span, sequences)?.sequence == sequence else { return }
            try checkRows(list, of: id.span)
        }
        try BlockCursor.forEachRow(of: stores.purged, reader) { id, list in
            try checkRows(list, of: id)
        }
        problems += missing
        return expected
    }

    /// Counts the rows, and sees whether they stand in order.
    private func countRows(_ check: (_ rows: Int) throws -> Void) throws -> Int {
        var count = 0
        var last: [UInt8] = []
        try forEachRow { key, _ in
            guard compare(last.span, key) < 0 else {
                throw IndexCorruption("The rows of an index are not in order.")
            }
            last = [UInt8](copying: key)
            count += 1
            if count.isMultiple(of: 4_096) { try check(count) }
            return true
        }
        return count
    }

    /// Stops the program where an invariant of ``Partials`` does not hold; for tests.
    ///
    /// - Parameter reducer: What the index is reduced by.
    /// - Throws: `StorageError`, ``IndexCorruption``.
    func checkPartials(reducer: (any RowReducer)?) throws {
        var below: Set<[UInt8]> = [[]]
        try forEachRow { key, _ in
            below.insert([UInt8](copying: key))
            return true
        }
        let rows = below.count - 1
        for level in 1...RowRank.highest {
            let cursor = try LevelCursor(level, of: stores.partials, reader)
            defer { cursor.close() }
            var (keys, count) = (Set<[UInt8]>(), 0)
            var key = try cursor.seek(toAtLeast: [])
            while let found = key {
                precondition(below.contains(found), "invariant 1")
                keys.insert(found)
                count += try cursor.here().count
                key = try cursor.next()
            }
            // An index that never had a row has no nodes.
            precondition(count == rows && (rows == 0 || keys.contains([])), "invariant 2")
            below = keys
        }
        let problems = try verifyPartials(reducer) { _ in }
        precondition(problems.isEmpty, "invariants 2 and 3")
    }

    private func verifyPartials(
        _ reducer: (any RowReducer)?, _ check: (_ rows: Int) throws -> Void
    ) throws -> [String] {
        let computed = try computePartials(reducer: reducer, check: check)
        let stored = try BlockCursor(stores.partials, reader)
        defer { stored.close() }
        var differences = 0
        var position = 0
        var found = try stored.seekToFirst()
        while found {
            try stored.withRow { key, value in
                guard position < computed.nodes.count else { return differences += 1 }
                let node = computed.nodes[position]
                let isSame =
                    try compare(key, node.key.span) == 0
                    && isSame(value, node.value.span, comparingValues: reducer != nil)
                if !isSame { differences += 1 }
            }
            position += 1
            found = try stored.next()
        }
        // An index that never had a row has no nodes.
        if position == 0, computed.nodes.count == RowRank.highest { return [] }
        differences += max(0, computed.nodes.count - position)
        return differences == 0
            ? [] : ["\(differences) partial reductions are not those of their rows."]
    }

    private func isSame(_ left: Span<UInt8>, _ right: Span<UInt8>, comparingValues: Bool) throws
        -> Bool
    {
        if compare(left, right) == 0 { return true }
        let (left, right) = (try Partials.Node(left), try Partials.Node(right))
        guard left.count == right.count else { return false }
        guard comparingValues else { return true }
        // Another release has other words for the same failure.
        if case (.failure, .failure) = (left.reduced, right.reduced) { return true }
        return false
    }
}
