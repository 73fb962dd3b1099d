// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex
internal import DivanJSON
internal import DivanModel
internal import DivanPlatform

/// A property index with its paths parsed, in one of its orders: what emits its rows.
///
///     document  {"type": "post", "tags": ["a", "b", "a"]}
///     index     on "type", "tags[]"
///     rows      "post" "a"      "post" "b"
///
/// A row's key is the values one after the other: `RowKeyCoder+Components`. Every document has a row, but
/// where elements are indexed those without elements have none.
final class PropertyIndexMap: Sendable {
    let index: PropertyIndex
    /// The order of its rows.
    let order: Collation
    let components: [IndexComponent]
    let coder: RowKeyCoder
    /// The name of the rows.
    let indexName: IndexName
    /// What the indexer needs to know.
    let definition: IndexDefinition
    /// For an index in its first order, the same in its other ones.
    private let others: [PropertyIndexMap]

    /// Makes the map of an index in its first order.
    convenience init(_ index: PropertyIndex) throws {
        let components = try index.components()
        let others = index.orders.dropFirst().map { PropertyIndexMap(index, components, $0, []) }
        self.init(index, components, index.orders[0], others)
    }

    private init(
        _ index: PropertyIndex, _ components: [IndexComponent], _ order: Collation,
        _ others: [PropertyIndexMap]
    ) {
        self.index = index
        self.order = order
        self.components = components
        self.others = others
        indexName = index.indexName(in: order)
        let emitter = PropertyEmitter(index, components, order)
        coder = emitter.coder
        definition = IndexDefinition(
            name: indexName, version: index.definitionText(in: order), collation: order,
            documentType: nil, map: { emitter.emit($0, $1) }, makeLentMap: emitter.makeLentMap,
            reducer: nil, remembersSequences: true, isDeclared: index.isDeclared)
    }

    /// The same in each of the orders of the index, for one in its first order.
    var inAllOrders: [PropertyIndexMap] { [self] + others }

    var hasElements: Bool { components.contains(where: \.isOfElements) }

    /// The ID of the document of a row.
    func documentID(in key: Span<UInt8>) throws -> DocumentID {
        var offset = 0
        do throws(RowKeyCoder.Failure) {
            try coder.skipComponents(components.count, of: key, at: &offset)
        } catch {
            throw IndexCorruption("A row's key is damaged.")
        }
        return try RowKey.documentID(in: key, at: offset)
    }
}

extension PropertyIndex {
    /// Whether the index is declared as it was when the query looked.
    fileprivate func isDeclared(_ snapshot: Snapshot) throws -> Bool {
        let first = orders[0]
        let record = try snapshot.indexRecord(indexName(in: first))
        return record?.version.hasSameBytes(as: definitionText(in: first)) ?? false
    }
}
