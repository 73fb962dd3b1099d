// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP
internal import DivanJSON
internal import DivanModel
internal import Synchronization

// Fetching revisions.
extension HTTPPeer {
    /// Fetches revisions: those without attachments together, the others one by one.
    ///
    /// - Throws: `ReplicationError`.
    package func revisions(_ wanted: [MissingRevisions]) async throws -> [FetchedRevision] {
        var singles: [(MissingRevisions, RevisionID)] = []
        // Of a document that came without content, the content is known to be needed.
        var bringsContents = true
        var fetched: [FetchedRevision] = []
        if lacks.withLock({ $0.bulkGet }) {
            singles = wanted.flatMap { one in one.revisions.map { (one, $0) } }
            bringsContents = feed.bringsContents
        } else if let bulk = try await bulk(wanted) {
            for (one, result) in bulk {
                if case .document(let document) = result.outcome,
                    lacksContent(document, one.possibleAncestors)
                {
                    singles.append((one, result.revision))
                } else {
                    fetched.append(result)
                }
            }
        } else {
            lacks.withLock { $0.bulkGet = true }
            return try await revisions(wanted)
        }
        // In small groups, so that few are open at a time.
        for start in stride(from: 0, to: singles.count, by: Self.singles) {
            let group = singles[start..<min(start + Self.singles, singles.count)]
            fetched += try await withThrowingTaskGroup(of: FetchedRevision.self) {
                [bringsContents] tasks in
                for (one, revision) in group {
                    tasks.addTask {
                        try await self.single(one, revision, bringsContents: bringsContents)
                    }
                }
                return try await tasks.reduce(into: []) { $0.append($1) }
            }
        }
        return fetched
    }

    /// Whether a document has attachments newer than what is here, whose content is wanted now, or must come
    /// now since nobody could know it later.
    private func lacksContent(_ document: WireDocument, _ known: [RevisionID]) -> Bool {
        let ancestor = document.history?.ids.first { known.contains($0) }?.generation ?? 0
        var isLacking = false
        document.body["_attachments"]?.forEachProperty { name, stub in
            guard document.inlineContents[ExactString(name)] == nil else { return }
            if !feed.bringsContents, let stub = stub.jsonValue().object,
                ExistingRevision.canDefer(stub)
            {
                return
            }
            if UInt64(stub["revpos"]?.int64 ?? .max) > ancestor { isLacking = true }
        }
        return isLacking
    }

    // MARK: - Together

