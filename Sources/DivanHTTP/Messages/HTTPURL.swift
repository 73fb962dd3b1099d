// SPDX-License-Identifier: Apache-2.0

public import DivanJSON

/// An `http` or `https` URL, kept as it was written.
///
/// ```swift
/// let database = try HTTPURL("https://ann:secret@example.com/notes")
/// let url = database.appending("_changes", query: [("since", "0")])
/// print(url)                           // https://example.com/notes/_changes?since=0
/// ```
///
/// The path stays byte for byte what it was: CouchDB tells `a%2Fb` from `a/b`, so nothing is decoded or
/// normalised. A user and password in the URL are kept apart, and `description` never shows them.
public struct HTTPURL: Sendable, Hashable {
    /// Why a text is no URL that Divan can use.
    public struct Failure: Error, Equatable, CustomStringConvertible {
        /// One sentence; it does not quote the text, which may hold a password.
        public let description: String
    }

    /// A name and password.
    public struct User: Sendable, Hashable, CustomStringConvertible {
        /// The user's name.
        @ByBytes public var name: String
        /// The password; empty when there is none.
        @ByBytes public var password: String

        /// Makes a user.
        public init(name: String, password: String) {
            self.name = name
            self.password = password
        }

        /// The name alone.
        public var description: String { name }
    }

    /// Whether the scheme is `https`.
    public let isSecure: Bool
    /// The host in lower case; an IPv6 address stands in brackets.
    @ByBytes public private(set) var host: String
    /// The port, also when the URL does not name it: 80, or 443 for `https`.
    public let port: Int
    /// The path, percent-encoded; it begins with a slash.
    @ByBytes public private(set) var path: String
    /// The query, percent-encoded, without its question mark.
    @ByBytes public private(set) var query: String?
    /// The user and password that stood in the URL.
    public var user: User?

    /// Reads a URL.
    ///
    /// - Throws: ``Failure`` when the scheme is not `http` or `https`, there is no host, the port is no
    ///   number, or a control character or space stands in it.
    public init(_ text: String) throws(Failure) {
        guard let mark = text.range(ofBytes: "://") else {
            throw Failure(description: "A URL begins with http:// or https://.")
        }
        switch text[..<mark.lowerBound].lowercased() {
        case "http": isSecure = false
        case "https": isSecure = true
        default: throw Failure(description: "A URL begins with http:// or https://.")
        }
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
            throw Failure(description: "Spaces and control characters in a URL must be encoded.")
        }
        var rest = text[mark.upperBound...]
        if let fragment = rest.utf8.firstIndex(of: UInt8(ascii: "#")) { rest = rest[..<fragment] }
        // By bytes: a slash with a mark on it ends the host, too.
        let end =
            rest.utf8.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") }
            ?? rest.endIndex
        var authority = rest[..<end]
        user = try Self.takeUser(from: &authority)
        (host, port) = try Self.place(authority, isSecure: isSecure)
        let target = rest[end...]
        let question = target.utf8.firstIndex(of: UInt8(ascii: "?"))
        let path = question.map { target[..<$0] } ?? target
        self.path = path.isEmpty ? "/" : Self.encodingNonASCII(path)
        query = question.map { Self.encodingNonASCII(target[target.utf8.index(after: $0)...]) }
    }

    /// Makes the URL of something below this one.
    ///
    /// - Parameters:
    ///   - component: A path that is percent-encoded already; see ``DocumentPath``. Empty for this URL itself.
    ///   - query: Names and values, which are encoded. They take the place of this URL's query.
    /// - Returns: The URL.
    public func appending(_ component: String, query: [(name: String, value: String)] = [])
        -> HTTPURL
    {
        var url = self
        if !component.isEmpty {
            url.path += path.hasByteSuffix("/") ? component : "/" + component
        }
        url.query = query.isEmpty ? nil : PercentEncoding.query(query)
        return url
    }

    /// The URL of another path and query on the same server.
    ///
    /// - Parameter target: A path with its query, percent-encoded, that begins with a slash.
    /// - Returns: The URL.
    public func replacingTarget(by target: String) -> HTTPURL {
        var url = self
        let question = target.utf8.firstIndex(of: UInt8(ascii: "?"))
        url.path = Self.encodingNonASCII(question.map { target[..<$0] } ?? target[...])
        url.query = question.map { Self.encodingNonASCII(target[target.utf8.index(after: $0)...]) }
        return url
    }

    /// Whether two URLs have the same scheme, host and port, so that credentials for one are meant for the other.
    public func hasSameOrigin(as other: HTTPURL) -> Bool {
        isSecure == other.isSecure && host.hasSameBytes(as: other.host) && port == other.port
    }

    /// The path with the query, as it stands in a request.
    public var target: String { query.map { "\(path)?\($0)" } ?? path }

    /// The scheme, host and port, such as `http://example.com:5984`; the port only when it is not the usual one.
    public var origin: String {
        let scheme = isSecure ? "https" : "http"
        return port == (isSecure ? 443 : 80)
            ? "\(scheme)://\(host)" : "\(scheme)://\(host):\(port)"
    }
}

