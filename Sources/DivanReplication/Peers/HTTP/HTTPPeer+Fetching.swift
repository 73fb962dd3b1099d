// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP
internal import DivanJSON
internal import DivanModel
internal import Synchronization

// Fetching revisions: those without attachments together, the others one by one.
//
//     wanted ── together ──┬─ in the answer, whole ────────────────────────────────► fetched
//      ▲                   ├─ its attachments are needed, too ─┬─ short: together ─► fetched
//      │                   ├─ not in the answer, or unreadable ┴─ alone ───────────► fetched, gone, failed
//      └── asked again ◄───┴─ behind the place where the answer was long enough
//
// Whatever is wrong with one document comes out where it is asked for alone, so there it is told of, by its ID.
extension HTTPPeer {
    /// A revision that is asked for.
    struct Asked {
        var id: DocumentID
        var revision: RevisionID
        /// Revisions that the target has, whole.
        var known: [RevisionID]
        /// Whether the content of attachments must come along.
        var needsContents: Bool

        init(_ wanted: MissingRevisions, _ revision: RevisionID, needsContents: Bool) {
            (id, self.revision, known) = (wanted.id, revision, wanted.possibleAncestors)
            self.needsContents = needsContents
        }

        func result(_ outcome: FetchedRevision.Outcome) -> FetchedRevision {
            FetchedRevision(id: id, revision: revision, outcome)
        }
    }

    /// Fetches revisions.
    ///
    /// - Throws: `ReplicationError`.
    package func revisions(_ wanted: [MissingRevisions]) async throws -> [FetchedRevision] {
        let fetched = try await confirmed(fetched(wanted))
        // A Sync Gateway lets no writer put the mark into a body.
        guard feed.believesRemovals || lacks.withLock({ $0.isSyncGateway }) else { return fetched }
        return fetched.map(\.believingRemoval)
    }

    private func fetched(_ wanted: [MissingRevisions]) async throws -> [FetchedRevision] {
        let asked = wanted.flatMap { one in
            one.revisions.map { Asked(one, $0, needsContents: feed.bringsContents) }
        }
        guard !lacks.withLock({ $0.bulkGet }) else { return try await alone(asked) }
        let size = fetchSize.withLock { $0.count }
        let fitting = Array(asked.prefix(size))
        guard let answer = try await together(fitting) else {
            lacks.withLock { $0.bulkGet = true }
            return try await alone(asked)
        }
        var (fetched, rest): ([FetchedRevision], [Asked]) = ([], answer.rest)
        var short: [(asked: Asked, length: Int)] = []
        let (isBroken, found) = (answer.isBroken, answer.found)
        // What is asked for again is not held any longer, and takes no room from that.
        var bytes = 0
        for (one, result) in found {
            guard case .document(let document) = result.outcome,
                let lacking = lackingContent(document, one.known)
            else {
                if case .document(let document) = result.outcome { bytes += document.heldBytes }
                fetched.append(result)
                continue
            }
            var one = one
            one.needsContents = true
            if let length = lacking.inlineLength {
                short.append((one, document.body.byteCount + length))
            } else {
                rest.append(one)
            }
        }
        let (whole, others) = try await withContents(short, beside: bytes)
        fetched += whole
        for case .document(let document) in whole.map(\.outcome) { bytes += document.heldBytes }
        fetched += try await alone(rest + others)
        let came = isBroken ? found.count : fetched.count
        fetchSize.withLock {
            $0.note(asked: fitting.count, came: came, bytes: bytes, of: fetchBytes)
        }
        return fetched
    }

    /// Fetches documents with short attachments, many with one request and their content in place.
    ///
    /// Only a Divan is asked so: it sends content as it keeps it, and its digest with it. CouchDB decodes what it keeps
    /// coded, and the digest does not fit what it sends then.
    ///
    /// - Parameters:
    ///   - asked: The documents, and the bytes of each with its content.
    ///   - held: The bytes of documents that have come already.
    /// - Returns: What came, and what is to be asked for alone. What there was no room for is in neither.
    /// - Throws: `ReplicationError`.
    private func withContents(_ asked: [(asked: Asked, length: Int)], beside held: Int) async throws
        -> (whole: [FetchedRevision], others: [Asked])
    {
        guard lacks.withLock({ $0.isDivan && !$0.contents }) else {
            return ([], asked.map(\.asked))
        }
        var whole: [FetchedRevision] = []
        var (others, held): ([Asked], Int) = ([], held)
        var rest = asked[...]
        while !rest.isEmpty, held < fetchBytes {
            var length = 0
            let group = Array(
                rest.prefix {
                    length += $0.length
                    return length == $0.length || length <= Self.bulkBytes
                }.map(\.asked))
            rest.removeFirst(group.count)
            guard
                let answer = try await together(group, withContents: true, beside: held)
            else {
                lacks.withLock { $0.contents = true }
                return (whole, others + group + rest.map(\.asked))
            }
            others += answer.rest
            held += answer.byteCount
            for (one, result) in answer.found {
                if case .document(let document) = result.outcome,
                    lackingContent(document, one.known) == nil
                {
                    whole.append(result)
                } else {
                    // What it says instead, it says alone, too.
                    others.append(one)
                }
            }
        }
        return (whole, others)
    }

