// SPDX-License-Identifier: Apache-2.0

internal import DivanIndex
internal import DivanJSON
internal import DivanModel
internal import DivanPlatform

/// How an index is made: a function from one document to sorted rows, and what folds the rows.
///
/// Views, property indexes and full text are all this; the indexer knows nothing else. It is handed from
/// step to step for each document, so it is one reference, and does not change.
final class IndexDefinition: Sendable {
    /// Emits the rows of one document.
    typealias Map = @Sendable (Document, EmissionSink) throws -> Void
    /// Emits the rows of one document of which only the packed body is lent.
    typealias LentMap = @Sendable (Span<UInt8>, inout EmissionBatch) -> Void

    let name: IndexName
    /// What the app says changes when the map function does.
    let version: String
    let collation: Collation
    /// The documents that the map function sees: those whose `type` is this; nil for all.
    let documentType: String?
    let map: Map
    /// The same for a body alone, if that is enough: then documents are mapped where they lie, while
    /// they are read. It runs inside a snapshot, so it is none of an app's.
    let lentMap: LentMap?
    /// Folds rows; its results are stored.
    let reducer: (any RowReducer)?
    /// What makes the keys of rows.
    let coder: RowKeyCoder
    /// Everything that the stored rows depend on: another one builds the index anew.
    ///
    /// ICU's version counts only where its sort keys are in the rows.
    let signature: String

    init(
        name: IndexName, version: String, collation: Collation, documentType: String?,
        map: @escaping Map, lentMap: LentMap? = nil, reducer: (any RowReducer)?
    ) {
        self.name = name
        self.version = version
        self.collation = collation
        self.documentType = documentType
        self.map = map
        self.lentMap = lentMap
        self.reducer = reducer
        coder = RowKeyCoder(collation, strings: ICUCollator.root)
        let strings = collation == .unicode ? ICUCollator.root.version : "bytes"
        let reduces = reducer == nil ? "map" : "map and reduce"
        signature =
            "5 \(collation.rawValue) \(strings) \(reduces) \(documentType ?? "*") \(version)"
    }

    /// Collects what one document emits; nothing for a tombstone and for those that are not mapped.
    ///
    /// - Parameters:
    ///   - id: The document's ID, as an index has it (``RowDocumentID``).
    ///   - document: The document; nil for a tombstone.
    ///   - sink: Where its rows go.
    ///   - leavesOut: Whether the document is left out if it emits nothing.
    /// - Returns: What became of it.
    func collect(
        _ id: Span<UInt8>, _ document: Document?, in sink: EmissionSink,
        leavingOutEmpty leavesOut: Bool = false
    ) -> EmissionSink.Ending {
        guard let document, isMapped(id, document) else {
            if leavesOut { return .leftOut }
            return sink.addWithoutRows(id)
        }
        sink.begin(id)
        do { try map(document, sink) } catch { return sink.end(failedWith: error) }
        return sink.end(leavingOutEmpty: leavesOut)
    }

    private func isMapped(_ id: Span<UInt8>, _ document: Document) -> Bool {
        guard !DocumentID.isDesign(id) else { return false }
        return documentType.map { document["type"].string == $0 } ?? true
    }
}
