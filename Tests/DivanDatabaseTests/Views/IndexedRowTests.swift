// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import DivanModel
import DivanPlatform
import DivanTestSupport
import Testing

@testable import DivanDatabase
@testable import DivanIndex
@testable import DivanQuery

/// Rows of a result, many in one block.
@Suite struct IndexedRowTests {
    private struct Emitted {
        let key: JSONValue
        let id: DocumentID
        let value: PackedValue?
        let rowKey: [UInt8]
    }

    private static func emitted(
        _ coder: RowKeyCoder, _ random: inout DivanTestSupport.SeededRandom
    ) throws -> Emitted {
        let key = RandomJSON.value(using: &random)
        let id = DocumentID("d\(random.below(1_000))")
        let value = random.oneIn(3) ? nil : PackedValue(RandomJSON.value(using: &random))
        var (bytes, forms): ([UInt8], NumberForms) = ([], NumberForms())
        coder.append(key, to: &bytes, &forms)
        RowKey.append(
            id, ordinal: random.oneIn(4) ? random.below(400) : 0, forms: forms.bytes, to: &bytes)
        return Emitted(key: key, id: id, value: value, rowKey: bytes)
    }

    @Test(arguments: Collation.allCases)
    func `rows give what was emitted, and damaged ones nothing worse than null`(
        _ collation: Collation
    ) throws {
        let database = try Database.inMemory()
        defer { database.close() }
        let coder = RowKeyCoder(collation, strings: ICUCollator.root)
        for round in Soak.rounds(test: 40, soak: 5_000) {
            var random = Soak.random(round: round, salt: 0x4047)
            var collector = IndexedRowCollector(coder, core: database.core)
            var expected: [Emitted?] = []
            for _ in 0..<random.below(400) {
                let row = try Self.emitted(coder, &random)
                var rowKey = row.rowKey
                let isSound = !random.oneIn(8)
                if !isSound {
                    rowKey[random.below(rowKey.count)] = UInt8(truncatingIfNeeded: random.next())
                    rowKey.removeLast(random.below(rowKey.count))
                }
                let value = row.value?.bytes ?? []
                do {
                    try collector.append(key: rowKey.span, value: value.span)
                    expected.append(isSound ? row : nil)
                } catch { #expect(error is IndexCorruption && !isSound) }
                #expect(collector.count == expected.count)
            }
            let rows = collector.finish()
            #expect(rows.count == expected.count)
            for (row, emitted) in zip(rows, expected) {
                row.checkInvariants(isSound: emitted != nil)
                _ = (row.key, row.value, row.documentID)
                guard let emitted else { continue }
                #expect(row.key == emitted.key, "round \(round)")
                #expect(row.value == emitted.value, "round \(round)")
                #expect(row.documentID == emitted.id, "round \(round)")
                #expect(row.rowKey.elementsEqual(emitted.rowKey), "round \(round)")
            }
        }
    }
}
