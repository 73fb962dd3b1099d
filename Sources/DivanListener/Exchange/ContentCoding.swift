// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP

/// The codings of bodies: gzip, or none.
enum ContentCoding {
    /// A body as it was before it was coded.
    ///
    /// - Throws: `HTTPFailure` 415 for a coding that is not known, 413 when it decodes to more than
    ///   `limit`, 400 when it is malformed.
    static func decode(_ bytes: [UInt8], _ coding: String?, limit: Int) throws -> [UInt8] {
        switch coding?.lowercased() {
        case nil, "", "identity": return bytes
        case "gzip", "x-gzip":
            do { return try GzipBytes.decode(bytes, limit: limit) } catch GzipBytes.Failure.tooLong
            {
                throw HTTPFailure.bodyTooLarge
            } catch is GzipBytes.Failure {
                throw HTTPFailure.badRequest("The body is not whole gzip.")
            }
        default:
            throw HTTPFailure(
                415, "bad_content_type", "Only gzip and identity content-encodings are supported")
        }
    }

    /// Whether a client takes gzip.
    static func takesGzip(_ headers: HTTPHeaders) -> Bool {
        guard let header = headers["Accept-Encoding"] else { return false }
        return header.lowercased().split(separator: ",").contains { item in
            let parts = item.split(separator: ";").map { $0.filter { $0 != " " } }
            return parts.first == "gzip" && !parts.contains("q=0")
        }
    }
}
