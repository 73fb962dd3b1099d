// SPDX-License-Identifier: Apache-2.0

/// A growing buffer for writers, without the checks that an array makes for each byte.
///
/// ## Invariants
///
/// `checkInvariants()` tests the second. `MemoryInvariantsTests` call it, beside an array; under the address sanitizer they
/// show the first, too.
///
/// 1. `base` points at `capacity` writable bytes that this sink alone owns until `deinit`.
/// 2. `count + slack <= capacity` between calls: every call first makes room for what it writes,
///    and may write up to `slack` bytes of rubbish after it.
@safe struct ByteSink: ~Copyable {
    /// What may be written beyond `count` without asking: one unrolled copy.
    static let slack = 32
    private var base: UnsafeMutablePointer<UInt8>
    private var capacity: Int
    private(set) var count = 0

    init(capacity: Int) {
        self.capacity = capacity + Self.slack
        unsafe base = .allocate(capacity: self.capacity)
    }

    deinit { unsafe base.deallocate() }

    /// Makes room for more bytes.
    @inline(__always)
    mutating func reserve(_ more: Int) {
        if more > capacity - count - Self.slack { grow(more) }
    }

    @inline(never)
    private mutating func grow(_ more: Int) {
        let larger = max(capacity * 2, count + more + Self.slack)
        // SAFETY: both regions hold `count` bytes and belong to this sink.
        let moved = UnsafeMutablePointer<UInt8>.allocate(capacity: larger)
        unsafe moved.update(from: base, count: count)
        unsafe base.deallocate()
        unsafe base = moved
        capacity = larger
    }

    /// Appends one byte.
    @inline(__always)
    mutating func append(_ byte: UInt8) {
        reserve(1)
        // SAFETY: invariant 2.
        unsafe base[count] = byte
        count += 1
    }

    /// Appends the ASCII of a static string.
    @inline(__always)
    mutating func append(_ text: StaticString) {
        // SAFETY: a static string has `utf8CodeUnitCount` bytes at its start.
        unsafe append(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Appends bytes.
    @inline(__always)
    mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
        let length = bytes.count
        guard length > 0, let source = bytes.baseAddress else { return }
        reserve(length)
        // SAFETY: room was made for `length` bytes, and the source has as many.
        unsafe (base + count).update(from: source, count: length)
        count += length
    }

    /// Appends bytes.
    mutating func append(_ bytes: some Sequence<UInt8>) {
        for byte in bytes { append(byte) }
    }

    /// Hands out `room` writable bytes, of which the closure says how many it wrote.
    @inline(__always)
    mutating func write(_ room: Int, _ body: (UnsafeMutablePointer<UInt8>) -> Int) {
        reserve(room)
        // SAFETY: room was made; the closure writes at most `room` bytes, and `slack` of rubbish.
        unsafe count += body(base + count)
    }

    /// Stops the program where an invariant does not hold; for tests.
    func checkInvariants() {
        precondition(count >= 0 && count + Self.slack <= capacity, "invariant 2")
    }

    /// Copies everything to the end of an array.
    func move(to array: inout [UInt8]) {
        // SAFETY: `count` bytes were written.
        unsafe array.append(contentsOf: UnsafeBufferPointer(start: base, count: count))
    }
}
