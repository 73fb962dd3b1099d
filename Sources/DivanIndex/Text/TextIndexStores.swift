// SPDX-License-Identifier: Apache-2.0

package import DivanStorage

/// The stores of one full-text index: see ``TextIndexWriter`` for what they mean together.
///
///     index/7/terms       term                       → the term's number
///     index/7/postings    number of a term, ordinal  → a block of postings
///     index/7/documents   document ID                → the document's ordinal, the numbers of its terms
///     index/7/ids         ordinal                    → document ID
///     index/7/lengths     ordinal / 512              → how many words each document has
///
/// All but the last keep their rows in blocks: see `BlockRows`. The last has the totals under the key -1.
package struct TextIndexStores: Sendable {
    let terms: Store
    let postings: Store
    let documents: Store
    let ids: Store
    let lengths: Store

    /// What the names of the stores end with.
    package static let parts = ["terms", "postings", "documents", "ids", "lengths"]

    /// Names the stores of an index.
    ///
    /// - Parameters:
    ///   - number: The number of the index.
    ///   - engine: The engine that keeps them.
    package init(number: UInt64, engine: any StorageEngine) {
        func store(_ part: String, _ kind: StoreName.KeyKind) -> Store {
            engine.store(StoreName("index/\(number)/\(part)", kind))
        }
        terms = store("terms", .bytes)
        postings = store("postings", .bytes)
        documents = store("documents", .bytes)
        ids = store("ids", .bytes)
        lengths = store("lengths", .integer)
    }

    /// Removes the index with all that it holds.
    ///
    /// - Throws: `StorageError`.
    package func drop(_ writer: any StorageWriter) throws {
        for store in [terms, postings, documents, ids, lengths] { try writer.drop(store) }
    }
}
