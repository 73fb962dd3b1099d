// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import Synchronization

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Darwin)
internal import Darwin
#endif

/// The body of a request.
///
/// It is taken in whole before anybody works on the request: up to a limit in memory, beyond it in a
/// file without a name. So a client that sends slowly occupies no worker and no writer, and a body
/// of any size costs no memory.
package enum RequestBody: Sendable {
    /// In memory.
    case bytes([UInt8])
    /// In a file.
    case file(SpooledFile)

    /// The length in bytes.
    package var length: Int {
        switch self {
        case .bytes(let bytes): bytes.count
        case .file(let file): file.length
        }
    }

    /// All of it in memory.
    ///
    /// - Throws: `HTTPFailure` 413 when it is longer than `limit`.
    func bytes(limit: Int) throws -> [UInt8] {
        guard length <= limit else { throw HTTPFailure.bodyTooLarge }
        return try bytes(in: 0..<length)
    }

    /// A part of it in memory.
    func bytes(in range: Range<Int>) throws -> [UInt8] {
        switch self {
        case .bytes(let bytes): range == 0..<bytes.count ? bytes : Array(bytes[range])
        case .file(let file): try file.read(at: range.lowerBound, upTo: range.count)
        }
    }

    /// It piece by piece.
    func reader() -> any AttachmentReader { BodyReader(self, 0..<length) }
}

/// A file that holds a body while its request lasts. It has no name, so it goes with the process at
/// the latest.
package final class SpooledFile: Sendable {
    private let descriptor: Int32
    let length: Int

    /// Takes over a descriptor that was written to.
    init(descriptor: Int32, length: Int) {
        self.descriptor = descriptor
        self.length = length
    }

    deinit { close(descriptor) }

    /// Reads at an offset; several readers may do so at once.
    func read(at offset: Int, upTo count: Int) throws -> [UInt8] {
        let count = min(count, length - offset)
        guard count > 0 else { return [] }
        var failure: Int32 = 0
        // SAFETY: the buffer has room for `count` bytes, of which `done` are written.
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            var done = 0
            while done < count {
                let rest = unsafe UnsafeMutableRawBufferPointer(
                    rebasing: UnsafeMutableRawBufferPointer(buffer)[done...])
                let got = unsafe pread(
                    descriptor, rest.baseAddress, rest.count, off_t(offset + done))
                if got < 0 && errno == EINTR { continue }
                if got < 0 { failure = errno }
                if got <= 0 { break }
                done += got
            }
            initialized = done
        }
        guard failure == 0, bytes.count == count else {
            throw HTTPFailure(500, "internal_server_error", "The body could not be read again.")
        }
        return bytes
    }
}

/// Reads a body, or a part of it. One thread at a time uses it.
final class BodyReader: AttachmentReader {
    private let body: RequestBody
    private let offset: Atomic<Int>
    private let end: Int

    init(_ body: RequestBody, _ range: Range<Int>) {
        self.body = body
        offset = Atomic(range.lowerBound)
        end = range.upperBound
    }

    func read(upTo count: Int) throws -> [UInt8] {
        let start = offset.load(ordering: .relaxed)
        let stop = min(end, start + count)
        guard stop > start else { return [] }
        offset.store(stop, ordering: .relaxed)
        return try body.bytes(in: start..<stop)
    }
}
