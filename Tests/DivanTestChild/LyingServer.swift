// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import FoundationEssentials

/// A CouchDB that tells lies: it gives the right answer to each request of a replication, and then something of the answer is
/// changed, as the seed and the number of the round say.
///
/// The round is the name of the database in the URL, so that one server serves all rounds, and one round can be repeated alone. The
/// database `good` is served without a lie.
final class LyingServer: Sendable {
    /// The name of the database that is served truly.
    static let good = "good"

    private let seed: UInt64
    private let documents = LyingDocuments()

    init(seed: UInt64) { self.seed = seed }

    /// Starts it.
    func start() throws -> LoopbackServer {
        try LoopbackServer { [self] request, connection in answer(request, connection) }
    }

    private func answer(_ request: LoopbackRequest, _ connection: LoopbackConnection) {
        let sides = request.target.split(separator: "?", maxSplits: 1).map(String.init)
        let path = sides[0].split(separator: "/").map(String.init)
        let answer = documents.answer(
            request.method, Array(path.dropFirst()), sides.count > 1 ? sides[1] : "", request.body)
        guard let name = path.first, let round = UInt64(name) else {
            connection.respond(status: answer.status, headers: answer.fields, body: answer.body)
            return
        }
        // The same request of a round is answered in the same way, whichever comes first.
        var random = SeededRandom(
            seed: seed, round, UInt64(request.target.utf8.reduce(0) { $0 &* 31 &+ UInt64($1) }))
        Lie(&random).tell(answer, over: connection, &random)
    }
}

/// An answer before it is changed.
struct TrueAnswer {
    var status = 200
    var fields = [("Content-Type", "application/json"), ("Server", "CouchDB/3.4.3")]
    /// The body, if it is JSON.
    var json: JSONValue?
    /// The body.
    var body: [UInt8]

    init(_ json: JSONValue, status: Int = 200) {
        self.json = json
        self.status = status
        body = Array(JSONWriter.string(json).utf8)
    }

    init(_ body: [UInt8], type: String) {
        self.body = body
        fields[0].1 = type
    }
}

/// What the server has, and what it would answer if it were honest.
struct LyingDocuments: Sendable {
    private static let boundary = "the-boundary"
    private static let revisions = [
        "plain": ["2-b"], "attached": ["1-a"], "gone": ["3-c"], "torn": ["2-x", "2-y"],
    ]

    private func document(_ id: String, _ revision: String, follows: Bool) -> JSONValue {
        let generation = Int64(revision.split(separator: "-")[0]) ?? 1
        let digests = (0..<generation).map {
            JSONValue.string($0 == 0 ? String(revision.suffix(1)) : "p\($0)")
        }
        var document: JSONObject = [
            "_id": .string(id), "_rev": .string(revision),
            "_revisions": ["start": .integer(generation), "ids": .array(digests)],
            "number": 1.5, "text": "caf\u{E9}", "list": [1, 2, ["deep": true]],
        ]
        if id == "gone" { document["_deleted"] = true }
        if id == "attached" {
            var stub: JSONObject = [
                "content_type": "text/plain", "revpos": 1, "length": 5,
                "digest": "md5-XUFAKrxLKna5cZ2REBfFkg==",
            ]
            if follows { stub["follows"] = true } else { stub["data"] = "aGVsbG8=" }
            document["_attachments"] = ["a.txt": .object(stub)]
        }
        return .object(document)
    }

    private func part(_ value: JSONValue) -> String {
        "--\(Self.boundary)\r\nContent-Type: application/json\r\n\r\n\(JSONWriter.string(value))\r\n"
    }

    /// The documents with their attachments behind them.
    private func parts(_ documents: [JSONValue]) -> TrueAnswer {
        var text = ""
        for document in documents {
            text += part(document)
            if document["_attachments"] != nil {
                text +=
                    "--\(Self.boundary)\r\nContent-Disposition: attachment; filename=\"a.txt\"\r\nContent-Length: 5\r\n\r\nhello\r\n"
            }
        }
        text += "--\(Self.boundary)--"
        return TrueAnswer(
            Array(text.utf8), type: "multipart/related; boundary=\"\(Self.boundary)\"")
    }

