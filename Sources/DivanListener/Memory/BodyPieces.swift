// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP

/// A body without its coding, piece by piece, at most 256 kB each.
///
/// Beyond the first megabyte gzip may decode to a hundred times its length: JSON of real documents stays below
/// twenty, so what is above that was made to cost.
///
/// One thread uses it.
final class BodyPieces {
    private static let pieceSize = 256 << 10
    private let reader: any AttachmentReader
    private let inflater: GzipInflater?
    /// Whether the coded bytes have ended.
    private var isAtEnd = false

    /// Reads a body.
    ///
    /// - Throws: `HTTPFailure` 415 for a coding that is not known.
    init(_ reader: any AttachmentReader, coding: String?) throws {
        self.reader = reader
        switch coding?.lowercased() {
        case nil, "", "identity": inflater = nil
        case "gzip", "x-gzip":
            var limits = GzipInflater.Limits()
            limits.freeBytes = 1 << 20
            limits.ratio = 100
            inflater = GzipInflater(limits: limits)
        default:
            throw HTTPFailure(
                415, "bad_content_type", "Only gzip and identity content-encodings are supported")
        }
    }

    /// The next piece; nil at the end.
    ///
    /// - Throws: `HTTPFailure` 413 for gzip that decodes to more than it may, 400 when it is malformed.
    func next() throws -> [UInt8]? {
        guard let inflater else {
            let piece = try reader.read(upTo: Self.pieceSize)
            return piece.isEmpty ? nil : piece
        }
        do {
            while true {
                if let piece = try inflater.next() { return piece }
                guard !isAtEnd else { return nil }
                let coded = try reader.read(upTo: Self.pieceSize)
                if coded.isEmpty {
                    isAtEnd = true
                    try inflater.finish()
                } else {
                    inflater.push(coded)
                }
            }
        } catch GzipInflater.Failure.tooLarge {
            throw HTTPFailure.bodyTooLarge
        } catch is GzipInflater.Failure {
            throw HTTPFailure.badRequest("The body is not whole gzip.")
        }
    }

    /// All that is left.
    ///
    /// - Parameter count: How many bytes it is, as was measured.
    /// - Returns: The bytes.
    /// - Throws: As `next()`.
    func all(_ count: Int) throws -> [UInt8] {
        guard var bytes = try next() else { return [] }
        guard bytes.count < count else { return bytes }
        bytes.reserveCapacity(count)
        while let piece = try next() { bytes += piece }
        return bytes
    }
}
