// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanReplication
import DivanTestSupport
import Synchronization

/// A database that answers as CouchDB does, without a socket: as much of the protocol as a replication
/// uses, on a database in memory.
final class CouchStandIn: WireConnection {
    /// How it misbehaves, or what it cannot do.
    struct Manner: Sendable {
        var lacksBulkGet = false
        var lacksMultipart = false
        var answersBulkGetInParts = false
        /// It says that it is a Divan, and has no content in a `_bulk_get` all the same.
        var callsItselfDivan = false
        /// Of a `POST _changes` it reads the body alone, and waits for no single documents, as a Sync Gateway.
        var isSyncGateway = false
        /// It takes no `POST _changes`.
        var refusesPostedChanges = false
        /// It tells of all documents, whichever are asked for.
        var ignoresFilters = false
        /// One answer in so many is a fault, drawn from the seed; 0 for none.
        var faults = 0
        /// Answers instead of whatever the path begins with.
        var answers: [(prefix: String, status: Int, body: String)] = []
        var headers: [String: String] = [:]
        /// What it calls itself; nil for nothing.
        var server: String?
        /// It leaves deleted documents out of a feed that is asked for without them.
        var knowsActiveOnly = false
    }

    let database: Database
    let name = "http://stand-in/db"
    let manner = Mutex(Manner())
    /// Each request: its method, path and query.
    let requests = Mutex<[String]>([])
    let exists = Mutex(true)
    private let random: Mutex<SeededRandom>

    init(_ database: Database, seed: UInt64 = 1) {
        self.database = database
        random = Mutex(SeededRandom(seed: seed))
    }

    func count(_ prefix: String) -> Int {
        requests.withLock { $0.filter { $0.hasPrefix(prefix) }.count }
    }

