// SPDX-License-Identifier: Apache-2.0

import DivanStorage

/// The checksum in a manifest's second line, computed for a first line that a test has edited.
enum ManifestChecksum {
    static func text(of line: String) -> String {
        let digits = String(ValueChecksum.continued(0, over: Array(line.utf8).span), radix: 16)
        return String(repeating: "0", count: 8 - digits.count) + digits
    }
}
