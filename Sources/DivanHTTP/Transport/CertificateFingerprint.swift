// SPDX-License-Identifier: Apache-2.0

/// The SHA-256 of a certificate as people read, copy and type it.
package enum CertificateFingerprint {
    /// The usual form of a fingerprint: 64 hexadecimal digits in lower case, as a listener tells its own.
    ///
    /// - Parameter text: The digits in upper or lower case, with colons and spaces among them or not.
    /// - Returns: nil when they are not the digits of 32 bytes.
    package static func normalized(_ text: String) -> String? {
        var digits: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"):
                digits.append(byte)
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digits.append(byte | 0x20)
            case UInt8(ascii: ":"), UInt8(ascii: " "), 0x09, 0x0A, 0x0D: continue
            default: return nil
            }
            guard digits.count <= 64 else { return nil }
        }
        return digits.count == 64 ? String(decoding: digits, as: UTF8.self) : nil
    }
}
