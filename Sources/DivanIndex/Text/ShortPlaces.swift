// SPDX-License-Identifier: Apache-2.0

/// The places of a posting as a ``PostingBlock`` has them, if these take at most four bytes, as mostly they do.
struct ShortPlaces {
    static let mostBytes = 4

    /// How many bytes they take: 1 to 4.
    let size: Int
    /// The bytes, the first one lowest; those above are zero.
    let bytes: UInt32

    init(size: Int, bytes: UInt32) { (self.size, self.bytes) = (size, bytes) }

    /// Copies places; nil when there are none, or they are longer.
    @inline(__always)
    init?(_ text: Span<UInt8>, _ places: Range<Int>) {
        guard places.count <= Self.mostBytes, !places.isEmpty else { return nil }
        if places.lowerBound + Self.mostBytes <= text.count {
            // SAFETY: the four bytes from the first place on are inside the span.
            let word = unsafe text.bytes.unsafeLoadUnaligned(
                fromByteOffset: places.lowerBound, as: UInt32.self)
            let mask = UInt32.max >> UInt32(8 * (Self.mostBytes - places.count))
            self.init(size: places.count, bytes: word.littleEndian & mask)
        } else {
            var bytes: UInt32 = 0
            for index in places.reversed() { bytes = bytes << 8 | UInt32(text[index]) }
            self.init(size: places.count, bytes: bytes)
        }
    }

    subscript(index: Int) -> UInt8 { UInt8(truncatingIfNeeded: bytes >> UInt32(8 * index)) }

    /// How many places these are: each ends with a byte whose highest bit is 0.
    var frequency: UInt64 { UInt64(size - (bytes & 0x8080_8080).nonzeroBitCount) }
}
