// SPDX-License-Identifier: Apache-2.0

public import DivanDatabase
internal import DivanIndex
internal import DivanJSON
public import DivanModel
internal import DivanPlatform
internal import DivanStorage

/// A persistent index over the words in the texts of documents.
///
/// ```swift
/// let notes = database.fullTextIndex(
///     named: "notes", on: ["title", "body"], options: FullTextOptions(language: .english))
/// for row in try notes.search("potato AND couch*").run() {
///     print(row.documentID, row.score, row.snippet() ?? "")
/// }
/// ```
///
/// Texts are taken apart into words by Unicode's rules, in any language; words compare without regard
/// to case and, unless told otherwise, accents. With a language, words are cut down to their stems.
///
/// Key paths name members of members with a point, `author.name`; an array stands for all of its
/// elements. What is no text is left out.
///
/// The index is brought up to date when it is searched. It knows its key paths and options, so that
/// `existingFullTextIndex(named:)` needs nothing else; with other ones, it is built anew.
///
/// ## How it is kept
///
/// For each word the documents that have it stand in a list, in a few bytes each, with how often and where they
/// have it. Places go on from one text of a document to the next with a gap, so that no phrase runs over the end of a
/// text. A search merges the lists of its words.
public struct FullTextIndex: Sendable {
    /// The index's name.
    public let name: String
    /// The properties whose texts are indexed.
    public let keyPaths: [String]
    /// How texts are taken apart.
    public let options: FullTextOptions
    let core: DatabaseCore
    /// Knows whether the database object has been closed.
    let registry: ViewRegistry
    let analyzer: TextAnalyzer
    /// The paths and options, and how words are found, as the record of the index has them.
    private let version: String
    /// What the record of the index says if this index made it.
    let signature: String

    init(name: String, keyPaths: [String], options: FullTextOptions, in database: Database) {
        self.name = name
        self.keyPaths = keyPaths
        self.options = options
        core = database.core
        registry = database.views
        analyzer = TextAnalyzer(options)
        let stored = Self.stored(keyPaths, options)
        version = "\(TextAnalyzer.version) \(JSONWriter.string(stored))"
        signature = IndexDefinition.textSignature(version: version)
    }

    /// The gap between the texts of a document, in words: no phrase or nearness reaches over it.
    static let gap: UInt64 = 1_000

    var indexName: IndexName { IndexName(.text, name) }

    /// What the indexer needs to know. The definition holds the terms of documents that wait to be written, so each pass has
    /// its own.
    func makeDefinition() -> IndexDefinition {
        IndexDefinition(
            name: indexName, version: version, documentType: options.documentType,
            text: TextMapping(
                analyzer, DocumentTexts(keyPaths), documentType: options.documentType))
    }

    // MARK: - Searching

    /// Makes a search.
    ///
    /// - Parameter text: What to find, in the language of ``FullTextExpression/init(parsing:)``.
    /// - Returns: The search, to be changed and run. A text that makes no sense is an error then.
    public func search(_ text: String) -> FullTextQuery {
        FullTextQuery(index: self, condition: .text(text))
    }

    /// Makes a search.
    ///
    /// - Parameter expression: What to find.
    /// - Returns: The search, to be changed and run.
    public func search(_ expression: FullTextExpression) -> FullTextQuery {
        FullTextQuery(index: self, condition: .expression(expression))
    }

    // MARK: - The index

    /// Brings the index up to date. Searches do so by themselves.
    ///
    /// - Parameter progress: Gets reports; throwing stops the work.
    /// - Throws: `DatabaseError` with code `.readOnly` (also inside a read), or as
    ///   `Database.write(_:)`; and what `progress` throws.
    public func updateIndex(progress: ProgressHandler? = nil) throws {
        let pass = IndexPass(core: core, definitions: [makeDefinition()], progress: progress)
        do { _ = try pass.run() } catch let error as DatabaseError
            where error.underlying is IndexCorruption
        {
            // An index holds nothing that cannot be made again.
            try deleteIndex()
            _ = try pass.run()
        }
    }

    /// The sequence up to which changes are in the index; 0 before it is first built.
    public var lastSequenceIndexed: SequenceNumber {
        get throws { try core.read { try $0.indexRecord(indexName)?.lastSequence ?? 0 } }
    }

    /// Deletes the index; the next search builds it anew.
    public func deleteIndex() throws {
        _ = try core.write { try $0.dropIndex(indexName) }
    }

    // MARK: - What is stored of the definition

    private static func stored(_ keyPaths: [String], _ options: FullTextOptions) -> JSONValue {
        .object([
            "paths": .array(keyPaths.map { .string($0) }),
            "language": options.language.map { .string($0.name) } ?? .null,
            "accents": .bool(!options.ignoresAccents),
            "type": options.documentType.map { .string($0) } ?? .null,
        ])
    }

    /// The index that a record tells of; nil when another release wrote it.
    init?(_ record: IndexRecord, name: String, in database: Database) {
        guard let start = record.version.firstIndex(of: "{"),
            let value = try? JSONParser.parse(String(record.version[start...])),
            case .array(let paths)? = value["paths"]
        else { return nil }
        var options = FullTextOptions()
        if let language = value["language"]?.string {
            guard let known = FullTextOptions.Language(named: language) else { return nil }
            options.language = known
        }
        options.ignoresAccents = value["accents"]?.bool != true
        options.documentType = value["type"]?.string
        self.init(
            name: name, keyPaths: paths.compactMap(\.string), options: options, in: database)
    }
}

extension Database {
    /// Returns the full-text index of a name over key paths. Nothing is stored before it is searched.
    ///
    /// ```swift
    /// let index = database.fullTextIndex(named: "posts", on: ["title", "comments.text"])
    /// ```
    ///
    /// An index of that name with other key paths or options is built anew by the next search.
    public func fullTextIndex(
        named name: String, on keyPaths: [String], options: FullTextOptions = FullTextOptions()
    ) -> FullTextIndex {
        FullTextIndex(name: name, keyPaths: keyPaths, options: options, in: self)
    }

    /// Returns the full-text index of a name that is stored, with its key paths and options; nil when
    /// there is none.
    ///
    /// - Throws: `DatabaseError` with code `.databaseClosed`, `.io` or `.corrupted`.
    public func existingFullTextIndex(named name: String) throws -> FullTextIndex? {
        try checkOpen()
        return try core.read { snapshot in
            try snapshot.indexRecord(IndexName(.text, name))
                .flatMap { FullTextIndex($0, name: name, in: self) }
        }
    }

    /// The names of the full-text indexes that are stored, sorted.
    public func fullTextIndexNames() throws -> [String] {
        try checkOpen()
        return try core.read { try $0.indexNames().filter { $0.kind == .text }.map(\.name) }
    }
}

extension FullTextIndex: CustomStringConvertible {
    /// The name, for logs.
    public var description: String { "FullTextIndex(\(name))" }
}
