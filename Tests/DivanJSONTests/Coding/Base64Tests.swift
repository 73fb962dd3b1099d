// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import Testing

@Suite struct Base64Tests {
    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="),
        ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy"),
    ])
    func `the vectors of RFC 4648 hold`(bytes: String, text: String) {
        #expect(Base64.encode(Array(bytes.utf8)) == text)
        #expect(Base64.decode(text) == Array(bytes.utf8))
    }

    @Test func `all bytes survive`() throws {
        for length in 0..<256 {
            let bytes = (0..<length).map { UInt8($0) ^ 0xA5 }
            let text = Base64.encode(bytes)
            #expect(Base64.decode(text) == bytes)
            #expect(PackedValue(.string(text)).base64Bytes == bytes)
            var appended = Array("before".utf8)
            Base64.append(bytes, to: &appended)
            #expect(String(decoding: appended, as: UTF8.self) == "before" + text)
        }
    }

    @Test func `a value that is no text has no bytes`() throws {
        for value: JSONValue in [nil, 1, "x", ["Zg=="], ["data": "Zg=="]] {
            #expect(PackedValue(value).base64Bytes == nil)
        }
    }

    @Test func `a character outside of the alphabet is refused wherever it stands`() {
        let text = Array(Base64.encode(Array(0..<64)).utf8)
        for place in text.indices.dropLast(2) {
            for character in [UInt8(ascii: "="), UInt8(ascii: "-"), 0x00, 0x80, 0xFF] {
                var other = text
                other[place] = character
                #expect(Base64.decode(other.span) == nil)
            }
        }
    }

    @Test(arguments: [
        "Z", "Zg", "Zg=", "Zh==", "Zm9=", "Zg==Zg==", "====", "Zm9v\n", "Z-9v", "Zm=v",
    ])
    func `other texts are refused`(text: String) {
        #expect(Base64.decode(text) == nil)
    }
}
