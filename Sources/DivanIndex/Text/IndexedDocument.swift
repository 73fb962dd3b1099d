// SPDX-License-Identifier: Apache-2.0

internal import DivanModel
internal import DivanStorage

/// What a full-text index knows of a document: a row of the store `documents`.
///
///     varint     the document's ordinal
///     varints    the numbers of its terms, ascending, each as what it is above the one before
///
/// By the numbers its postings are found when it changes, without analysing its former texts again.
struct IndexedDocument {
    var ordinal: UInt64
    var numbers: [UInt64] = []

    init(ordinal: UInt64, numbers: [UInt64]) {
        self.ordinal = ordinal
        self.numbers = numbers
    }

    init(_ row: Span<UInt8>) throws {
        do {
            var offset = 0
            ordinal = try Varint.decode(row, at: &offset)
            var number: UInt64 = 0
            while offset < row.count {
                let gap = try Varint.decode(row, at: &offset)
                guard gap > 0, gap < PostingBlock.largest, number < PostingBlock.largest else {
                    throw Self.damage
                }
                number += gap
                numbers.append(number)
            }
        } catch is ModelCorruption { throw Self.damage }
        guard !numbers.isEmpty, ordinal > 0, ordinal < PostingBlock.largest else {
            throw Self.damage
        }
    }

    func append(to bytes: inout [UInt8]) {
        Varint.append(ordinal, to: &bytes)
        var before: UInt64 = 0
        for number in numbers {
            Varint.append(number - before, to: &bytes)
            before = number
        }
    }

    private static let damage = IndexCorruption("The terms of a document are damaged.")
}
