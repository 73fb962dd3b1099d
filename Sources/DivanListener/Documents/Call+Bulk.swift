// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanModel

// Many documents in one request.
extension Call {
    /// `POST /{db}/_bulk_docs`
    ///
    /// All documents are saved in one transaction; each succeeds or fails alone, unless
    /// `all_or_nothing` says otherwise.
    func bulkDocuments() throws -> ListenerResponse {
        let body = try BulkBody(self)
        let text = try database.write { transaction in
            var text = JSONText()
            text.raw("[")
            try body.forEach { given in
                let id = given.id ?? MutableDocument([:]).id
                if given.id != nil { try Self.checkID(id) }
                do {
                    if Self.isLocal(id) {
                        let revision = try Self.saveLocal(id, given, transaction)
                        if body.makesRevisions { Self.append(id, "0-\(revision)", to: &text) }
                        return
                    }
                    try given.checkContents(atMost: site.options.limits.attachment)
                    let document = try prepared(id, given)
                    try checkWriting(id, document, isNew: body.makesRevisions)
                    let revision = try Self.save(
                        id, document, isNew: body.makesRevisions, transaction)
                    if body.makesRevisions { Self.append(id, revision, to: &text) }
                } catch {
                    let failure = Self.itemFailure(error, id)
                    if body.isAtomic { throw failure }
                    // What is wrong with the database stops everything; what is not served is one document's.
                    guard failure.status < 500 || failure.status == 501 else { throw error }
                    Self.append(id, failure, given.revision, to: &text)
                }
            }
            text.raw("]")
            return text
        }
        return .json(bytes: text.bytes, status: 201)
    }

    private static func save(
        _ id: String, _ document: ReceivedDocument, isNew: Bool,
        _ transaction: borrowing WriteTransaction
    ) throws -> String {
        if isNew {
            let base = try document.revision.map(checked)
            let saved = try transaction.put(
                id, body: document.body, parent: base, isDeleted: document.isDeleted)
            if let expiration = document.expiration {
                try transaction.setExpiration(of: id, at: expiration.date)
            }
            return saved.revisionID
        }
        guard let history = document.history else {
            throw HTTPFailure.badRequest("A revision made elsewhere needs `_rev`.")
        }
        try transaction.putClientRevision(
            id, history: history, isDeleted: document.isDeleted, body: document.body)
        return history[0]
    }

    private static func itemFailure(_ error: any Error, _ id: String) -> HTTPFailure {
        (error as? DatabaseError).map { changeFailure($0, id) } ?? ErrorResponse.failure(for: error)
    }

    private static func append(_ id: String, _ revision: String, to text: inout JSONText) {
        if text.bytes.count > 1 { text.bytes.append(JSONByte.comma) }
        text.raw("{\"ok\":true,\"id\":")
        text.string(id)
        text.raw(",\"rev\":")
        text.string(revision)
        text.bytes.append(JSONByte.closeBrace)
    }

    private static func append(
        _ id: String, _ failure: HTTPFailure, _ revision: String?, to text: inout JSONText
    ) {
        if text.bytes.count > 1 { text.bytes.append(JSONByte.comma) }
        var item: JSONObject = ["id": .string(id)]
        if let revision, failure.status != 409 { item["rev"] = .string(revision) }
        for (key, value) in ErrorResponse.object(of: failure) { item[key] = value }
        text.value(.object(item))
    }

    // MARK: - What is missing

    /// `POST /{db}/_revs_diff`
    func revisionsDifference() throws -> ListenerResponse {
        let text = try missingRevisions { tree, missing, text in
            text.raw("{\"missing\":")
            text.value(.array(missing.map { .string($0.description) }))
            var ancestors: Set<RevisionID> = []
            if let tree {
                for revision in missing {
                    ancestors.formUnion(tree.possibleAncestors(of: revision))
                }
            }
            if !ancestors.isEmpty {
                text.raw(",\"possible_ancestors\":")
                text.value(.array(ancestors.sorted(by: >).map { .string($0.description) }))
            }
            text.bytes.append(JSONByte.closeBrace)
        }
        return .json(bytes: text.bytes)
    }

    /// `POST /{db}/_missing_revs`
    func missingRevisions() throws -> ListenerResponse {
        var answer = JSONText()
        answer.raw("{\"missing_revs\":")
        answer.bytes += try missingRevisions { _, missing, text in
            text.value(.array(missing.map { .string($0.description) }))
        }.bytes
        answer.bytes.append(JSONByte.closeBrace)
        return .json(bytes: answer.bytes)
    }

    /// An object of the documents that lack some of the revisions that the request lists.
    private func missingRevisions(
        _ write: (RevisionTree?, [RevisionID], inout JSONText) throws -> Void
    ) throws -> JSONText {
        let wanted = try objectBody()
        return try database.read { transaction in
            var text = JSONText()
            text.raw("{")
            for (id, list) in wanted {
                let revisions = try DocumentFormat.revisions(list, id)
                    .map { try RevisionID(Self.checked($0)) }
                try Self.checkID(id)
                let document = try DocumentID(id)
                let tree = try transaction.recentTree(of: document)
                let missing =
                    try tree.map {
                        try transaction.missingRevisions(of: revisions, in: $0, of: document)
                    } ?? revisions
                guard !missing.isEmpty else { continue }
                if text.bytes.count > 1 { text.bytes.append(JSONByte.comma) }
                text.string(id)
                text.raw(":")
                try write(tree, missing, &text)
            }
            text.raw("}")
            return text
        }
    }
}
