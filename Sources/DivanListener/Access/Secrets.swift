// SPDX-License-Identifier: Apache-2.0

internal import COpenSSL

/// Salted hashes of passwords, and signatures, by OpenSSL.
package enum Secrets {
    /// A key of 32 bytes from a password, by PBKDF2.
    static func derive(_ password: String, salt: [UInt8], iterations: Int) -> [UInt8] {
        var key = [UInt8](repeating: 0, count: 32)
        let password = Array(password.utf8)
        // SAFETY: each pointer is used within the call, with its own count.
        let isDone = unsafe password.withUnsafeBufferPointer { password in
            unsafe salt.withUnsafeBufferPointer { salt in
                unsafe key.withUnsafeMutableBufferPointer { key in
                    unsafe divan_pbkdf2_sha256(
                        password.baseAddress, password.count, salt.baseAddress, salt.count,
                        Int32(clamping: iterations), key.baseAddress) == 1
                }
            }
        }
        precondition(isDone, "OpenSSL has no PBKDF2.")
        return key
    }

    /// A signature of 32 bytes, by HMAC-SHA-256.
    package static func sign(_ bytes: [UInt8], key: [UInt8]) -> [UInt8] {
        var signature = [UInt8](repeating: 0, count: 32)
        // SAFETY: each pointer is used within the call, with its own count.
        let isDone = unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe key.withUnsafeBufferPointer { key in
                unsafe signature.withUnsafeMutableBufferPointer { out in
                    unsafe divan_hmac_sha256(
                        key.baseAddress, key.count, bytes.baseAddress, bytes.count,
                        out.baseAddress) == 1
                }
            }
        }
        precondition(isDone, "OpenSSL has no HMAC.")
        return signature
    }

    /// An HMAC by SHA-1 (160 bits), SHA-256, SHA-384 or SHA-512; nil where OpenSSL may not compute one.
    static func sign(_ bytes: [UInt8], key: [UInt8], bits: Int) -> [UInt8]? {
        var signature = [UInt8](repeating: 0, count: 64)
        // SAFETY: each pointer is used within the call, with its own count, and the signature has 64 bytes.
        let length = unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe key.withUnsafeBufferPointer { key in
                unsafe signature.withUnsafeMutableBufferPointer { out in
                    unsafe divan_hmac(
                        Int32(clamping: bits), key.baseAddress, key.count, bytes.baseAddress,
                        bytes.count, out.baseAddress)
                }
            }
        }
        return length == bits / 8 ? Array(signature[..<length]) : nil
    }

    /// Checks a signature by a public key.
    ///
    /// - Parameters:
    ///   - signature: The signature: of RSA, or the two numbers of one by an elliptic curve.
    ///   - bytes: What was signed.
    ///   - pem: The public key.
    ///   - isRSA: Whether it is one of RSA.
    ///   - bits: Those of the digest: 256, 384 or 512.
    /// - Returns: Whether it is right; nil where the text is no key of the kind.
    static func isRight(
        _ signature: [UInt8], of bytes: [UInt8], publicKey pem: String, isRSA: Bool, bits: Int
    ) -> Bool? {
        // SAFETY: each pointer is used within the call, with its own count; the text is lent as a C string.
        let result = unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe signature.withUnsafeBufferPointer { signature in
                unsafe divan_signature_verify(
                    pem, isRSA ? 1 : 0, Int32(clamping: bits), bytes.baseAddress, bytes.count,
                    signature.baseAddress, signature.count)
            }
        }
        return result < 0 ? nil : result == 1
    }

    /// Whether two secrets are equal, compared in a time that tells nothing about them.
    package static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        guard left.count == right.count else { return false }
        // SAFETY: both buffers have `left.count` bytes.
        return unsafe left.withUnsafeBufferPointer { left in
            unsafe right.withUnsafeBufferPointer { right in
                unsafe divan_equal(left.baseAddress, right.baseAddress, left.count) == 1
            }
        }
    }
}

/// Bytes as hexadecimal digits.
package enum Hexadecimal {
    /// Two digits for each byte, in lower case.
    package static func text(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        for byte in bytes {
            text += [digits[Int(clamping: byte >> 4)], digits[Int(clamping: byte & 15)]]
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The bytes of a text; nil when it is no such text.
    package static func bytes(_ text: String) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count % 2 == 0 else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            let pair = String(decoding: digits[index...(index + 1)], as: UTF8.self)
            guard let byte = UInt8(pair, radix: 16) else { return nil }
            bytes.append(byte)
        }
        return bytes
    }
}
