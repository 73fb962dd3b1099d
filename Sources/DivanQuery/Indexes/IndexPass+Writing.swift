// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex
internal import DivanModel
internal import DivanStorage

extension IndexPass {
    /// What was written of one index.
    struct Written {
        /// Its record as it is now.
        var record: IndexRecord
        /// The rows that changed.
        var changes: IndexWriter.Changes
        /// Their keys; nil when no live query asks for them.
        var keys: [[UInt8]]?
        /// The documents that the map function failed for.
        var failures: [IndexingFailure]
        var duration: Duration
    }

    /// Writes the rows of all indexes in one transaction.
    func write(
        _ part: inout IndexPart, _ builds: inout [IndexName: OutdatedIndex], _ report: inout Report
    ) throws {
        // A map function that was broken off has not failed.
        try CancellationFlag.check()
        var written: [Written?] = []
        // What is written in a batch is not committed yet, and may never be.
        let isOwnTransaction = !core.isInTransaction
        try core.write { context in
            written = []
            for place in part.indexes.indices {
                written.append(try write(&part, place, context, isNested: !isOwnTransaction))
            }
        }
        for (place, written) in written.enumerated() {
            var index = part.indexes[place]
            let (name, start) = (index.definition.name, index.record.place)
            report.note(part.rows[place], written, of: name)
            builds[name] = nil
            guard let written else { continue }
            index.record = written.record
            index.newThrough = min(index.newThrough, part.bound)
            builds[name] = index.newThrough > 0 ? index : nil
            guard isOwnTransaction else { continue }
            core.indexTouches.note(name, from: start, to: written.record.place, keys: written.keys)
        }
    }

    /// Writes the rows of one index; nil when another writer has changed the index since.
    private func write(
        _ part: inout IndexPart, _ place: Int, _ context: WriteContext, isNested: Bool
    ) throws -> Written? {
        let began = ContinuousClock.now
        let index = part.indexes[place]
        let (writer, snapshot) = try context.transaction()
        try context.settleLosses()
        let name = index.definition.name
        guard var record = try snapshot.indexRecord(name), record == index.record else {
            return nil
        }
        let isBuild = record.lastSequence == 0
        // The first write makes the partial reductions at once if it is the last one too, unless a reduce
        // function of the app's would hold up other writers. Else they are made anew at the end.
        if isBuild {
            let reducer = index.definition.reducer
            record.hasPartials =
                index.definition.text != nil
                || part.lastSequence >= part.bound
                    && (reducer == nil || reducer is any AddingReducer)
        }
        // A reducer of a group may fail for now. That undoes a transaction of its own, but not a batch: there it works at the end.
        if isNested, index.definition.group != nil {
            record.hasPartials = false
        }
        var target = IndexWriter(
            IndexStores(number: record.number, engine: core.engine), seed: record.seed,
            reducer: index.definition.reducer, writer)
        target.keepsPartials = record.hasPartials
        target.leavesKeptRows = index.definition.remembersSequences
        target.tellsRows = core.indexTouches.isFollowed(name)
        part.addPurged(to: place)
        let places = part.places(place)
        let failures = try part.failures(place, places)
        let changes: IndexWriter.Changes
        do {
            let documents = part.documents(place, snapshot, isQuiet: context.state == part.state)
            if let text = index.definition.text {
                var target = TextIndexWriter(
                    TextIndexStores(number: record.number, engine: core.engine), writer)
                changes = IndexWriter.Changes(
                    count: try target.replace(
                        with: part.rows[place].emissions, at: places, text.vocabulary,
                        isNew: documents.isNew))
            } else if isBuild {
                changes = try target.build(
                    from: part.rows[place].emissions, at: places, reducing: record.hasPartials,
                    documents)
            } else {
                changes = try target.replace(
                    with: &part.rows[place].emissions, at: places, documents)
            }
        } catch let error as IndexCorruption {
            throw DamagedIndex(name: name, cause: error)
        }
        record.failures += UInt64(failures.count)
        record.lastSequence = max(record.lastSequence, part.lastSequence)
        record.lastPurge = part.lastPurge
        try context.setIndexRecord(record, of: name)
        return Written(
            record: record, changes: changes,
            keys: target.tellsRows ? changes.rows.map(\.key) : nil, failures: failures,
            duration: ContinuousClock.now - began)
    }
}

extension IndexPart {
    /// What a writer must know of the documents of an index.
    ///
    /// - Parameters:
    ///   - place: The place of the index.
    ///   - snapshot: The database as the transaction has it.
    ///   - isQuiet: Whether nothing has been written since the first part was read. Else the body that a document was mapped by
    ///     may have been deleted meanwhile.
    /// - Returns: Closures that read the snapshot, for use in its transaction.
    func documents(_ place: Int, _ snapshot: Snapshot, isQuiet: Bool) -> EmittingDocuments {
        let (items, positions, index) = (items, rows[place].positions, indexes[place])
        // Purged documents follow those of the feed.
        func item(_ place: Int) -> Item? {
            place < positions.count ? items[positions[place]] : nil
        }
        func sequences(_ id: Span<UInt8>) throws -> [SequenceNumber] {
            try snapshot.record(RowDocumentID.decode(id))?.tree.sequences ?? []
        }
        func isStored(_ item: Item) throws -> Bool {
            try isQuiet || snapshot.owner(of: item.sequence) != nil
        }
        return EmittingDocuments(
            isNew: { place in item(place).map { index.isNew($0) } ?? false },
            sequence: { place, id in
                if let item = item(place), !item.isConsulted, try isStored(item) {
                    return item.sequence
                }
                return try sequences(id).first
            },
            sequences: { place, id in
                if let item = item(place), item.isFirst, try isStored(item) {
                    return [item.sequence]
                }
                return try sequences(id)
            })
    }
}
