// SPDX-License-Identifier: Apache-2.0

// Addresses that people have typed, which may hold a password where no reader of URLs looks for one.
extension HTTPURL {
    /// An address as logs, answers and messages show it: without a user, a password, a query and a fragment.
    ///
    /// ```swift
    /// HTTPURL.shown("http://ann:se/cret@example.com/notes?token=x")   // http://example.com/notes
    /// ```
    ///
    /// The text need not be a URL. A password in which `/`, `?` or `#` is not encoded ends the host too early, so all
    /// up to the last `@` is left out. Where that `@` may belong to a query or fragment, the rest is left out as well.
    ///
    /// - Parameter text: What was typed.
    /// - Returns: What may be shown.
    package static func shown(_ text: String) -> String {
        // By bytes, so that no mark on a separator hides what stands before it.
        let bytes = Array(text.utf8)
        let start = schemeEnd(bytes)
        var rest = bytes[start...]
        if let at = rest.lastIndex(of: UInt8(ascii: "@")) {
            if rest[..<at].contains(where: { "?#".utf8.contains($0) }) {
                rest = Array("…".utf8)[...]
            } else {
                rest = rest[(at + 1)...]
            }
        }
        // One that was encoded together with the password.
        if let end = encodedUserEnd(rest) { rest = rest[end...] }
        let shown = rest.prefix { !"?#".utf8.contains($0) }
        return String(decoding: bytes[..<start] + shown, as: UTF8.self)
    }

    /// Reads a URL that a person has typed, and refuses one that may hold a password behind its host.
    ///
    /// - Parameter text: What was typed.
    /// - Throws: ``Failure`` as ``init(_:)``, and when an `@` stands in the path, query or fragment: what was meant as
    ///   a password would be taken for a place, and be sent to where it should not go.
    package init(typed text: String) throws(Failure) {
        let bytes = Array(text.utf8)
        let behind = bytes[Self.schemeEnd(bytes)...].drop { !"/?#".utf8.contains($0) }
        guard !behind.contains(UInt8(ascii: "@")) else {
            throw Failure(
                description:
                    "An @ stands behind the host; in a name or password /, ? and # are written "
                    + "as %2F, %3F and %23, and an @ in a path as %40.")
        }
        try self.init(text)
    }

    /// Where the scheme ends with `://`; the beginning where there is none.
    private static func schemeEnd(_ bytes: [UInt8]) -> Int {
        let scheme = bytes.prefix { byte in
            (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte)
                || "+-.".utf8.contains(byte)
        }
        return bytes[scheme.endIndex...].starts(with: "://".utf8) ? scheme.endIndex + 3 : 0
    }

    /// Where what stands before an encoded `@` of the host's part ends.
    private static func encodedUserEnd(_ bytes: ArraySlice<UInt8>) -> Int? {
        let host = bytes.prefix { !"/?#".utf8.contains($0) }
        let mark = Array("%40".utf8)
        return host.indices.last { host[$0...].starts(with: mark) }.map { $0 + mark.count }
    }
}
