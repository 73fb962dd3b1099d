// SPDX-License-Identifier: Apache-2.0

package import DivanJSON
internal import DivanLogging
public import DivanModel

/// Validation functions that stand in design documents, as CouchDB runs them: JavaScript in `validate_doc_update`.
///
/// A module above runs that source, if the app says so (``DesignFunctionSource``). An app that has the same rules in Swift
/// registers them under the ID of the design document, such as `_design/auth`; the document's function then counts as run.
enum DesignValidation {
    static let key = "validate_doc_update"
    static let prefix = "_design/"

    /// Whether a revision has such a function.
    static func isIn(_ body: PackedValue) -> Bool {
        guard let value = body[key] else { return false }
        return value.kind != .null
    }

    /// Whether a body, as that of a design document, has such a function that is not run.
    static func isUnrun(_ body: PackedValue, _ id: DocumentID, _ core: DatabaseCore) -> Bool {
        guard isIn(body), core.validations[id.text] == nil else { return false }
        let language = body["language"]?.string ?? "javascript"
        guard let source = core.designFunctions.current else { return true }
        return !source.validates || !source.runs(language)
    }

    /// Warns of a revision whose function is not run. Each revision is stored once, so it is warned of once.
    static func note(
        _ id: DocumentID, _ revision: RevisionID, _ content: RevisionContent, _ core: DatabaseCore
    ) {
        // One byte decides for almost every document.
        guard id.text.utf8.first == UInt8(ascii: "_"), id.isDesign else { return }
        core.designFunctions.setValidating(true)
        guard !content.isDeleted, isUnrun(content.body, id, core) else { return }
        Log.database.warning(
            "Revision \(revision) of '\(id)' in the database '\(core.name)' has a \(key), which nothing here "
                + "runs: what it forbids is stored. Register a validation function named '\(id)' to run its "
                + "rules.")
    }
}

extension Database {
    /// Whether a body, as that of a design document, has a `validate_doc_update` that is not run.
    ///
    /// It counts as run where a validation function is registered under the document's ID; see
    /// ``setValidation(named:_:)``.
    ///
    /// - Parameters:
    ///   - body: The body of a revision.
    ///   - id: The document's ID, such as `_design/auth`.
    /// - Returns: Whether the rules of the function are not kept.
    package func hasUnrunValidation(_ body: PackedValue, of id: DocumentID) -> Bool {
        id.isDesign && DesignValidation.isUnrun(body, id, core)
    }

    /// The IDs of the design documents whose `validate_doc_update` is not run, in order.
    ///
    /// ```swift
    /// for id in try database.unrunValidations() { print("The rules of", id, "are not kept.") }
    /// ```
    ///
    /// Such documents come from CouchDB and its kind, where the function decides what may be stored. Divan runs it
    /// where the app has enabled that with `database.designDocuments`. A function that is registered by ``setValidation(named:_:)`` under the ID of the
    /// design document takes its place.
    ///
    /// - Throws: `DatabaseError` with code `.databaseClosed`, `.io` or `.corrupted`.
    public func unrunValidations() throws -> [DocumentID] {
        var options = AllDocumentsOptions()
        options.startID = DocumentID(DesignValidation.prefix)
        // The byte behind the slash ends the range.
        options.endID = "_design0"
        options.includeDocuments = true
        var ids: [DocumentID] = []
        try forEachDocument(options) { row in
            guard let document = row.document, hasUnrunValidation(document.body, of: row.id) else {
                return
            }
            ids.append(row.id)
        }
        return ids
    }
}
