// SPDX-License-Identifier: Apache-2.0

public import DivanDatabase
package import DivanJSON
package import DivanModel
internal import DivanPlatform
public import DivanQuery

/// The functions of a database's design documents, run as CouchDB runs them.
///
/// ```swift
/// import Divan
/// import DivanJavaScript
///
/// database.designDocuments.enable(JavaScriptRuntime())
/// let view = try database.designDocuments.view("people/by_name")
/// for row in try view.query(.keys("Ann")).run() { print(row.documentID ?? "") }
/// ```
///
/// Design documents travel with the data: they are documents whose IDs begin with `_design/`, and a replication brings them.
/// Their functions are code that others have written. A ``ScriptRuntime`` runs it where it can do no harm.
///
/// A view whose map function loops, or takes more memory than it may, cannot be queried: the query throws `DatabaseError` with code
/// `.scriptFailed`, whose `underlying` is a ``ScriptError``. Other views go on.
public struct DesignDocuments: Sendable {
    let database: Database
    let functions: DesignFunctionsOfDatabase

    init(_ database: Database) {
        self.database = database
        functions = database.states.state(of: DesignFunctionsOfDatabase.self)
    }

    /// Has runtimes run the functions, until the database is closed.
    ///
    /// - Parameters:
    ///   - runtimes: What runs them, by language. A later call replaces what an earlier one has set.
    ///   - validates: Whether the `validate_doc_update` functions of all design documents are asked about each new
    ///     revision, whether it is saved here or arrives by a replication, inside the write transaction. A revision that one
    ///     of them forbids is refused with `DatabaseError` of code `.forbidden`, and a replication passes it over. The app itself is an
    ///     administrator for them (`userCtx.roles` is `["_admin"]`).
    public func enable(_ runtimes: any ScriptRuntime..., validates: Bool = false) {
        functions.enable(runtimes, validates: validates, database)
    }

    /// The same for a list of runtimes, and perhaps without the indexes that design documents declare.
    package func enable(_ runtimes: [any ScriptRuntime], validates: Bool, makesIndexes: Bool) {
        functions.enable(runtimes, validates: validates, database, makesIndexes: makesIndexes)
    }

    /// Whether nothing has been enabled or disabled yet.
    package var isUndecided: Bool { functions.isUndecided }

    /// Runs the functions no longer. Indexes stay, and are read by nothing until they are enabled again.
    public func disable() { functions.disable() }

    /// Returns a view of a design document, as that stands now.
    ///
    /// The view's functions, `collation` and reduce are those of the design document; do not set others. Its index is stored, and is
    /// built anew when the design document gets another map or reduce function.
    ///
    /// - Parameter name: `design/view`. A slash in the name of the design document is written `%2F`, and a percent sign `%25`.
    /// - Returns: The view; the app's own, if it has set the functions of a view of that name.
    /// - Throws: `DatabaseError` with code `.documentNotFound` when there is no such design document or no such view in it,
    ///   `.scriptFailed` when nothing runs its language, and as reading the design document.
    public func view(_ name: String) throws -> DatabaseView {
        guard let names = DesignItem.names(name) else {
            throw DatabaseError(
                .invalidName,
                "'\(name.prefix(200))' names no view of a design document; write 'design/view'.")
        }
        let id = DocumentID("_design/\(names.design)")
        if let view = try database.existingView(named: name), view.isDefined,
            view.groupMapper == nil
        {
            return view
        }
        guard let document = try database.document(withID: id) else {
            throw DatabaseError(
                .documentNotFound, "There is no design document '\(id)'.", documentID: id)
        }
        guard let view = try view(names.view, of: document) else {
            throw DatabaseError(
                .documentNotFound,
                "The design document '\(id)' has no view '\(names.view.prefix(200))'.",
                documentID: id)
        }
        return view
    }

    /// A view of a design document that has been read; nil when it has none of that name.
    package func view(_ name: String, of document: Document) throws -> DatabaseView? {
        try functions.view(name, of: document, database)
    }

    /// Gives the views of a design document that has been read their functions.
    package func prepareViews(of document: Document) throws {
        _ = try functions.view("", of: document, database)
    }

    /// A search index of a design document that has been read; nil when it has none of that name.
    ///
    /// - Parameters:
    ///   - name: The index.
    ///   - service: The service whose form the design document has for it.
    ///   - document: The design document.
    /// - Returns: The index; nil when the design document has none of that name.
    /// - Throws: `DatabaseError` with code `.scriptFailed` when nothing runs its language, and `.invalidQuery` when it names an
    ///   analyzer that there is not.
    package func searchIndex(
        _ name: String, _ service: SearchService, of document: Document
    ) throws -> SearchIndex? {
        try functions.searchIndex(name, service, of: document, database)
    }

    /// Deletes the search indexes that no design document has any longer.
    package func removeUnusedSearches() throws { try functions.removeUnusedSearches(database) }

    /// The functions of a design document that has been read, but for its views.
    ///
    /// - Throws: `DatabaseError` with code `.scriptFailed` when nothing runs its language.
    package func functions(of document: Document) throws -> DesignFunctions {
        try functions.functions(of: document, database)
    }

    /// Has the map and reduce functions in the body of a design document compiled, if there is a runtime of their language.
    ///
    /// - Throws: `DatabaseError` with code `.scriptFailed`; its `underlying` has the name and reason of the compiler.
    package func compile(_ body: PackedValue, of id: DocumentID) throws {
        try functions.compile(body, of: id)
    }

    /// Makes the indexes that design documents of the language `query` declare, and deletes those that none declares any longer.
    ///
    /// Such design documents come from CouchDB's `_index`. Where functions are enabled, also for no runtime at all (`enable()`), this is
    /// done by itself after each change of a design document.
    ///
    /// - Throws: `DatabaseError`.
    public func updateIndexes() throws { try functions.updateIndexes(of: database) }

    /// Deletes the indexes of views that no design document has any longer.
    ///
    /// - Returns: The names of these views.
    /// - Throws: `DatabaseError`.
    @discardableResult
    public func removeUnusedIndexes() throws -> [String] {
        try functions.removeUnusedIndexes(database)
    }
}

extension DesignDocuments {
    /// The version of the order of texts in keys.
    package static var collatorVersion: String { ICUCollator.root.version }

    /// Compares two keys of a view with a collation, as its rows are: numbers that are equal are, however they are written.
    package static func compare(
        _ left: JSONValue, _ right: JSONValue, by collation: Collation
    ) -> Int {
        ValueOrder(collation, strings: ICUCollator.root).collate(left, right)
    }
}

extension Database {
    /// The functions of the design documents of this database.
    public var designDocuments: DesignDocuments { DesignDocuments(self) }
}
