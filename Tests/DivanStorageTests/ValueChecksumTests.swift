// SPDX-License-Identifier: Apache-2.0

import CChecksum
@testable import DivanStorage
import Testing

@Suite struct ValueChecksumTests {
    /// RFC 3720, appendix B.4, and the check value of the CRC catalogue.
    private static let answers: [([UInt8], UInt32)] = [
        ([UInt8](repeating: 0, count: 32), 0x8A91_36AA),
        ([UInt8](repeating: 0xFF, count: 32), 0x62A8_AB43),
        ([UInt8](0..<32), 0x46DD_794E),
        ([UInt8]((0..<32).reversed()), 0x113F_DB5C),
        (Array("123456789".utf8), 0xE306_9283),
        ([], 0),
    ]

    @Test(arguments: answers)
    func `known answers`(_ bytes: [UInt8], _ checksum: UInt32) {
        #expect(ValueChecksum.continued(0, over: bytes.span) == checksum)
        #expect(divan_crc32c(0, bytes, bytes.count) == checksum)
        #expect(divan_crc32c_portable(0, bytes, bytes.count) == checksum)
    }

    @Test func `the processor's and the portable variant agree at every length and offset`() {
        let bytes = (0..<700).map { UInt8(truncatingIfNeeded: $0 &* 131 ^ $0 >> 3) }
        bytes.withUnsafeBufferPointer { buffer in
            guard let start = buffer.baseAddress else {
                return
            }
            for offset in 0..<9 {
                for count in 0..<(700 - offset) {
                    let fast = divan_crc32c(7, start + offset, count)
                    #expect(fast == divan_crc32c_portable(7, start + offset, count))
                }
            }
        }
    }

    @Test func `both variants agree on long values, which are read in thirds`() {
        let bytes = (0..<10_000).map { UInt8(truncatingIfNeeded: $0 &* 197 ^ $0 >> 5) }
        bytes.withUnsafeBufferPointer { buffer in
            guard let start = buffer.baseAddress else {
                return
            }
            for count in stride(from: 0, through: 9_990, by: 37) {
                for offset in [0, 3, 8] {
                    let crc = UInt32(truncatingIfNeeded: count &* 2_654_435_761)
                    let fast = divan_crc32c(crc, start + offset, count)
                    #expect(fast == divan_crc32c_portable(crc, start + offset, count))
                }
            }
        }
    }

    @Test func `a checksum can be continued`() {
        let bytes = [UInt8](0..<100)
        let whole = ValueChecksum.continued(0, over: bytes.span)
        for cut in 0...100 {
            let first = ValueChecksum.continued(0, over: bytes.span.extracting(0..<cut))
            #expect(ValueChecksum.continued(first, over: bytes.span.extracting(cut..<100)) == whole)
        }
    }

    @Test func `a sealed value is verified, and refused under another key or store`() {
        let sealing = SealingBuffer()
        let seed = ValueChecksum.seed(of: StoreName("a", .bytes))
        let other = ValueChecksum.seed(of: StoreName("b", .bytes))
        let (key, value) = ([UInt8](1...9), [UInt8](1...50))
        let keyed = ValueChecksum.seed(seed, key: key.span)
        let stored = sealing.withSealed(value.span, keyed: keyed) { [UInt8](copying: $0) }
        #expect(stored.count == 54)
        #expect(ValueChecksum.verifiedLength(of: stored.span, keyed: keyed) == 50)
        let foreign = ValueChecksum.seed(other, key: key.span)
        #expect(ValueChecksum.verifiedLength(of: stored.span, keyed: foreign) == nil)
        let moved = ValueChecksum.seed(seed, key: Int64(1))
        #expect(ValueChecksum.verifiedLength(of: stored.span, keyed: moved) == nil)
        for position in stored.indices {
            var flipped = stored
            flipped[position] ^= 1
            #expect(ValueChecksum.verifiedLength(of: flipped.span, keyed: keyed) == nil)
        }
        #expect(ValueChecksum.verifiedLength(of: [1, 2, 3].span, keyed: keyed) == nil)
    }

    @Test func `the sealing buffer serves large and empty values`() {
        let sealing = SealingBuffer()
        for count in [0, 1, 5_000, 1_000_000, 3] {
            let value = [UInt8](repeating: 9, count: count)
            let stored = sealing.withSealed(value.span, keyed: 5) { [UInt8](copying: $0) }
            #expect(ValueChecksum.verifiedLength(of: stored.span, keyed: 5) == count)
            #expect(Array(stored.prefix(count)) == value)
        }
    }
}
