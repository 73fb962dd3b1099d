// SPDX-License-Identifier: Apache-2.0

package import DivanModel
internal import DivanStorage

// A document's date stands in its own record, where it is found by ID and moves along with every new
// revision, and as a key of `expirations`, where the next one to go is the first row:
//
//     documents      "a" → …, expires 1_795_223_045_006, tree        at most one date a document
//     expirations    1_795_223_045_006 ‖ "a" → nothing               exactly the same dates
//
extension WriteContext {
    /// Sets when a document expires, or with nil that it does not.
    package func setExpiration(_ id: DocumentID, _ time: ExpirationTime?) throws {
        let (writer, snapshot) = try transaction()
        guard var record = try snapshot.record(id) else {
            throw DatabaseError.documentNotFound(id)
        }
        guard record.expiration != time else { return }
        beginWrites()
        if let old = record.expiration { try removeExpiration(ExpirationKey(old, id)) }
        if let time {
            let value: [UInt8] = []
            try writer.set(
                value.span, forKey: ExpirationKey(time, id).bytes.span,
                in: snapshot.core.stores.expirations)
            earliestExpiration = min(time, earliestExpiration ?? time)
        }
        record.expiration = time
        try rewrite(id, record)
    }

    func removeExpiration(_ key: ExpirationKey) throws {
        let (writer, snapshot) = try transaction()
        let bytes = key.bytes
        _ = try writer.remove(key: bytes.span, in: snapshot.core.stores.expirations)
    }

    /// Purges the documents of the next rows, up to `limit`, whose time has come.
    ///
    /// - Parameters:
    ///   - now: The time.
    ///   - position: The row behind which it begins; nil for the first.
    ///   - limit: How many rows at most.
    ///   - damage: Gets what is wrong with rows that cannot be read, which are passed over.
    /// - Returns: How many were purged, and the last row that was looked at; nil when none was due.
    /// - Throws: `DatabaseError` with code `.corrupted` for a document that is damaged, or `.io`.
    func purgeExpired(
        until now: ExpirationTime, after position: ExpirationKey?, limit: Int,
        damage: (DatabaseError) -> Void
    ) throws -> (purged: Int, last: ExpirationKey?) {
        let (_, snapshot) = try transaction()
        var due: [ExpirationKey] = []
        try snapshot.forEachExpiration(after: position, damage: damage) { key in
            guard key.time <= now else { return false }
            due.append(key)
            return due.count < limit
        }
        var purged = 0
        for key in due where try purgeExpired(key) { purged += 1 }
        return (purged, due.last)
    }

    /// Purges one document, if the row says what its record says; any other row is only removed.
    private func purgeExpired(_ key: ExpirationKey) throws -> Bool {
        let (_, snapshot) = try transaction()
        guard let record = try snapshot.record(key.documentID), record.expiration == key.time
        else {
            beginWrites()
            try removeExpiration(key)
            return false
        }
        try purge(key.documentID, record)
        return true
    }
}
