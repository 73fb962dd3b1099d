// SPDX-License-Identifier: Apache-2.0

package import DivanJSON

// Values that a caller gives and that nest too deep are refused before anything walks over them.
extension DatabaseError {
    /// Refuses values that nest deeper than any that are stored.
    ///
    /// - Parameters:
    ///   - values: The values.
    ///   - what: What they are, with its article.
    /// - Throws: `DatabaseError` with code `.invalidQuery`.
    package static func check(nestingOf values: [JSONValue], _ what: String) throws {
        let most = JSONValue.deepestStored
        guard values.allSatisfy({ $0.isNested(atMost: most) }) else {
            throw DatabaseError(
                .invalidQuery, "\(what) nests deeper than \(most) levels; make it flatter.")
        }
    }
}
