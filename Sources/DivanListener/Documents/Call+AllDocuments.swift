// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanModel

// `_all_docs` and its relatives.
extension Call {
    /// The options in a body, where there is one.
    func bodyOptions() throws -> JSONObject {
        request.body.length == 0 ? [:] : try objectBody()
    }

    /// `GET`, `POST /{db}/_all_docs`
    func allDocuments() throws -> ListenerResponse {
        let options = try bodyOptions()
        return try allDocuments(
            narrowed(AllDocumentsRequest(query, body: options), options))
    }

    private func narrowed(_ request: AllDocumentsRequest, _ options: JSONObject) throws
        -> AllDocumentsRequest
    {
        var parameters = query
        if let name = options["partition"], parameters["partition"] == nil {
            parameters["partition"] = Self.parameter("partition", name)
        }
        return try narrowed(request, by: parameters)
    }

    /// A request for the documents of one partition, where the path or the parameters name one, and for as many as a
    /// list may have.
    func narrowed(_ request: AllDocumentsRequest, by parameters: QueryParameters) throws
        -> AllDocumentsRequest
    {
        var request = request
        let partition = try partition(parameters)
        request.limit = try limit(request.limit, inPartition: partition != nil)
        if let partition { request.narrow(toPartition: partition) }
        return request
    }

    /// `GET`, `POST /{db}/_design_docs`
    func designDocuments() throws -> ListenerResponse {
        var request = try AllDocumentsRequest(query, body: bodyOptions())
        request.narrow(to: "_design/")
        return try allDocuments(request)
    }

    /// `POST /{db}/_all_docs/queries`
    func allDocumentsQueries() throws -> ListenerResponse {
        try manyQueries {
            AllDocumentsListing(
                self, try narrowed(AllDocumentsRequest(query, body: $0, bodyWins: true), $0))
        }
    }

    /// `POST /{db}/_design_docs/queries`
    func designDocumentsQueries() throws -> ListenerResponse {
        try manyQueries {
            var request = try AllDocumentsRequest(query, body: $0, bodyWins: true)
            request.narrow(to: "_design/")
            return AllDocumentsListing(self, request)
        }
    }

    private func allDocuments(_ request: AllDocumentsRequest) throws -> ListenerResponse {
        try tagged(listTag()) { .json(steps: AllDocumentsListing(self, request)) }
    }

    /// The answers to each of the `queries` in the body, one after the other.
    private func manyQueries(_ listing: (JSONObject) throws -> AllDocumentsListing) throws
        -> ListenerResponse
    {
        let listings = try queriesInBody().map(listing)
        return .json(steps: ListingSequence(count: listings.count) { listings[$0] })
    }

    /// The options of each of the `queries` in the body.
    func queriesInBody() throws -> [JSONObject] {
        guard let queries = try objectBody()["queries"]?.array else {
            throw HTTPFailure.badRequest("`queries` member must be an array.")
        }
        return try queries.map { query in
            guard let object = query.object else {
                throw HTTPFailure.badRequest("Each of the `queries` must be an object.")
            }
            return object
        }
    }
}

/// Writes the rows of all documents in steps, each of one snapshot, so that a listing of a million
/// documents holds neither memory nor an old snapshot.
struct AllDocumentsListing: ResponseSteps {
    /// A step ends after so many rows, or when its text or its documents have become so long.
    private static let (stepSize, mostBytes) = (1_000, 256 << 10)
    private let call: Call
    private var request: AllDocumentsRequest
    private var last: DocumentID?
    private var toSkip: Int
    private var left: Int
    private var nextKey = 0
    private var written = 0
    private var hasBegun = false
    private var isDone = false

    init(_ call: Call, _ request: AllDocumentsRequest) {
        self.call = call
        self.request = request
        self.request.format.budget = call.site.longDocuments
        toSkip = request.skip
        left = request.limit ?? .max
    }

