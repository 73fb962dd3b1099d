// SPDX-License-Identifier: Apache-2.0

/// What a view of a design document is called in the database: `design/view`.
///
/// The first slash ends the name of the design document. One that is in that name is written `%2F`, and
/// a percent sign `%25`, so that no two views have one name:
///
///     _design/people/_view/byName         people/byName
///     _design/a%2Fb/_view/c               a%2Fb/c
///     _design/a/_view/b%2Fc               a/b/c
enum DesignItem {
    /// The name of a view.
    static func name(_ design: String, _ view: String) -> String { prefix(design) + view }

    /// How the names of all views of a design document begin.
    static func prefix(_ design: String) -> String {
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

    /// The text before the first slash and that behind it; one text where there is none.
    ///
    /// A slash is a byte here: with a mark on it, it is another letter for Swift.
    static func parts(_ text: String) -> [String] {
        text.utf8.split(
            separator: UInt8(ascii: "/"), maxSplits: 1, omittingEmptySubsequences: false
        ).map { String(Substring($0)) }
    }
}
