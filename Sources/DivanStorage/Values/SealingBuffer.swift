// SPDX-License-Identifier: Apache-2.0

/// A reused piece of memory in which a value gets its checksum before an engine stores both.
///
/// One belongs to each connection that writes, so sealing a value allocates nothing once the buffer
/// has grown to the usual size. A buffer that a large value made large is given up again.
///
/// The memory is this type's own: nothing outside sees a pointer, and what it lends ends with the
/// closure.
@safe
package final class SealingBuffer {
    /// The most bytes kept between two uses: a few usual values, far from the memory budget.
    private static let keptCapacity = 64 << 10

    private var memory: UnsafeMutableBufferPointer<UInt8>

    /// Makes a buffer with room for a usual value.
    package init() {
        // SAFETY: this object owns the memory and frees it once, in `deinit` or when replacing it.
        unsafe memory = .allocate(capacity: 4 << 10)
    }

    deinit {
        // SAFETY: see `init`.
        unsafe memory.deallocate()
    }

    /// Lends `value` followed by its checksum.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - keyed: The checksum of store name and key, which the value's continues.
    ///   - body: Receives both, one after the other.
    /// - Returns: What `body` returns.
    /// - Throws: what `body` throws.
    @inline(__always)
    package func withSealed<R, E: Error>(
        _ value: Span<UInt8>, keyed: UInt32, _ body: (Span<UInt8>) throws(E) -> R
    ) throws(E) -> R {
        let length = value.count
        let size = length + ValueChecksum.size
        if unsafe memory.count < size {
            resize(to: size)
        }
        defer {
            if size > SealingBuffer.keptCapacity {
                resize(to: SealingBuffer.keptCapacity)
            }
        }
        let checksum = ValueChecksum.continued(keyed, over: value)
        // SAFETY: `memory` has room for `size` bytes; the span begins after all of them are written,
        // and `memory` is not touched while it is lent, since a connection writes one value at a
        // time and `body` is the engine's own code.
        return try unsafe value.withUnsafeBufferPointer { source throws(E) in
            if let start = source.baseAddress, let target = unsafe memory.baseAddress {
                unsafe target.update(from: start, count: length)
            }
            for position in 0..<ValueChecksum.size {
                unsafe memory[length + position] =
                    UInt8(truncatingIfNeeded: checksum >> UInt32(8 * position))
            }
            return try unsafe body(
                Span(_unsafeElements: UnsafeBufferPointer(memory.extracting(0..<size))))
        }
    }

    private func resize(to capacity: Int) {
        // SAFETY: see `init`; nothing is lent now.
        unsafe memory.deallocate()
        unsafe memory = .allocate(capacity: capacity)
    }
}
