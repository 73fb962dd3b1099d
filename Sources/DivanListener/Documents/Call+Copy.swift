// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP
internal import DivanJSON
internal import DivanModel

// COPY of a document or a local one, to either kind.
extension Call {
    /// What a copy becomes.
    private enum CopyDestination {
        case document(DocumentID, replacing: RevisionID?)
        case local(String, replacing: UInt64)
    }

    /// `COPY /{db}/{doc}` to what `Destination` names
    func copyDocument() throws -> ListenerResponse {
        let destination = try copyDestination()
        let (document, _) = try find(documentID, queriedRevision())
        return try save(
            copy: ReceivedDocument(document.body), document.attachments, at: destination)
    }

    /// `COPY /{db}/_local/{id}` to what `Destination` names
    func copyLocal() throws -> ListenerResponse {
        let destination = try copyDestination()
        let wanted = try query["rev"].map(Self.checkedLocal)
        guard let found = try foundLocal(localID()), wanted ?? found.revision == found.revision
        else { throw HTTPFailure.missing }
        return try save(copy: ReceivedDocument(found.body), [], at: destination)
    }

    private func save(
        copy: ReceivedDocument, _ attachments: [DocumentAttachment], at destination: CopyDestination
    ) throws -> ListenerResponse {
        switch destination {
        case .local(let name, let base):
            try checkLocalWriting()
            try Self.checkLocal(copy)
            let id = Self.wholeID(name)
            let revision = try database.write {
                try $0.replaceLocalDocument(id, copy.body, revision: base)
            }
            return localWritten(id, revision, status: 201)
        case .document(let id, let base):
            let received = try permitted(id, copy, .edit(of: base))
            // The stubs name content that is here already, so none travels.
            var contents: NameMap<AttachmentContent> = [:]
            for attachment in attachments {
                contents[attachment.name] = attachment.transferContent
            }
            let body =
                contents.isEmpty ? received.body : Self.following(attachments, in: received.body)
            let saved = try Self.naming(id) {
                try database.put(
                    id, body: body, parent: base, isDeleted: false, attachments: contents)
            }
            return written(id, saved.revisionID)
        }
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
    private func copyDestination() throws -> CopyDestination {
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
        let revision = target.query["rev"]
        switch path.pattern {
        case "/{db}/_local/{id}" where !path.names[0].isEmpty:
            return .local(
                try Self.shown(path.names[0]), replacing: try revision.map(Self.checkedLocal) ?? 0)
        case "/{db}/{doc}":
            let id = DocumentID(path.names[0])
            try checkID(id)
            return .document(
                id, replacing: try revision.map { try Self.checked(Self.revision($0)) })
        case let pattern
        where pattern.hasBytePrefix("/{db}/_") && !pattern.hasBytePrefix("/{db}/_design/"):
            throw HTTPFailure.reservedID
        default:
            throw HTTPFailure.badRequest("Destination must be a document of the same database.")
        }
    }
}
