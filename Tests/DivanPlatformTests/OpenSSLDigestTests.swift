// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import DivanPlatform
import Testing

@Suite struct OpenSSLDigestTests {
    private let digest = OpenSSLDigest.shared

    private func hex(_ bytes: [UInt8]) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    /// The published digests of "abc" (RFC 1321, FIPS 180-4).
    @Test(arguments: [
        (DigestAlgorithm.md5, "900150983cd24fb0d6963f7d28e17f72"),
        (.sha1, "a9993e364706816aba3e25717850c26c9cd0d89d"),
        (.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    ])
    func `a hasher gives the published digest`(_ algorithm: DigestAlgorithm, _ expected: String) {
        let hasher = digest.makeHasher(algorithm)
        hasher.update(Array("a".utf8).span)
        hasher.update([UInt8]().span)
        hasher.update(Array("bc".utf8).span)
        let result = hasher.finish()
        #expect(hex(result) == expected)
        #expect(result.count == algorithm.byteCount)
    }

    @Test(arguments: DigestAlgorithm.allCases)
    func `a finished hasher starts anew`(_ algorithm: DigestAlgorithm) {
        let hasher = digest.makeHasher(algorithm)
        let empty = hasher.finish()
        hasher.update(Array("text".utf8).span)
        #expect(hasher.finish() != empty)
        #expect(hasher.finish() == empty)
    }

    @Test func `one piece hashes as many do`() {
        for count in [0, 1, 55, 56, 63, 64, 65, 450, 100_000] {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
            let (high, low) = digest.md5(of: bytes.span)
            let hasher = digest.makeHasher(.md5)
            for byte in bytes { hasher.update([byte].span) }
            let whole = hasher.finish().reduce(0 as UInt128) { $0 << 8 | UInt128($1) }
            #expect(UInt128(high) << 64 | UInt128(low) == whole)
        }
    }

    @Test func `threads hash at once without mixing`() async {
        await withTaskGroup(of: Bool.self) { group in
            for task in 0..<8 {
                group.addTask {
                    let bytes = [UInt8](repeating: UInt8(task), count: 300)
                    let expected = digest.md5(of: bytes.span)
                    return (0..<1_000).allSatisfy { _ in digest.md5(of: bytes.span) == expected }
                }
            }
            for await isSame in group { #expect(isSame) }
        }
    }
}
