// SPDX-License-Identifier: Apache-2.0

package import DivanDatabase
internal import DivanJSON
internal import Synchronization

/// The body of a request.
///
/// The listener takes it in whole before a worker handles the request: up to a limit in memory, beyond it in a
/// sealed file without a name. So a client that sends slowly occupies no worker and no writer, and a body
/// of any size costs no memory.
package enum RequestBody: Sendable {
    /// In memory.
    case bytes([UInt8])
    /// In a file, sealed.
    case file(SpooledBytes)

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
        case .file(let file): try read(range, of: file)
        }
    }

    private func read(_ range: Range<Int>, of file: SpooledBytes) throws -> [UInt8] {
        guard !range.isEmpty else { return [] }
        let bytes = try? file.read(at: range.lowerBound, upTo: range.count)
        guard let bytes, bytes.count == min(range.count, file.length - range.lowerBound) else {
            throw HTTPFailure(500, "internal_server_error", "The body could not be read again.")
        }
        return bytes
    }

    /// It piece by piece.
    func reader() -> any AttachmentReader { BodyReader(self, 0..<length) }
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
