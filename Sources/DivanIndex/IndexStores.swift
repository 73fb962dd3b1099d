// SPDX-License-Identifier: Apache-2.0

package import DivanStorage

/// The stores of one index.
///
///     index/7/rows        row key                → emitted value
///     index/7/emissions   sequence               → the keys that the document emitted, as it stood then
///     index/7/purged      document ID            → the same of a document whose revisions are gone
///     index/7/partials    level, row key or none → count and partial reduction
///
/// Each keeps its rows in blocks: see `BlockRows`.
///
/// An index is known to the engine by its number only; its name may hold any character. Numbers are
/// never used twice in a database, so the remains of a dropped index are not mistaken for another.
package struct IndexStores: Sendable {
    /// The rows in order: see ``RowKey``.
    package let rows: Store
    /// What each document emitted: see ``EmissionLists``.
    package let emissions: Store
    /// The same of documents that were purged since.
    package let purged: Store
    /// The stored partial reductions: see ``Partials``.
    package let partials: Store

    /// Names the stores of an index.
    ///
    /// - Parameters:
    ///   - number: The number of the index.
    ///   - engine: The engine that keeps them.
    package init(number: UInt64, engine: any StorageEngine) {
        rows = engine.store(StoreName("index/\(number)/rows", .bytes))
        emissions = engine.store(StoreName("index/\(number)/emissions", .bytes))
        purged = engine.store(StoreName("index/\(number)/purged", .bytes))
        partials = engine.store(StoreName("index/\(number)/partials", .bytes))
    }

    /// What the names of the stores end with.
    package static let parts = ["rows", "emissions", "purged", "partials"]

    /// Removes the index with all that it holds.
    ///
    /// - Throws: `StorageError`.
    package func drop(_ writer: any StorageWriter) throws {
        for store in [rows, emissions, purged, partials] { try writer.drop(store) }
    }
}
