// SPDX-License-Identifier: Apache-2.0

internal import CZlib

/// Codes messages as gzip.
package enum GzipCoding {
    /// Codes bytes, fast rather than small; `nil` when zlib has no memory, or there is more than a gigabyte.
    package static func encode(_ bytes: [UInt8]) -> [UInt8]? {
        let bound = divan_gzip_bound(bytes.count)
        // SAFETY: zlib reads within the bytes and writes within the capacity; exactly what it says it made counts as
        // initialised.
        let coded = unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe [UInt8](unsafeUninitializedCapacity: bound) { buffer, count in
                unsafe count = divan_gzip(
                    bytes.baseAddress, bytes.count, buffer.baseAddress, buffer.count)
            }
        }
        return coded.isEmpty ? nil : coded
    }
}
