// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP
internal import DivanJSON
internal import DivanModel

// GET, PUT and DELETE of a document, and POST to its database.
extension Call {
    /// `GET /{db}/{doc}`
    func getDocument() throws -> ListenerResponse {
        let id = documentID
        if try isOfAnotherUser { return try publicAccount() }
        if try database.isPartitioned { try checkID(id) }
        if let wanted = query["open_revs"] { return try openRevisions(of: id, wanted) }
        var format = try DocumentFormat(self)
        // A replicator names the revision, and needs its whole history.
        if format.revisions, query["rev"] == nil {
            format.mostRevisions = try database.revisionLimit
        }
        let (document, tree) = try find(
            id, queriedRevision(), latest: query.flag("latest"), needsTree: format.needsTree)
        try checkLength(document.body.byteCount)
        if format.showsExpiration { format.expiration = try database.expirationDate(of: id) }
        let tag = "\"\(document.revisionID)\""
        let isTagged = format.isTagged(document, tree)
        if isTagged, format.attachments == .stubs, Self.matches(headers["If-None-Match"], tag) {
            return ListenerResponse(status: 304).with("ETag", tag)
        }
        if let failure = format.missingContent(of: document, tree) { throw failure }
        var response = try write(document, tree, format)
        if isTagged { response.headers["ETag"] = tag }
        return response
    }

    /// The leaves that descend from a revision, in winner order.
    static func leaves(of revision: RevisionID, in tree: RevisionTree) -> [RevisionID] {
        guard let start = tree.index(of: revision) else { return [] }
        let nodes = tree.nodes
        // What is known of revisions that were passed, so that none is gone through once for each leaf above it.
        var descends = [Bool?](repeating: nil, count: nodes.count)
        descends[start] = true
        func isBelow(_ leaf: Int) -> Bool {
            var (passed, next): ([Int], Int?) = ([], leaf)
            while let place = next, descends[place] == nil {
                passed.append(place)
                next = nodes[place].parent
            }
            let answer = next.flatMap { descends[$0] } ?? false
            for place in passed { descends[place] = answer }
            return answer
        }
        return nodes.indices.filter { nodes[$0].isLeaf && isBelow($0) }.map { nodes[$0].id }
    }

    /// The answer that holds one document.
    private func write(_ document: Document, _ tree: RevisionTree?, _ format: DocumentFormat)
        throws -> ListenerResponse
    {
        if format.attachments == .inline, accepts("multipart/related"),
            !format.contents(of: document, tree).isEmpty
        {
            var parts = DocumentParts()
            let writer = MultipartWriter(subtype: "related")
            try parts.append(document, tree, format, by: writer)
            return parts.response(writer)
        }
        var text = JSONText()
        try format.append(document, tree, to: &text)
        return .json(bytes: text.bytes)
    }

    /// `PUT /{db}/{doc}`
    func putDocument() throws -> ListenerResponse {
        let id = documentID
        let isNew = try query.flag("new_edits", default: true)
        return try Self.taking(isNew) {
            try checkID(id)
            let (received, attachments) = try receiveDocument()
            // What is deleted by a change is not created.
            let status = received.isDeleted ? 200 : 201
            return try save(id, received, attachments, isNew, status: status)
        }
    }

    /// `POST /{db}`
    func postDocument() throws -> ListenerResponse {
        let isNew = try query.flag("new_edits", default: true)
        return try Self.taking(isNew) {
            let (received, attachments) = try receiveDocument()
            let id = received.id ?? newID
            if id.isLocal {
                try checkLocalWriting()
                let revision = try database.write { try Self.saveLocal(id, received, $0) }
                return localWritten(id, revision, status: 201)
            }
            try checkID(id)
            return try save(id, received, attachments, isNew)
        }
    }

    /// The ID of a document that has none, as `_uuids` makes them.
    var newID: DocumentID {
        DocumentID(site.uuids.next(site.configuration.settings.uuids))
    }

    /// Takes a document; one that was made elsewhere is refused in words by which replicators pass it over. They know
    /// what 413 means, and Divan's own leaves out attachments then.
    private static func taking<T>(_ isNew: Bool, _ save: () throws -> T) throws -> T {
        do { return try save() } catch {
            let failure = ErrorResponse.failure(for: error)
            guard !isNew, failure.status == 400, failure.concernsDocument else { throw error }
            throw failure.ofArrival
        }
    }

    private func receiveDocument() throws -> (ReceivedDocument, NameMap<AttachmentContent>) {
        if let boundary = MultipartReader.boundary(in: headers["Content-Type"]) {
            return try MultipartDocument.receive(self, boundary: boundary)
        }
        return (try ReceivedDocument(packedBody()), [:])
    }

