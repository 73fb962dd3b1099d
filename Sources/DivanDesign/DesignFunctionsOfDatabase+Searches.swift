// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanModel
internal import DivanQuery
internal import Synchronization

// Search indexes of design documents.
extension DesignFunctionsOfDatabase {
    /// What a search index is known by: the name of its view.
    struct KnownSearch {
        var seen: Seen
        var version: String
        var mapper: any GroupMapper
        var analyzers: SearchAnalyzers
    }

    func searchIndex(
        _ name: String, _ service: SearchService, of document: Document, _ database: Database
    ) throws -> SearchIndex? {
        let design = String(document.id.text.utf8.dropFirst("_design/".utf8.count)) ?? ""
        let view = database.view(named: DesignSearch.viewName(design, name, service))
        let seen = Seen(
            id: document.id, sequence: document.sequence, revision: document.revisionID)
        let last = state.withLock { $0.searches[view.name] }
        if let last, last.seen == seen, view.groupMapper === last.mapper {
            return SearchIndex(view, last.analyzers, service)
        }
        guard
            let search = DesignSearch(
                name, service, in: document.body, inPartitions: database.isPartitioned)
        else { return nil }
        let (version, analyzers) = (search.version, try search.analyzers)
        // A mapper stays while the function does, so that a change of anything else costs no new process.
        let isSame = last.map { $0.version.hasSameBytes(as: version) } ?? false
        let mapper =
            try (isSame ? last?.mapper : nil) ?? mapper(search, analyzers, of: document, database)
        SearchIndex.define(
            view, version: version, by: mapper, isPartitioned: search.isPartitioned)
        state.withLock {
            $0.searches[view.name] = KnownSearch(
                seen: seen, version: version, mapper: mapper, analyzers: analyzers)
        }
        return SearchIndex(view, analyzers, service)
    }

    private func mapper(
        _ search: DesignSearch, _ analyzers: SearchAnalyzers, of document: Document,
        _ database: Database
    ) throws -> any GroupMapper {
        switch search.source {
        case .function(let function):
            try SearchMapper(
                search, function, analyzers, of: document.id, in: database,
                by: processes(for: document))
        case .fields(let definition): TextMapper(definition, analyzers)
        }
    }

    /// Deletes the search indexes that no design document has any longer.
    func removeUnusedSearches(_ database: Database) throws {
        for name in try database.viewNames() {
            guard let names = DesignSearch.names(name),
                let view = try database.existingView(named: name),
                try view.storedVersion?.hasBytePrefix(DesignSearch.prefix) ?? false
            else { continue }
            let document = try database.document(withID: DocumentID("_design/\(names.design)"))
            if let document, DesignSearch(names.name, names.service, in: document.body) != nil {
                continue
            }
            state.withLock { $0.searches[name] = nil }
            try view.delete()
        }
    }
}
