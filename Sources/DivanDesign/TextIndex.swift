// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
package import DivanJSON
internal import DivanModel
package import DivanQuery
internal import Synchronization

/// A text index that a design document of the language `query` declares.
package struct TextIndex: Sendable {
    /// The design document, without `_design/`.
    package let design: String
    /// The index's own name.
    package let name: String
    /// What it has.
    package let definition: TextDefinition
    /// Whether rows lie by the partitions of their documents.
    package let isPartitioned: Bool

    /// The text indexes that a design document declares; what makes no sense is left out.
    static func declared(in document: Document, inPartitions: Bool) -> [TextIndex] {
        guard document["language"].string.hasSameBytes(as: QueryIndexes.language) else { return [] }
        let design = document.id.text.afterBytePrefix("_design/") ?? ""
        let isPartitioned = DesignViews.isPartitioned(document.body, inPartitions: inPartitions)
        var indexes: [TextIndex] = []
        document.body["indexes"]?.forEachProperty { name, index in
            guard let json = index["index"]?.jsonValue(),
                let definition = try? TextDefinition(json: json),
                // With an analyzer that there is not, each search would be refused.
                (try? SearchAnalyzers(
                    index.jsonValue(), for: .clouseau, keywords: [TextField.names])) != nil
            else { return }
            indexes.append(
                TextIndex(
                    design: design, name: name, definition: definition,
                    isPartitioned: isPartitioned))
        }
        return indexes
    }

    /// What declares an index in the member `indexes` of a design document.
    package static func declaration(of definition: TextDefinition) -> JSONValue {
        ["index": definition.json, "analyzer": definition.analyzer]
    }
}

extension DesignDocuments {
    /// The text indexes that design documents of the language `query` declare.
    ///
    /// - Throws: `DatabaseError`.
    package func textIndexes() throws -> [TextIndex] { try functions.textIndexes(of: database) }

    /// The search index of a text index; nil when its design document is gone.
    ///
    /// - Throws: `DatabaseError`.
    package func searchIndex(of index: TextIndex) throws -> SearchIndex? {
        guard let document = try database.document(withID: DocumentID("_design/\(index.design)"))
        else { return nil }
        return try searchIndex(index.name, .clouseau, of: document)
    }
}

extension DesignFunctionsOfDatabase {
    /// The text indexes, which are looked for only where a design document has changed.
    func textIndexes(of database: Database) throws -> [TextIndex] {
        let seen = try designDocuments(of: database)
        if let known = state.withLock({ $0.textIndexesOf == seen ? $0.textIndexes : nil }) {
            return known
        }
        let documents = try seen.compactMap { try database.document(withID: $0.id) }
        let isPartitioned = database.isPartitioned
        let indexes = documents.flatMap { TextIndex.declared(in: $0, inPartitions: isPartitioned) }
        state.withLock { ($0.textIndexes, $0.textIndexesOf) = (indexes, seen) }
        return indexes
    }
}
