// SPDX-License-Identifier: Apache-2.0

/// Where the bytes of a body come from, piece by piece, as they are asked for.
package protocol HTTPBodySource: Sendable {
    /// Returns the next piece, which is not empty, or `nil` at the end.
    ///
    /// One task at a time asks. After the end, and after an error, it is not asked again.
    func next() async throws -> [UInt8]?
}

/// The bytes of a body, once through.
///
/// ```swift
/// for try await bytes in response.body { parser.push(bytes) }
/// ```
///
/// Nothing is read ahead of the reader but what fits in a small buffer, so a reader that stops holds no memory.
/// Dropping the last reference ends the transfer.
package struct HTTPBodyStream: AsyncSequence, Sendable {
    /// A piece.
    package typealias Element = [UInt8]

    private let source: any HTTPBodySource

    /// Makes a stream of what a source gives.
    package init(_ source: any HTTPBodySource) { self.source = source }

    /// Makes a stream of bytes that are there.
    package init(_ bytes: [UInt8]) { source = BytesSource([bytes]) }

    /// Reads on where the last iterator stopped.
    package struct Iterator: AsyncIteratorProtocol {
        fileprivate let source: any HTTPBodySource

        /// Returns the next piece, or `nil` at the end.
        package mutating func next() async throws -> [UInt8]? { try await source.next() }
    }

    /// Makes an iterator; all iterators of a stream take from the same bytes.
    package func makeAsyncIterator() -> Iterator { Iterator(source: source) }

    /// Reads the rest.
    ///
    /// - Parameter limit: The most bytes: 64 MB unless given.
    /// - Returns: The bytes.
    /// - Throws: `HTTPError` with code `.tooLarge` when there are more, and what reading throws.
    package func collect(limit: Int = 64 << 20) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        while let piece = try await source.next() {
            guard bytes.count + piece.count <= limit else { throw HTTPError.bodyTooLarge(limit) }
            if bytes.isEmpty { bytes = piece } else { bytes += piece }
        }
        return bytes
    }

    /// Reads the rest and forgets it, so that the connection may be used again; gives up where there is much.
    ///
    /// - Parameter limit: The most bytes to read.
    package func drain(limit: Int = 64 * 1_024) async {
        var count = 0
        while count <= limit, let piece = try? await source.next() { count += piece.count }
    }
}
