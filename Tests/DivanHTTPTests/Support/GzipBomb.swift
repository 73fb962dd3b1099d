// SPDX-License-Identifier: Apache-2.0

/// Gzip that decodes to very many zeros: about one byte for each thousand.
///
/// Made by hand, so that no encoder is needed: deflate blocks with fixed codes, in which a zero is followed
/// by copies of 258 bytes from a distance of 1. No checksum is right, but a bomb is stopped long before.
struct GzipBomb {
    let bytes: [UInt8]

    init(decodedSize: Int) {
        var bits = BitWriter()
        bits.bytes = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF]
        bits.write(1, count: 1)
        bits.write(1, count: 2)
        // The literal 0 has the code 00110000, written from its highest bit.
        bits.writeReversed(0b0011_0000, count: 8)
        // Eight copies are 104 bits, so their 13 bytes repeat.
        for _ in 0..<8 { bits.writeCopy() }
        let start = bits.bytes.count
        for _ in 0..<8 { bits.writeCopy() }
        let pattern = Array(bits.bytes[start...])
        for _ in 0..<(decodedSize / 258 / 8) { bits.bytes += pattern }
        bits.write(0, count: 7)
        bytes = bits.finish() + [UInt8](repeating: 0, count: 8)
    }
}

private struct BitWriter {
    var bytes: [UInt8] = []
    private var held: UInt32 = 0
    private var count: UInt32 = 0

    mutating func write(_ value: UInt32, count more: UInt32) {
        held |= value << count
        count += more
        while count >= 8 {
            bytes.append(UInt8(truncatingIfNeeded: held))
            held >>= 8
            count -= 8
        }
    }

    mutating func writeReversed(_ value: UInt32, count more: UInt32) {
        for bit in 0..<more { write(value >> (more - 1 - bit) & 1, count: 1) }
    }

    mutating func writeCopy() {
        // Length 258 is code 285 (11000101), without extra bits; distance 1 is code 0 of 5 bits.
        writeReversed(0b1100_0101, count: 8)
        write(0, count: 5)
    }

    mutating func finish() -> [UInt8] {
        write(0, count: (8 - count) % 8)
        return bytes
    }
}
