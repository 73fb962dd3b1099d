// SPDX-License-Identifier: Apache-2.0

internal import DivanIndex
internal import DivanJSON
internal import DivanModel
internal import DivanPlatform

/// A property index with its paths parsed: what emits its rows.
///
///     document  {"type": "post", "tags": ["a", "b", "a"]}
///     index     on "type", "tags[]"
///     rows      "post" "a"      "post" "b"
///
/// A row's key is the values one after the other: `RowKeyCoder+Components`. Every document has a row, but
/// where elements are indexed those without elements have none.
struct PropertyIndexMap: Sendable {
    let index: PropertyIndex
    let components: [IndexComponent]
    let coder: RowKeyCoder

    init(_ index: PropertyIndex) throws {
        self.index = index
        components = try index.components()
        coder = RowKeyCoder(index.collation, strings: ICUCollator.root)
    }

    var hasElements: Bool { components.contains(where: \.isOfElements) }

    /// What the indexer needs to know.
    var definition: IndexDefinition {
        IndexDefinition(
            name: index.indexName, version: index.definitionText, collation: index.collation,
            documentType: nil, map: { document, sink in emit(document, sink) }, reducer: nil)
    }

    private func emit(_ document: Document, _ sink: EmissionSink) {
        if let filter = index.filter, !filter.matches(document) { return }
        let subject = SelectorSubject(
            body: document.body, id: document.id, revisionID: document.revisionID)
        var keys = Set<[UInt8]>()
        collect(components[...], subject, [], &keys)
        if keys.contains(where: { $0.count > EmissionSink.largestKey }) {
            sink.emit(rowKey: [RowKeyCoder.unindexable])
        } else {
            for key in keys { sink.emit(rowKey: key) }
        }
    }

    /// Completes a key by the components that are left, in every way there is.
    private func collect(
        _ rest: ArraySlice<IndexComponent>, _ subject: SelectorSubject, _ key: [UInt8],
        _ keys: inout Set<[UInt8]>
    ) {
        guard let component = rest.first else {
            keys.insert(key)
            return
        }
        guard let element = component.element else {
            let longer = appending(value(subject.target(component.path)), to: key)
            return collect(rest.dropFirst(), subject, longer, &keys)
        }
        guard let array = value(subject.target(component.path)), array.kind == .array else {
            return
        }
        var longer = Set<[UInt8]>()
        array.forEachElement { longer.insert(appending(element.value(in: $0), to: key)) }
        for key in longer { collect(rest.dropFirst(), subject, key, &keys) }
    }

    private func value(_ target: PropertyPath.Target) -> PackedValue? {
        if case .value(let value) = target { value } else { nil }
    }

    private func appending(_ value: PackedValue?, to key: [UInt8]) -> [UInt8] {
        var longer = key
        if let value {
            coder.append(value, to: &longer)
        } else {
            longer.append(RowKeyCoder.missing)
        }
        return longer
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
