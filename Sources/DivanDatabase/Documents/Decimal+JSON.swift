// SPDX-License-Identifier: Apache-2.0

public import DivanJSON
public import FoundationEssentials

extension Decimal: JSONConvertible, JSONCodable {
    /// A JSON number; a JSON string with all digits where a number of JSON would be read with fewer of them.
    ///
    /// Integers of any size are numbers, and fractions of up to fifteen digits. NaN, which JSON has not, is refused
    /// where it is encoded or saved.
    public var jsonValue: JSONValue {
        guard !isNaN else { return .double(.nan) }
        let text = description
        guard let value = try? JSONParser.parse(text), Decimal(jsonValue: value) == self else {
            return .string(text)
        }
        return value
    }

    /// Reads a number or the digits of one, or the object that earlier versions wrote; nil for anything else.
    public init?(jsonValue: JSONValue) {
        switch jsonValue {
        case .integer, .unsigned, .double, .number:
            self.init(digits: jsonValue.description)
        case .string(let text):
            guard let value = try? JSONParser.parse(text), value.double != nil else { return nil }
            self.init(digits: text)
        default:
            guard let decimal = JSONValueDecoder().decodeCodableForm(Decimal.self, from: jsonValue)
            else { return nil }
            self = decimal
        }
    }

    /// Reads a number as JSON writes it; nil for one that is too large.
    private init?(digits: String) {
        guard let decimal = Decimal(string: digits), !decimal.isNaN else { return nil }
        self = decimal
    }
}
