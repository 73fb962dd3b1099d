// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanDesign
internal import DivanHTTP
internal import DivanJSON
internal import DivanModel

// What shows, lists, updates and rewritings need beside what all functions of design documents do.
extension Call {
    /// Refuses what only a script could answer where none runs.
    func checkScripts() throws {
        guard site.options.scripts.isEmpty else { return }
        throw HTTPFailure.notImplemented(
            "Nothing here runs functions of design documents: the listener has no script runtime.")
    }

    /// The functions of the design document that the path names.
    ///
    /// - Parameter kind: Where the function is that the path names behind it, such as `shows`.
    /// - Returns: Its functions.
    /// - Throws: `HTTPFailure` 404 when it is not there, 501 when nothing runs it.
    func functions(_ kind: String) throws -> DesignFunctions {
        try checkScripts()
        let document = try design(name(0))
        try Self.checkFunction(document, kind, name(1))
        return try database.designDocuments.functions(of: document)
    }

    /// `/{db}/_design/{ddoc}/_show`, `_list` and `_update` with too little or too much behind it
    func pathIsInvalid(_ error: String) throws -> ListenerResponse {
        try checkScripts()
        _ = try design(name(0))
        throw HTTPFailure(404, error, "Invalid path.")
    }

    // MARK: - Documents

    /// A document as shows and updates are told of it.
    struct ScriptDocument {
        /// No document.
        static let none = ScriptDocument(text: Array("null".utf8), leaves: "")

        /// The text, with the last of its history and with its conflicts.
        var text: [UInt8]
        /// Its leaves, the current one first.
        var leaves: String
    }

    /// How many revision IDs of a document's history a function is told.
    private static let history = 20

    /// The document that the path names behind the function, with what scripts are told of it; `none` where the user may not read
    /// it.
    func scriptDocument() throws -> ScriptDocument {
        guard let id = scriptDocumentID.map({ DocumentID($0) }), id.isValid, !id.isLocal else {
            return .none
        }
        let found = try database.read { transaction -> (Document, RevisionTree)? in
            guard let document = try transaction.document(withID: id),
                let tree = try transaction.revisionTree(of: id)
            else { return nil }
            return (document, tree)
        }
        guard let (document, tree) = found, mayRead(document) else { return .none }
        var text: [UInt8] = []
        ScriptText.append(
            document,
            history: Array(tree.history(of: document.revisionID).prefix(Self.history)),
            tree: tree, showsDeletedConflicts: false, to: &text)
        return ScriptDocument(
            text: text, leaves: tree.leaves.map(\.id.description).joined(separator: " "))
    }

    /// What stands behind the function's name in the path.
    var scriptDocumentID: String? { resource.names.count > 2 ? name(2) : nil }

    // MARK: - Bodies

    /// The body as text; nil when the request has none. Bytes that are no UTF-8 are replaced.
    ///
    /// - Throws: `HTTPFailure` 413 when it is longer than the route and the user may have, 503 when others take the memory.
    func textBody() throws -> JSONValue? {
        guard request.body.length > 0 else {
            let isEmpty = headers["Content-Length"] != nil || headers["Transfer-Encoding"] != nil
            return isEmpty ? "" : nil
        }
        let limit = bodyLimits.bytes
        var length = 0
        let measured = try pieces()
        while let piece = try measured.next() {
            length += piece.count
            guard length <= limit else { throw HTTPFailure.bodyTooLarge }
        }
        try reserve(length.multipliedSaturated(by: Self.textCost))
        return .string(String(decoding: try pieces().all(length), as: UTF8.self))
    }

    /// What a byte of a body takes: as itself, as a string, and twice in a command, where it may be written as six.
    private static let textCost = 12
}
