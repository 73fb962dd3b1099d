// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP

/// What a request's target names: the components of its path, and its query.
///
/// ```swift
/// let target = try RequestTarget("/notes/a%2Fb?rev=1-x")
/// target.components      // ["notes", "a/b"]
/// ```
///
/// The path is split at its slashes before anything is decoded, so an encoded slash belongs to the
/// name that it stands in. Empty components count for nothing: `/db/` is `/db`. A plus sign in the
/// path is a plus sign, in the query a space.
package struct RequestTarget: Sendable, Equatable {
    /// The decoded components of the path.
    package var components: [String]
    /// The query.
    package var query: QueryParameters

    /// Decodes a target, also one in absolute form (`http://host/path`).
    ///
    /// - Throws: `HTTPFailure` 400 when an escape is malformed or does not decode to UTF-8.
    package init(_ raw: String) throws {
        var rest = Substring(raw)
        if let fragment = rest.firstIndex(of: "#") { rest = rest[..<fragment] }
        for scheme in ["http://", "https://"] where rest.hasPrefix(scheme) {
            rest = rest.dropFirst(scheme.count)
            rest = rest.firstIndex(of: "/").map { rest[$0...] } ?? "/"
        }
        let mark = rest.firstIndex(of: "?")
        let path = mark.map { rest[..<$0] } ?? rest
        components = try path.split(separator: "/").map {
            guard let name = PercentEncoding.decodeRequest($0, plusIsSpace: false) else {
                throw HTTPFailure.badRequest("The path is not encoded as a URL's.")
            }
            return name
        }
        query = try QueryParameters(mark.map { rest[rest.index(after: $0)...] } ?? "")
    }
}

extension PercentEncoding {
    /// Decodes a name or a value of a request; nil also where it contains NUL, which no name here may.
    static func decodeRequest(_ text: Substring, plusIsSpace: Bool) -> String? {
        decode(text, plusIsSpace: plusIsSpace).flatMap { $0.utf8.contains(0) ? nil : $0 }
    }
}
