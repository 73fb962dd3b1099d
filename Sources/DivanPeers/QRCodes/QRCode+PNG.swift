// SPDX-License-Identifier: Apache-2.0

internal import CZlib

// A PNG file (ISO/IEC 15948) of one bit for each pixel:
//
//     8 bytes    signature
//     IHDR       width, height, bit depth 1, grey, deflate, no filter, not interlaced
//     IDAT       a zlib stream of the rows: a byte for the filter, 0, then eight pixels in a byte, 1 is white
//     IEND       nothing
//
// Each chunk is its length, its type, its content, and the CRC-32 of type and content; numbers are big-endian.

extension QRCode {
    /// Draws the code as a PNG picture, with its quiet zone: black on white, one bit for each pixel.
    ///
    /// ```swift
    /// try Data(code.png()).write(to: url)
    /// ```
    ///
    /// - Parameter scale: The pixels along the side of a module, 1 to 64. A number below or above counts as the nearest of them.
    /// - Returns: The bytes of a PNG file, about a kilobyte.
    public func png(scale: Int = 8) -> [UInt8] {
        let scale = min(max(scale, 1), 64)
        let width = UInt32(clamping: (side + 2 * Self.quietZone) * scale)
        var file: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        let size = Self.bigEndian(width) + Self.bigEndian(width)
        Self.append("IHDR", size + [1, 0, 0, 0, 0], to: &file)
        Self.append("IDAT", Self.compress(rows(scale: scale)), to: &file)
        Self.append("IEND", [], to: &file)
        return file
    }

    /// The rows of pixels before they are compressed.
    private func rows(scale: Int) -> [UInt8] {
        var rows: [UInt8] = []
        for y in -Self.quietZone..<side + Self.quietZone {
            let row = row(y, scale: scale)
            for _ in 0..<scale { rows += row }
        }
        return rows
    }

    /// A row of pixels behind the byte of its filter, filled up to a whole byte.
    private func row(_ y: Int, scale: Int) -> [UInt8] {
        let pixels = (side + 2 * Self.quietZone) * scale
        var row = [UInt8](repeating: 0, count: 1 + (pixels + 7) / 8)
        for pixel in 0..<pixels where !isDark(x: pixel / scale - Self.quietZone, y: y) {
            row[1 + pixel / 8] |= 0x80 >> (pixel % 8)
        }
        return row
    }

    private static func append(_ type: String, _ content: [UInt8], to file: inout [UInt8]) {
        let body = Array(type.utf8) + content
        file += bigEndian(UInt32(clamping: content.count)) + body + bigEndian(checksum(of: body))
    }

    private static func bigEndian(_ number: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
    }

    private static func checksum(of bytes: [UInt8]) -> UInt32 {
        // SAFETY: zlib reads within the bytes.
        unsafe bytes.withUnsafeBufferPointer { unsafe divan_crc32($0.baseAddress, $0.count) }
    }

    private static func compress(_ bytes: [UInt8]) -> [UInt8] {
        let bound = divan_zlib_bound(bytes.count)
        // SAFETY: zlib reads within the bytes and writes within the capacity; exactly what it says it made counts as
        // initialised.
        let coded = unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe [UInt8](unsafeUninitializedCapacity: bound) { buffer, count in
                unsafe count = divan_zlib(
                    bytes.baseAddress, bytes.count, buffer.baseAddress, buffer.count)
            }
        }
        precondition(!coded.isEmpty, "There is no memory to compress a picture.")
        return coded
    }
}
