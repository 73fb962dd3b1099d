// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP
internal import DivanJSON
internal import DivanModel

// Local documents: they have a revision number, `0-N`, and no history.
extension Call {
    /// What Divan keeps in local documents for itself, out of reach of every client.
    static let hiddenPrefix = "_divan/"

    /// `GET /{db}/_local/{id}`
    func getLocal() throws -> ListenerResponse {
        let id = try localID()
        guard let found = try foundLocal(id) else { throw HTTPFailure.missing }
        var text = JSONText()
        Self.append(id, found.revision, found.body, to: &text)
        return .json(bytes: text.bytes).with("ETag", "\"0-\(found.revision)\"")
    }

    /// The name of the local document in the path.
    func localID() throws -> String {
        guard !name(0).isEmpty else { throw HTTPFailure.invalidLocalID }
        return try Self.shown(name(0))
    }

    /// Refuses the name of a local document that is out of reach.
    static func shown(_ name: String) throws -> String {
        guard !name.hasBytePrefix(hiddenPrefix) else { throw HTTPFailure.missing }
        return name
    }

    /// A local document by its name, which is checked.
    func foundLocal(_ name: String) throws -> (revision: UInt64, body: PackedValue)? {
        try database.read { try $0.numberedLocalDocument(Self.wholeID(name)) }
    }

    /// The whole ID of a local document, which is what the database must be given: of a name it takes a `_local/` in front for
    /// a part of the ID, so that the name `_local/_divan/x` would lead to what is hidden.
    static func wholeID(_ name: String) -> DocumentID { DocumentID(prefix + name) }

    static func append(
        _ id: String, _ revision: UInt64, _ body: PackedValue, to text: inout JSONText
    ) {
        text.raw("{\"_id\":")
        text.string("_local/" + id)
        text.raw(",\"_rev\":\"0-")
        text.number(revision)
        text.raw("\"")
        let start = text.bytes.count
        body.appendJSON(to: &text.bytes)
        if text.bytes.count > start + 2 {
            text.bytes[start] = JSONByte.comma
        } else {
            text.bytes.removeLast(2)
            text.bytes.append(JSONByte.closeBrace)
        }
    }

    /// `PUT /{db}/_local/{id}`
    func putLocal() throws -> ListenerResponse {
        let id = try localID()
        let received = try ReceivedDocument(packedBody(), isLocal: true)
        let base = try localRevision(received.revision?.description)
        if received.isDeleted { return try deleteLocal(id, base) }
        try Self.checkLocal(received)
        let revision = try database.write {
            try $0.replaceLocalDocument(Self.wholeID(id), received.body, revision: base)
        }
        return localWritten(Self.wholeID(id), revision, status: 201)
    }

    /// `DELETE /{db}/_local/{id}`
    func deleteLocal() throws -> ListenerResponse {
        try deleteLocal(try localID(), try localRevision(nil))
    }

    private func deleteLocal(_ name: String, _ base: UInt64) throws -> ListenerResponse {
        guard try foundLocal(name) != nil else { throw HTTPFailure.missing }
        let revision = try database.write {
            try $0.replaceLocalDocument(Self.wholeID(name), nil, revision: base)
        }
        return localWritten(Self.wholeID(name), revision, status: 200)
    }

    /// The answer to a change of a local document, of which `id` is the whole ID.
    func localWritten(_ id: DocumentID, _ revision: UInt64, status: Int) -> ListenerResponse {
        ListenerResponse.json(
            ["ok": true, "id": .string(id.text), "rev": .string("0-\(revision)")], status: status
        )
        .with("ETag", "\"0-\(revision)\"").with("Location", location(id.text))
    }

    // MARK: - Among other documents

    private static let prefix = "_local/"

    /// Saves or deletes a local document that stands where other documents do.
    ///
    /// - Returns: Its new number; 0 when it was deleted.
    /// - Throws: `HTTPFailure` 400 or 404; `DatabaseError` with code `.conflict` when it has another number.
    static func saveLocal(
        _ id: DocumentID, _ received: ReceivedDocument, _ transaction: borrowing WriteTransaction
    ) throws -> UInt64 {
        let id = wholeID(try shown(id.text.afterBytePrefix(prefix) ?? id.text))
        let base = try localNumber(received.revision?.description)
        guard !received.isDeleted else {
            guard try transaction.read({ try $0.numberedLocalDocument(id) }) != nil else {
                throw HTTPFailure.missing
            }
            return try transaction.replaceLocalDocument(id, nil, revision: base)
        }
        try checkLocal(received)
        return try transaction.replaceLocalDocument(id, received.body, revision: base)
    }

