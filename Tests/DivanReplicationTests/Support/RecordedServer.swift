// SPDX-License-Identifier: Apache-2.0

import DivanHTTP
import DivanJSON
import DivanTestSupport
import Synchronization

/// A server that answers from a recorded conversation: the request that is nearest in meaning was answered so.
///
/// What the recorded client never asked, and Divan does, is put together from the documents of the recording in the form
/// of that server: a `_bulk_get` of a CouchDB or a Sync Gateway, single documents, the description of a database.
final class RecordedServer: Sendable {
    let script: WireScript
    let database: String
    /// The requests that have sent documents.
    let received = Mutex<[WireMessage]>([])
    private let documents: [WiredDocument]
    private let kind: String

    init(_ script: WireScript, _ database: String) {
        self.script = script
        self.database = database
        documents = script.documents(of: database)
        kind = script.exchanges.first { $0.components.first == database }?.answer["Server"] ?? ""
    }

    func serve() throws -> LoopbackServer {
        try LoopbackServer { [self] request, connection in
            let answer = answer(to: request)
            let (fields, bytes) = answer.message.encoded()
            connection.respond(
                status: answer.status, headers: fields.map { ($0.name, $0.value) }, body: bytes)
        }
    }

    private typealias Answer = (status: Int, message: WireMessage)

    private func json(_ status: Int, _ value: JSONValue) -> Answer {
        let fields = [
            (name: "Content-Type", value: "application/json"), (name: "Server", value: kind),
        ]
        return (status, WireMessage(fields: fields, body: .json(value)))
    }

    /// What was answered to the first request of a kind.
    private func recorded(_ isMeant: (WireExchange) -> Bool) -> Answer? {
        script.exchanges.first { $0.components.first == database && isMeant($0) }
            .map { ($0.status, $0.answer) }
    }

    private var missing: Answer { json(404, ["error": "not_found", "reason": "missing"]) }

    private func answer(to request: LoopbackRequest) -> Answer {
        let sides = request.target.split(separator: "?", maxSplits: 1).map(String.init)
        let path = sides[0].split(separator: "/").map(String.init)
        let query = Self.query(sides.count > 1 ? sides[1] : "")
        let body = WireMessage(
            reading: request.headers.map { (name: $0.key, value: $0.value) }, request.body)
        guard path.first == database else { return missing }
        guard path.count > 1 else { return information(request.method) }
        switch path[1] {
        case "_local":
            let isSaving = request.method == "PUT"
            return recorded {
                $0.route == "_local" && $0.method == request.method
                    && $0.status == (isSaving ? 201 : 404)
            } ?? missing
        case "_changes": return changes(query, body)
        case "_revs_diff": return difference(body)
        case "_bulk_get": return bulkGet(body)
        case "_bulk_docs":
            received.withLock { $0.append(body) }
            return recorded { $0.route == "_bulk_docs" } ?? json(201, [])
        case "_ensure_full_commit":
            return recorded { $0.route == path[1] }
                ?? (kind.hasPrefix("CouchDB") ? json(201, ["ok": true]) : missing)
        case _ where request.method == "PUT":
            received.withLock { $0.append(body) }
            return recorded { $0.components == path && $0.method == "PUT" }
                ?? json(201, ["ok": true])
        default: return document(path[1], query)
        }
    }

    private static func query(_ text: String) -> [String: String] {
        var query: [String: String] = [:]
        for pair in text.split(separator: "&") {
            let sides = pair.split(separator: "=", maxSplits: 1).map {
                PercentEncoding.decode($0) ?? ""
            }
            query[sides[0]] = sides.count > 1 ? sides[1] : ""
        }
        return query
    }

    // MARK: - Routes

    private func information(_ method: String) -> Answer {
        if let answer = recorded({ $0.route == "db" && $0.method == method && $0.status < 300 }) {
            return answer
        }
        return json(
            200, ["db_name": .string(database), "instance_start_time": "0", "update_seq": 0])
    }

    /// The feed of everything, as it was told from its beginning; nothing more comes after it.
    private func changes(_ query: [String: String], _ body: WireMessage) -> Answer {
        let since = body.documents.first?["since"] ?? query["since"].map { .string($0) } ?? "0"
        let first = recorded { $0.isWholeFeed }
        if since == "0" || since == 0 { return first ?? json(200, ["results": [], "last_seq": 0]) }
        return json(200, ["results": [], "last_seq": since, "pending": 0])
    }

