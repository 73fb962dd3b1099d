// SPDX-License-Identifier: Apache-2.0

internal import DivanModel
internal import DivanStorage

/// The keys that one document emitted, as ``EmissionLists`` keep them.
///
///     for each row: varint, the length of the emitted key; the key
///                   and, if not all numbers of the key are plain:
///                   00; varint, the length of their forms (`NumberForms`); the forms
///
/// From them the document's rows can be found when it changes, without mapping its former revision
/// again. A document without rows has none.
enum EmittedKeys {
    /// Stands where the length of the next key would: no key is empty.
    private static let formsFollow: UInt8 = 0

    /// Appends the list of the rows of a document of a batch.
    static func append(
        of place: Int, in batch: EmissionBatch, to list: inout [UInt8]
    ) {
        for index in batch.rows(of: place) {
            let row = batch.rows[index]
            append(batch.bytes, row.emitted, to: &list)
            let forms = batch.forms(row, idSize: batch.id(of: place).count)
            guard !forms.isEmpty else { continue }
            list.append(formsFollow)
            append(batch.bytes, forms, to: &list)
        }
    }

    private static func append(_ bytes: [UInt8], _ part: Range<Int>, to list: inout [UInt8]) {
        Varint.append(UInt64(part.count), to: &list)
        list.append(copying: bytes.span.extracting(part))
    }

    /// The row keys that a stored list stands for.
    ///
    /// - Parameters:
    ///   - list: The list.
    ///   - id: The document's ID, as an index has it.
    /// - Returns: The keys, in the order of the list.
    /// - Throws: ``IndexCorruption``.
    static func rowKeys(_ list: Span<UInt8>, of id: Span<UInt8>) throws -> [[UInt8]] {
        var keys: [[UInt8]] = []
        var seen: [[UInt8]: Int] = [:]
        var offset = 0
        do {
            while offset < list.count {
                var key = [UInt8](copying: list.extracting(try part(of: list, at: &offset)))
                guard !key.isEmpty else { throw damage }
                var forms = 0..<0
                if offset < list.count, list[offset] == formsFollow {
                    offset += 1
                    forms = try part(of: list, at: &offset)
                }
                let isAlone = keys.isEmpty && offset == list.count
                let ordinal = isAlone ? 0 : seen[key, default: 0]
                if !isAlone { seen[key] = ordinal + 1 }
                RowKey.append(
                    id: id, ordinal: ordinal, forms: [UInt8](copying: list.extracting(forms)),
                    to: &key)
                keys.append(key)
            }
        } catch is ModelCorruption {
            throw damage
        }
        return keys
    }

    private static func part(of list: Span<UInt8>, at offset: inout Int) throws -> Range<Int> {
        let length = try Varint.decode(list, at: &offset)
        guard length <= UInt64(list.count - offset) else { throw damage }
        defer { offset += Int(length) }
        return offset..<offset + Int(length)
    }

    private static let damage = IndexCorruption("A list of emitted keys is damaged.")
}