extension HTTPURL: CustomStringConvertible {
    /// The URL without user and password.
    public var description: String { origin + target }
}

extension HTTPURL {
    private static func takeUser(from authority: inout Substring) throws(Failure) -> User? {
        guard let at = authority.utf8.lastIndex(of: UInt8(ascii: "@")) else { return nil }
        let parts = authority[..<at].utf8.split(
            separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false
        ).map(Substring.init)
        guard let name = PercentEncoding.decode(parts[0]),
            let password = PercentEncoding.decode(parts.count > 1 ? parts[1] : "")
        else { throw Failure(description: "The user or password in the URL is encoded wrongly.") }
        authority = authority[authority.utf8.index(after: at)...]
        return User(name: name, password: password)
    }

    private static func place(_ authority: Substring, isSecure: Bool) throws(Failure)
        -> (host: String, port: Int)
    {
        var host = authority
        var port = isSecure ? 443 : 80
        let bracket = authority.utf8.lastIndex(of: UInt8(ascii: "]")) ?? authority.startIndex
        if let colon = authority[bracket...].utf8.lastIndex(of: UInt8(ascii: ":")) {
            host = authority[..<colon]
            let digits = authority[authority.utf8.index(after: colon)...]
            if !digits.isEmpty {
                guard let number = UInt16(digits, radix: 10), number > 0 else {
                    throw Failure(description: "The port in the URL is no number up to 65535.")
                }
                port = Int(clamping: number)
            }
        }
        guard !host.isEmpty else { throw Failure(description: "The URL names no host.") }
        // Another colon, as in `host:80:`, would be taken for a port when the URL is read again.
        let isBracketed =
            host.utf8.first == UInt8(ascii: "[") && host.utf8.last == UInt8(ascii: "]")
        guard isBracketed || !host.utf8.contains(UInt8(ascii: ":")) else {
            throw Failure(
                description: "The host in the URL has a colon; an IPv6 address stands in brackets.")
        }
        return (host.lowercased(), port)
    }

    /// Encodes what is not ASCII, which people write and servers do not understand.
    private static func encodingNonASCII(_ text: Substring) -> String {
        guard text.utf8.contains(where: { $0 >= 0x80 }) else { return String(text) }
        return text.unicodeScalars
            .map { $0.isASCII ? String($0) : PercentEncoding.encode(String($0)) }.joined()
    }

    /// The URL that a `Location` or `Content-Location` field names, seen from this one.
    ///
    /// - Parameter reference: An absolute URL, `//host/path`, `/path`, `?query` or a relative path.
    /// - Returns: The URL.
    /// - Throws: ``Failure`` when it leads elsewhere than to `http` or `https`.
    public func resolving(_ reference: String) throws(Failure) -> HTTPURL {
        if reference.range(ofBytes: "://") != nil { return try HTTPURL(reference) }
        if reference.hasBytePrefix("//") {
            return try HTTPURL((isSecure ? "https:" : "http:") + reference)
        }
        if reference.hasBytePrefix("/") { return try HTTPURL(origin + reference) }
        if reference.hasBytePrefix("?") { return try HTTPURL(origin + path + reference) }
        let folder = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path[...$0] } ?? "/"
        return try HTTPURL(origin + folder + reference)
    }
}

extension String {
    /// The first range of these bytes.
    fileprivate func range(ofBytes pattern: StaticString) -> Range<String.Index>? {
        let pattern = Array("\(pattern)".utf8)
        var start = utf8.startIndex
        while start < utf8.endIndex {
            if utf8[start...].starts(with: pattern) {
                return start..<utf8.index(start, offsetBy: pattern.count)
            }
            start = utf8.index(after: start)
        }
        return nil
    }
}
