// SPDX-License-Identifier: Apache-2.0

internal import COpenSSL

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
    package init(count: Int, filling body: (inout MutableSpan<UInt8>) throws -> Void) rethrows {
        guard let memory = unsafe divan_secret_create(max(count, 1)) else {
            preconditionFailure("There is not enough memory for a key.")
        }
        unsafe start = memory
        self.count = count
        // SAFETY: the memory has `count` zeros and belongs to this object alone.
        var span = unsafe MutableSpan(_unsafeStart: memory, count: count)
        try body(&span)
    }

    /// Copies bytes.
    package convenience init(copying bytes: Span<UInt8>) {
        self.init(count: bytes.count) { out in
            for index in bytes.indices { out[index] = bytes[index] }
        }
    }

    /// Makes bytes that cannot be guessed.
    package static func random(count: Int) -> SecretBytes {
        SecretBytes(count: count) { out in
            // SAFETY: the buffer is valid for the call and its length is passed with it.
            let isDone = unsafe out.withUnsafeMutableBufferPointer { buffer in
                unsafe divan_random(buffer.baseAddress, buffer.count) == 1
            }
            precondition(isDone, "The system has no randomness.")
        }
    }

    deinit {
        // SAFETY: no reference is left, and lent bytes cannot outlive their closure.
        unsafe divan_secret_free(start, max(count, 1))
    }

    /// Lends the bytes.
    package func withBytes<R>(_ body: (Span<UInt8>) throws -> R) rethrows -> R {
        // SAFETY: the memory lives as long as this object, which lives until the closure returns.
        defer { extendLifetime(self) }
        return try unsafe body(Span(_unsafeStart: start, count: count))
    }
}
