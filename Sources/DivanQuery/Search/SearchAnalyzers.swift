// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
package import DivanJSON

/// The two services that CouchDB has for searches, which differ in what design documents and requests say.
package enum SearchService: String, Sendable {
    /// `_search`: members `indexes` of design documents.
    case clouseau = "_search"
    /// `_nouveau`: members `nouveau`.
    case nouveau = "_nouveau"
}

/// The analyzers of a search index: one for each field that names one, and one for all others.
package struct SearchAnalyzers: Sendable {
    private let standard: SearchAnalyzer
    private let fields: NameMap<SearchAnalyzer>

    init(_ standard: SearchAnalyzer, _ fields: NameMap<SearchAnalyzer> = [:]) {
        self.standard = standard
        self.fields = fields
    }

    /// Reads what an index of a design document says.
    ///
    /// - Parameters:
    ///   - index: The index: `analyzer`, or `default_analyzer` and `field_analyzers`.
    ///   - service: Which of the two it is for.
    ///   - keywords: Fields whose texts are one word each, whatever the index says.
    /// - Throws: `DatabaseError` with code `.invalidQuery` for an analyzer that there is not.
    package init(
        _ index: JSONValue, for service: SearchService, keywords: [String] = []
    ) throws {
        var fields: NameMap<SearchAnalyzer> = [:]
        var named: JSONValue?
        var byField: JSONObject?
        switch service {
        case .clouseau:
            named = index["analyzer"]
            if index["analyzer"]?["name"]?.string.hasSameBytes(as: "perfield") ?? false {
                named = index["analyzer"]?["default"]
                byField = index["analyzer"]?["fields"]?.object
            }
        case .nouveau:
            named = index["default_analyzer"]
            byField = index["field_analyzers"]?.object
        }
        for (name, value) in byField ?? [:] {
            fields[name] = try SearchAnalyzer(named: value, for: service)
        }
        for name in keywords { fields[name] = SearchAnalyzer(.keyword) }
        self.init(try SearchAnalyzer(named: named ?? "standard", for: service), fields)
    }

    /// The analyzer of a field.
    subscript(field: String) -> SearchAnalyzer {
        field.hasSameBytes(as: SearchKey.identifier)
            ? SearchAnalyzer(.keyword) : fields[field] ?? standard
    }
}

extension SearchAnalyzer {
    /// Finds an analyzer by its name, or by an object of a name and stop words.
    ///
    /// - Throws: `DatabaseError` with code `.invalidQuery` when there is none.
    package init(named value: JSONValue, for service: SearchService) throws {
        guard let name = value.string ?? value["name"]?.string else {
            throw DatabaseError(
                .invalidQuery, "An analyzer is a name, or an object with a `name`.")
        }
        guard let kind = Self.kind(name) else {
            throw DatabaseError(
                .invalidQuery,
                "There is no analyzer '\(name.prefix(100))' here; use `standard`, `keyword` or that of a language."
            )
        }
        let given = value["stopwords"]?.array.map { NameSet($0.compactMap(\.string)) }
        self.init(kind, stopWords: given ?? Self.stopWords(of: kind, for: service))
    }

    private static func kind(_ name: String) -> Kind? {
        switch name {
        case "keyword": .keyword
        case "whitespace": .whitespace
        case "standard": .standard
        case "email": .email
        case "classic": .classic
        case "simple": .simple(folding: false)
        case "simple_asciifolding": .simple(folding: true)
        // Their words come from dictionaries, and have no stems.
        case "chinese", "cjk", "japanese", "thai": .language("")
        case "brazilian": .language("portuguese")
        default:
            languages.contains(name) && TextStemmers.stemmer(name) != nil ? .language(name) : nil
        }
    }

    /// The languages that CouchDB's analyzers have; what Snowball has of them is served.
    private static let languages = NameSet(
        """
        arabic armenian basque bulgarian catalan czech danish dutch english finnish french galician german greek hindi
        hungarian indonesian irish italian latvian norwegian persian polish portuguese romanian russian spanish
        swedish turkish
        """.split(whereSeparator: \.isWhitespace).map(String.init))

    /// Lucene 4, which `_search` is made of, leaves out English words in its plain analyzers, too; later ones do not.
    private static func stopWords(of kind: Kind, for service: SearchService) -> NameSet {
        switch kind {
        case .language("english"): common
        case .standard, .email, .classic: service == .clouseau ? common : []
        default: []
        }
    }

    private static let common = NameSet(
        """
        a an and are as at be but by for if in into is it no not of on or such that the their then there these they
        this to was will with
        """.split(whereSeparator: \.isWhitespace).map(String.init))
}
