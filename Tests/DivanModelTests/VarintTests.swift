// SPDX-License-Identifier: Apache-2.0

import DivanModel
import DivanTestSupport
import Testing

@Suite struct VarintTests {
    @Test(
        arguments: [
            (0, [0]), (1, [1]), (127, [0x7f]), (128, [0x80, 1]), (300, [0xac, 2]),
            (16383, [0xff, 0x7f]), (16384, [0x80, 0x80, 1]),
            (.max, [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]),
        ] as [(UInt64, [UInt8])])
    func `numbers have the documented bytes`(value: UInt64, expected: [UInt8]) throws {
        var bytes: [UInt8] = []
        Varint.append(value, to: &bytes)
        #expect(bytes == expected)
        #expect(Varint.length(of: value) == bytes.count)
        var offset = 0
        #expect(try Varint.decode(bytes.span, at: &offset) == value)
        #expect(offset == bytes.count)
    }

    @Test func `numbers around each power of two come back`() throws {
        for shift in 0..<64 {
            for value in [(1 << shift) &- 1, 1 << shift, (1 << shift) &+ 1] as [UInt64] {
                var bytes: [UInt8] = []
                Varint.append(value, to: &bytes)
                var offset = 0
                #expect(try Varint.decode(bytes.span, at: &offset) == value)
                #expect(Varint.length(of: value) == bytes.count)
                #expect(bytes.count <= Varint.maximumLength)
            }
        }
    }

    @Test(
        arguments: [
            [], [0x80], [0x80, 0], [0xff, 0xff],
            [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2],
            [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1],
        ] as [[UInt8]])
    func `cut, overlong and too large encodings are refused`(bytes: [UInt8]) {
        var offset = 0
        #expect(throws: ModelCorruption.self) { try Varint.decode(bytes.span, at: &offset) }
    }

    @Test(arguments: [-1, 1, Int.min, Int.max])
    func `an offset outside the bytes is refused`(start: Int) {
        var offset = start
        #expect(throws: ModelCorruption.self) {
            try Varint.decode([UInt8]([1]).span, at: &offset)
        }
    }
}
