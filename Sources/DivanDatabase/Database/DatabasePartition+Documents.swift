// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanModel
internal import DivanStorage

// The documents of a partition are a range of IDs: those from "name:" to below "name;", by their bytes.
extension DatabasePartition {
    /// Returns the documents of the partition in order of ID: all of them, or what `options` narrow them to.
    ///
    /// - Parameter options: Which documents. The IDs at which they begin and end are whole ones, with the name of the
    ///   partition; what they take in of other partitions is left out.
    /// - Returns: The documents.
    /// - Throws: `DatabaseError` with code `.invalidQuery` when the database is not partitioned, `.invalidID` for a
    ///   name that breaks the rules, `.databaseClosed`, `.io` or `.corrupted`.
    public func allDocuments(_ options: AllDocumentsOptions = AllDocumentsOptions()) throws
        -> [DocumentRow]
    {
        var rows: [DocumentRow] = []
        try forEachDocument(options) { rows.append($0) }
        return rows
    }

    /// Calls `body` for each document of the partition in order of ID, holding only one at a time.
    ///
    /// - Parameters:
    ///   - options: Which documents, as ``allDocuments(_:)`` takes them.
    ///   - body: Gets a document. It may write only if a batch is around all of this, as in
    ///     ``Database/forEachDocument(_:_:)``.
    /// - Throws: As ``allDocuments(_:)``, and what `body` throws.
    public func forEachDocument(
        _ options: AllDocumentsOptions = AllDocumentsOptions(),
        _ body: (DocumentRow) throws -> Void
    ) throws {
        try checked()
        try database.forEachDocument(options.narrowed(toPartition: name), body)
    }

    /// Counts the documents of the partition and what they take.
    ///
    /// Nothing of this is kept, so every document of the partition is read: about as much work as
    /// ``allDocuments(_:)`` with the documents.
    ///
    /// - Returns: The counts.
    /// - Throws: As ``allDocuments(_:)``.
    public func info() throws -> PartitionInfo {
        try checked()
        return try database.core.read { try $0.info(ofPartition: name) }
    }
}

/// How many documents a partition has, and what they take.
public struct PartitionInfo: Sendable, Hashable {
    /// The documents that are not deleted.
    public internal(set) var documentCount = 0
    /// The documents that are deleted.
    public internal(set) var deletedDocumentCount = 0
    /// The bytes of the bodies and attachments of the revisions that are leaves. What several documents share counts
    /// for each.
    public internal(set) var contentBytes = 0
    /// The bytes of the rows that keep the documents with all their revisions, and of the attachments.
    public internal(set) var storedBytes = 0
}

extension AllDocumentsOptions {
    /// The same enumeration of the documents of one partition alone.
    ///
    /// - Parameter name: A valid name of a partition.
    /// - Returns: The options.
    package func narrowed(toPartition name: String) -> AllDocumentsOptions {
        // Of a valid ID, ";" never stands where the colon does: so "name;" is no document's.
        let (first, end) = (DocumentID("\(name):"), DocumentID("\(name);"))
        var (low, high) = descending ? (endID, startID) : (startID, endID)
        low = low.map { max($0, first) } ?? first
        high = high.map { min($0, end) } ?? end
        var options = self
        (options.startID, options.endID) = descending ? (high, low) : (low, high)
        return options
    }
}

extension Snapshot {
    fileprivate func info(ofPartition name: String) throws -> PartitionInfo {
        var options = AllDocumentsOptions().narrowed(toPartition: name)
        options.includeDeleted = true
        var info = PartitionInfo()
        try DatabaseCore.blaming(nil) {
            let walk = try DocumentWalk(self, options)
            defer { walk.close() }
            while try walk.next({ key, row in
                let id = DocumentID(copying: key)
                let record = try DatabaseCore.decoding(id) { try DocumentRecord(row) }
                if record.tree.isDeleted {
                    info.deletedDocumentCount += 1
                } else {
                    info.documentCount += 1
                }
                info.storedBytes.add(key.count + row.count)
                for node in record.tree.nodes {
                    guard let sequence = node.sequence else { continue }
                    try count(id, node, sequence, in: &info)
                }
            }) {}
        }
        return info
    }

    /// Adds what a stored revision takes.
    private func count(
        _ id: DocumentID, _ node: RevisionTree.Node, _ sequence: SequenceNumber,
        in info: inout PartitionInfo
    ) throws {
        var (body, hasAttachments) = (0, false)
        _ = try reader.withValue(forKey: Int64(sequence), in: core.stores.revisions) { row in
            let revision = try DatabaseCore.decoding(id) { try RevisionRow(row) }
            body = revision.body.count + revision.largeLength
            hasAttachments = revision.flags.contains(.attachments)
            info.storedBytes.add(row.count.addingSaturated(revision.largeLength))
        }
        guard node.isLeaf else { return }
        info.contentBytes.add(body)
        guard hasAttachments else { return }
        try document(id, node: node).body["_attachments"]?.forEachProperty { _, stub in
            // What a stub says may be anything.
            let length = max(0, Int(clamping: stub["length"]?.int64 ?? 0))
            let stored = stub["encoded_length"]?.int64.map { max(0, Int(clamping: $0)) }
            info.contentBytes.add(length)
            info.storedBytes.add(stored ?? length)
        }
    }
}

extension Int {
    /// Adds a size; a sum that is too large is the largest number.
    fileprivate mutating func add(_ size: Int) { self = addingSaturated(size) }
}
