// SPDX-License-Identifier: Apache-2.0

public import DivanJSON
public import FoundationEssentials

extension URL: JSONConvertible, JSONCodable {
    /// A JSON string: the whole URL, with its base.
    public var jsonValue: JSONValue { .string(absoluteString) }

    /// Reads a string, or the object that earlier versions wrote; nil for what is no URL.
    public init?(jsonValue: JSONValue) {
        if let text = jsonValue.string {
            self.init(string: text)
        } else {
            guard let url = JSONValueDecoder().decodeCodableForm(URL.self, from: jsonValue) else {
                return nil
            }
            self = url
        }
    }
}
