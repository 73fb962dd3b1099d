// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
internal import DivanJSON

extension PeerLink {
    /// The link with its secret, as it is scanned or sent.
    public var text: String {
        var text = "\(beginning)#\(LinkForm.version)"
        let others = endpoint.addresses.dropFirst()
        if !others.isEmpty { text += "&a=" + others.joined(separator: ",") }
        if let user { text += "&u=" + PercentEncoding.encode(user) }
        text += "&c=" + LinkForm.encode(LinkForm.bytes(ofDigits: endpoint.fingerprint))
        text += "&s=" + LinkForm.encode(invitation.secret.bytes)
        // The last character is a digit, which no program takes for the end of a sentence.
        return text + "&x=\(invitation.end)"
    }

    /// The part before the fragment.
    var beginning: String {
        let host = endpoint.places.first?.host ?? ""
        return "\(LinkForm.scheme)\(host):\(endpoint.port)/\(PercentEncoding.encode(database))"
    }
}

/// What reading and writing a link have in common.
enum LinkForm {
    static let scheme = "divan://"
    static let version = "1"

    /// Bytes as base64url without padding.
    static func encode(_ bytes: [UInt8]) -> String {
        let text = Base64.encode(bytes).utf8.compactMap { byte -> UInt8? in
            switch byte {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            case UInt8(ascii: "="): nil
            default: byte
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The bytes of base64url without padding; nil unless the text is just what ``encode(_:)`` writes for so many bytes.
    static func decode(_ text: String, count: Int) -> [UInt8]? {
        var standard: [UInt8] = []
        for byte in text.utf8.prefix(2 * count) {
            switch byte {
            case UInt8(ascii: "-"): standard.append(UInt8(ascii: "+"))
            case UInt8(ascii: "_"): standard.append(UInt8(ascii: "/"))
            case UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="): return nil
            default: standard.append(byte)
            }
        }
        while standard.count % 4 != 0 { standard.append(UInt8(ascii: "=")) }
        let bytes = Base64.decode(String(decoding: standard, as: UTF8.self))
        return bytes?.count == count ? bytes : nil
    }

    /// The bytes that pairs of hexadecimal digits stand for.
    static func bytes(ofDigits digits: String) -> [UInt8] {
        let digits = Array(digits.utf8)
        return stride(from: 0, to: digits.count - 1, by: 2).map { index in
            UInt8(String(decoding: digits[index...index + 1], as: UTF8.self), radix: 16) ?? 0
        }
    }

    /// Two hexadecimal digits in lower case for each byte.
    static func digits(of bytes: [UInt8]) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}