    mutating func next() throws -> Production {
        guard !isDone else { return .end }
        var text = JSONText()
        let database = try call.database
        try database.read { transaction in
            if !hasBegun {
                hasBegun = true
                try begin(transaction, &text)
            }
            if let keys = request.keys {
                try step(keys, transaction, &text)
            } else {
                try step(transaction, &text)
            }
        }
        if isDone { text.raw("\n]}\n") }
        return .bytes(text.bytes)
    }

    private mutating func begin(_ transaction: borrowing ReadTransaction, _ text: inout JSONText)
        throws
    {
        text.raw("{\"total_rows\":")
        if call.hidesDocuments {
            // What is hidden is not counted, and asking the app about every document would cost a scan.
            text.raw("null")
        } else {
            text.number(UInt64(clamping: try count(transaction)))
        }
        text.raw(",\"offset\":")
        if let offset = try offset(transaction) {
            text.number(UInt64(clamping: offset))
        } else {
            text.raw("null")
        }
        if request.updateSequence {
            text.raw(",\"update_seq\":")
            try call.sequences.append(transaction.lastSequence, to: &text)
        }
        text.raw(",\"rows\":[\n")
    }

    /// How many documents lie before the first row; nil where they are more than a step, since counting them would cost a
    /// scan, or where some of them may be hidden.
    private func offset(_ transaction: borrowing ReadTransaction) throws -> Int? {
        guard request.keys == nil else { return nil }
        guard let start = request.startKey else { return request.skip }
        guard request.prefix == nil, !call.hidesDocuments else { return nil }
        var options = request.options(limit: Self.stepSize + 1)
        (options.startID, options.endID) = (nil, DocumentID(start))
        options.excludesEnd = true
        var count = 0
        try transaction.forEachDocumentID(options) { _ in count += 1 }
        return count > Self.stepSize ? nil : count.addingSaturated(request.skip)
    }

    /// The documents of the kind that is listed.
    private func count(_ transaction: borrowing ReadTransaction) throws -> Int {
        guard let prefix = request.prefix else { return try transaction.documentCount }
        var all = try AllDocumentsRequest(QueryParameters())
        all.narrow(to: prefix)
        var count = 0
        try transaction.forEachDocumentID(all.options(limit: .max)) { _ in count += 1 }
        return count
    }

    private mutating func step(_ transaction: borrowing ReadTransaction, _ text: inout JSONText)
        throws
    {
        guard !request.isEmpty, left > 0 else {
            isDone = true
            return
        }
        // How many rows a limit leaves is known before they are read, unless some of them are hidden.
        let most = call.hidesDocuments ? Self.stepSize : min(Self.stepSize, left)
        var options = request.options(limit: most)
        if let last { (options.startID, options.excludesStart) = (last, true) }
        // Rows are skipped by their keys, unless they must be read to know whether they are hidden.
        if !call.hidesDocuments { (options.skip, toSkip) = (toSkip, 0) }
        var rows: [DocumentRow] = []
        var size = 0
        var isLastStep = true
        do {
            try transaction.forEachDocument(options) { row in
                rows.append(row)
                size += row.document?.body.byteCount ?? 0
                if rows.count > 1, size > Self.mostBytes { throw Enough() }
            }
            isLastStep = rows.count < most
        } catch is Enough { isLastStep = false }
        for row in rows {
            last = row.id
            guard try isReadable(row, transaction) else { continue }
            if toSkip > 0 {
                toSkip -= 1
                continue
            }
            try append(row, transaction, &text)
            left -= 1
            if left == 0 { break }
            // A long document ends the step: its text is enough for a piece.
            if text.bytes.count >= Self.mostBytes {
                isLastStep = isLastStep && row.id == rows.last?.id
                break
            }
        }
        isDone = isLastStep || left == 0
    }

    /// Ends a step before its time.
    private struct Enough: Error {}

    private func isReadable(_ row: DocumentRow, _ transaction: borrowing ReadTransaction) throws
        -> Bool
    {
        guard call.hidesDocuments else { return true }
        let document =
            try row.document ?? transaction.document(withID: row.id, revision: row.revisionID)
        return document.map(call.mayRead) ?? false
    }

