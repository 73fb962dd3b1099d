// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import DivanPlatform
import DivanTestSupport
import Testing

@testable import DivanDatabase

/// Contents of random pieces, hashed on the way.
struct ContentDigestTests {
    @Test func `pieces of any size and number hash as the whole`() {
        var random = SeededRandom(seed: 20_261_121)
        let block = (0..<40_000).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        for round in 0..<60 {
            let pieces = (0..<round).map { _ in
                Array(block[Int.random(in: 0..<block.count, using: &random)...])
            }
            for algorithm in [DigestAlgorithm.sha1, .md5] {
                let whole = OpenSSLDigest.shared.makeHasher(algorithm)
                let digest = ContentDigest(algorithm, by: OpenSSLDigest.shared)
                for piece in pieces {
                    whole.update(piece.span)
                    digest.update(piece)
                    digest.checkInvariants()
                }
                #expect(digest.finish() == whole.finish())
            }
        }
    }

    @Test func `hundreds of contents at once do not wait for each other's threads`() async {
        let piece = [UInt8](repeating: 7, count: 64 << 10)
        let whole = OpenSSLDigest.shared.makeHasher(.sha1)
        for _ in 0..<20 { whole.update(piece.span) }
        let expected = whole.finish()
        // More of them than there are threads for blocking work, each asking for one more.
        let wrong = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<300 {
                group.addTask {
                    let found = try? await BlockingWork.run {
                        let digest = ContentDigest(.sha1, by: OpenSSLDigest.shared)
                        for _ in 0..<20 { digest.update(piece) }
                        return digest.finish()
                    }
                    return found == expected
                }
            }
            return await group.reduce(0) { $0 + ($1 ? 0 : 1) }
        }
        #expect(wrong == 0)
    }
}
