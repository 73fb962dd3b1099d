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
        encoding(value, collation).key
    }

    /// What an index keeps of a value: the key, and how its numbers are written.
    static func encoding(
        _ value: JSONValue, _ collation: Collation = .unicode
    ) -> (key: [UInt8], forms: [UInt8]) {
        var (key, forms): ([UInt8], NumberForms) = ([], NumberForms())
        coder(collation).append(value, to: &key, &forms)
        return (key, forms.bytes)
    }
}
