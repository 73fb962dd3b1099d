// SPDX-License-Identifier: Apache-2.0

/// A growing buffer that is written from its last byte to its first.
///
/// ```
///   base                       start                    base + capacity
///    │  room                     │  what was written last … first  │
/// ```
///
/// ``PackedEncoder`` writes a container's content before its head, whose size it then knows.
///
/// ## Invariant
/// `base` points at `capacity` writable bytes that this sink alone owns until `deinit`; those from
/// `start` on are written.
@safe struct BackwardSink: ~Copyable {
    private var base: UnsafeMutablePointer<UInt8>
    private var capacity: Int
    private var start: Int

    /// The number of bytes written.
    var count: Int { capacity - start }

    init(capacity: Int) {
        unsafe base = .allocate(capacity: capacity)
        self.capacity = capacity
        start = capacity
    }

    deinit { unsafe base.deallocate() }

    /// Makes room for more bytes.
    @inline(__always)
    private mutating func reserve(_ more: Int) {
        if more > start { grow(more) }
    }

    @inline(never)
    private mutating func grow(_ more: Int) {
        let larger = max(2 * capacity, count + more)
        // SAFETY: both regions hold `count` bytes at their ends and belong to this sink.
        let moved = UnsafeMutablePointer<UInt8>.allocate(capacity: larger)
        unsafe (moved + (larger - count)).update(from: base + start, count: count)
        unsafe base.deallocate()
        unsafe base = moved
        start += larger - capacity
        capacity = larger
    }

    /// Puts a byte before all others.
    @inline(__always)
    mutating func prepend(_ byte: UInt8) {
        reserve(1)
        start -= 1
        // SAFETY: room was made.
        unsafe base[start] = byte
    }

    /// Puts a text before all others.
    @inline(__always)
    mutating func prepend(_ text: String) {
        var text = text
        text.withUTF8 { bytes in
            guard let source = bytes.baseAddress else { return }
            reserve(bytes.count)
            start -= bytes.count
            // SAFETY: room was made for as many bytes as the source has.
            unsafe (base + start).update(from: source, count: bytes.count)
        }
    }

    /// Puts the lowest bytes of a number before all others, in little-endian order.
    @inline(__always)
    mutating func prepend(fixed value: UInt64, width: Int) {
        for index in (0..<width).reversed() {
            prepend(UInt8(truncatingIfNeeded: value >> UInt64(8 * index)))
        }
    }

    /// Forgets what was written and keeps the memory.
    mutating func removeAll() { start = capacity }

    /// Lends what was written.
    @inline(__always)
    func withBytes<R>(_ body: (UnsafeBufferPointer<UInt8>) -> R) -> R {
        // SAFETY: the bytes from `start` on are written, and live while this sink is borrowed.
        unsafe body(UnsafeBufferPointer(start: base + start, count: count))
    }
}