    /// Asks for all at once; nil when the server cannot.
    private func bulk(_ wanted: [MissingRevisions]) async throws -> [(
        MissingRevisions, FetchedRevision
    )]? {
        var text = Array(#"{"docs":["#.utf8)
        var asked: [(MissingRevisions, RevisionID)] = []
        for one in wanted {
            for revision in one.revisions {
                if !asked.isEmpty { text.append(ascii: ",") }
                text.append(ascii: #"{"id":"#)
                text.append(jsonString: one.id.text)
                text.append(ascii: #","rev":"#)
                text.append(jsonString: revision.description)
                text.append(ascii: "}")
                asked.append((one, revision))
            }
        }
        text.append(ascii: "]}")
        var query = [(name: "revs", value: "true"), (name: "attachments", value: "false")]
        // Who downloads content later must know how it is coded.
        if !feed.bringsContents { query.append(("att_encoding_info", "true")) }
        let response = try await connection.respond(
            to: WireRequest(.post, "_bulk_get", query: query, body: .json(text)))
        if [400, 404, 405, 501].contains(response.status) {
            try await response.drain()
            return nil
        }
        let type = response.headers["Content-Type"] ?? ""
        var results: [DocumentID: [FetchedRevision]] = [:]
        let isMultipart = type.lowercased().hasPrefix("multipart/")
        let (fetched, isWhole) =
            isMultipart
            ? try await parts(response, upTo: Self.fetchBytes) : try await entries(response)
        for one in fetched { results[one.id, default: []].append(one) }
        return asked.compactMap { one, revision in
            let found = results[one.id]?.first { $0.revision == revision }
            // What a server does not mention it does not have; the rest of a long answer is asked for again.
            guard found != nil || isWhole else { return nil }
            return (one, found ?? FetchedRevision(id: one.id, revision: revision, .gone))
        }
    }

    /// The entries of a JSON answer, read one by one; no more once there are so many bytes of them.
    private func entries(_ response: WireResponse) async throws -> (
        [FetchedRevision], isWhole: Bool
    ) {
        guard (200...299).contains(response.status) else {
            throw ReplicationError(response, try await response.beginning(), "_bulk_get", at: name)
        }
        var stream = JSONObjectStream(array: "results", limit: Self.longestEntry)
        var fetched: [FetchedRevision] = []
        var bytes = 0
        do {
            while let piece = try await response.body.next() {
                stream.push(piece)
                while let event = try stream.next() {
                    guard case .element(let text) = event else { continue }
                    bytes += text.count
                    let entry = try PackedValue(parsing: text)
                    entry["docs"]?.forEachElement { document in
                        if let result = Self.result(document, id: entry["id"]?.string) {
                            fetched.append(result)
                        }
                    }
                }
                // The connection ends with the last reference to the answer.
                if bytes >= Self.fetchBytes, !fetched.isEmpty { return (fetched, stream.isAtEnd) }
            }
        } catch let error where error is JSONObjectStream.Failure || error is JSONParser.Failure {
            throw notJSON("_bulk_get", response.status)
        }
        guard stream.isAtEnd else { throw notJSON("_bulk_get", response.status) }
        return (fetched, true)
    }

    /// One of the documents of a JSON answer.
    private static func result(_ entry: PackedValue, id: String?) -> FetchedRevision? {
        if let document = entry["ok"] {
            do { return try fetched(WireDocument(document)) } catch {
                guard let id = id.flatMap({ try? DocumentID($0) }),
                    let revision = document["_rev"]?.string.flatMap({ try? RevisionID($0) })
                else { return nil }
                return FetchedRevision(id: id, revision: revision, .failed(permanent(error, id)))
            }
        }
        guard let error = entry["error"], let name = error["error"]?.string,
            let id = (error["id"]?.string ?? id).flatMap({ try? DocumentID($0) }),
            let revision = error["rev"]?.string.flatMap({ try? RevisionID($0) })
        else { return nil }
        return FetchedRevision(
            id: id, revision: revision, outcome(name, error["reason"]?.string, id))
    }

    static func outcome(_ error: String, _ reason: String?, _ id: DocumentID)
        -> FetchedRevision.Outcome
    {
        if error == "not_found" || error == "missing" { return .gone }
        return .failed(ReplicationError(ofDocument: id.text, error: error, reason: reason))
    }

    /// A whole revision: its history is needed beyond the first generation.
    static func fetched(_ document: WireDocument) throws -> FetchedRevision {
        let id = try document.requiredID()
        let history = try document.requiredHistory()
        return FetchedRevision(id: id, revision: history.newest, .document(document))
    }

    /// What will not be better the next time.
    static func permanent(_ error: any Error, _ id: DocumentID) -> ReplicationError {
        var failure = ReplicationError(error)
        failure.documentID = id.text
        failure.isTransient = false
        return failure
    }

    // MARK: - One by one

    private func single(
        _ wanted: MissingRevisions, _ revision: RevisionID, bringsContents: Bool
    ) async throws -> FetchedRevision {
        let fetched = try await oneAlone(wanted, revision, bringsContents: bringsContents)
        guard !bringsContents, case .document(let document) = fetched.outcome,
            lacksContent(document, wanted.possibleAncestors)
        else { return fetched }
        return try await oneAlone(wanted, revision, bringsContents: true)
    }

    private func oneAlone(
        _ wanted: MissingRevisions, _ revision: RevisionID, bringsContents: Bool
    ) async throws -> FetchedRevision {
        var query = [
            ("rev", revision.description), ("revs", "true"),
            ("attachments", bringsContents ? "true" : "false"), ("att_encoding_info", "true"),
        ]
        if bringsContents, !wanted.possibleAncestors.isEmpty {
            let ancestors = wanted.possibleAncestors.map { JSONValue.string($0.description) }
            query.append(("atts_since", JSONWriter.string(.array(ancestors))))
        }
        var request = WireRequest(
            .get, DocumentPath.document(wanted.id.text),
            query: query.map { (name: $0.0, value: $0.1) },
            accept: "multipart/related, application/json")
        request.wantsContent = true
        let response = try await connection.respond(to: request)
        switch response.status {
        case 200...299: break
        case 404, 410:
            try await response.drain()
            return FetchedRevision(id: wanted.id, revision: revision, .gone)
        case 400, 403, 406, 412, 500:
            var error = ReplicationError(
                response, try await response.beginning(), "'\(wanted.id)'", at: name)
            error.documentID = wanted.id.text
            return FetchedRevision(id: wanted.id, revision: revision, .failed(error))
        default:
            throw ReplicationError(
                response, try await response.beginning(), "'\(wanted.id)'", at: name)
        }
        let type = response.headers["Content-Type"] ?? ""
        let results: [FetchedRevision]
        if type.lowercased().hasPrefix("multipart/") {
            do { results = try await parts(response, upTo: .max).0 } catch let error
                as ReplicationError
                where error.code == .invalidAnswer && error.documentID != nil
            {
                // What the document declares will be the same the next time. The others go on.
                let failure = Self.permanent(error, wanted.id)
                results = [FetchedRevision(id: wanted.id, revision: revision, .failed(failure))]
            }
        } else {
            let answer = try await object(response, "'\(wanted.id)'")
            do { results = [try Self.fetched(WireDocument(answer))] } catch {
                results = [
                    FetchedRevision(
                        id: wanted.id, revision: revision, .failed(Self.permanent(error, wanted.id))
                    )
                ]
            }
        }
        guard let found = results.first else {
            throw ReplicationError(
                .invalidAnswer, "'\(name)' answers '\(wanted.id)' without a document.",
                isTransient: true)
        }
        return FetchedRevision(id: wanted.id, revision: revision, found.outcome)
    }

    /// The documents of a multipart answer, with the attachments that follow them; no more once there are so
    /// many bytes of documents.
    private func parts(_ response: WireResponse, upTo limit: Int) async throws -> (
        [FetchedRevision], isWhole: Bool
    ) {
        var assembler = PartAssembler(database)
        do {
            var reader = try MultipartReader(contentType: response.headers["Content-Type"])
            assembler.begin(isDocument: MultipartKind(response.headers) == .related)
            while let piece = try await response.body.next() {
                reader.push(piece)
                while let event = try reader.next() { try assembler.take(event) }
                if assembler.byteCount >= limit, !assembler.whole.isEmpty {
                    return (assembler.whole, false)
                }
            }
            try reader.finish()
        } catch let failure as MultipartReader.Failure {
            throw ReplicationError(
                .invalidAnswer, "A multipart answer of '\(name)' cannot be read: \(failure)",
                isTransient: true)
        }
        return (try assembler.finish(), true)
    }
}