    static func checkLocal(_ received: ReceivedDocument) throws {
        guard received.body["_attachments"] == nil else {
            throw HTTPFailure.invalidDocument("Local documents have no attachments.")
        }
    }

    /// The number of the revision that a change is based on.
    private func localRevision(_ inBody: String?) throws -> UInt64 {
        try Self.localNumber(
            inBody ?? query["rev"] ?? headers["If-Match"].map(Self.unquoted))
    }

    /// The number in `0-N`; 0 when none is given.
    static func localNumber(_ given: String?) throws -> UInt64 {
        guard let given, !given.isEmpty else { return 0 }
        let parts = given.split(separator: "-")
        // Couchbase Lite's are `N-local`.
        let number = parts.count == 2 && parts[1] == "local" ? parts.first : parts.last
        guard parts.count == 2, let number, let revision = UInt64(number, radix: 10) else {
            throw HTTPFailure.invalidRevision
        }
        return revision
    }

    /// `GET`, `POST /{db}/_local_docs`
    func localDocuments() throws -> ListenerResponse {
        var answer = LongText(site)
        try appendLocalDocuments(AllDocumentsRequest(query, body: bodyOptions()), to: &answer)
        return try answer.response()
    }

    /// `POST /{db}/_local_docs/queries`
    func localDocumentsQueries() throws -> ListenerResponse {
        try answerQueries { body, answer in
            try appendLocalDocuments(
                AllDocumentsRequest(query, body: body, bodyWins: true), to: &answer)
        }
    }

    private func appendLocalDocuments(_ options: AllDocumentsRequest, to answer: inout LongText)
        throws
    {
        // They are each one user's own, and the app's function is not about them.
        guard try !hidesDocuments || isDatabaseAdmin else {
            throw HTTPFailure.forbidden(
                "Local documents are listed for administrators only, as the app decides who sees which document."
            )
        }
        answer.text.raw("{\"total_rows\":null,\"offset\":null,\"rows\":[\n")
        try database.read { transaction in
            let keys = try options.keys ?? localIDs(options, transaction)
            let ordered = options.descending ? keys.reversed() : keys
            let shown = ordered.dropFirst(options.skip).prefix(options.limit ?? .max)
            for (index, key) in shown.enumerated() {
                if index > 0 { answer.text.raw(",\n") }
                try append(key, options, transaction, to: &answer.text)
                try answer.settle()
            }
        }
        answer.text.raw("\n]}")
    }

    /// The whole IDs of the local documents in a range.
    private func localIDs(
        _ options: AllDocumentsRequest, _ transaction: borrowing ReadTransaction
    ) throws -> [JSONValue] {
        var ids: [JSONValue] = []
        try transaction.forEachLocalDocument { id, _, _ in
            if !id.hasBytePrefix(Self.hiddenPrefix), options.contains(Self.prefix + id) {
                ids.append(.string(Self.prefix + id))
            }
            return true
        }
        return ids
    }

    /// A local document that clients may see; nil also where none can have such an ID.
    private static func shownLocal(
        _ name: String, _ transaction: borrowing ReadTransaction
    ) throws -> (revision: UInt64, body: PackedValue)? {
        guard !name.hasBytePrefix(hiddenPrefix) else { return nil }
        do {
            return try transaction.numberedLocalDocument(wholeID(name))
        } catch let error as DatabaseError {
            guard case .invalidID = error.code else { throw error }
            return nil
        }
    }

    /// Appends the row of a key, of one without a document, too.
    private func append(
        _ key: JSONValue, _ options: AllDocumentsRequest,
        _ transaction: borrowing ReadTransaction, to text: inout JSONText
    ) throws {
        let name = key.string?.afterBytePrefix(Self.prefix)
        guard let name, let found = try Self.shownLocal(name, transaction) else {
            text.value(["key": key, "error": "not_found"])
            return
        }
        text.raw("{\"id\":")
        text.value(key)
        text.raw(",\"key\":")
        text.value(key)
        text.raw(",\"value\":{\"rev\":\"0-")
        text.number(found.revision)
        text.raw("\"}")
        if options.includeDocuments {
            text.raw(",\"doc\":")
            Self.append(name, found.revision, found.body, to: &text)
        }
        text.bytes.append(JSONByte.closeBrace)
    }
}