    /// Content that a document was sent without.
    private struct LackingContent {
        /// The bytes of it, where they are known.
        private var length: Int? = 0
        private var longest = 0

        /// The bytes of it, where they are few enough to stand inside JSON.
        var inlineLength: Int? {
            longest <= HTTPPeer.inlineLimit
                ? length.flatMap { $0 <= HTTPPeer.inlineTotal ? $0 : nil } : nil
        }

        mutating func add(_ stub: PackedValue) {
            guard let one = stub["length"]?.int64, one >= 0 else { return length = nil }
            length = length?.addingSaturated(Int(clamping: one))
            longest = max(longest, Int(clamping: one))
        }
    }

    /// The content of attachments that cannot be here, and that is wanted now; nil for none. That includes content that
    /// could not be asked for later.
    ///
    /// Where an ancestor is here its content may be the same. Only a `revpos` above the ancestor's says that it is not; of
    /// any other the target compares the digest, and asks for what it lacks then.
    private func lackingContent(_ document: WireDocument, _ known: [RevisionID]) -> LackingContent?
    {
        // A server says how long a history is.
        let known = Set(known)
        let ancestor = document.history?.ids.first { known.contains($0) }?.generation
        var lacking: LackingContent?
        document.body["_attachments"]?.forEachProperty { name, stub in
            guard document.inlineContents[name] == nil else { return }
            if !feed.bringsContents, let stub = stub.jsonValue().object,
                ExistingRevision.canDefer(stub)
            {
                return
            }
            if let ancestor {
                guard let position = stub["revpos"]?.int64, position > Int64(clamping: ancestor)
                else { return }
            }
            lacking = lacking ?? LackingContent()
            lacking?.add(stub)
        }
        return lacking
    }

    // MARK: - Alone

    /// Asks for each by itself, a few at a time; no more once there are so many bytes of documents.
    private func alone(_ asked: [Asked]) async throws -> [FetchedRevision] {
        var (fetched, bytes): ([FetchedRevision], Int) = ([], 0)
        for start in stride(from: 0, to: asked.count, by: Self.singles)
        where bytes < fetchBytes {
            let group = asked[start..<min(start + Self.singles, asked.count)]
            let results = try await withThrowingTaskGroup(of: FetchedRevision.self) { tasks in
                for one in group { tasks.addTask { try await self.alone(one) } }
                return try await tasks.reduce(into: []) { $0.append($1) }
            }
            for case .document(let document) in results.map(\.outcome) {
                bytes += document.heldBytes
            }
            fetched += results
            try Self.checkServer(fetched)
        }
        return fetched
    }

    /// So many documents in a row fail for now before that is taken for the server's trouble, and not theirs.
    private static let patience = 12

    /// - Throws: The error of a document, where all that were asked for fail for now.
    private static func checkServer(_ fetched: [FetchedRevision]) throws {
        guard fetched.count == patience, case .failed(var last)? = fetched.last?.outcome else {
            return
        }
        for one in fetched {
            guard case .failed(let error) = one.outcome, error.isTransient else { return }
        }
        last.documentID = nil
        throw last
    }

    private func alone(_ asked: Asked) async throws -> FetchedRevision {
        let outcome = try await outcome(of: asked)
        guard !asked.needsContents, case .document(let document) = outcome,
            lackingContent(document, asked.known) != nil
        else { return asked.result(outcome) }
        var whole = asked
        whole.needsContents = true
        return asked.result(try await self.outcome(of: whole))
    }

    private func request(for asked: Asked) -> WireRequest {
        var query = [
            ("rev", asked.revision.description), ("revs", "true"),
            ("attachments", asked.needsContents ? "true" : "false"), ("att_encoding_info", "true"),
        ]
        if asked.needsContents, !asked.known.isEmpty {
            let known = asked.known.map { JSONValue.string($0.description) }
            query.append(("atts_since", JSONWriter.string(.array(known))))
        }
        var request = WireRequest(
            .get, DocumentPath.document(asked.id.text),
            query: query.map { (name: $0.0, value: $0.1) },
            accept: "multipart/related, application/json")
        request.wantsContent = true
        return request
    }

