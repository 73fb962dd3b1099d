// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
internal import DivanJSON

/// How a JSON Web Token is signed.
enum TokenAlgorithm: String, Sendable {
    case hs256 = "HS256"
    case hs384 = "HS384"
    case hs512 = "HS512"
    case rs256 = "RS256"
    case rs384 = "RS384"
    case rs512 = "RS512"
    case es256 = "ES256"
    case es384 = "ES384"
    case es512 = "ES512"

    /// The kind of its keys, in CouchDB's words.
    enum Family: String, Sendable {
        case hmac
        case rsa
        case ec
    }

    /// The kind of its keys.
    var family: Family {
        switch self {
        case .hs256, .hs384, .hs512: .hmac
        case .rs256, .rs384, .rs512: .rsa
        case .es256, .es384, .es512: .ec
        }
    }

    /// The bits of its digest.
    var bits: Int {
        switch self {
        case .hs256, .rs256, .es256: 256
        case .hs384, .rs384, .es384: 384
        case .hs512, .rs512, .es512: 512
        }
    }
}

/// The parts of a token.
enum TokenText {
    /// The object that a part is.
    static func object(_ part: Substring) -> JSONObject? {
        guard let bytes = bytes(part), let text = String(validating: bytes, as: UTF8.self),
            let value = try? JSONParser.parse(text)
        else { return nil }
        return value.object
    }

    /// The bytes of base64 as URLs have it: other letters, and nothing that fills it up.
    static func bytes(_ part: Substring) -> [UInt8]? {
        guard part.utf8.allSatisfy({ $0 != 0x2B && $0 != 0x2F && $0 != 0x3D }) else { return nil }
        var text = String(part.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
        while text.utf8.count % 4 != 0 { text += "=" }
        return Base64.decode(text)
    }
}
