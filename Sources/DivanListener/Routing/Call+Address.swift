// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP

// The address under which a client knows the listener.
extension Call {
    /// The scheme and the host that the client called: what a proxy in front says of them counts first, in the header
    /// fields that are configured.
    ///
    /// Only the client reads them again, in the answer to its own request, so nothing is decided by them.
    var calledAddress: (scheme: String, host: String) {
        let fields = site.configuration.settings.forwarded
        let isSecure = headers[fields.ssl] == "on" || headers[fields.scheme] == "https"
        let forwarded = headers[fields.host].flatMap { Self.isHost($0) ? $0 : nil }
        return (
            isSecure || request.head.isSecure ? "https" : "http",
            forwarded ?? headers["Host"] ?? "localhost"
        )
    }

    /// Whether a text is a name or an address with or without a port, and nothing that would end the host of a URL.
    private static func isHost(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 255
            && text.utf8.allSatisfy {
                switch $0 {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"),
                    UInt8(ascii: "_"), UInt8(ascii: ":"), UInt8(ascii: "["), UInt8(ascii: "]"):
                    true
                default: false
                }
            }
    }

    /// Refuses a form that a page elsewhere sends: browsers send forms across origins without asking.
    ///
    /// - Throws: `HTTPFailure` 400 where `Referer` is missing, or names another host.
    func checkReferer() throws {
        guard let referer = headers["Referer"] else {
            throw HTTPFailure.badRequest("Referer header required.")
        }
        let behind = referer.utf8.split(separator: UInt8(ascii: "/"), maxSplits: 3)
        guard referer.contains("://"), behind.count > 1,
            Array(behind[1]) == Array(calledAddress.host.utf8)
        else { throw HTTPFailure.badRequest("Referer header must match host.") }
    }
}
