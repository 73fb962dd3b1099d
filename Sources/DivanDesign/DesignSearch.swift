// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanQuery

/// A search index of a design document, as it is declared for one of the two services, or for `_find`.
struct DesignSearch: Sendable {
    /// What gives documents their fields.
    enum Source: Sendable {
        /// A function.
        case function(String)
        /// A list of fields, in a design document of the language `query`.
        case fields(TextDefinition)
    }

    let service: SearchService
    let source: Source
    /// What it says beside the function, of analyzers.
    let options: JSONValue
    /// Whether rows lie by the partitions of their documents.
    let isPartitioned: Bool
    private let language: String

    /// Reads it of a body; nil when there is none of the name, or it has no function.
    init?(
        _ name: String, _ service: SearchService, in body: PackedValue, inPartitions: Bool = false
    ) {
        guard let index = body[Self.member(service)]?[name] else { return nil }
        let language = body["language"]?.string ?? "javascript"
        if let function = index["index"]?.string {
            source = .function(function)
        } else if language.hasSameBytes(as: QueryIndexes.language), service == .clouseau,
            let json = index["index"]?.jsonValue(),
            let definition = try? TextDefinition(json: json)
        {
            source = .fields(definition)
        } else {
            return nil
        }
        self.service = service
        self.language = language
        isPartitioned = DesignViews.isPartitioned(body, inPartitions: inPartitions)
        var options = index.jsonValue().object ?? [:]
        options["index"] = nil
        self.options = .object(options)
    }

    /// The member of design documents that declares indexes of a service.
    static func member(_ service: SearchService) -> String {
        switch service {
        case .clouseau: "indexes"
        case .nouveau: "nouveau"
        }
    }

    /// What finds the words of fields.
    ///
    /// - Throws: `DatabaseError` with code `.invalidQuery` for an analyzer that there is not.
    var analyzers: SearchAnalyzers {
        get throws {
            guard case .fields = source else { return try SearchAnalyzers(options, for: service) }
            return try SearchAnalyzers(options, for: service, keywords: [TextField.names])
        }
    }

    /// What asks a process for the fields of a document.
    var command: String {
        switch service {
        case .clouseau: "index_doc"
        case .nouveau: "nouveau_index_doc"
        }
    }

    /// What the rows depend on.
    var version: String {
        Self.prefix
            + DesignViews.digest(
                [
                    service.rawValue, language, sourceText, options.description,
                    SearchAnalyzer.version,
                ] + (isPartitioned ? ["partitioned"] : []))
    }

    private var sourceText: String {
        switch source {
        case .function(let function): function
        case .fields(let definition): "fields 2 \(definition.json)"
        }
    }

    /// How the versions of search indexes begin.
    static let prefix = "_search "

    /// The name of an index's view: `%_search design/index`.
    ///
    /// No view of a design document has it, nor does it begin as the names of any design document's views do, since
    /// `DesignItem` writes a percent sign with digits behind it.
    static func viewName(_ design: String, _ name: String, _ service: SearchService) -> String {
        "%\(service.rawValue) " + DesignItem.name(design, name)
    }

    /// The names of a design document and of an index by that of its view; nil for any other view.
    static func names(_ viewName: String) -> (service: SearchService, design: String, name: String)?
    {
        for service in [SearchService.clouseau, .nouveau] {
            guard let rest = viewName.afterBytePrefix("%\(service.rawValue) "),
                let names = DesignItem.names(rest)
            else { continue }
            return (service, names.design, names.view)
        }
        return nil
    }
}
