// SPDX-License-Identifier: Apache-2.0

public import DivanJSON
internal import Synchronization

/// Cookies that servers set, by RFC 6265, and cookies that an app sets.
///
/// ```swift
/// let jar = HTTPCookieJar()
/// jar.set("SyncGatewaySession", "…", for: url)
/// ```
///
/// A cookie goes back only to the host that set it, or to the domain that it names; a `Secure` one only over TLS. A
/// cookie for a domain that the setting host is no part of, or for a bare top-level name, is not taken. Cookies
/// live in memory; ``archive`` and ``init(archive:)`` let the app keep them.
public final class HTTPCookieJar: Sendable {
    /// A cookie.
    public struct Cookie: Sendable, Hashable, CustomStringConvertible {
        /// Its name.
        @ByBytes public var name: String
        /// Its value, which is often a secret.
        @ByBytes public var value: String
        /// The host or domain that it belongs to, in lower case.
        @ByBytes public var domain: String
        /// Whether the hosts below the domain get it too.
        public var includesSubdomains = false
        /// The path at and below which it is sent.
        @ByBytes public var path = "/"
        /// Whether it is sent over TLS only.
        public var isSecure = false
        /// When it goes, on a clock that the system's date does not move; `nil` for the end of the session.
        var deadline: ContinuousClock.Instant?

        /// The name without the value.
        public var description: String { "cookie \(name)" }
    }

    private let cookies: Mutex<[Cookie]>

    /// Makes a jar with cookies.
    public init(_ cookies: [Cookie] = []) { self.cookies = Mutex(cookies) }

    /// The cookies that have not gone, oldest first.
    public var all: [Cookie] {
        let now = ContinuousClock.now
        return cookies.withLock { cookies in
            cookies.removeAll { $0.deadline.map { $0 <= now } ?? false }
            return cookies
        }
    }

    /// Sets a cookie for a host and everything on it.
    public func set(_ name: String, _ value: String, for url: HTTPURL) {
        replace(Cookie(name: name, value: value, domain: url.host, isSecure: url.isSecure))
    }

    /// Removes the cookies of a name.
    public func remove(_ name: String) {
        cookies.withLock { $0.removeAll { $0.name.hasSameBytes(as: name) } }
    }

    /// Removes all.
    public func removeAll() { cookies.withLock { $0 = [] } }

    /// The value of the `Cookie` field for a request; `nil` when there is nothing to send.
    package func header(for url: HTTPURL) -> String? {
        let sent = all.filter { $0.isMeant(for: url) }
            .sorted { $0.path.utf8.count > $1.path.utf8.count }
        return sent.isEmpty ? nil : sent.map { "\($0.name)=\($0.value)" }.joined(separator: "; ")
    }

    /// Takes the cookies that an answer sets.
    package func take(from headers: HTTPHeaders, of url: HTTPURL) {
        for value in headers.values(of: "Set-Cookie") {
            guard let cookie = Cookie(value, from: url) else { continue }
            replace(cookie)
        }
    }

    private func replace(_ cookie: Cookie) {
        cookies.withLock { cookies in
            cookies.removeAll {
                $0.name.hasSameBytes(as: cookie.name) && $0.domain.hasSameBytes(as: cookie.domain)
                    && $0.path.hasSameBytes(as: cookie.path)
            }
            // More than any server sets: the oldest goes.
            if cookies.count >= 300 { cookies.removeFirst() }
            cookies.append(cookie)
        }
    }
}

extension HTTPCookieJar.Cookie {
    /// Reads a `Set-Cookie` field.
    package init?(_ field: String, from url: HTTPURL) {
        let parts = field.split(separator: ";", omittingEmptySubsequences: false)
        let pair = parts[0].split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard pair.count == 2, !field.utf8.contains(where: { $0 < 0x20 }) else { return nil }
        self.init(name: Self.trimmed(pair[0]), value: Self.trimmed(pair[1]), domain: url.host)
        guard !name.isEmpty else { return nil }
        if let slash = url.path.dropFirst().lastIndex(of: "/") { path = String(url.path[..<slash]) }
        var hasMaximumAge = false
        for part in parts.dropFirst() {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let value = pair.count > 1 ? Self.trimmed(pair[1]) : ""
            switch Self.trimmed(pair[0]).lowercased() {
            case "path" where value.hasBytePrefix("/"): path = value
            case "secure": isSecure = true
            case "max-age":
                guard let seconds = Int64(value, radix: 10) else { continue }
                hasMaximumAge = true
                deadline = .now + .seconds(min(max(seconds, 0), 400 * 86_400))
            case "expires" where !hasMaximumAge && Self.isLongAgo(value):
                // The one date that matters without a calendar: the past, which removes the cookie.
                deadline = .now
            case "domain" where !value.isEmpty:
                guard take(domain: value.lowercased(), host: url.host) else { return nil }
            default: break
            }
        }
    }

    private mutating func take(domain: String, host: String) -> Bool {
        let domain = domain.afterBytePrefix(".") ?? domain
        // What ends in a number is a part of an address, and no domain.
        let isPartOfAddress =
            domain.split(separator: ".").last.map { Int($0, radix: 10) != nil } ?? true
        guard
            host.hasSameBytes(as: domain)
                || (host.hasByteSuffix("." + domain) && domain.contains(".") && !isPartOfAddress)
        else {
            return false
        }
        self.domain = domain
        includesSubdomains = true
        return true
    }

    /// Whether a date names the first day of 1970, as servers write to remove a cookie.
    private static func isLongAgo(_ date: String) -> Bool { date.contains("1970") }

    fileprivate func isMeant(for url: HTTPURL) -> Bool {
        let isHost =
            url.host.hasSameBytes(as: domain)
            || (includesSubdomains && url.host.hasByteSuffix("." + domain))
        let isPath =
            url.path.hasSameBytes(as: path)
            || url.path.hasBytePrefix(path.hasByteSuffix("/") ? path : path + "/")
        return isHost && isPath && (url.isSecure || !isSecure)
    }

    private static func trimmed(_ text: Substring) -> String {
        var text = text
        while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return String(text)
    }
}
