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

    @Test func `all bytes survive`() {
        for length in 0..<256 {
            let bytes = (0..<length).map { UInt8($0) ^ 0xA5 }
            #expect(Base64.decode(Base64.encode(bytes)) == bytes)
        }
    }

    @Test(arguments: [
        "Z", "Zg", "Zg=", "Zh==", "Zm9=", "Zg==Zg==", "====", "Zm9v\n", "Z-9v", "Zm=v",
    ])
    func `other texts are refused`(text: String) {
        #expect(Base64.decode(text) == nil)
    }
}
