// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex
internal import DivanJSON
internal import DivanModel
internal import DivanPlatform

/// The common form of a selector and of a query of the builder: conditions for an index, an order,
/// a window, and a test for what an index cannot tell.
struct PlannedQuery {
    let core: DatabaseCore
    var constraint: QueryConstraint
    var collation: Collation
    var order: [OrderKey] = []
    var skip = 0
    var limit: Int?
    /// The index to use, and no other.
    var indexName: String?
    var updatesIndexes = true
    var includesDeleted = false
    /// Whether all documents are wanted, in any order; then there is no order, window or start.
    var takesAllInAnyOrder = false
    /// Takes a document where it lies while all are read in any order, so that it need not be made; false
    /// if it must be made. Only for a query that wants every document.
    var take: Take?
    /// Where an earlier run ended.
    var start: QueryPosition?
    /// Whether a document is what the query wants.
    var isWanted: (Document, Snapshot) throws -> Bool
    /// What a document is sorted by: the property, or something computed.
    var value: (PropertyPath, Document, Snapshot) throws -> PackedValue? = { path, document, _ in
        if case .value(let value) = SelectorSubject(document).target(path) { return value }
        return nil
    }
    /// Gets the documents that are looked at, for a caller that needs to know what the result
    /// depends on.
    var examined: ExaminedDocuments?

    /// Gets a document's ID, as an index has it (``RowDocumentID``), and where the document lies.
    typealias Take = (_ id: Span<UInt8>, _ document: SequenceScanner) throws -> Bool

    var orderCoder: OrderCoder {
        OrderCoder(keys: order, coder: RowKeyCoder(collation, strings: ICUCollator.root))
    }

    /// The declared indexes that may serve the query.
    ///
    /// - Throws: `.invalidQuery` when the index that is to be used does not exist.
    func usefulIndexes() throws -> [PropertyIndexMap] {
        let all = try core.read { try $0.propertyIndexes() }
        if let indexName {
            guard let index = all.first(where: { $0.index.name.hasSameBytes(as: indexName) }) else {
                throw DatabaseError(.invalidQuery, "There is no index '\(indexName)'.")
            }
            return index.index.collation == collation ? [index] : []
        }
        let paths = Set(order.map { IndexComponent($0.path) }).union(constraint.components)
        return all.filter { map in
            map.index.filter == nil && map.index.collation == collation
                && map.components.first.map { first in
                    paths.contains(first)
                        || first.isOfElements && map.components.contains { paths.contains($0) }
                } ?? false
        }
    }
}

/// Where a run of a query ended, so that the next one goes on there.
struct QueryPosition: Sendable, Equatable {
    enum Kind: Sendable, Equatable {
        /// In the order of IDs.
        case documents
        /// In the order of an index.
        case index(String)
        /// In the order that the query wants, by ``OrderCoder``.
        case sorted
    }

    var kind: Kind
    var bytes: [UInt8]
}

extension QueryConstraint {
    /// All that it has conditions on.
    var components: Set<IndexComponent> {
        switch self {
        case .anything, .nothing: []
        case .inside(let component, _): [component]
        case .all(let parts), .any(let parts):
            parts.reduce(into: []) { $0.formUnion($1.components) }
        }
    }
}
