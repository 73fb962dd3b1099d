// SPDX-License-Identifier: Apache-2.0

public import DivanJSON
public import FoundationEssentials

extension Date: JSONConvertible, JSONCodable {
    /// A JSON string: ISO-8601 in UTC with milliseconds.
    ///
    /// Dates before the year 0 and after 9999, which its four digits cannot say, are the first and the last that they
    /// can. A date whose time is not a number is refused where it is encoded or saved.
    public var jsonValue: JSONValue {
        let milliseconds = (timeIntervalSince1970 * 1_000).rounded()
        guard !milliseconds.isNaN else { return .double(.nan) }
        return .date(millisecondsSince1970: Int64(clamping: milliseconds))
    }

    /// Reads an ISO-8601 string, with any offset from UTC; nil for anything else.
    public init?(jsonValue: JSONValue) {
        guard let milliseconds = jsonValue.string.flatMap({ ISO8601.parse($0) }) else { return nil }
        self.init(timeIntervalSince1970: Double(milliseconds) / 1_000)
    }
}
