// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP

/// The codings of answers: gzip, or none.
enum ContentCoding {
    /// Whether a client takes gzip.
    static func takesGzip(_ headers: HTTPHeaders) -> Bool {
        guard let header = headers["Accept-Encoding"] else { return false }
        return header.lowercased().split(separator: ",").contains { item in
            let parts = item.split(separator: ";").map { $0.filter { $0 != " " } }
            return parts.first == "gzip" && !parts.contains("q=0")
        }
    }
}
