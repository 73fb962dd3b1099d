// SPDX-License-Identifier: Apache-2.0

public import DivanJSON
public import FoundationEssentials

extension Date: JSONConvertible, JSONCodable {
    /// A JSON string: ISO-8601 in UTC with milliseconds.
    public var jsonValue: JSONValue {
        let milliseconds = (timeIntervalSince1970 * 1_000).rounded()
        // From the year 1 to the year 9999: what four digits can say.
        let clamped = max(-62_135_596_800_000, min(253_402_300_799_999, milliseconds))
        return .string(ISO8601.format(millisecondsSince1970: Int64(clamped)))
    }

    /// Reads an ISO-8601 string, with any offset from UTC; nil for anything else.
    public init?(jsonValue: JSONValue) {
        guard let milliseconds = jsonValue.string.flatMap({ ISO8601.parse($0) }) else { return nil }
        self.init(timeIntervalSince1970: Double(milliseconds) / 1_000)
    }
}
