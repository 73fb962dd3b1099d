// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Darwin)
internal import Darwin
#endif

/// The bytes by which a packed body tells at once that it holds no blob.
///
/// The key `@type` with the value `blob` always packs to the same bytes, so one search for them spares
/// nearly every save a walk through its body.
enum BlobMark {
    /// What follows the `@`: the rest of the key, then a string of four bytes.
    private static let rest = Array("type\u{4}blob".utf8)

    /// Whether the bytes hold the mark.
    static func occurs(in bytes: Span<UInt8>) -> Bool {
        // SAFETY: memchr looks at the bytes from the offset to the end; those compared lie before the
        // end, too, as the guard says.
        unsafe bytes.withUnsafeBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return false }
            var offset = 0
            while offset + rest.count < buffer.count,
                let found = unsafe memchr(base + offset, 0x40, buffer.count - offset)
            {
                offset = unsafe UnsafeRawPointer(found) - UnsafeRawPointer(base) + 1
                guard offset + rest.count <= buffer.count else { return false }
                if unsafe memcmp(base + offset, rest, rest.count) == 0 { return true }
            }
            return false
        }
    }
}