    func answer(_ method: String, _ path: [String], _ query: String, _ body: [UInt8])
        -> TrueAnswer
    {
        let given = (try? JSONParser.parse(body)) ?? .null
        guard let first = path.first else {
            return TrueAnswer([
                "db_name": "db", "doc_count": 4, "update_seq": "4-abc", "instance_start_time": "0",
            ])
        }
        switch first {
        case "_local":
            if method == "PUT" {
                return TrueAnswer(["ok": true, "id": "_local/x", "rev": "0-1"], status: 201)
            }
            return TrueAnswer(["error": "not_found", "reason": "missing"], status: 404)
        case "_changes": return changes(query)
        case "_revs_diff":
            var answer: JSONObject = [:]
            for (id, revisions) in given.object ?? [:] {
                answer[id] = ["missing": revisions, "possible_ancestors": ["1-z"]]
            }
            return TrueAnswer(.object(answer))
        case "_bulk_get": return bulkGet(given)
        case "_bulk_docs": return TrueAnswer([], status: 201)
        case "_ensure_full_commit": return TrueAnswer(["ok": true], status: 201)
        case _ where method == "PUT":
            return TrueAnswer(["ok": true, "id": .string(first), "rev": "1-a"], status: 201)
        case _ where path.count > 1: return TrueAnswer(Array("hello".utf8), type: "text/plain")
        default: break
        }
        let leaves = Self.revisions[first] ?? []
        guard let winner = leaves.last else {
            return TrueAnswer(["error": "not_found", "reason": "missing"], status: 404)
        }
        if query.utf8.starts(with: "open_revs".utf8) || query.contains("open_revs") {
            return TrueAnswer(
                .array(leaves.map { ["ok": document(first, $0, follows: false)] }))
        }
        return first == "attached"
            ? parts([document(first, winner, follows: true)])
            : TrueAnswer(document(first, winner, follows: false))
    }

    private func changes(_ query: String) -> TrueAnswer {
        let since = query.firstMatch(of: /since=%?2?2?(\d+)/).flatMap { Int($0.1) } ?? 0
        let rows = Self.revisions.sorted { $0.key < $1.key }.enumerated().dropFirst(since).map {
            index, entry -> JSONValue in
            [
                "seq": .string("\(index + 1)-abc"), "id": .string(entry.key),
                "changes": .array(entry.value.map { ["rev": .string($0)] }),
                "deleted": .bool(entry.key == "gone"),
            ]
        }
        if query.contains("feed=continuous") || query.contains("feed=eventsource") {
            let isEvents = query.contains("eventsource")
            let lines = rows.map {
                (isEvents ? "data: " : "") + JSONWriter.string($0) + (isEvents ? "\n\n" : "\n")
            }
            return TrueAnswer(
                Array(lines.joined().utf8),
                type: isEvents ? "text/event-stream" : "application/json")
        }
        return TrueAnswer(["results": .array(rows), "last_seq": "4-abc", "pending": 0])
    }

    private func bulkGet(_ given: JSONValue) -> TrueAnswer {
        let asked = given["docs"]?.array ?? []
        let results = asked.map { one -> JSONValue in
            let (id, revision) = (one["id"]?.string ?? "", one["rev"]?.string ?? "1-a")
            return [
                "id": .string(id), "docs": [["ok": document(id, revision, follows: false)]],
            ]
        }
        // Half of the servers answer in parts.
        guard asked.count % 2 == 0 else { return TrueAnswer(["results": .array(results)]) }
        return parts(
            asked.map {
                document($0["id"]?.string ?? "", $0["rev"]?.string ?? "1-a", follows: true)
            })
    }
}
