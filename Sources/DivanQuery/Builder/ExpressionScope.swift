// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanModel
internal import DivanPlatform

/// What an expression is computed in: a document of each source, and what quantifiers go over.
///
/// Only the thread that runs the query uses it.
final class ExpressionScope {
    private let snapshot: Snapshot?
    /// The document of the first source; nil for a group without rows.
    private(set) var document: Document?
    /// The documents of joined sources; a source without one is left out.
    var joined: NameMap<Document> = [:]
    /// The name of the first source.
    let name: String?
    var variables: NameMap<JSONValue> = [:]
    private var expirations: [DocumentID: JSONValue?] = [:]
    private let patterns: PatternCache

    init(_ document: Document, name: String?, snapshot: Snapshot, patterns: PatternCache) {
        self.document = document
        self.name = name
        self.snapshot = snapshot
        self.patterns = patterns
    }

    /// What expressions of a group without rows are computed in: all properties are missing.
    init(patterns: PatternCache) {
        (document, name, snapshot) = (nil, nil, nil)
        self.patterns = patterns
    }

    /// Serves another document of the same snapshot.
    func reset(_ document: Document) {
        self.document = document
        if !joined.isEmpty { joined = [:] }
        if !variables.isEmpty { variables = [:] }
        if !expirations.isEmpty { expirations = [:] }
    }

    /// The document of a source.
    func document(of source: String?) -> Document? {
        source == nil || source.hasSameBytes(as: name) ? document : joined[source ?? ""]
    }

    /// The properties of the document of a source.
    func body(of source: String?) -> PackedValue? {
        source == nil || source.hasSameBytes(as: name) ? document?.body : joined[source ?? ""]?.body
    }

    /// When a document expires. It is read once, so that a scope may be asked again after its snapshot.
    func expiration(of document: Document) throws -> JSONValue? {
        if let known = expirations[document.id] { return known }
        let time = try snapshot?.expiration(of: document.id)
        let value = time.map { JSONValue.integer(Int64(clamping: $0.milliseconds)) }
        expirations[document.id] = .some(value)
        return value
    }

    /// Whether a regular expression occurs in a text; nil when it is none, or takes too long.
    func occurs(_ pattern: String, in text: String) -> Bool? {
        guard let compiled = patterns.pattern(pattern) else { return nil }
        let bytes = Array(text.utf8)
        return compiled.occurs(in: bytes.span)
    }
}

/// The regular expressions of one run, compiled once each.
final class PatternCache {
    /// How many are kept: a pattern may be a property, of which each document has another.
    private static let limit = 100
    private var patterns: NameMap<ICUPattern?> = [:]

    func pattern(_ text: String) -> ICUPattern? {
        if let known = patterns[text] { return known }
        let pattern = try? ICUPattern(text)
        if patterns.count >= Self.limit { patterns = [:] }
        patterns[text] = .some(pattern)
        return pattern
    }
}
