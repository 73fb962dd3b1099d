// SPDX-License-Identifier: Apache-2.0

package import DivanDatabase
internal import DivanIndex
package import DivanJSON
package import DivanModel
internal import DivanStorage

/// What is stored of an index, as a listener tells of it.
package struct StoredIndex: Sendable {
    /// Its name as its owner gave it.
    @ByBytes package var name: String
    /// The version text that it was built with.
    @ByBytes package var version: String
    /// Every change up to here is in it.
    package var lastSequence: SequenceNumber
    /// The purges up to here are in it.
    package var lastPurge: UInt64
    /// The bytes of its rows and reductions.
    package var bytes: Int
}

extension Database {
    /// Returns what is stored of the views and the indexes on properties that have some names. All of their rows are read
    /// for their sizes.
    ///
    /// - Parameter isWanted: Tells whether an index of a name is wanted.
    /// - Returns: The indexes. One on properties that is kept in several orders is there once for each.
    /// - Throws: `DatabaseError` with code `.databaseClosed`, `.io` or `.corrupted`.
    package func storedIndexes(_ isWanted: (String) -> Bool) throws -> [StoredIndex] {
        try checkOpen()
        return try core.read { snapshot in
            try snapshot.indexNames().compactMap { name in
                guard name.kind != .text, isWanted(name.declaredName),
                    let record = try snapshot.indexRecord(name),
                    try !snapshot.isSpare(name, record)
                else { return nil }
                return StoredIndex(
                    name: name.declaredName, version: record.version,
                    lastSequence: record.lastSequence, lastPurge: record.lastPurge,
                    bytes: try snapshot.storedBytes(of: record))
            }
        }
    }
}

extension Snapshot {
    /// The bytes of the rows and reductions of an index, which are all read for that.
    func storedBytes(of record: IndexRecord) throws -> Int {
        let stores = IndexStores(number: record.number, engine: core.engine)
        var sum = 0
        for store in [stores.rows, stores.partials] {
            let cursor = try reader.cursor(in: store)
            defer { cursor.close() }
            var found = try cursor.seekToFirst()
            while found {
                try cursor.withRow { key, value in sum += key.count + value.count }
                found = try cursor.next()
            }
        }
        return sum
    }
}
