// SPDX-License-Identifier: Apache-2.0

/// A short name of texts that is the same in every process: FNV-1a of 64 bits. No secret depends on it.
enum Fingerprint {
    static func of(_ texts: String...) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for (index, text) in texts.enumerated() {
            // Between texts, so that "ab", "c" is not "a", "bc"; no UTF-8 has this byte.
            if index > 0 { hash = (hash ^ 0xFF) &* 0x100_0000_01B3 }
            for byte in text.utf8 { hash = (hash ^ UInt64(clamping: byte)) &* 0x100_0000_01B3 }
        }
        return hash
    }

    static func of(_ bytes: [UInt8]) -> UInt64 {
        bytes.reduce(0xCBF2_9CE4_8422_2325) {
            ($0 ^ UInt64(clamping: $1)) &* 0x100_0000_01B3
        }
    }
}
