// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex
internal import DivanJSON
internal import DivanPlatform

/// Makes the rows of an index on properties in one order.
struct PropertyEmitter: Sendable {
    private let index: PropertyIndex
    private let components: [IndexComponent]
    let coder: RowKeyCoder

    init(_ index: PropertyIndex, _ components: [IndexComponent], _ order: Collation) {
        self.index = index
        self.components = components
        coder = RowKeyCoder(order, strings: ICUCollator.root)
    }

    private var hasElements: Bool { components.contains(where: \.isOfElements) }

    /// The map of a body alone: for an index without a filter, on properties that stand in bodies, and not
    /// on their elements.
    var makeLentMap: (@Sendable () -> IndexDefinition.LentMap)? {
        let paths = components.map(\.path)
        guard index.filter == nil, !hasElements, !index.isPartitioned,
            !paths.contains(where: \.isReserved)
        else { return nil }
        let coder = coder
        let parts = paths.map { path -> AppendKey in
            let path = PackedPath(path.steps.map { ($0.key, $0.index) })
            return { body, key in
                if !coder.append(path, of: body, to: &key) { key.append(RowKeyCoder.missing) }
            }
        }
        guard let append = Self.one(of: parts[...]) else { return nil }
        return { { body, batch in batch.appendKey { append(body, &$0) } } }
    }

    private typealias AppendKey = @Sendable (_ body: Span<UInt8>, _ key: inout [UInt8]) -> Void

    /// One function for all parts of a key: to loop over parts would count references to each, for each document.
    ///
    /// Its calls nest by halves, since an index may be declared on very many properties.
    private static func one(of parts: ArraySlice<AppendKey>) -> AppendKey? {
        let middle = parts.startIndex + parts.count / 2
        guard parts.count > 1, let first = one(of: parts[..<middle]),
            let second = one(of: parts[middle...])
        else { return parts.first }
        return { body, key in
            first(body, &key)
            second(body, &key)
        }
    }

    /// Emits the rows of a document.
    func emit(_ document: Document, _ sink: EmissionSink) {
        // One of which that is unknown has rows, since it would be missed until it changes. A query tests it again.
        if let filter = index.filter, filter.truth(of: document) == false { return }
        let subject = SelectorSubject(document)
        guard hasElements else {
            return sink.emitKey { key in
                for component in components { append(component, of: subject, to: &key) }
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
        for component in components[..<place] { append(component, of: subject, to: &before) }
        for component in components[(place + 1)...] { append(component, of: subject, to: &behind) }
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

    private func append(
        _ component: IndexComponent, of subject: SelectorSubject, to key: inout [UInt8]
    ) {
        guard component.isPartition else {
            return append(value(subject.target(component.path)), to: &key)
        }
        append(subject.partition.map { PackedValue(.string($0)) }, to: &key)
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
}
