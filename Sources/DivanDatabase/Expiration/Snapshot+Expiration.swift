// SPDX-License-Identifier: Apache-2.0

package import DivanModel
internal import DivanStorage

extension Snapshot {
    /// Calls `body` with each document that expires, the next one first, until it returns false.
    ///
    /// - Parameters:
    ///   - position: The key behind which it begins; nil for the first row.
    ///   - damage: Gets what is wrong with a row that cannot be read, and passes over it unless it throws.
    ///   - body: Gets the keys.
    /// - Throws: `DatabaseError` with code `.corrupted` or `.io`, and what the two functions throw.
    package func forEachExpiration(
        after position: ExpirationKey? = nil,
        damage: (DatabaseError) throws -> Void = { throw $0 },
        _ body: (ExpirationKey) throws -> Bool
    ) throws {
        try DatabaseCore.blaming(nil) {
            let cursor = try reader.cursor(in: core.stores.expirations)
            defer { cursor.close() }
            // No key lies between one and the same with a byte of zero behind it.
            let start = position.map { $0.bytes + [0] }
            var found =
                try start.map { try cursor.seek(toAtLeast: $0.span) } ?? cursor.seekToFirst()
            while found {
                var key: ExpirationKey?
                let failure = try DatabaseCore.damage(nil) {
                    // With the value, whose checksum covers the key: a time that is damaged must
                    // not let a document expire.
                    try cursor.withRow { bytes, _ in
                        key = try DatabaseCore.decoding(nil) { try ExpirationKey(bytes) }
                    }
                }
                if let failure { try damage(failure) }
                if let key, try !body(key) { return }
                found = try cursor.next()
            }
        }
    }

    /// The document that expires next, of those whose row can be read; nil when none does.
    ///
    /// `damage` gets what is wrong with the rows before it.
    func nextExpiration(
        after position: ExpirationKey? = nil, damage: (DatabaseError) -> Void = { _ in }
    ) throws -> ExpirationKey? {
        var next: ExpirationKey?
        try forEachExpiration(after: position, damage: damage) { key in
            next = key
            return false
        }
        return next
    }

    /// When a document expires; nil when it does not, or does not exist.
    package func expiration(of id: DocumentID) throws -> ExpirationTime? {
        try record(id)?.expiration
    }
}