    private mutating func append(
        _ row: DocumentRow, _ transaction: borrowing ReadTransaction, _ text: inout JSONText
    ) throws {
        separate(&text)
        text.raw("{\"id\":")
        text.string(row.id.text)
        text.raw(",\"key\":")
        text.string(row.id.text)
        text.raw(",\"value\":{\"rev\":")
        text.string(row.revisionID.description)
        if row.isDeleted { text.raw(",\"deleted\":true") }
        append(conflicts: row.conflictingRevisions, &text)
        text.raw("}")
        if request.includeDocuments {
            text.raw(",\"doc\":")
            if let document = row.document, !row.isDeleted || request.includeDeleted {
                let tree =
                    request.format.needsTree ? try transaction.revisionTree(of: row.id) : nil
                try request.format.append(document, tree, to: &text)
            } else {
                text.raw("null")
            }
        }
        text.bytes.append(JSONByte.closeBrace)
    }

    /// The live revisions of a document in conflict, the winner first.
    private func append(conflicts revisions: [RevisionID], _ text: inout JSONText) {
        guard !revisions.isEmpty else { return }
        text.raw(",\"_conflicts\":")
        text.value(.array(revisions.map { .string($0.description) }))
    }

    private mutating func separate(_ text: inout JSONText) {
        if written > 0 { text.raw(",\n") }
        written += 1
    }

    // MARK: - Keys

    private mutating func step(
        _ keys: [JSONValue], _ transaction: borrowing ReadTransaction, _ text: inout JSONText
    ) throws {
        let end = min(keys.count, nextKey + Self.stepSize)
        let ordered = request.descending ? keys.reversed() : keys
        for key in ordered.dropFirst(nextKey).prefix(end - nextKey)
        where left > 0 && text.bytes.count < Self.mostBytes {
            nextKey += 1
            if toSkip > 0 {
                toSkip -= 1
                continue
            }
            left -= 1
            try append(key, transaction, &text)
        }
        isDone = nextKey == keys.count || left == 0
    }

    /// The tree of a document whose current revision the user may read; nil for all others.
    private func shownTree(_ id: DocumentID, _ transaction: borrowing ReadTransaction) throws
        -> RevisionTree?
    {
        let isListed = request.partitionPrefix.map(id.text.hasBytePrefix) ?? true
        guard id.isValid, !id.isLocal, isListed,
            let tree = try transaction.revisionTree(of: id)
        else { return nil }
        guard call.hidesDocuments, let winner = tree.winner else { return tree }
        let current = try transaction.document(withID: id, revision: winner.id)
        return current.map(call.mayRead) ?? false ? tree : nil
    }

    private mutating func append(
        _ key: JSONValue, _ transaction: borrowing ReadTransaction, _ text: inout JSONText
    ) throws {
        if let prefix = request.prefix, key.string?.hasBytePrefix(prefix) != true { return }
        let tree = try key.string.flatMap { try shownTree(DocumentID($0), transaction) }
        if request.onlyConflicts, !(tree?.isConflicted ?? false) { return }
        separate(&text)
        guard let id = key.string, let tree, let winner = tree.winner else {
            text.value(["key": key, "error": "not_found"])
            return
        }
        let document =
            winner.isTombstone
            ? nil : try transaction.document(withID: DocumentID(id), revision: winner.id)
        text.raw("{\"id\":")
        text.string(id)
        text.raw(",\"key\":")
        text.string(id)
        text.raw(",\"value\":{\"rev\":")
        text.string(winner.id.description)
        if winner.isTombstone { text.raw(",\"deleted\":true") }
        if request.showsConflicts, tree.isConflicted {
            let live = tree.leaves.filter { !$0.isTombstone }
            append(conflicts: live.map(\.id), &text)
        }
        text.raw("}")
        if request.includeDocuments {
            text.raw(",\"doc\":")
            if let document {
                try request.format.append(document, tree, to: &text)
            } else {
                text.raw("null")
            }
        }
        text.bytes.append(JSONByte.closeBrace)
    }
}
