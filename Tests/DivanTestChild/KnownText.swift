// SPDX-License-Identifier: Apache-2.0

package import Divan

/// A full-text index that the tests and their child process define alike.
package enum KnownText {
    /// The text of the document of a number.
    package static func text(_ number: Int) -> String {
        var text = "number number\(number) every"
        if number.isMultiple(of: 3) { text += " third" }
        for prime in [5, 7, 11] where number.isMultiple(of: prime) { text += " prime\(prime)" }
        return text
    }

    /// The index.
    package static func index(of database: Database) -> FullTextIndex {
        database.fullTextIndex(named: "known", on: ["text"])
    }
}
