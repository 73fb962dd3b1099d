// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
internal import DivanJSON

/// The name of a request, which its answer and the log repeat (`X-Couch-Request-ID`).
///
/// A client or a proxy in front may give one, so that one name leads through the logs of both.
enum RequestIdentifier {
    /// Where requests and answers have it.
    static let field = "X-Couch-Request-ID"

    /// The name that a client gave, or else a new one.
    static func of(_ headers: HTTPHeaders) -> String {
        guard let given = headers[field], isFit(given) else {
            return String(HexText.random().prefix(10))
        }
        return given
    }

    /// Whether a name may stand in a log: a UUID at the longest, of letters, digits and dashes.
    static func isFit(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.count <= 36
            && name.utf8.allSatisfy {
                switch $0 {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}
