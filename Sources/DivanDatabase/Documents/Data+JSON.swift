// SPDX-License-Identifier: Apache-2.0

public import DivanJSON
public import FoundationEssentials

extension Data: JSONConvertible, JSONCodable {
    /// A JSON string: the bytes in Base64.
    public var jsonValue: JSONValue { .string(base64EncodedString()) }

    /// Reads a string of Base64, or the array of numbers that earlier versions wrote; nil for anything else.
    public init?(jsonValue: JSONValue) {
        if let text = jsonValue.string {
            self.init(base64Encoded: text)
        } else {
            guard let data = JSONValueDecoder().decodeCodableForm(Data.self, from: jsonValue) else {
                return nil
            }
            self = data
        }
    }
}
