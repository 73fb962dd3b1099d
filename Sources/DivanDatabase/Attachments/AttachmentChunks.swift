// SPDX-License-Identifier: Apache-2.0

/// The content of an attachment or blob in pieces, for `for try await`.
///
/// ```swift
/// for try await piece in attachment.chunks() { try output.write(contentsOf: piece) }
/// ```
///
/// The content is read off the threads that tasks share. Each iteration reads from the start.
public struct AttachmentChunks: AsyncSequence, Sendable {
    /// A piece: at least one byte.
    public typealias Element = [UInt8]

    let content: StoredContent
    let size: Int

    /// Reads one piece after the other.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let content: StoredContent
        let size: Int
        private var reader: (any AttachmentReader)?

        init(content: StoredContent, size: Int) {
            self.content = content
            self.size = size
        }

        /// The next piece; nil at the end.
        ///
        /// - Throws: `DatabaseError` as reading the content does; `CancellationError`, with nothing read, when the
        ///   task was cancelled before. A piece that is being read is read to its end.
        public mutating func next() async throws -> [UInt8]? {
            try Task.checkCancellation()
            let (content, size, opened) = (content, size, reader)
            let (reader, piece) = try await BlockingWork.run {
                let reader = try opened ?? content.makeReader()
                return (reader, try reader.read(upTo: size))
            }
            self.reader = reader
            return piece.isEmpty ? nil : piece
        }
    }

    /// Begins at the start of the content.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(content: content, size: size)
    }
}
