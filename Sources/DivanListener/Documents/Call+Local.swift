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
        guard let found = try database.read({ try $0.numberedLocalDocument(id) }) else {
            throw HTTPFailure.missing
        }
        var text = JSONText()
        Self.append(id, found.revision, found.body, to: &text)
        return .json(bytes: text.bytes).with("ETag", "\"0-\(found.revision)\"")
    }

    private func localID() throws -> String {
        let id = name(0)
        guard !id.hasBytePrefix(Self.hiddenPrefix) else { throw HTTPFailure.missing }
        return id
    }

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
        let base = try localRevision(received.revision)
        if received.isDeleted { return try deleteLocal(id, base) }
        try Self.checkLocal(received)
        let revision = try database.write {
            try $0.replaceLocalDocument(id, received.body, revision: base)
        }
        return localWritten(Self.prefix + id, revision, status: 201)
    }

    /// `DELETE /{db}/_local/{id}`
    func deleteLocal() throws -> ListenerResponse {
        try deleteLocal(try localID(), try localRevision(nil))
    }

    private func deleteLocal(_ id: String, _ base: UInt64) throws -> ListenerResponse {
        guard try database.read({ try $0.numberedLocalDocument(id) }) != nil else {
            throw HTTPFailure.missing
        }
        let revision = try database.write {
            try $0.replaceLocalDocument(id, nil, revision: base)
        }
        return localWritten(Self.prefix + id, revision, status: 200)
    }

    /// The answer to a change of a local document, of which `id` is the whole ID.
    func localWritten(_ id: String, _ revision: UInt64, status: Int) -> ListenerResponse {
        ListenerResponse.json(
            ["ok": true, "id": .string(id), "rev": .string("0-\(revision)")], status: status
        )
        .with("ETag", "\"0-\(revision)\"").with("Location", location(id))
    }

    // MARK: - Among other documents

    private static let prefix = "_local/"

    /// Whether an ID is that of a local document.
    static func isLocal(_ id: String) -> Bool { id.hasBytePrefix(prefix) }

    /// Saves or deletes a local document that stands where other documents do.
    ///
    /// - Returns: Its new number; 0 when it was deleted.
    /// - Throws: `HTTPFailure` 400 or 404; `DatabaseError` with code `.conflict` when it has another number.
    static func saveLocal(
        _ id: String, _ received: ReceivedDocument, _ transaction: borrowing WriteTransaction
    ) throws -> UInt64 {
        let name = id.afterBytePrefix(prefix) ?? id
        guard !name.hasBytePrefix(hiddenPrefix) else { throw HTTPFailure.missing }
        let base = try localNumber(received.revision)
        guard !received.isDeleted else {
            guard try transaction.read({ try $0.numberedLocalDocument(name) }) != nil else {
                throw HTTPFailure.missing
            }
            return try transaction.replaceLocalDocument(name, nil, revision: base)
        }
        try checkLocal(received)
        return try transaction.replaceLocalDocument(name, received.body, revision: base)
    }

    private static func checkLocal(_ received: ReceivedDocument) throws {
        guard received.body["_attachments"] == nil else {
            throw HTTPFailure.invalidDocument("Local documents have no attachments.")
        }
    }

    /// The number in `0-N`; 0 when none is given.
    private func localRevision(_ inBody: String?) throws -> UInt64 {
        try Self.localNumber(
            inBody ?? query["rev"] ?? headers["If-Match"].map(Self.unquoted))
    }

    private static func localNumber(_ given: String?) throws -> UInt64 {
        guard let given, !given.isEmpty else { return 0 }
        let parts = given.split(separator: "-")
        // Couchbase Lite's are `N-local`.
        let number = parts.count == 2 && parts[1] == "local" ? parts.first : parts.last
        guard parts.count == 2, let number, let revision = UInt64(number, radix: 10) else {
            throw HTTPFailure.invalidRevision
        }
        return revision
    }

    /// `COPY /{db}/_local/{id}`
    func copyLocal() throws -> ListenerResponse {
        guard let destination = headers["Destination"],
            let id = try RequestTarget("/x/" + destination).components.dropFirst().last
        else { throw HTTPFailure.badRequest("Destination header is mandatory for COPY.") }
        guard let found = try database.read({ try $0.numberedLocalDocument(try localID()) }) else {
            throw HTTPFailure.missing
        }
        let name = id.afterBytePrefix(Self.prefix) ?? id
        guard !name.hasBytePrefix(Self.hiddenPrefix) else { throw HTTPFailure.missing }
        let revision = try database.write {
            try $0.replaceLocalDocument(name, found.body, revision: 0)
        }
        return localWritten(Self.prefix + name, revision, status: 201)
    }

    /// `GET`, `POST /{db}/_local_docs`
    func localDocuments() throws -> ListenerResponse {
        var text = JSONText()
        try appendLocalDocuments(AllDocumentsRequest(query, body: bodyOptions()), to: &text)
        return .json(bytes: text.bytes)
    }

    /// `POST /{db}/_local_docs/queries`
    func localDocumentsQueries() throws -> ListenerResponse {
        try answerQueries { body, text in
            try appendLocalDocuments(AllDocumentsRequest(query, body: body), to: &text)
        }
    }

    private func appendLocalDocuments(_ options: AllDocumentsRequest, to text: inout JSONText)
        throws
    {
        // They are each one user's own, and the app's function is not about them.
        guard try !hidesDocuments || isDatabaseAdmin else {
            throw HTTPFailure.forbidden(
                "Local documents are listed for administrators only, as the app decides who sees which document."
            )
        }
        text.raw("{\"total_rows\":null,\"offset\":null,\"rows\":[\n")
        var rows: [LocalRow] = []
        try database.read { transaction in
            try transaction.forEachLocalDocument { id, revision, body in
                if !id.hasBytePrefix(Self.hiddenPrefix), options.contains("_local/" + id) {
                    rows.append(LocalRow(id: id, revision: revision, body: body))
                }
                return true
            }
        }
        if let keys = options.keys {
            let found = NameMap(rows.map { ("_local/" + $0.id, $0) })
            append(keys.map { ($0, $0.string.flatMap { found[$0] }) }, options, to: &text)
        } else {
            append(rows.map { (.string("_local/" + $0.id), $0) }, options, to: &text)
        }
        text.raw("\n]}")
    }

    private struct LocalRow {
        var id: String
        var revision: UInt64
        var body: PackedValue
    }

    /// Appends the rows that are asked for, of keys without a document, too.
    private func append(
        _ rows: [(key: JSONValue, found: LocalRow?)], _ options: AllDocumentsRequest,
        to text: inout JSONText
    ) {
        let ordered = options.descending ? rows.reversed() : rows
        let shown = ordered.dropFirst(options.skip).prefix(options.limit ?? .max)
        for (index, (key, row)) in shown.enumerated() {
            if index > 0 { text.raw(",\n") }
            guard let row else {
                text.value(["key": key, "error": "not_found"])
                continue
            }
            text.raw("{\"id\":")
            text.value(key)
            text.raw(",\"key\":")
            text.value(key)
            text.raw(",\"value\":{\"rev\":\"0-")
            text.number(row.revision)
            text.raw("\"}")
            if options.includeDocuments {
                text.raw(",\"doc\":")
                Self.append(row.id, row.revision, row.body, to: &text)
            }
            text.bytes.append(JSONByte.closeBrace)
        }
    }
}
