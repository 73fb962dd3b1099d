// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanModel
internal import DivanQuery
internal import Synchronization

// Views of design documents, and whether their functions compile.
extension DesignFunctionsOfDatabase {
    func view(_ name: String, of document: Document, _ database: Database) throws -> DatabaseView? {
        var known = try views(of: document, database)
        guard known.views.views.contains(where: { $0.name.hasSameBytes(as: name) }) else {
            return nil
        }
        let full = Self.viewName(name, of: document.id)
        let view = database.view(named: full)
        // The view was deleted, or another thread has given it the functions of another revision.
        if view.groupMapper !== known.mapper, !Self.isOfApp(view) {
            state.withLock { $0.views[document.id] = nil }
            known = try views(of: document, database)
        }
        return database.view(named: full)
    }

    /// Whether the app has set the functions of a view, which then stay.
    private static func isOfApp(_ view: DatabaseView) -> Bool {
        view.isDefined && view.groupMapper == nil
    }

    private static func viewName(_ name: String, of id: DocumentID) -> String {
        DesignItem.name(String(id.text.utf8.dropFirst("_design/".utf8.count)) ?? "", name)
    }

    /// Gives all views of a design document their functions, unless they have them.
    private func views(of document: Document, _ database: Database) throws -> Known {
        let last = state.withLock { $0.views[document.id] }
        let seen = Seen(
            id: document.id, sequence: document.sequence, revision: document.revisionID)
        if let last, last.seen == seen { return last }
        let processes = try processes(for: document)
        let views = DesignViews(document.body, inPartitions: database.isPartitioned)
        let isSame = last.map { $0.views.signature.hasSameBytes(as: views.signature) } ?? false
        let mapper =
            (isSame ? last?.mapper : nil)
            ?? ScriptMapper(views, of: document.id, in: database, by: processes)
        let language = document["language"].string ?? "javascript"
        for (place, view) in views.views.enumerated() {
            let made = database.view(named: Self.viewName(view.name, of: document.id))
            guard !Self.isOfApp(made) else { continue }
            made.setMap(
                version: views.version(of: view, language), by: mapper, place: place,
                reduce: try Self.reduce(view, of: document.id, mapper),
                collation: view.collation, includesDesign: views.includesDesign,
                isPartitioned: views.isPartitioned)
        }
        let known = Known(seen: seen, views: views, mapper: mapper)
        state.withLock { $0.views[document.id] = known }
        let gone = (last?.views.views ?? []).filter { old in
            !views.views.contains { $0.name.hasSameBytes(as: old.name) }
        }
        for view in gone {
            let old = database.view(named: Self.viewName(view.name, of: document.id))
            // Where nothing may be written now, the index stays until unused ones are removed.
            if !Self.isOfApp(old) { try? old.delete() }
        }
        return known
    }

    private static func reduce(
        _ view: DesignViews.View, of id: DocumentID, _ mapper: ScriptMapper
    ) throws -> Reduce? {
        guard let source = view.reduce, !source.isEmpty else { return nil }
        guard source.utf8.first == UInt8(ascii: "_") else { return mapper.reduce(source) }
        if let reduce = BuiltInReduce.reduce(named: source) { return reduce }
        throw DatabaseError(
            .scriptFailed,
            "The view '\(view.name.prefix(200))' of '\(id)' names a built-in reduce that there is not.",
            documentID: id,
            underlying: ScriptError.noSuchReduce(source))
    }

    func removeUnusedIndexes(_ database: Database) throws -> [String] {
        var unused: [String] = []
        for name in try database.viewNames() {
            guard let names = DesignItem.names(name),
                let view = try database.existingView(named: name),
                try view.isOfDesignDocument
            else { continue }
            let document = try database.document(withID: DocumentID("_design/\(names.design)"))
            if let document, document["views"][names.view].value != nil { continue }
            try view.delete()
            unused.append(name)
        }
        try removeUnusedSearches(database)
        return unused
    }

    /// Has the map and reduce functions of a body compiled.
    func compile(_ body: PackedValue, of id: DocumentID) throws {
        let language = body["language"]?.string ?? "javascript"
        guard let processes = processes(for: language) else { return }
        let views = DesignViews(body)
        let program = ScriptProgram(
            key: "compilation", commands: [ScriptText.command("reset", ScriptText.text([:]))],
            endsAfterUse: true)
        var functions: [(kind: String, view: String, source: String)] = []
        for view in views.views {
            functions.append(("map", view.name, view.map))
            if let reduce = view.reduce, reduce.utf8.first != UInt8(ascii: "_"), !reduce.isEmpty {
                functions.append(("reduce", view.name, reduce))
            }
        }
        guard !functions.isEmpty else { return }
        try DatabaseError.naming(id) { () throws(ScriptError) in
            try processes.withProcess(for: program) { process throws(ScriptError) in
                for (kind, view, source) in functions {
                    do throws(ScriptError) {
                        _ = try process.ask(
                            ScriptText.command("add_fun", ScriptText.text(.string(source))))
                    } catch {
                        throw ScriptError(
                            error.code, error.message, name: error.name,
                            reason:
                                "Compilation of the \(kind) function in the '\(view.prefix(200))' view "
                                + "failed: \(error.reason)")
                    }
                }
            }
        }
    }
}

extension ScriptError {
    /// A name that begins as those of built-in reduce functions do, and is none of them.
    static func noSuchReduce(_ name: String) -> ScriptError {
        .script(
            name: "invalid_design_doc",
            reason: BuiltInReduce.problem(with: name) ?? "The reduce function is no built-in one.")
    }
}

extension DatabaseView {
    /// Whether the stored index is that of a design document's view.
    fileprivate var isOfDesignDocument: Bool {
        get throws { try storedVersion?.hasBytePrefix(DesignViews.prefix) ?? false }
    }
}