    /// Of what is asked that which the recorded server lacked, too, when it first heard of it.
    private func difference(_ body: WireMessage) -> Answer {
        var answer: JSONObject = [:]
        for (id, revisions) in body.documents.first?.object ?? [:] {
            let missing = (revisions.array ?? []).filter { lacked(id, $0) }
            if !missing.isEmpty { answer[id] = ["missing": .array(missing)] }
        }
        return json(200, .object(answer))
    }

    private func lacked(_ id: String, _ revision: JSONValue) -> Bool {
        for exchange in script.exchanges where exchange.components.first == database {
            let asked = exchange.request.documents.first
            if exchange.route == "_revs_diff", asked?[id]?.array?.contains(revision) ?? false {
                let missing = exchange.answer.documents.first?[id]?["missing"]?.array
                return missing?.contains(revision) ?? false
            }
            guard exchange.isSending else { continue }
            let sent = exchange.request.documents.flatMap { $0["docs"]?.array ?? [$0] }
            if sent.contains(where: { $0["_id"]?.string == id && $0["_rev"] == revision }) {
                return true
            }
        }
        return true
    }

    private func found(_ id: JSONValue?, _ revision: JSONValue?) -> WiredDocument? {
        documents.first { $0.json["_id"] == id && $0.json["_rev"] == revision }
    }

    private func bulkGet(_ body: WireMessage) -> Answer {
        let asked = body.documents.first?["docs"]?.array ?? []
        if kind.hasPrefix("Couchbase Sync Gateway") { return bulkParts(asked) }
        guard kind.hasPrefix("CouchDB") else { return missing }
        let results = asked.map { one -> JSONValue in
            let document = found(one["id"], one["rev"]).map {
                JSONValue.object(["ok": Self.stubs($0)])
            }
            let error: JSONValue = ["error": ["id": one["id"] ?? .null, "error": "not_found"]]
            return ["id": one["id"] ?? .null, "docs": [document ?? error]]
        }
        return json(200, ["results": .array(results)])
    }

    /// The recorded answer with the parts that are asked for; documents go in gzip, as is offered.
    private func bulkParts(_ asked: [JSONValue]) -> Answer {
        guard let (status, message) = recorded({ $0.route == "_bulk_get" }),
            case .parts(let parts) = message.body
        else { return missing }
        let wanted = parts.filter { part in
            let document = part.documents.first
            return asked.contains { $0["id"] == document?["_id"] && $0["rev"] == document?["_rev"] }
        }.map { part -> WireMessage in
            guard case .json = part.body else { return part }
            var part = part
            part.fields.append((name: "Content-Encoding", value: "gzip"))
            return part
        }
        return (status, WireMessage(fields: message.fields, body: .parts(wanted)))
    }

    private static func stubs(_ document: WiredDocument) -> JSONValue {
        guard case .object(var object) = document.json, let stubs = object["_attachments"]?.object
        else { return document.json }
        var changed: JSONObject = [:]
        for (name, stub) in stubs {
            var stub = stub.object ?? [:]
            for key in ["data", "follows"] { stub[key] = nil }
            stub["stub"] = true
            changed[name] = .object(stub)
        }
        object["_attachments"] = .object(changed)
        return .object(object)
    }

    /// A document as it was answered, or put together.
    private func document(_ path: String, _ query: [String: String]) -> Answer {
        let id = PercentEncoding.decode(path) ?? path
        guard let revision = query["rev"], let document = found(.string(id), .string(revision))
        else {
            return missing
        }
        let exchange = script.exchanges.first {
            $0.components == [database, path] && $0.isFetching
                && $0.answer.documents.first?["_rev"] == .string(revision)
        }
        guard let answer = exchange?.answer else { return json(200, document.whole) }
        // To `open_revs` each revision was a part.
        if case .parts(let parts) = answer.body, case .parts? = parts.first?.body {
            return (200, parts[0])
        }
        return (200, answer)
    }
}

extension WireExchange {
    /// Whether it is a feed of all documents from the beginning.
    var isWholeFeed: Bool {
        let begins =
            !target.contains("since=") || target.hasSuffix("since=0")
            || target.contains("since=0&")
        return route == "_changes" && status == 200 && begins && !target.contains("filter=")
    }
}
