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
struct PropertyIndexMap: Sendable {
    let index: PropertyIndex
    /// The order of its rows.
    let order: Collation
    let components: [IndexComponent]
    let coder: RowKeyCoder

    /// Makes the map of an index in one of its orders; nil for the first one.
    init(_ index: PropertyIndex, order: Collation? = nil) throws {
        self.index = index
        self.order = order ?? index.orders[0]
        components = try index.components()
        coder = RowKeyCoder(self.order, strings: ICUCollator.root)
    }

    private init(_ map: PropertyIndexMap, order: Collation) {
        index = map.index
        self.order = order
        components = map.components
        coder = RowKeyCoder(order, strings: ICUCollator.root)
    }

    /// The same in each of the orders of the index.
    var inAllOrders: [PropertyIndexMap] {
        index.orders.map { PropertyIndexMap(self, order: $0) }
    }

    /// The name of the rows.
    var indexName: IndexName { index.indexName(in: order) }

    var hasElements: Bool { components.contains(where: \.isOfElements) }

    /// What the indexer needs to know.
    var definition: IndexDefinition {
        IndexDefinition(
            name: indexName, version: index.definitionText(in: order), collation: order,
            documentType: nil, map: { document, sink in emit(document, sink) }, lentMap: lentMap,
            reducer: nil, isDeclared: isDeclared)
    }

    /// Whether the index is declared as it was when the query looked.
    private func isDeclared(_ snapshot: Snapshot) throws -> Bool {
        let first = index.orders[0]
        let record = try snapshot.indexRecord(index.indexName(in: first))
        return record?.version.hasSameBytes(as: index.definitionText(in: first)) ?? false
    }

    /// The map of a body alone: for an index without a filter, on properties that stand in bodies, and not
    /// on their elements.
    private var lentMap: IndexDefinition.LentMap? {
        let paths = components.map(\.path)
        guard index.filter == nil, !hasElements, !paths.contains(where: \.isReserved) else {
            return nil
        }
        let packed = paths.map { path in PackedPath(path.steps.map { ($0.key, $0.index) }) }
        let coder = coder
        return { body, batch in
            batch.appendKey { key in
                for path in packed where !coder.append(path, of: body, to: &key) {
                    key.append(RowKeyCoder.missing)
                }
            }
        }
    }

    private func emit(_ document: Document, _ sink: EmissionSink) {
        if let filter = index.filter, !filter.matches(document) { return }
        let subject = SelectorSubject(document)
        guard hasElements else {
            return sink.emitKey { key in
                for component in components {
                    append(value(subject.target(component.path)), to: &key)
                }
            }
        }
        emitElements(subject, sink)
    }

    /// Emits a row for each different element.
    private func emitElements(_ subject: SelectorSubject, _ sink: EmissionSink) {
        guard let place = components.firstIndex(where: \.isOfElements),
            let element = components[place].element,
            let array = value(subject.target(components[place].path)), array.kind == .array
        else { return }
        // The key's parts before and behind the element are the same for all.
        var (before, behind) = ([UInt8](), [UInt8]())
        for component in components[..<place] {
            append(value(subject.target(component.path)), to: &before)
        }
        for component in components[(place + 1)...] {
            append(value(subject.target(component.path)), to: &behind)
        }
        var keys = Set<[UInt8]>()
        array.forEachElement { item in
            var key = before
            append(element.value(in: item), to: &key)
            keys.insert(key + behind)
        }
        if keys.contains(where: { $0.count > EmissionSink.largestKey }) {
            sink.emitKey { $0.append(RowKeyCoder.unindexable) }
        } else {
            for key in keys { sink.emitKey { $0.append(contentsOf: key) } }
        }
    }

    private func value(_ target: PropertyPath.Target) -> PackedValue? {
        if case .value(let value) = target { value } else { nil }
    }

    private func append(_ value: PackedValue?, to key: inout [UInt8]) {
        if let value {
            coder.append(value, to: &key)
        } else {
            key.append(RowKeyCoder.missing)
        }
    }

    /// The document of a row.
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
