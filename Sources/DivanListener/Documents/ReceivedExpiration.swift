// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import FoundationEssentials

/// What `_exp` in a document says, as in Couchbase Lite 1.x: when it expires here.
///
///     "_exp": 1795223045                  seconds since 1970
///     "_exp": "2026-11-21T01:04:05Z"      a date
///     "_exp": null   or   0               it does not expire
///
/// It is no part of the revision, and passed over in one that was made elsewhere.
struct ReceivedExpiration: Sendable, Equatable {
    /// The date; nil for never.
    var date: Date?

    /// - Throws: `HTTPFailure` 400 when it is none of the three.
    init(_ value: PackedValue) throws {
        switch value.jsonValue() {
        case .null: date = nil
        case .string(let text):
            guard let milliseconds = ISO8601.parse(text) else { throw Self.malformed }
            date = Date(timeIntervalSince1970: Double(milliseconds) / 1_000)
        case let number:
            guard let seconds = number.double, seconds >= 0 else { throw Self.malformed }
            date = seconds == 0 ? nil : Date(timeIntervalSince1970: seconds)
        }
    }

    private static var malformed: HTTPFailure {
        .invalidDocument(
            "`_exp` must be seconds since 1970, a date such as 2026-11-21T01:04:05Z, or null.")
    }

    /// A date as `show_exp` shows it.
    static func text(_ date: Date) -> String {
        ISO8601.format(
            millisecondsSince1970: Int64(clamping: (date.timeIntervalSince1970 * 1_000).rounded()))
    }
}
