// SPDX-License-Identifier: Apache-2.0

package import DivanModel
internal import DivanStorage

extension Snapshot {
    /// Calls `body` with each document that expires, the next one first, until it returns false.
    ///
    /// It begins behind the key `position`, or with nil at the first row.
    package func forEachExpiration(
        after position: ExpirationKey? = nil, _ body: (ExpirationKey) throws -> Bool
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
                // With the value, whose checksum covers the key: a time that is damaged must not
                // let a document expire.
                try cursor.withRow { bytes, _ in
                    key = try DatabaseCore.decoding(nil) { try ExpirationKey(bytes) }
                }
                guard let key, try body(key) else { return }
                found = try cursor.next()
            }
        }
    }

    /// The document that expires next; nil when none does.
    func nextExpiration(after position: ExpirationKey? = nil) throws -> ExpirationKey? {
        var next: ExpirationKey?
        try forEachExpiration(after: position) { key in
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
