// SPDX-License-Identifier: Apache-2.0

internal import COpenSSL
package import DivanSystem

/// Keys of 32 bytes out of passwords and other keys, by OpenSSL.
package enum KeyDerivation {
    /// The bytes of every key.
    package static let keySize = 32

    /// The cost of scrypt: about 128 × `cost` × `blockSize` bytes of memory, `parallelism` times
    /// after each other.
    package struct ScryptCost: Equatable, Sendable {
        /// The number N, a power of two.
        package var cost: Int
        /// The number r.
        package var blockSize: Int
        /// The number p.
        package var parallelism: Int

        /// Names the three numbers.
        package init(cost: Int, blockSize: Int, parallelism: Int) {
            self.cost = cost
            self.blockSize = blockSize
            self.parallelism = parallelism
        }
    }

    /// Derives a key from a password by scrypt (RFC 7914); nil when OpenSSL refuses the numbers.
    package static func scrypt(
        _ password: SecretBytes, salt: [UInt8], _ cost: ScryptCost
    ) -> SecretBytes? {
        // Twice what the algorithm needs; OpenSSL only compares with it.
        let memory = UInt64(256 * cost.cost * cost.blockSize + (1 << 20))
        return key { out in
            password.withBytes { password in
                // SAFETY: every pointer is used within the call, with its own count; `out` has 32.
                unsafe password.withUnsafeBufferPointer { password in
                    unsafe salt.withUnsafeBufferPointer { salt in
                        unsafe out.withUnsafeMutableBufferPointer { out in
                            unsafe divan_scrypt(
                                password.baseAddress, password.count, salt.baseAddress, salt.count,
                                UInt64(cost.cost), UInt32(cost.blockSize),
                                UInt32(cost.parallelism), memory, out.baseAddress) == 1
                        }
                    }
                }
            }
        }
    }

    /// Derives a key from a password by PBKDF2 with HMAC-SHA-256; nil when OpenSSL refuses.
    package static func pbkdf2(
        _ password: SecretBytes, salt: [UInt8], rounds: Int
    ) -> SecretBytes? {
        key { out in
            password.withBytes { password in
                // SAFETY: every pointer is used within the call, with its own count; `out` has 32.
                unsafe password.withUnsafeBufferPointer { password in
                    unsafe salt.withUnsafeBufferPointer { salt in
                        unsafe out.withUnsafeMutableBufferPointer { out in
                            unsafe divan_pbkdf2_sha256(
                                password.baseAddress, password.count, salt.baseAddress, salt.count,
                                Int32(clamping: rounds), out.baseAddress) == 1
                        }
                    }
                }
            }
        }
    }

    /// Derives a key from another key: HMAC-SHA-256 of some bytes that say what it is for.
    package static func subkey(of secret: SecretBytes, for bytes: [UInt8]) -> SecretBytes {
        let made = key { out in
            secret.withBytes { secret in
                // SAFETY: every pointer is used within the call, with its own count; `out` has 32.
                unsafe secret.withUnsafeBufferPointer { secret in
                    unsafe bytes.withUnsafeBufferPointer { bytes in
                        unsafe out.withUnsafeMutableBufferPointer { out in
                            unsafe divan_hmac_sha256(
                                secret.baseAddress, secret.count, bytes.baseAddress, bytes.count,
                                out.baseAddress) == 1
                        }
                    }
                }
            }
        }
        guard let made else { preconditionFailure("OpenSSL has no HMAC-SHA-256.") }
        return made
    }

    private static func key(_ derive: (inout MutableSpan<UInt8>) -> Bool) -> SecretBytes? {
        var isDone = false
        let made = SecretBytes(count: keySize) { isDone = derive(&$0) }
        return isDone ? made : nil
    }
}

extension SecretBytes {
    /// Whether two secrets are the same, compared in a time that does not tell where they differ.
    package func equals(_ other: SecretBytes) -> Bool {
        guard count == other.count else { return false }
        return withBytes { left in
            other.withBytes { right in
                // SAFETY: both buffers have `count` bytes and are only read.
                unsafe left.withUnsafeBufferPointer { left in
                    unsafe right.withUnsafeBufferPointer { right in
                        unsafe divan_equal(left.baseAddress, right.baseAddress, left.count) == 1
                    }
                }
            }
        }
    }
}
