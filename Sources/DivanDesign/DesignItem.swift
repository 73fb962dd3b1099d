// SPDX-License-Identifier: Apache-2.0

/// What a view of a design document is called in the database: `design/view`.
///
/// The first slash ends the name of the design document. One that is in that name is written `%2F`, and
/// a percent sign `%25`, so that no two views have one name:
///
///     _design/people/_view/byName         people/byName
///     _design/a%2Fb/_view/c               a%2Fb/c
///     _design/a/_view/b%2Fc               a/b/c
package enum DesignItem {
    /// The name of a view.
    package static func name(_ design: String, _ view: String) -> String { prefix(design) + view }

    /// How the names of all views of a design document begin.
    package static func prefix(_ design: String) -> String {
        var bytes: [UInt8] = []
        for byte in design.utf8 {
            switch byte {
            case UInt8(ascii: "/"): bytes += "%2F".utf8
            case UInt8(ascii: "%"): bytes += "%25".utf8
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self) + "/"
    }

    /// The names of a design document, without `_design/`, and of a view; nil where there is no slash.
    package static func names(_ text: String) -> (design: String, view: String)? {
        let parts = parts(text)
        guard parts.count == 2 else { return nil }
        return (decoded(parts[0]), parts[1])
    }

    /// The text before the first slash and that behind it; one text where there is none.
    ///
    /// A slash is a byte here: with a mark on it, it is another letter for Swift.
    package static func parts(_ text: String) -> [String] {
        text.utf8.split(
            separator: UInt8(ascii: "/"), maxSplits: 1, omittingEmptySubsequences: false
        ).map { String(Substring($0)) }
    }

    private static func decoded(_ text: String) -> String {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"),
                rest.starts(with: "2F".utf8) || rest.starts(with: "25".utf8)
            {
                bytes.append(rest.starts(with: "2F".utf8) ? UInt8(ascii: "/") : byte)
                rest.removeFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
