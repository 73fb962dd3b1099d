// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex
internal import DivanJSON
internal import DivanModel
internal import DivanPlatform
internal import DivanStorage

/// Makes terms of documents, which a full-text index has instead of rows.
protocol TermSource: AnyObject, Sendable {
    /// What numbers the terms of the documents that wait to be written.
    var vocabulary: TermVocabulary { get }
    /// About how much memory it takes.
    var size: Int { get }

    /// Makes what adds the terms of packed bodies, whose documents have been begun, as ``DocumentTerms``: for one thread
    /// and some documents.
    func makeMap() -> IndexDefinition.LentMap

    /// Forgets its terms when they take much of the memory for indexing; no document that was mapped may wait.
    func removeTerms(memory: Int)
}

/// How an index is made: a function from one document to sorted rows, and what folds the rows.
///
/// Views, property indexes and full text are all this; the indexer knows nothing else. It is handed from
/// step to step for each document, so it is one reference, and does not change.
final class IndexDefinition: Sendable {
    /// Emits the rows of one document.
    typealias Map = @Sendable (Document, EmissionSink) throws -> Void
    /// Emits the rows of one document of which only the packed body is lent.
    typealias LentMap = (Span<UInt8>, inout EmissionBatch) -> Void

    /// One of the views that are mapped together.
    struct Group: Sendable {
        let mapper: any GroupMapper
        /// Which element of an answer is the view's.
        let place: Int
    }

    let name: IndexName
    /// The app's version text, which changes when the map function does.
    let version: String
    let collation: Collation
    /// The documents that the map function sees: those whose `type` is this; nil for all.
    let documentType: String?
    let map: Map
    /// Makes the same for a body alone, if that is enough: then documents are mapped where they lie, while
    /// they are read. It runs inside a snapshot, so it is never a function of the app. Each thread makes its own.
    let makeLentMap: (@Sendable () -> LentMap)?
    /// Whether rows remember the sequences of their documents, in place of a value.
    let remembersSequences: Bool
    /// Whether the index is still declared: one on properties that was deleted or declared anew meanwhile is not
    /// made again. Nil for an index that its definition alone makes.
    let isDeclared: (@Sendable (Snapshot) throws -> Bool)?
    /// What maps documents for it and other views at once; nil for an index that maps by itself.
    let group: Group?
    /// Whether design documents are mapped, too.
    let includesDesign: Bool
    /// Whether rows lie by the partitions of their documents; see `RowPartition`.
    let isPartitioned: Bool
    /// Makes the terms of a full-text index, which has those instead of rows; nil for all other indexes.
    let text: (any TermSource)?
    /// Folds rows; its results are stored.
    let reducer: (any RowReducer)?
    /// The coder that makes the keys of rows.
    let coder: RowKeyCoder
    /// Everything that the stored rows depend on: a different value builds the index anew.
    ///
    /// ICU's version counts only where its sort keys are in the rows.
    let signature: String

    init(
        name: IndexName, version: String, collation: Collation, documentType: String?,
        map: @escaping Map, makeLentMap: (@Sendable () -> LentMap)? = nil,
        reducer: (any RowReducer)?,
        remembersSequences: Bool = false,
        group: Group? = nil, includesDesign: Bool = false, isPartitioned: Bool = false,
        isDeclared: (@Sendable (Snapshot) throws -> Bool)? = nil
    ) {
        self.isPartitioned = isPartitioned
        self.isDeclared = isDeclared
        self.group = group
        self.includesDesign = includesDesign
        self.remembersSequences = remembersSequences
        self.name = name
        self.version = version
        self.collation = collation
        self.documentType = documentType
        self.map = map
        self.makeLentMap = makeLentMap
        self.reducer = reducer
        text = nil
        var coder = RowKeyCoder(collation, strings: ICUCollator.root)
        coder.followsPartition = isPartitioned
        self.coder = coder
        signature = Self.signature(
            version: version, collation: collation, documentType: documentType,
            work: Self.work(reducer) + (isPartitioned ? " by partition" : "")
        )
    }

    /// Makes the definition of a full-text index.
    init(name: IndexName, version: String, documentType: String?, text: any TermSource) {
        self.name = name
        self.version = version
        self.documentType = documentType
        self.text = text
        isDeclared = nil
        group = nil
        includesDesign = false
        isPartitioned = false
        remembersSequences = false
        collation = .raw
        map = { _, _ in }
        makeLentMap = { text.makeMap() }
        reducer = nil
        coder = RowKeyCoder(.raw, strings: ICUCollator.root)
        signature = Self.textSignature(version: version)
    }

    /// The signature of a full-text index, whose version text tells all.
    static func textSignature(version: String) -> String {
        "\(IndexRecord.textSignature)\(hexadecimal(version))"
    }

    /// What an index of rows is built with as one text, which differs for any other definition, byte for byte.
    ///
    ///     8 unicode 153.120 map * =1            no type
    ///     8 unicode 153.120 map 4:post =1       a type has its count before it, so that it ends there
    ///     8 raw bytes map * x63c3a9             what is not ASCII is written as its bytes: Swift takes texts
    ///                                           for equal that look the same
    ///
    /// The number is that of the form of the stores; another one builds the index anew.
    private static func signature(
        version: String, collation: Collation, documentType: String?, work: String
    ) -> String {
        func isASCII(_ text: String) -> Bool { text.utf8.allSatisfy { $0 < 0x80 } }
        let strings = collation == .unicode ? ICUCollator.root.version : "bytes"
        let type =
            documentType.map { isASCII($0) ? "\($0.utf8.count):\($0)" : hexadecimal($0) } ?? "*"
        let text = isASCII(version) ? "=" + version : hexadecimal(version)
        return IndexRecord.rowsSignature
            + "\(collation.rawValue) \(strings) \(work) \(type) \(text)"
    }

    /// What is stored: rows, and reductions of a form. The first form has no number.
    private static func work(_ reducer: (any RowReducer)?) -> String {
        guard let reducer else { return "map" }
        let form = (reducer as? any ReformedReducer)?.form ?? 1
        return form == 1 ? "map and reduce" : "map and reduce \(form)"
    }

    private static func hexadecimal(_ text: String) -> String {
        "x" + KeyEncoding.hexadecimal(Array(text.utf8).span)
    }

    /// Whether the map function sees a document.
    ///
    /// - Parameters:
    ///   - id: The document's ID, as an index has it (``RowDocumentID``).
    ///   - document: The document.
    /// - Returns: False for design documents, unless it includes these, and for documents of another type.
    func maps(_ id: Span<UInt8>, _ document: Document) -> Bool {
        guard includesDesign || !DocumentID.isDesign(id) else { return false }
        return documentType.map { $0.hasSameBytes(as: document["type"].string) } ?? true
    }
}

/// A reducer that an earlier release stored in another form. Where the form is another one, an index is built anew.
protocol ReformedReducer: RowReducer {
    /// The number of the form, from 2: the first one has none.
    var form: Int { get }
}