    /// What becomes of a revision that is asked for alone.
    ///
    /// - Throws: What is wrong with the server or the way to it, and not with this document.
    private func outcome(of asked: Asked) async throws -> FetchedRevision.Outcome {
        let response = try await connection.respond(to: request(for: asked))
        guard (200...299).contains(response.status) else {
            return try await refusal(of: asked, response)
        }
        do {
            if let document = try await document(in: response) {
                return try checked(document, asked)
            }
        } catch let error as WireDocumentError {
            return .failed(Self.about(asked.id, ReplicationError(error)))
        } catch let error as DatabaseError where error.isOfDisk {
            // What fills the disk, again in each run, may be this document's content alone.
            return .failed(Self.about(asked.id, ReplicationError(error)))
        } catch let error as ReplicationError where error.isOfOneAnswer {
            return .failed(Self.about(asked.id, error))
        }
        throw notJSON("'\(asked.id.text.bounded)'", response.status)
    }

    private func checked(_ document: WireDocument, _ asked: Asked) throws
        -> FetchedRevision.Outcome
    {
        let found = try Self.fetched(document)
        guard found.id == asked.id, found.revision == asked.revision else {
            throw ReplicationError(
                .invalidAnswer,
                "'\(name)' answers '\(asked.id.text.bounded)' with another document or revision.")
        }
        return found.outcome
    }

    private func refusal(of asked: Asked, _ response: WireResponse) async throws
        -> FetchedRevision.Outcome
    {
        let body = try await response.beginning()
        var error = ReplicationError(response, body, "'\(asked.id.text.bounded)'", at: name)
        let answer = ServerAnswer(body)
        switch response.status {
        case 404, 410:
            if answer.saysDatabaseIsMissing { throw error }
            if answer.isGone { return .gone }
        case 400, 403, 406, 409, 412, 413, 415, 422, 500: break
        case 401 where try await isAdmitted(): break
        default: throw error
        }
        // A page of something between here and the server says nothing of the document.
        if answer.error == nil { error.isTransient = true }
        return .failed(Self.about(asked.id, error))
    }

    /// The document of an answer, with its attachments on the disk; nil where the answer is nothing of the kind.
    private func document(in response: WireResponse) async throws -> WireDocument? {
        let type = (response.headers["Content-Type"] ?? "").lowercased()
        guard !type.hasBytePrefix("multipart/") else {
            var assembler = PartAssembler(database)
            try await parts(response, &assembler) { _ in false }
            return try assembler.document()
        }
        var turn = AnswerTurn(longAnswers)
        let bytes = try await response.bytes(limit: Self.longestEntry, now: now) {
            await turn.hold($0)
        }
        guard bytes.isJSONObject else { return nil }
        guard await turn.parse(bytes) else { throw tooLarge }
        do { return try WireDocument(parsing: bytes.span) } catch {
            // What ends by the end of its connection, or was ended by a proxy, looks whole.
            guard error.reason == .malformedJSON, !JSONOutline(bytes, of: []).isWhole else {
                throw error
            }
            throw ReplicationError(
                .invalidAnswer, "An answer of '\(name)' breaks off inside a document.",
                isTransient: true)
        }
    }

    /// The error of a document that would take too much memory.
    var tooLarge: ReplicationError {
        ReplicationError(
            .invalidAnswer, "A document of '\(name)' takes more memory than a replication may have."
        )
    }

    /// A whole revision: its history is needed beyond the first generation.
    static func fetched(_ document: WireDocument) throws(WireDocumentError) -> FetchedRevision {
        let id = try document.requiredID()
        let history = try document.requiredHistory()
        return FetchedRevision(id: id, revision: history.newest, .document(document))
    }

    /// An error, about a document that it need not name itself.
    private static func about(_ id: DocumentID, _ error: ReplicationError) -> ReplicationError {
        var error = error
        if error.documentID == nil, !error.message.contains("'\(id.text.bounded)'") {
            error.message = "'\(id.text.bounded)' cannot be fetched. \(error.message)"
        }
        error.documentID = id
        return error
    }
}

extension ReplicationError {
    /// Whether it is of the one answer that was being read: another one may be good.
    var isOfOneAnswer: Bool { [.invalidAnswer, .unreachable, .timeout].contains(code) }
}

extension DatabaseError {
    /// Whether content that arrived could not be written to the disk.
    var isOfDisk: Bool { code == .storageFull || code == .io }
}

/// What a server says in place of what it was asked for.
struct ServerAnswer {
    /// The name of the error; nil where the body is none of a database server.
    let error: String?
    private let reason: String?

    init(_ body: [UInt8]) {
        let answer = try? PackedValue(parsing: body)
        error = answer?["error"]?.string
        reason = answer?["reason"]?.string
    }

    /// Whether the database itself is missing, in the words of CouchDB, of its earlier versions and of PouchDB.
    var saysDatabaseIsMissing: Bool {
        error == "not_found"
            && ["no_db_file", "Database does not exist.", "missing database"].contains(reason)
    }

    /// Whether the revision is no longer there.
    var isGone: Bool {
        error == "not_found" && (reason == nil || !(reason ?? "").contains("attachment"))
    }
}
