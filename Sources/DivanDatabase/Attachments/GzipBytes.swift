// SPDX-License-Identifier: Apache-2.0

internal import DivanPlatform

/// Gzip in memory, for bodies of requests.
package enum GzipBytes {
    /// Why bytes could not be decoded.
    package enum Failure: Error {
        /// They are not gzip, damaged or cut off.
        case malformed
        /// They decode to more than the limit.
        case tooLong
    }

    /// Decodes gzip.
    ///
    /// - Parameters:
    ///   - bytes: The coded bytes.
    ///   - limit: The most bytes they may decode to; a small input cannot cost more memory.
    /// - Returns: What they decode to.
    /// - Throws: ``Failure``.
    package static func decode(_ bytes: [UInt8], limit: Int) throws -> [UInt8] {
        let decoder = GzipDecoder()
        var decoded: [UInt8] = []
        do {
            try decoder.decode(bytes.span) { piece in
                guard decoded.count + piece.count <= limit else { throw Failure.tooLong }
                decoded += piece
            }
        } catch is GzipDecoder.Failure { throw Failure.malformed }
        guard decoder.isAtEnd else { throw Failure.malformed }
        return decoded
    }
}
