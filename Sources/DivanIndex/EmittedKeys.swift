// SPDX-License-Identifier: Apache-2.0

internal import DivanModel
internal import DivanStorage

/// The keys that one document emitted, as the store `emissions` keeps them under the document's ID.
///
///     for each row: varint, the length of the emitted key; the key
///
/// From them the document's rows can be found when it changes, without mapping its former revision
/// again. A document without rows has none.
enum EmittedKeys {
    /// Appends the list of a document's rows, which stand in a batch.
    static func append(
        _ rows: ArraySlice<EmissionBatch.Row>, of batch: Span<UInt8>, to list: inout [UInt8]
    ) {
        for row in rows {
            Varint.append(UInt64(row.emittedEnd - row.start), to: &list)
            list.append(copying: batch.extracting(row.start..<row.emittedEnd))
        }
    }

    /// The row keys that a stored list stands for.
    ///
    /// - Throws: ``IndexCorruption``.
    static func rowKeys(_ list: Span<UInt8>, of id: DocumentID) throws -> [[UInt8]] {
        var keys: [[UInt8]] = []
        var seen: [[UInt8]: Int] = [:]
        var offset = 0
        do {
            while offset < list.count {
                let length = try Varint.decode(list, at: &offset)
                guard length <= UInt64(list.count - offset) else { throw damage }
                let end = offset + Int(length)
                var key = [UInt8](copying: list.extracting(offset..<end))
                let isAlone = keys.isEmpty && end == list.count
                let ordinal = isAlone ? 0 : seen[key, default: 0]
                if !isAlone { seen[key] = ordinal + 1 }
                RowKey.append(id, ordinal: ordinal, to: &key)
                keys.append(key)
                offset = end
            }
        } catch is ModelCorruption {
            throw damage
        }
        return keys
    }

    private static let damage = IndexCorruption("A list of emitted keys ends early.")
}
