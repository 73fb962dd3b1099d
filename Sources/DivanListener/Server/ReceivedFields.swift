// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
internal import DivanJSON

/// The header fields of a request, as they come from the library one by one.
///
/// Bytes that are no UTF-8 are never replaced by others, or two different values would become the same one. A field that
/// the listener uses and that has such bytes is refused by its name; one that means nothing here is left out.
struct ReceivedFields {
    private(set) var headers = HTTPHeaders()
    /// What all of them take on the wire, also those that are left out, in bytes.
    private(set) var size = 0
    /// How many came.
    private(set) var count = 0
    /// Why the request is refused; nil when each field that counts can be read.
    private(set) var failure: HTTPFailure?

    /// Takes a field, whose texts are nil where they are no UTF-8.
    mutating func add(_ name: String?, _ value: String?, size: Int) {
        count += 1
        self.size += size + 4
        guard let name else {
            failure = failure ?? RequestFraming.namelessField
            return
        }
        if let value { return headers.add(name, value) }
        guard Self.isUsed(name) else { return }
        failure =
            failure
            ?? RequestFraming.refusal(
                "The header field \(name.prefix(60)) is not UTF-8; send it as UTF-8, or leave it out."
            )
    }

    /// Whether the listener looks at fields of a name.
    static func isUsed(_ name: String) -> Bool {
        let name = name.lowercased()
        return used.contains(name) || usedPrefixes.contains { name.hasBytePrefix($0) }
    }

    private static let used: NameSet = [
        "authorization", "connection", "cookie", "destination", "expect", "host", "last-event-id",
        "origin", "range", "referer", "transfer-encoding",
    ]
    private static let usedPrefixes = ["accept", "access-control-", "content-", "if-", "x-"]
}
