// SPDX-License-Identifier: Apache-2.0

import DivanSystem
import Testing

@Suite struct MemoryTests {
    @Test(arguments: [0, 1, 32, 5_000])
    func `secret bytes are those that were copied`(_ count: Int) {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        let secret = SecretBytes(copying: bytes.span)
        #expect(secret.count == count)
        #expect(secret.withBytes { span in span.indices.allSatisfy { span[$0] == bytes[$0] } })
    }

    @Test(arguments: [0, 1, 255, 256, 257, 1_000])
    func `random bytes are as many as were asked for, and others each time`(_ count: Int) {
        let (one, two) = (RandomBytes.make(count), RandomBytes.make(count))
        #expect(one.count == count && two.count == count)
        if count > 100 {
            #expect(one != two)
            // The chance that one of 256 values is missing everywhere in the last part is none.
            #expect(one.suffix(40).contains { $0 != 0 })
        }
    }

    @Test func `a name is a random UUID`() {
        let name = RandomBytes.name()
        #expect(name != RandomBytes.name())
        let parts = name.split(separator: "-").map(\.count)
        #expect(parts == [8, 4, 4, 4, 12])
        #expect(Array(name)[14] == "4" && "89ab".contains(Array(name)[19]))
    }

    @Test func `a byte is found where it is first, from an offset on`() {
        let bytes = Array("a@bc@".utf8)
        #expect(bytes.span.firstIndex(of: 0x40, from: 0) == 1)
        #expect(bytes.span.firstIndex(of: 0x40, from: 1) == 1)
        #expect(bytes.span.firstIndex(of: 0x40, from: 2) == 4)
        #expect(bytes.span.firstIndex(of: 0x40, from: 5) == nil)
        #expect(bytes.span.firstIndex(of: 0x7A, from: 0) == nil)
        #expect([UInt8]().span.firstIndex(of: 0, from: 0) == nil)
    }
}
