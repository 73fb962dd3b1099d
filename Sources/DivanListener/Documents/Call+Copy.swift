// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP
internal import DivanJSON
internal import DivanModel

// COPY of a document, and of a local one.
extension Call {
    /// `COPY /{db}/{doc}` to the document that `Destination` names
    func copyDocument() throws -> ListenerResponse {
        let destination = try copyDestination()
        guard destination.path.pattern == "/{db}/{doc}" else {
            throw HTTPFailure.badRequest("Destination must be a document of the same database.")
        }
        let id = DocumentID(destination.path.names[0])
        try checkID(id)
        let (document, _) = try find(documentID, queriedRevision())
        let base = try destination.revision.map { try Self.checked(Self.revision($0)) }
        let received = try permitted(id, ReceivedDocument(document.body), .edit(of: base))
        // The stubs name content that is here already, so none travels.
        var contents: NameMap<AttachmentContent> = [:]
        for attachment in document.attachments {
            contents[attachment.name] = attachment.transferContent
        }
        let body =
            contents.isEmpty
            ? received.body : Self.following(document.attachments, in: received.body)
        let saved = try Self.naming(id) {
            try database.put(
                id, body: body, parent: base, isDeleted: false, attachments: contents)
        }
        return written(id, saved.revisionID)
    }

    /// The body with the stubs of attachments turned into entries whose content follows.
    private static func following(_ attachments: [DocumentAttachment], in body: PackedValue)
        -> PackedValue
    {
        var entries: JSONObject = [:]
        for attachment in attachments {
            var entry = attachment.metadata
            entry["stub"] = nil
            entry["revpos"] = nil
            entry["follows"] = true
            entries[attachment.name] = .object(entry)
        }
        return body.replacing(["_attachments": .object(entries)])
    }

    /// `COPY /{db}/_local/{id}` to the local document that `Destination` names, with or without `_local/` in front
    func copyLocal() throws -> ListenerResponse {
        let destination = try copyDestination()
        let path = destination.path
        let isNamed =
            path.pattern == "/{db}/_local/{id}"
            || path.pattern == "/{db}/{doc}" && !path.names[0].hasBytePrefix("_")
        guard isNamed else {
            throw HTTPFailure.badRequest(
                "Destination must be a local document of the same database.")
        }
        let name = try Self.shown(path.names[0])
        let wanted = try query["rev"].map(Self.checkedLocal)
        guard let found = try foundLocal(localID()), wanted ?? found.revision == found.revision
        else { throw HTTPFailure.missing }
        let base = try destination.revision.map(Self.checkedLocal) ?? 0
        let revision = try database.write {
            try $0.replaceLocalDocument(Self.wholeID(name), found.body, revision: base)
        }
        return localWritten(Self.wholeID(name), revision, status: 201)
    }

    /// The number of a local document's revision in its right form.
    private static func checkedLocal(_ revision: String) throws -> UInt64 {
        let revision = unquoted(revision)
        guard !revision.isEmpty else { throw HTTPFailure.invalidRevision }
        return try localNumber(revision)
    }

    /// What `Destination` names in this database, and the revision of it that the copy is to replace.
    ///
    /// It is a path behind the database, or a path from the root; each is encoded as a URL's, with `?rev=` behind it.
    ///
    /// - Throws: `HTTPFailure` 400 where it is missing, in another database, or an ID that no document can have.
    private func copyDestination() throws -> (path: Resource, revision: String?) {
        guard let destination = headers["Destination"] else {
            throw HTTPFailure.badRequest("Destination header is mandatory for COPY.")
        }
        let scheme = destination.prefix { $0 != "/" }.lowercased()
        guard scheme != "http:", scheme != "https:" else {
            throw HTTPFailure.badRequest("Destination URL must be relative.")
        }
        let target = try RequestTarget(
            destination.hasBytePrefix("/")
                ? destination : "/\(PercentEncoding.encode(databaseName))/\(destination)")
        let path = Resource(target.components)
        guard databaseName.hasSameBytes(as: path.database) else {
            throw HTTPFailure.badRequest("Destination must be a document of the same database.")
        }
        let isLocal = path.pattern == "/{db}/_local/{id}"
        let isReserved =
            path.pattern.hasBytePrefix("/{db}/_") && !isLocal
            && !path.pattern.hasBytePrefix("/{db}/_design/")
        if isReserved || isLocal && path.names[0].isEmpty { throw HTTPFailure.reservedID }
        return (path, target.query["rev"])
    }
}
