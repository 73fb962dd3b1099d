// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanModel
internal import Synchronization

// Filters of design documents, and rules for what may be stored.
extension DesignFunctionsOfDatabase {
    func filter(named name: String) throws -> FilterFunction? {
        guard let database = state.withLock(\.database), let names = DesignItem.names(name),
            let document = try database.document(withID: DocumentID("_design/\(names.design)")),
            document["filters"][names.view].string != nil
        else { return nil }
        let functions = try functions(of: document, database)
        let filter = names.view
        return { document, parameters in
            let request: JSONObject = ["query": .object(ScriptText.query(parameters))]
            return try functions.passes([document], through: filter, request)[0]
        }
    }

    func validate(_ revision: Document, _ context: ValidationContext) throws {
        // As in CouchDB, design documents are for administrators, and no function keeps them from mending one.
        guard !revision.id.isDesign, let database = state.withLock(\.database) else { return }
        let rules = try rules(of: database).filter {
            database.validation(named: $0.id.text) == nil
        }
        guard !rules.isEmpty else { return }
        let caller = DesignCaller.current ?? .app(database.name)
        let change = DesignChange(
            new: ScriptText.text(revision, history: [revision.revisionID] + context.ancestors),
            old: ScriptText.text(context.oldRevision),
            user: ScriptText.text(.object(caller.user)),
            security: ScriptText.text(.object(try caller.security())))
        for rule in rules {
            guard let refusal = try rule.refusal(of: change) else { continue }
            throw DatabaseError(
                .forbidden, refusal.reason, documentID: revision.id,
                revisionID: revision.revisionID, underlying: refusal.naming(rule: rule.id))
        }
    }

    /// The rules of all design documents that have some. They are looked for in the transaction that writes, so they are those
    /// that it sees; which is a short walk over IDs as long as none has changed.
    func rules(of database: Database) throws -> [DesignRule] {
        let found = try designDocuments(of: database)
        let known = state.withLock { $0.rulesOf == found ? $0.rules : nil }
        if let known { return known }
        let rules = try found.compactMap { seen -> DesignRule? in
            guard let document = try database.document(withID: seen.id) else { return nil }
            return try rule(of: document, database)
        }
        state.withLock { ($0.rules, $0.rulesOf) = (rules, found) }
        return rules
    }

    private func rule(of document: Document, _ database: Database) throws -> DesignRule? {
        if let rule = try DesignRule(selectorOf: document) { return rule }
        guard document["validate_doc_update"].string != nil,
            let processes = processes(for: document["language"].string ?? "javascript")
        else { return nil }
        return .function(
            DesignFunctions(document, of: database.incarnation, by: processes, validates: true))
    }
}
