// SPDX-License-Identifier: Apache-2.0

public import DivanDatabase
internal import DivanIndex
public import DivanJSON
public import DivanModel

/// What is stored of one index.
public struct IndexReport: Sendable, Equatable {
    /// What an index is made for.
    public enum Kind: String, Sendable, CaseIterable {
        /// A view, made by a map function of the app.
        case view
        /// An index on properties.
        case property
        /// A full-text index.
        case text
    }

    /// What it is made for.
    public var kind: Kind
    /// Its name, unique among those of its kind, but that an index on properties without a collation may be there
    /// twice, in two orders.
    @ByBytes public var name: String
    /// The version text that it was built with.
    @ByBytes public var version: String
    /// How many rows it has; of a full-text index, how many documents have words.
    public var rows: Int
    /// Every change up to here is in it.
    public var lastSequence: SequenceNumber
    /// Whether it has all changes and purges. Whether a function has changed since is not known here.
    public var isCurrent: Bool
    /// How many documents its function failed for, counted each time.
    public var failures: Int
}

extension Database {
    /// Returns what is stored of each index, by kind and name.
    ///
    /// - Throws: `DatabaseError` with code `.databaseClosed`, `.io` or `.corrupted`.
    public func indexReports() throws -> [IndexReport] {
        try checkOpen()
        return try core.read { snapshot in
            let state = try snapshot.state()
            return try snapshot.indexNames().compactMap { name in
                guard let record = try snapshot.indexRecord(name),
                    try !snapshot.isSpare(name, record),
                    let kind = IndexReport.Kind(rawValue: name.kind.rawValue)
                else { return nil }
                return IndexReport(
                    kind: kind, name: name.declaredName, version: record.version,
                    rows: try snapshot.rowCount(of: record),
                    lastSequence: record.lastSequence, isCurrent: !record.isOutdated(in: state),
                    failures: Int(clamping: record.failures))
            }
        }
    }

    /// Deletes an index with all its rows. The next query of the index builds it anew.
    ///
    /// - Parameter report: The index.
    /// - Returns: Whether there was one.
    /// - Throws: `DatabaseError` with code `.databaseClosed`, `.readOnly`, `.io` or `.storageFull`.
    @discardableResult
    public func deleteIndex(_ report: IndexReport) throws -> Bool {
        try checkWritable()
        guard let kind = IndexName.Kind(rawValue: report.kind.rawValue) else { return false }
        return try core.write { context in
            guard kind == .property else {
                return try context.dropIndex(IndexName(kind, report.name))
            }
            return try context.dropPropertyIndex(report.name)
        }
    }
}

extension Snapshot {
    fileprivate func rowCount(of record: IndexRecord) throws -> Int {
        guard record.isText else { return try reader(of: record).count() }
        return Int(clamping: try textReader(of: record).totals.documents)
    }

    /// Whether it is the first order of an index that queries have used in another one only: it has no rows.
    func isSpare(_ name: IndexName, _ record: IndexRecord) throws -> Bool {
        guard name.kind == .property, !name.isOfLaterOrder, record.lastSequence == 0 else {
            return false
        }
        return try indexNames().contains {
            $0.isOfLaterOrder && $0.declaredName.hasSameBytes(as: name.name)
        }
    }
}
