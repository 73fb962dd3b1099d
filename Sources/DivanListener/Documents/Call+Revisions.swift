// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanDesign
internal import DivanHTTP
internal import DivanJSON
internal import DivanModel

// What handlers of documents check and share.
extension Call {
    /// The revision that a change is based on: what the body, the query and `If-Match` say, which
    /// must be the same. With `isChecked` false the form of the body's is not looked at.
    func baseRevision(_ inBody: RevisionID?, isChecked: Bool = true) throws -> RevisionID? {
        let inQuery = query["rev"].flatMap { $0.isEmpty ? nil : Self.revision($0) }
        let inHeader = headers["If-Match"].map(Self.revision)
        if let inBody, let inQuery, inBody != inQuery {
            throw HTTPFailure.badRequest(
                "Document rev from request body and query string have different values")
        }
        if let inHeader, let other = inBody ?? inQuery, inHeader != other {
            throw HTTPFailure.badRequest("Document rev and etag have different values")
        }
        if let inBody, !isChecked { return inBody }
        return try (inBody ?? inQuery ?? inHeader).map(Self.checked)
    }

    /// The document that the path names.
    var documentID: DocumentID { DocumentID(name(0)) }

    /// The revision that a text names, as a query, a header field or a list has it: perhaps in quotes, as an ETag.
    static func revision(_ text: String) -> RevisionID { RevisionID(unquoted(text)) }

    /// Refuses what is no revision ID.
    static func checked(_ revision: RevisionID) throws -> RevisionID {
        guard revision.isValid else { throw HTTPFailure.invalidRevision }
        return revision
    }

    /// The revision that the query asks for.
    func queriedRevision() throws -> RevisionID? {
        try query["rev"].map { try Self.checked(Self.revision($0)) }
    }

    /// Refuses IDs that no document of the database can have.
    func checkID(_ id: DocumentID) throws {
        let isPartitioned = openDatabase?.isPartitioned ?? false
        do throws(IDFailure) {
            if isPartitioned { try id.validateInPartition() } else { try id.validate() }
        } catch { throw HTTPFailure.invalidID(error) }
    }

    static func unquoted(_ tag: String) -> String {
        let strong = tag.afterBytePrefix("W/") ?? tag
        return strong.afterBytePrefix("\"")?.beforeByteSuffix("\"") ?? strong
    }

    /// Whether an `If-None-Match` header names an ETag.
    static func matches(_ header: String?, _ tag: String) -> Bool {
        guard let header else { return false }
        return header == "*"
            || header.split(separator: ",").contains {
                let item = $0.drop { $0 == " " }
                return unquoted(String(item)).hasSameBytes(as: unquoted(tag))
            }
    }

    /// Runs a change and gives its failures the names that they have on the wire when a document is
    /// changed. All others stay as they are, since the log tells of those that are not the client's.
    static func naming<T>(_ id: DocumentID, _ change: () throws -> T) throws -> T {
        do { return try change() } catch let error as DatabaseError {
            throw renamed(error, id) ?? error
        }
    }

    /// What a failed change of a document is called.
    static func changeFailure(_ error: DatabaseError, _ id: DocumentID) -> HTTPFailure {
        renamed(error, id) ?? ErrorResponse.failure(for: error)
    }

    /// The name of a failure that has another one when a document is changed.
    private static func renamed(_ error: DatabaseError, _ id: DocumentID) -> HTTPFailure? {
        switch error.code {
        case .documentNotFound: .conflict
        case .attachmentNotFound: .missingStub(id)
        default: nil
        }
    }

    // MARK: - Writing

    /// Checks a change of a document and returns it as it is stored. Every handler that writes a document, deletes one
    /// or changes its attachments calls this, so that no way of writing passes a rule by.
    ///
    /// - Parameters:
    ///   - id: The document's ID.
    ///   - received: The change.
    ///   - kind: How it is made.
    /// - Returns: The change; a document of a system database may be another one than was sent.
    /// - Throws: `HTTPFailure` 401 or 403 where the user may not, 409 where a user edits another revision than the current
    ///   one of the own account, 400 or 501 for a design document that is none or asks for what nothing runs, 400 for a name
    ///   that no attachment may have, or a mark that administrators alone may bring, 507 where the disk is too full for edits.
    func permitted(_ id: DocumentID, _ received: ReceivedDocument, _ kind: ChangeKind) throws
        -> ReceivedDocument
    {
        if kind != .arrival { try checkDisk() }
        let change = try prepared(id, received, kind)
        try checkWriting(id, change, isNew: kind != .arrival)
        try checkStubs(id, change, kind)
        // An edit has it only where the revision below it has.
        if kind == .arrival, !user.isAdmin { try change.checkRemoval() }
        if case .edit(let base) = kind {
            try change.checkAttachmentNames { try base.flatMap { try known(id, $0) } }
            try checkPartition(id, change)
        }
        return change
    }

    /// Refuses an edit where more of the disk is used than is configured. What replicators bring passes, as in CouchDB.
    private func checkDisk() throws {
        guard let most = site.configuration.settings.fullestDisk, site.disk.isOver(most) else {
            return
        }
        throw HTTPFailure.diskTooFull
    }

    /// A revision that is edited; nil where it is not here, which the edit is told of later.
    private func known(_ id: DocumentID, _ revision: RevisionID) throws -> Document? {
        do { return try database.document(withID: id, revision: revision) } catch let error
            as DatabaseError where error.code == .revisionNotFound
        { return nil }
    }

    /// Refuses a change that the user may not make. Design documents are for administrators, and have
    /// a form.
    private func checkWriting(_ id: DocumentID, _ received: ReceivedDocument, isNew: Bool) throws {
        if id.isDesign {
            guard try isDatabaseAdmin else {
                throw refusal("You are not a db or server admin.")
            }
            if !received.isDeleted {
                try DesignDocumentForm.check(
                    received.body, inPartitions: try database.isPartitioned)
                if isNew {
                    try checkValidation(id, received.body)
                }
            }
        }
        try checkRule(of: id, received)
        if id.isDesign, isNew, !received.isDeleted { try checkCompilation(id, received.body) }
    }

    /// Refuses what the app does not allow.
    private func checkRule(of id: DocumentID, _ received: ReceivedDocument) throws {
        guard let allows = site.options.authorization.writing else { return }
        let change = DocumentWrite(
            documentID: id, body: received.body, isDeletion: received.isDeleted,
            existing: try database.document(withID: id))
        guard allows(user, try database, change) else {
            throw HTTPFailure.forbidden("You are not allowed to change this document.")
        }
    }

    /// Refuses views whose functions do not compile.
    private func checkCompilation(_ id: DocumentID, _ body: PackedValue) throws {
        guard !site.options.scripts.isEmpty else { return }
        do { try database.designDocuments.compile(body, of: id) } catch let error as DatabaseError {
            guard let script = error.underlying as? ScriptError, script.code == .script,
                script.name == "compilation_error"
            else { throw error }
            throw HTTPFailure(400, script.name, script.reason).ofDocument
        }
    }

    /// Refuses a validation function that nothing would run: its author relies on what it forbids.
    private func checkValidation(_ id: DocumentID, _ body: PackedValue) throws {
        guard !site.options.acceptsUnrunValidation,
            try database.hasUnrunValidation(body, of: id)
        else { return }
        throw HTTPFailure.notImplemented(
            "Nothing here runs the validate_doc_update of '\(id.text.prefix(200))', so it would forbid nothing: the app "
                + "can register a validation of that name, or the listener be told to accept such documents."
        )
    }
}
