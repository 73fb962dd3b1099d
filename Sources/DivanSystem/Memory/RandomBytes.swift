// SPDX-License-Identifier: Apache-2.0

internal import CLibrary

/// Bytes from the system that cannot be predicted.
///
/// They come from the system and not from a generator in the process, which gives both copies of a process
/// that is cloned the same bytes.
package enum RandomBytes {
    /// The most that the system gives at once.
    private static let step = 256

    /// Makes bytes.
    ///
    /// - Parameter count: How many.
    /// - Returns: The bytes.
    package static func make(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var span = bytes.mutableSpan
        fill(&span)
        return bytes
    }

    /// Fills memory with such bytes.
    ///
    /// - Parameter span: The memory.
    package static func fill(_ span: inout MutableSpan<UInt8>) {
        // SAFETY: each call writes within the buffer, at most `step` bytes from the offset on.
        let isDone = unsafe span.withUnsafeMutableBufferPointer { buffer in
            for start in stride(from: 0, to: buffer.count, by: step) {
                guard let base = buffer.baseAddress else { return true }
                let count = min(step, buffer.count - start)
                guard unsafe getentropy(base + start, count) == 0 else { return false }
            }
            return true
        }
        precondition(isDone, "The system has no randomness.")
    }

    /// A name that no other file has: a random UUID (version 4).
    ///
    /// - Returns: 36 characters.
    package static func name() -> String {
        var bytes = make(16)
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        for (position, byte) in bytes.enumerated() {
            if [4, 6, 8, 10].contains(position) { text.append(UInt8(ascii: "-")) }
            text += [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        }
        return String(decoding: text, as: UTF8.self)
    }
}
