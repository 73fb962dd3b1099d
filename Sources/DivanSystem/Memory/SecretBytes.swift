// SPDX-License-Identifier: Apache-2.0

internal import CLibrary

/// Bytes that no other program or file may get: keys and passwords, while they are needed.
///
/// They lie in memory of their own outside Swift's heap, which is locked against being swapped out
/// where the system permits that, is left out of core dumps, and is wiped when the last reference goes.
/// They never move, so no copy stays behind.
@safe
package final class SecretBytes: Sendable {
    // Safe because the bytes are written in `init` only, before any other code has the reference.
    private nonisolated(unsafe) let start: UnsafeMutablePointer<UInt8>
    /// The number of bytes.
    package let count: Int

    /// Makes bytes that `body` fills in; they are zeros before.
    ///
    /// - Parameters:
    ///   - count: How many.
    ///   - body: Writes them.
    /// - Throws: what `body` throws.
    package init(count: Int, filling body: (inout MutableSpan<UInt8>) throws -> Void) rethrows {
        unsafe start = Self.allocate(max(count, 1))
        self.count = count
        // SAFETY: the memory has `count` zeros and belongs to this object alone.
        var span = unsafe MutableSpan(_unsafeStart: start, count: count)
        try body(&span)
    }

    /// Copies bytes.
    ///
    /// - Parameter bytes: The bytes.
    package convenience init(copying bytes: Span<UInt8>) {
        self.init(count: bytes.count) { out in
            for index in bytes.indices { out[index] = bytes[index] }
        }
    }

    /// Makes bytes that cannot be guessed.
    ///
    /// - Parameter count: How many.
    /// - Returns: The bytes.
    package static func random(count: Int) -> SecretBytes {
        SecretBytes(count: count) { RandomBytes.fill(&$0) }
    }

    deinit {
        let size = max(count, 1)
        // SAFETY: no reference is left, and lent bytes cannot outlive their closure.
        unsafe Self.wipe(start, size)
        unsafe munmap(start, size)
    }

    /// Lends the bytes.
    ///
    /// - Parameter body: Reads them.
    /// - Returns: what `body` returns.
    /// - Throws: what `body` throws.
    package func withBytes<R>(_ body: (Span<UInt8>) throws -> R) rethrows -> R {
        // SAFETY: the memory lives as long as this object, which lives until the closure returns.
        defer { extendLifetime(self) }
        return try unsafe body(Span(_unsafeStart: start, count: count))
    }

    // MARK: - Memory

    /// Takes pages of the system's, which are zeros.
    private static func allocate(_ size: Int) -> UnsafeMutablePointer<UInt8> {
        // SAFETY: a new mapping belongs to the caller alone; the calls get its own size.
        let memory = unsafe mmap(
            nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let memory = unsafe memory, Int(bitPattern: memory) != -1 else {
            preconditionFailure("There is not enough memory for a key.")
        }
        // Best effort: how much may be locked is limited.
        _ = unsafe mlock(memory, size)
        #if os(Linux)
        _ = unsafe madvise(memory, size, MADV_DONTDUMP)
        #endif
        return unsafe memory.assumingMemoryBound(to: UInt8.self)
    }

    /// Overwrites memory with zeros, by a call that the compiler does not leave out.
    private static func wipe(_ memory: UnsafeMutablePointer<UInt8>, _ size: Int) {
        // SAFETY: the caller says how many bytes there are.
        #if canImport(Darwin)
        _ = unsafe memset_s(memory, size, 0, size)
        #else
        unsafe explicit_bzero(memory, size)
        #endif
    }
}
