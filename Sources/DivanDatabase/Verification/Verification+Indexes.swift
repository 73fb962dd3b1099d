// SPDX-License-Identifier: Apache-2.0

internal import DivanIndex
internal import DivanJSON
internal import DivanModel
internal import DivanStorage

// An index holds nothing that cannot be made again, but a wrong one gives wrong answers.
extension Verification {
    /// Checks that every index is whole: its record, its rows, its partial counts.
    ///
    /// It does not call map and reduce functions. So it does not find wrong reduced values, or rows
    /// that a changed map function would no longer emit.
    func checkIndexes(_ snapshot: Snapshot) throws {
        // In a batch, what that has deleted.
        try snapshot.context?.settleLosses()
        var known = NameSet(Stores.names.map(\.name))
        for name in try attempt(nil, { try snapshot.indexNames() }) ?? [] {
            guard let record = try attempt(nil, { try snapshot.indexRecord(name) }) ?? nil
            else { continue }
            for part in record.isText ? TextIndexStores.parts : IndexStores.parts {
                known.insert("index/\(record.number)/\(part)")
            }
            try check(name, record, snapshot)
        }
        for name in try attempt(nil, { try snapshot.reader.storeNames() }) ?? []
        where !known.contains(name.name) {
            add("The store '\(name)' is none of a database's.", nil)
        }
    }

    /// The document of a stored revision: its ID as an index has it, and the sequences in its tree.
    private func owner(_ sequence: SequenceNumber, _ snapshot: Snapshot) throws -> (
        id: [UInt8], sequences: [SequenceNumber]
    )? {
        guard let (id, _) = try snapshot.owner(of: sequence) else { return nil }
        var rowID: [UInt8] = []
        RowDocumentID.append(id, to: &rowID)
        return (rowID, try snapshot.record(id)?.tree.sequences ?? [])
    }

    private func check(_ name: IndexName, _ record: IndexRecord, _ snapshot: Snapshot) throws {
        let title = "The index '\(name.text)'"
        try attempt(nil) {
            let state = try snapshot.state()
            if record.lastSequence > state.lastSequence || record.lastPurge > state.lastPurge {
                add("\(title) is ahead of the database; delete it to have it built anew.", nil)
            }
            // One that an earlier build made is built anew before it is read.
            guard record.isText || record.hasRows else { return }
            do {
                func report(_ rows: Int) throws {
                    try progress.report(
                        WorkProgress(phase: "checking indexes", completed: rows, total: nil))
                }
                let sentences =
                    try record.isText
                    ? snapshot.textReader(of: record).verify(check: report)
                    : snapshot.reader(of: record).verify(
                        reducer: nil, hasPartials: record.hasPartials,
                        owner: { try owner($0, snapshot) }, check: report)
                for sentence in sentences { add("\(title) is damaged: \(sentence)", nil) }
            } catch let error as IndexCorruption {
                add("\(title) is damaged: \(error)", nil)
            }
        }
    }
}
