// SPDX-License-Identifier: Apache-2.0

internal import CLibrary

extension Span where Element == UInt8 {
    /// Looks for a byte with the C library's search, which looks at many bytes at once.
    ///
    /// - Parameters:
    ///   - byte: The byte.
    ///   - start: Where the search begins, at most at the end.
    /// - Returns: Where it is first; nil when it does not occur.
    package func firstIndex(of byte: UInt8, from start: Int) -> Int? {
        precondition(start >= 0 && start <= count, "The search begins within the bytes.")
        // SAFETY: memchr looks at the bytes from `start` to the end.
        return unsafe withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress,
                let found = unsafe memchr(base + start, Int32(byte), buffer.count - start)
            else { return nil }
            return unsafe UnsafeRawPointer(found) - UnsafeRawPointer(base)
        }
    }
}