    func respond(to request: WireRequest) async throws -> WireResponse {
        let query = request.query.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
        requests.withLock { $0.append("\(request.method) \(request.path)?\(query)") }
        let manner = manner.withLock { $0 }
        if let answer = manner.answers.first(where: { request.path.hasPrefix($0.prefix) }) {
            return Self.answer(answer.status, Array(answer.body.utf8), manner.headers)
        }
        let fault =
            manner.faults > 0
            ? random.withLock { $0.oneIn(manner.faults) ? $0.below(5) : nil } : nil
        switch fault {
        case 0: throw ReplicationError(.unreachable, "The stand-in is down.", isTransient: true)
        case 1: return Self.answer(503, Array(#"{"error":"busy"}"#.utf8), ["Retry-After": "0"])
        case 2:
            return Self.answer(
                200, Array("<html>Please sign in</html>".utf8), ["Content-Type": "text/html"])
        default: break
        }
        var response = try await serve(request, manner)
        if let server = manner.server { response.headers["Server"] = server }
        switch fault {
        case 3: throw ReplicationError(.unreachable, "The answer is lost.", isTransient: true)
        case 4:
            // Breaks off in the middle.
            var bytes: [UInt8] = []
            while let piece = try await response.body.next() { bytes += piece }
            return WireResponse(
                status: response.status, headers: response.headers,
                body: BrokenPieces(Array(bytes.prefix(bytes.count / 2))))
        default: return response
        }
    }

    static func answer(_ status: Int, _ body: [UInt8], _ headers: [String: String] = [:])
        -> WireResponse
    {
        var fields: HTTPHeaders = [:]
        if headers["Content-Type"] == nil { fields.add("Content-Type", "application/json") }
        for (name, value) in headers { fields.add(name, value) }
        return WireResponse(status: status, headers: fields, body: BytesPieces(body))
    }

    static func json(_ value: JSONValue, _ status: Int = 200) -> WireResponse {
        answer(status, Array(JSONWriter.string(value).utf8))
    }

    private func serve(_ request: WireRequest, _ manner: Manner) async throws -> WireResponse {
        let body = try await Self.bytes(of: request)
        if request.path.isEmpty {
            if request.method == .put {
                exists.withLock { $0 = true }
                return Self.json(["ok": true], 201)
            }
            guard exists.withLock({ $0 }) else { return Self.json(["error": "not_found"], 404) }
            return Self.json([
                "db_name": "db", "update_seq": .string("\(try database.lastSequence)-x"),
            ])
        }
        switch request.path {
        case "_changes":
            if request.query.contains(where: { $0 == ("feed", "longpoll") }) {
                try await waitForChange(request)
            }
            return try changes(request, body, manner)
        case "_revs_diff": return try difference(body)
        case "_bulk_get":
            if manner.lacksBulkGet { return Self.json(["error": "not_found"], 404) }
            let answer = try bulkGet(body, inParts: manner.answersBulkGetInParts)
            guard manner.callsItselfDivan else { return answer }
            var headers = answer.headers
            headers["Server"] = "Divan/1"
            return WireResponse(status: answer.status, headers: headers, body: answer.body)
        case "_bulk_docs": return try bulkDocuments(body)
        case "_ensure_full_commit": return Self.json(["ok": true], 201)
        default: break
        }
        if request.path.hasPrefix("_local/") { return try local(request, body) }
        let id = PercentEncoding.decode(request.path) ?? ""
        return request.method == .put
            ? try store(id, request, body) : try document(DocumentID(id), request, manner)
    }

    private static func bytes(of request: WireRequest) async throws -> [UInt8] {
        switch request.body {
        case .none: return []
        case .bytes(let bytes, _): return bytes
        case .pieces(let length, _, let open):
            let pieces = try open()
            var bytes: [UInt8] = []
            while let piece = try await pieces.next() { bytes += piece }
            precondition(bytes.count == length, "The length of a body was announced wrong.")
            return bytes
        }
    }

    // MARK: - Reading

    private static func since(_ text: String?) -> UInt64 {
        text.flatMap { UInt64($0.split(separator: "-").first ?? "") } ?? 0
    }

    /// Waits for a change, and for a second at most, so that the client does not ask in a busy loop.
    private func waitForChange(_ request: WireRequest) async throws {
        let since = Self.since(request.query.last { $0.name == "since" }?.value)
        for _ in 0..<100 where try database.lastSequence <= since {
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    private func changes(_ request: WireRequest, _ body: [UInt8], _ manner: Manner) throws
        -> WireResponse
    {
        let isPost = request.method == .post
        if isPost, manner.refusesPostedChanges {
            return Self.json(["error": "method_not_allowed"], 405)
        }
        var options = Dictionary(request.query.map { ($0.name, $0.value) }) { $1 }
        var ids = options["doc_ids"].flatMap { try? JSONParser.parse($0).array }
        if isPost, case .object(let given) = try JSONParser.parse(body) {
            ids = given["doc_ids"]?.array ?? ids
            if manner.isSyncGateway {
                options = given.reduce(into: [:]) {
                    $0[$1.key] = $1.value.string ?? $1.value.description
                }
            }
        }
        let isOfIDs = options["filter"] == "_doc_ids"
        if manner.isSyncGateway, isOfIDs, options["feed"] != "normal" {
            return Self.json(["error": "Bad Request", "reason": "only normal"], 400)
        }
        var batch = try database.changes(
            since: Self.since(options["since"]), limit: options["limit"].flatMap { Int($0) })
        if isOfIDs, !manner.ignoresFilters {
            let ids = (ids ?? []).compactMap(\.string).map { DocumentID($0) }
            batch.changes.removeAll { !ids.contains($0.id) }
        }
        if manner.knowsActiveOnly, options["active_only"] == "true" {
            batch.changes.removeAll(where: \.isDeleted)
        }
        let rows = batch.changes.map { change -> JSONValue in
            [
                "seq": .string("\(change.sequence)-x"), "id": .string(change.id.text),
                "changes": .array(change.revisions.map { ["rev": .string($0.description)] }),
                "deleted": .bool(change.isDeleted),
            ]
        }
        let left = try database.changes(since: batch.lastSequence).changes.count
        return Self.json([
            "results": .array(rows), "last_seq": .string("\(batch.lastSequence)-x"),
            "pending": .integer(Int64(left)),
        ])
    }

    private func difference(_ body: [UInt8]) throws -> WireResponse {
        var answer: JSONObject = [:]
        guard case .object(let asked) = try JSONParser.parse(body) else {
            return Self.json([:], 400)
        }
        for (id, revisions) in asked {
            let ids = try (revisions.array ?? []).map {
                try RevisionID(validating: $0.string ?? "")
            }
            let tree = try database.revisionTree(of: DocumentID(id)) ?? RevisionTree()
            let missing = tree.missingRevisions(of: ids)
            guard let highest = missing.max() else { continue }
            answer[id] = [
                "missing": .array(missing.map { .string($0.description) }),
                "possible_ancestors": .array(
                    tree.possibleAncestors(of: highest).map { .string($0.description) }),
            ]
        }
        return Self.json(.object(answer))
    }

    private func text(_ id: DocumentID, _ revision: String, _ options: WireDocumentOptions) throws
        -> (
            [UInt8], [DocumentAttachment]
        )?
    {
        guard let tree = try database.revisionTree(of: id),
            let node = tree.node(try RevisionID(validating: revision)), node.sequence != nil,
            let document = try database.read({
                try $0.document(withID: id, revision: RevisionID(revision))
            })
        else { return nil }
        var options = options
        options.includesHistory = true
        var text: [UInt8] = []
        let following = try WireDocumentWriter(options).append(document, tree: tree, to: &text)
        return (text, following)
    }

    private func bulkGet(_ body: [UInt8], inParts: Bool) throws -> WireResponse {
        var writer = MultipartWriter(subtype: "mixed")
        var parts: [UInt8] = []
        var results: [JSONValue] = []
        for asked in try PackedValue(parsing: body)["docs"]?.jsonValue().array ?? [] {
            let (id, revision) = (asked["id"]?.string ?? "", asked["rev"]?.string ?? "")
            let found = try text(DocumentID(id), revision, WireDocumentOptions())
            let error: JSONValue = [
                "id": .string(id), "rev": .string(revision), "error": "not_found",
                "reason": "missing",
            ]
            let isError = found == nil
            let bytes = found?.0 ?? Array(JSONWriter.string(error).utf8)
            let type = isError ? "application/json; error=\"true\"" : "application/json"
            parts += writer.beginPart(["Content-Type": type]) + bytes
            let document: JSONValue = [isError ? "error" : "ok": try JSONParser.parse(bytes)]
            results.append(["id": .string(id), "docs": [document]])
        }
        guard inParts else { return Self.json(["results": .array(results)]) }
        return Self.answer(200, parts + writer.end(), ["Content-Type": writer.contentType])
    }

    private func document(_ id: DocumentID, _ request: WireRequest, _ manner: Manner) throws
        -> WireResponse
    {
        let query = Dictionary(request.query.map { ($0.name, $0.value) }) { $1 }
        var options = WireDocumentOptions()
        let isMultipart = request.accept.contains("multipart") && !manner.lacksMultipart
        options.contents = isMultipart ? .follows : .inline
        options.includesEncoding = isMultipart
        if let since = query["atts_since"] {
            options.attachmentsSince = try (try JSONParser.parse(since).array ?? []).map {
                try RevisionID(validating: $0.string ?? "")
            }
        }
        guard let (text, following) = try text(id, query["rev"] ?? "", options) else {
            return Self.json(["error": "not_found", "reason": "missing"], 404)
        }
        guard !following.isEmpty else { return Self.answer(200, text) }
        var writer = MultipartWriter(subtype: "related")
        var bytes = writer.beginPart(["Content-Type": "application/json"]) + text
        for attachment in following {
            let reader = try attachment.makeStoredReader()
            bytes += writer.beginPart([
                "Content-Disposition": "attachment; filename=\"\(attachment.name)\""
            ])
            while true {
                let piece = try reader.read(upTo: 1 << 16)
                if piece.isEmpty { break }
                bytes += piece
            }
        }
        return Self.answer(200, bytes + writer.end(), ["Content-Type": writer.contentType])
    }

    // MARK: - Writing

    private func insert(_ document: WireDocument) throws {
        let id = try document.requiredID()
        if id.text.contains("forbidden") {
            throw DatabaseError(.forbidden, "no entry", documentID: id)
        }
        try database.write { transaction in
            _ = try transaction.insert(
                ExistingRevision(
                    id: id, history: try document.requiredHistory(), isDeleted: document.isDeleted,
                    body: document.body, attachments: document.inlineContents))
        }
    }

    private func bulkDocuments(_ body: [UInt8]) throws -> WireResponse {
        var errors: [JSONValue] = []
        let value = try PackedValue(parsing: body)
        guard value["new_edits"]?.bool == false, let documents = value["docs"] else {
            return Self.json(["error": "bad_request"], 400)
        }
        for index in 0..<documents.count {
            guard let element = documents[index] else { continue }
            let document = try WireDocument(element)
            do { try insert(document) } catch let error as DatabaseError {
                if error.code == .attachmentNotFound {
                    return Self.json(["error": "missing_stub", "reason": "?"], 412)
                }
                errors.append([
                    "id": .string(document.id?.text ?? ""), "error": "forbidden",
                    "rev": .string(document.revision?.description ?? ""), "reason": "no entry",
                ])
            }
        }
        return Self.json(.array(errors), 201)
    }

    private func store(_ id: String, _ request: WireRequest, _ body: [UInt8]) throws -> WireResponse
    {
        if let document = try Self.assembled(request, body) { return try store(document) }
        return try store(WireDocument(parsing: body.span))
    }

    private func store(_ document: WireDocument) throws -> WireResponse {
        do { try insert(document) } catch let error as DatabaseError {
            return error.code == .attachmentNotFound
                ? Self.json(["error": "missing_stub", "reason": "?"], 412)
                : Self.json(["error": "forbidden", "reason": "no entry"], 403)
        }
        return Self.json(["ok": true], 201)
    }

    private static func assembled(_ request: WireRequest, _ body: [UInt8]) throws -> WireDocument? {
        guard case .pieces(_, let type, _) = request.body else { return nil }
        var reader = try MultipartReader(contentType: type)
        reader.push(body)
        var parts: [[UInt8]] = []
        while let event = try reader.next() {
            switch event {
            case .partBegan: parts.append([])
            case .bytes(let bytes): parts[parts.count - 1] += bytes
            default: break
            }
        }
        try reader.finish()
        let text = parts[0]
        var document = try WireDocument(parsing: text.span)
        for (name, content) in zip(document.followingNames, parts.dropFirst()) {
            document.inlineContents[name] = .bytes(content)
        }
        return document
    }

    private func local(_ request: WireRequest, _ body: [UInt8]) throws -> WireResponse {
        let id = request.path
        let old = try database.localDocument(DocumentID(id))
        if request.method == .get {
            return old.map { Self.json(.object($0)) } ?? Self.json(["error": "not_found"], 404)
        }
        guard case .object(var document) = try JSONParser.parse(body) else {
            return Self.json([:], 400)
        }
        guard document["_rev"] == old?["_rev"] else { return Self.json(["error": "conflict"], 409) }
        let number = (old?["_rev"]?.string?.dropFirst(2)).flatMap { Int($0) } ?? 0
        document["_rev"] = .string("0-\(number + 1)")
        try database.putLocalDocument(DocumentID(id), document)
        return Self.json(["ok": true, "rev": document["_rev"] ?? .null], 201)
    }
}

/// A body that breaks off.
private actor BrokenPieces: WirePieces {
    private var bytes: [UInt8]?

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    func next() throws -> [UInt8]? {
        guard let piece = bytes else {
            throw ReplicationError(.unreachable, "The connection broke.", isTransient: true)
        }
        bytes = nil
        return piece.isEmpty ? try next() : piece
    }
}