    private func save(
        _ id: DocumentID, _ received: ReceivedDocument,
        _ attachments: NameMap<AttachmentContent>, _ isNew: Bool, status: Int = 201
    ) throws -> ListenerResponse {
        try received.checkLengths(site.configuration.settings)
        // One that was made elsewhere says in its history what it is.
        let base = try baseRevision(received.revision, isChecked: isNew)
        guard isNew else {
            let received = try permitted(id, received, .arrival)
            guard let history = received.history ?? base.map({ [$0] }) else {
                throw HTTPFailure.revisionNeeded
            }
            try received.checkRevisions()
            try received.checkAttachmentNames { try readableDocument(id) }
            _ = try Self.naming(id) {
                try database.putClientRevision(
                    id, history: history, isDeleted: received.isDeleted, body: received.body,
                    attachments: attachments)
            }
            return written(id, history[0], status: status)
        }
        do {
            return written(
                id, try edit(id, received, attachments, base: base), status: status)
        } catch {
            guard isBatch, ErrorResponse.failure(for: error).status == 409 else { throw error }
            return Self.batched(id)
        }
    }

    /// Makes the revision that a document asks for which names the one that it edits.
    func edit(_ id: DocumentID, _ received: ReceivedDocument) throws -> RevisionID {
        try received.checkLengths(site.configuration.settings)
        return try edit(id, received, [:], base: received.revision.map(Self.checked))
    }

    /// Makes the revision that a document asks for.
    func edit(
        _ id: DocumentID, _ received: ReceivedDocument, _ attachments: NameMap<AttachmentContent>,
        base: RevisionID?
    ) throws -> RevisionID {
        try received.checkStubs(of: base, id)
        let received = try permitted(id, received, .edit(of: base))
        return try Self.naming(id) { try put(id, received, attachments, base: base) }
    }

    /// Makes a revision, and sets when its document expires if the client says so.
    private func put(
        _ id: DocumentID, _ received: ReceivedDocument, _ attachments: NameMap<AttachmentContent>,
        base: RevisionID?
    ) throws -> RevisionID {
        let database = try database
        func put() throws -> RevisionID {
            try database.put(
                id, body: received.body, parent: base, isDeleted: received.isDeleted,
                attachments: attachments
            ).revisionID
        }
        guard let expiration = received.expiration else { return try put() }
        return try database.inBatch {
            let revision = try put()
            try database.setExpiration(of: id, at: expiration.date)
            return revision
        }
    }

    /// The answer to a change of a document.
    func written(_ id: DocumentID, _ revision: RevisionID, status: Int = 201) -> ListenerResponse {
        if isBatch { return Self.batched(id) }
        let response = ListenerResponse.json(
            ["ok": true, "id": .string(id.text), "rev": .string(revision.description)],
            status: status == 201 ? savedStatus : status
        )
        .with("ETag", "\"\(revision)\"")
        // What is gone has no place.
        return status == 201 ? response.with("Location", location(id.text)) : response
    }

    /// The status of what was saved: 202 where the client asks for more copies (`w`) than one node has.
    var savedStatus: Int { (query["w"].flatMap { Int($0, radix: 10) } ?? 1) > 1 ? 202 : 201 }

    /// Whether the client does not wait for what becomes of its document: it is told of no conflict, as in CouchDB, which
    /// saves such a document later.
    private var isBatch: Bool { query["batch"] == "ok" }

    private static func batched(_ id: DocumentID) -> ListenerResponse {
        .json(["ok": true, "id": .string(id.text)], status: 202)
    }

    /// `DELETE /{db}/{doc}`
    func deleteDocument() throws -> ListenerResponse {
        let id = documentID
        try checkID(id)
        guard let base = try baseRevision(nil) else { throw try staleDeletion(of: id) }
        let tombstone = try permitted(
            id, ReceivedDocument(PackedValue(["_deleted": true])), .edit(of: base))
        do {
            let deleted = try database.put(id, body: tombstone.body, parent: base, isDeleted: true)
            return written(id, deleted.revisionID, status: 200)
        } catch let error as DatabaseError {
            let isStale = [.conflict, .documentNotFound].contains(error.code)
            throw isStale ? try staleDeletion(of: id) : Self.changeFailure(error, id)
        }
    }

    /// Why a document cannot be deleted in the revision that is named, or without one.
    private func staleDeletion(of id: DocumentID) throws -> HTTPFailure {
        guard let winner = try knownTree(of: id)?.winner else { return .missing }
        return winner.isTombstone ? .deleted : .conflict
    }
}
