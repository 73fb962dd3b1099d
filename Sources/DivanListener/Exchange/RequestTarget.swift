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
        let (path, query) = Self.parts(of: raw)
        components = try Self.components(path)
        self.query = try QueryParameters(query)
    }

    /// The first component of a target's path, found without a look at the rest; nil where there is none, or it cannot be decoded.
    static func firstComponent(of raw: String) -> String? {
        (try? components(parts(of: raw).path, most: 1))?.first
    }

    /// The path and the query, as they are written.
    private static func parts(of raw: String) -> (path: ArraySlice<UInt8>, query: ArraySlice<UInt8>)
    {
        var rest = Array(raw.utf8)[...]
        if let fragment = rest.firstIndex(of: UInt8(ascii: "#")) { rest = rest[..<fragment] }
        if rest.first != slash { rest = withoutServer(rest) }
        guard let mark = rest.firstIndex(of: UInt8(ascii: "?")) else { return (rest, []) }
        return (rest[..<mark], rest[(mark + 1)...])
    }

    /// All values of a parameter that may be given several times, in order.
    ///
    /// - Throws: As ``init(_:)``.
    static func values(of name: String, in raw: String) throws -> [String] {
        var rest = Array(raw.utf8)[...]
        if let fragment = rest.firstIndex(of: UInt8(ascii: "#")) { rest = rest[..<fragment] }
        guard let mark = rest.firstIndex(of: UInt8(ascii: "?")) else { return [] }
        let items = rest[(mark + 1)...].split {
            $0 == UInt8(ascii: "&") || $0 == UInt8(ascii: ";")
        }
        return try items.compactMap { try QueryParameters($0)[name] }
    }

    private static func components(_ path: ArraySlice<UInt8>, most: Int = .max) throws -> [String] {
        var components: [String] = []
        var start = path.startIndex
        while start < path.endIndex, components.count < most {
            var end = start
            while end < path.endIndex, path[end] != slash { end += 1 }
            if end > start {
                guard
                    let name = PercentEncoding.decodeRequest(path[start..<end], plusIsSpace: false)
                else { throw HTTPFailure.badRequest("The path is not encoded as a URL's.") }
                components.append(name)
            }
            start = end + 1
        }
        return components
    }

    private static let slash = UInt8(ascii: "/")

    /// The path of a target in absolute form, with its query.
    private static func withoutServer(_ target: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        for scheme in ["http://", "https://"] where target.starts(with: scheme.utf8) {
            let rest = target.dropFirst(scheme.utf8.count)
            return rest.firstIndex(of: slash).map { rest[$0...] } ?? []
        }
        return target
    }
}

extension PercentEncoding {
    /// Decodes a name or a value of a request; nil also where it contains NUL, which no name here may.
    static func decodeRequest(_ text: ArraySlice<UInt8>, plusIsSpace: Bool) -> String? {
        decode(text, plusIsSpace: plusIsSpace).flatMap { $0.containsByte(0) ? nil : $0 }
    }
}
