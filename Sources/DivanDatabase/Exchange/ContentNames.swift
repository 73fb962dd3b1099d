// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanPlatform

/// Names made of digests, and random ones, for modules that know no digests themselves.
package enum ContentNames {
    /// The SHA-1 of bytes in 40 lower-case hexadecimal digits.
    package static func sha1(_ bytes: [UInt8]) -> String {
        let hasher = OpenSSLDigest.shared.makeHasher(.sha1)
        hasher.update(bytes.span)
        return AttachmentKey(hasher.finish().span)?.fileName ?? ""
    }

    /// A random name of 32 hexadecimal digits, drawn from the operating system.
    package static func random() -> String {
        IDGenerator.shared.uuid().filter { $0 != "-" }
    }
}
