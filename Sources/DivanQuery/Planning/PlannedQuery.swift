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
    /// The IDs among which the documents are; an index is looked at for others, too.
    var idRange = RowRange.all
    var order: [OrderKey] = []
    var skip = 0
    var limit: Int?
    /// The index to use, and no other.
    var indexName: String?
    /// Whether the index that is named is read in its order, whatever that costs, and without a name documents are found
    /// in the order of their IDs. `order` is that order.
    var readsInOrder = false
    var updatesIndexes = true
    var includesDeleted = false
    /// Whether all documents are wanted, in any order; then there is no order, window or start.
    var takesAllInAnyOrder = false
    /// Takes a document where it lies while all are read in any order, so that it need not be made; false
    /// if it must be made. Only for a query that wants every document, or tests them where they lie.
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
    /// Whether the constraint is all of the condition: then a document that an index finds exactly is not tested.
    var isConstraintWhole = false
    /// Gives what takes rows of an index in place of their documents, where they tell all that is wanted of these; nil
    /// for an index whose rows do not. Only for a query whose constraint is whole.
    var rowTaker: ((PropertyIndexMap) -> TakeRow?)?
    /// Takes a body where it lies in place of its document. Only for a query whose constraint is whole.
    var takeBody: TakeBody?
    /// Gets the documents that are looked at, for a caller that needs to know what the result
    /// depends on.
    var examined: ExaminedDocuments?
    /// Whether the report says which indexes were not read, and why.
    var explainsUnused = false

    /// Gets the key of a row; false if it does not tell all.
    typealias TakeRow = (_ row: Span<UInt8>) throws -> Bool

    /// Gets the ID of a document and its packed body.
    typealias TakeBody = (_ id: DocumentID, _ body: Span<UInt8>) throws -> Void

    /// Gets a document where it lies; false if it has to be made.
    typealias Take = (_ document: SequenceScanner) throws -> Bool

    var orderCoder: OrderCoder {
        OrderCoder(keys: order, coder: RowKeyCoder(collation, strings: ICUCollator.root))
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
