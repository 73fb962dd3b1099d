// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import DivanPlatform

/// The orders and coders that the collation suites try out.
enum CollationSamples {
    static func order(_ collation: Collation) -> ValueOrder {
        ValueOrder(collation, strings: ICUCollator.root)
    }

    static func coder(_ collation: Collation) -> RowKeyCoder {
        RowKeyCoder(collation, strings: ICUCollator.root)
    }

    static func key(_ value: JSONValue, _ collation: Collation = .unicode) -> [UInt8] {
        var key: [UInt8] = []
        coder(collation).append(value, to: &key)
        return key
    }
}
