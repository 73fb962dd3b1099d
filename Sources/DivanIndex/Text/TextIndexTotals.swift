// SPDX-License-Identifier: Apache-2.0

internal import DivanModel
internal import DivanStorage

/// What a full-text index counts as a whole.
package struct TextIndexTotals: Sendable, Equatable {
    /// How many documents have words.
    package var documents: UInt64 = 0
    /// How many words they have, without those that are left out.
    package var words: UInt64 = 0
    /// The ordinal that the next new document gets. None is given twice.
    var nextOrdinal: UInt64 = 1
    /// The number that the next new term gets.
    var nextNumber: UInt64 = 1
    /// How many rows the store of terms has.
    var terms: UInt64 = 0
    /// How many of these have no posting left.
    var unusedTerms: UInt64 = 0

    static let key: Int64 = -1

    init() {}

    init(_ row: Span<UInt8>) throws {
        var offset = 0
        do {
            documents = try Varint.decode(row, at: &offset)
            words = try Varint.decode(row, at: &offset)
            nextOrdinal = try Varint.decode(row, at: &offset)
            nextNumber = try Varint.decode(row, at: &offset)
            terms = try Varint.decode(row, at: &offset)
            unusedTerms = try Varint.decode(row, at: &offset)
        } catch { throw Self.damage }
        // A batch counts on from here.
        let largest = max(documents, words, nextOrdinal, nextNumber, terms, unusedTerms)
        guard offset == row.count, largest < PostingBlock.largest else { throw Self.damage }
    }

    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        for number in [documents, words, nextOrdinal, nextNumber, terms, unusedTerms] {
            Varint.append(number, to: &bytes)
        }
        return bytes
    }

    private static let damage = IndexCorruption("The totals of a full-text index are damaged.")
}

extension TextIndexStores {
    /// Reads the totals; those of an empty index when there are none.
    func totals(_ reader: any StorageReader) throws -> TextIndexTotals {
        var totals = TextIndexTotals()
        _ = try reader.withValue(forKey: TextIndexTotals.key, in: lengths) {
            totals = try TextIndexTotals($0)
        }
        return totals
    }
}
