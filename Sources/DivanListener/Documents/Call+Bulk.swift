// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanLogging
internal import DivanModel

// Many documents in one request.
extension Call {
    /// How long a transaction of a request takes whose documents succeed or fail alone; other clients' writes wait for it.
    private static let longestTransaction = Duration.milliseconds(500)

    /// `POST /{db}/_bulk_docs`
    ///
    /// The documents of a batch are saved in one transaction, or in several if that takes long, and most requests are one
    /// batch; each succeeds or fails alone, unless `all_or_nothing` says otherwise. What is wrong with the database fails
    /// the request as long as nothing is saved, and later the documents that are not saved.
    func bulkDocuments() throws -> ListenerResponse {
        let body = try BulkBody(self)
        var answer = BulkAnswer(namesSaved: body.makesRevisions, longest: body.longestAnswer)
        var failure: HTTPFailure?
        try body.forEachBatch { items in
            var rest = items[...]
            if failure == nil { failure = try save(&rest, body, &answer) }
            if let failure { for item in rest { answer.refuse(item, failure) } }
        }
        return .json(bytes: answer.whole(), status: savedStatus)
    }

    /// Saves a batch.
    ///
    /// - Parameters:
    ///   - rest: The documents; afterwards those that are not saved.
    ///   - body: The request.
    ///   - answer: What the client is told of those that are dealt with.
    /// - Returns: Why the rest is not saved, where others of the request were; otherwise nil.
    /// - Throws: Why nothing of the request is saved.
    private func save(
        _ rest: inout ArraySlice<BulkItem>, _ body: BulkBody, _ answer: inout BulkAnswer
    ) throws -> HTTPFailure? {
        let database = try database
        var before = (rest, answer)
        do {
            // Passwords are hashed here, before others wait for the transaction.
            rest = try rest.map { try hashed($0, body) }[...]
            while !rest.isEmpty {
                before = (rest, answer)
                try database.write { try saveSome(&rest, body, $0, &answer) }
                answer.hasCommitted = true
            }
            return nil
        } catch {
            guard before.1.hasCommitted else { throw error }
            // A client that were told that the request has failed would take all of it as not saved.
            (rest, answer) = before
            Log.listener.error(
                "Documents of a request to '\(database.name)' were not saved: \(Log.words(of: error))"
            )
            return ErrorResponse.failure(for: error)
        }
    }

    /// Saves documents until there are no more, or the transaction has taken long enough.
    private func saveSome(
        _ rest: inout ArraySlice<BulkItem>, _ body: BulkBody,
        _ transaction: borrowing WriteTransaction, _ answer: inout BulkAnswer
    ) throws {
        let end = ContinuousClock.now + Self.longestTransaction
        while let item = rest.popFirst() {
            switch item {
            case .document(let document): try save(document, body, transaction, &answer)
            case .refused(let refused):
                if body.isAtomic { throw refused.failure }
                answer.refuse(refused.id, refused.revision, refused.failure)
            }
            if !body.isAtomic, ContinuousClock.now > end { return }
        }
    }

    /// A user's document with its password hashed, and any other one as it is. Only administrators get here; what
    /// else is asked of the document is checked in the transaction.
    private func hashed(_ item: BulkItem, _ body: BulkBody) throws -> BulkItem {
        guard systemDatabase == .users, user.isAdmin, case .document(let given) = item,
            let id = given.id, given.body["password"] != nil
        else { return item }
        do {
            return .document(
                try SystemDatabase.users.prepared(
                    id, given, by: user, editing: nil, site.configuration.settings))
        } catch { return .refused(try refusal(error, id, given, body)) }
    }

    /// Saves one document, or tells of its failure.
    private func save(
        _ given: ReceivedDocument, _ body: BulkBody, _ transaction: borrowing WriteTransaction,
        _ answer: inout BulkAnswer
    ) throws {
        let id = given.id ?? newID
        do {
            if given.id != nil { try checkID(id) }
            if id.isLocal {
                return answer.saved(id, "0-\(try Self.saveLocal(id, given, transaction))")
            }
            try given.checkLengths(site.configuration.settings)
            let document = try permitted(
                id, given,
                body.makesRevisions ? .edit(of: given.revision.map(Self.checked)) : .arrival)
            answer.saved(id, try save(id, document, isNew: body.makesRevisions, transaction))
        } catch {
            let refused = try refusal(error, id, given, body)
            answer.refuse(refused.id, refused.revision, refused.failure)
        }
    }

    /// What an answer tells of a document that is not taken.
    ///
    /// - Throws: What is wrong with all of them.
    private func refusal(
        _ error: any Error, _ id: DocumentID, _ given: ReceivedDocument, _ body: BulkBody
    ) throws -> RefusedDocument {
        let failure = Self.itemFailure(error, id)
        if body.isAtomic { throw failure }
        // What is wrong with the database stops everything; what is not served is one document's, as is an edit that the
        // configuration refuses, and one for which a script throws, whatever it throws.
        let isToldAlone =
            failure.status < 500 || failure.status == 501
            || (error as? DatabaseError)?.code == .forbidden
            || (error as? HTTPFailure)?.error == HTTPFailure.diskTooFull.error
        guard isToldAlone else { throw error }
        return RefusedDocument(id, given.revision, failure)
    }

    private func save(
        _ id: DocumentID, _ document: ReceivedDocument, isNew: Bool,
        _ transaction: borrowing WriteTransaction
    ) throws -> RevisionID {
        if isNew {
            let base = try document.revision.map(Self.checked)
            try document.checkStubs(of: base, id)
            let saved = try transaction.put(
                id, body: document.body, parent: base, isDeleted: document.isDeleted)
            if let expiration = document.expiration {
                try transaction.setExpiration(of: id, at: expiration.date)
            }
            return saved.revisionID
        }
        guard let history = document.history else {
            throw HTTPFailure.revisionNeeded.ofDocument
        }
        try document.checkRevisions()
        try document.checkAttachmentNames { try readableDocument(id) }
        try transaction.putClientRevision(
            id, history: history, isDeleted: document.isDeleted, body: document.body)
        return history[0]
    }

    private static func itemFailure(_ error: any Error, _ id: DocumentID) -> HTTPFailure {
        (error as? DatabaseError).map { changeFailure($0, id) } ?? ErrorResponse.failure(for: error)
    }
}
