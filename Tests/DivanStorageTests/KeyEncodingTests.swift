// SPDX-License-Identifier: Apache-2.0

import DivanStorage
import Testing

@Suite struct KeyEncodingTests {
    @Test func `integers are in order and come back`() {
        let numbers: [Int64] = [.min, -256, -255, -1, 0, 1, 255, 256, 65_536, .max]
        let keys = numbers.map { number in
            var key: [UInt8] = []
            KeyEncoding.append(number, to: &key)
            return key
        }
        for (key, number) in zip(keys, numbers) {
            var offset = 0
            #expect(KeyEncoding.int64(in: key.span, at: &offset) == number)
            #expect(offset == 8)
        }
        #expect(zip(keys, keys.dropFirst()).allSatisfy { $0.lexicographicallyPrecedes($1) })
    }

    @Test func `byte strings with parts after them are in order and come back`() {
        let texts: [[UInt8]] = [[], [0], [0, 0], [0, 1], [0, 255], [1], [1, 0], [1, 1], [255]]
        var keys: [[UInt8]] = []
        for text in texts {
            for number in [0, 1, UInt32.max] {
                var key: [UInt8] = []
                KeyEncoding.append(terminated: text.span, to: &key)
                KeyEncoding.append(number, to: &key)
                keys.append(key)
                var offset = 0
                #expect(KeyEncoding.terminated(in: key.span, at: &offset) == text)
                #expect(KeyEncoding.uint32(in: key.span, at: &offset) == number)
                #expect(offset == key.count)
            }
        }
        #expect(zip(keys, keys.dropFirst()).allSatisfy { $0.lexicographicallyPrecedes($1) })
    }

    @Test func `keys that end too early or are malformed give nothing`() {
        var offset = 0
        #expect(KeyEncoding.uint64(in: [1, 2, 3].span, at: &offset) == nil)
        #expect(KeyEncoding.uint32(in: [1, 2, 3].span, at: &offset) == nil)
        #expect(KeyEncoding.terminated(in: [1, 2, 3].span, at: &offset) == nil)
        #expect(KeyEncoding.terminated(in: [1, 0].span, at: &offset) == nil)
        #expect(KeyEncoding.terminated(in: [1, 0, 7].span, at: &offset) == nil)
        #expect(offset == 0)
    }

    @Test func `the successor of a prefix ends its keys`() {
        #expect(KeyEncoding.successor(ofPrefix: [1, 2].span) == [1, 3])
        #expect(KeyEncoding.successor(ofPrefix: [1, 255].span) == [2])
        #expect(KeyEncoding.successor(ofPrefix: [255, 255].span) == nil)
        #expect(KeyEncoding.successor(ofPrefix: [UInt8]().span) == nil)
    }

    @Test func `hexadecimal digits`() {
        #expect(KeyEncoding.hexadecimal([0, 1, 171, 255].span) == "0001abff")
    }
}
