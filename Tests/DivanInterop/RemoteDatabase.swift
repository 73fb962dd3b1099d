// SPDX-License-Identifier: Apache-2.0

import DivanHTTP
import DivanJSON

/// A database of a server, used by requests alone, so that both ends are filled and looked at in the same way.
struct RemoteDatabase: Sendable {
    let server: Server
    let name: String

    /// Its address with credentials.
    var address: String { server.address(of: name) }

    /// The path of a document: only the slash after `_design` and `_local` is one.
    static func path(_ id: String) -> String {
        for prefix in ["_design/", "_local/"] where id.utf8.starts(with: prefix.utf8) {
            return prefix
                + PercentEncoding.encode(
                    String(decoding: id.utf8.dropFirst(prefix.utf8.count), as: UTF8.self))
        }
        return PercentEncoding.encode(id)
    }

    func send(
        _ method: HTTPMethod, _ path: String, _ body: [UInt8]? = nil, _ headers: HTTPHeaders = [:]
    ) async throws -> Answer {
        try await server.send(method, path.isEmpty ? "/\(name)" : "/\(name)/\(path)", body, headers)
    }

    func send(_ method: HTTPMethod, _ path: String, json: JSONObject) async throws -> Answer {
        try await send(method, path, Array(JSONWriter.string(.object(json)).utf8))
    }

    /// Sends a request that has to succeed.
    func get(_ path: String) async throws -> JSONValue {
        let answer = try await send(.get, path)
        guard answer.isSuccess, let json = answer.json else {
            throw Trouble("\(server.name) does not give \(path.prefix(200)): \(answer)")
        }
        return json
    }

    /// Stores revisions as they are, each a JSON text with `_id`, `_rev` and `_revisions`.
    func store(_ texts: [String]) async throws {
        var rest = texts[...]
        while !rest.isEmpty {
            var batch: [String] = []
            var size = 0
            while let text = rest.first, batch.isEmpty || size + text.utf8.count < 1 << 20,
                batch.count < 100
            {
                size += text.utf8.count
                batch.append(text)
                rest.removeFirst()
            }
            let body = "{\"new_edits\":false,\"docs\":[\(batch.joined(separator: ","))]}"
            let answer = try await send(.post, "_bulk_docs", Array(body.utf8))
            guard answer.status == 201, answer.json?.array == [] else {
                throw Trouble("\(server.name) does not take documents: \(answer)")
            }
        }
    }

    /// Writes a document as a client does, and returns its revision; nil for a conflict.
    func write(_ id: String, _ body: JSONObject) async throws -> String? {
        let answer = try await send(.put, Self.path(id), json: body)
        if answer.status == 409 { return nil }
        guard answer.isSuccess, let revision = answer.json?["rev"]?.string else {
            throw Trouble("\(server.name) does not take \(id.prefix(60)): \(answer)")
        }
        return revision
    }

    /// The leaf revisions of all documents, the winner first, as the feed tells them.
    func leaves() async throws -> [ExactString: [String]] {
        let feed = try await get("_changes?style=all_docs")
        var leaves: [ExactString: [String]] = [:]
        for row in feed["results"]?.array ?? [] {
            guard let id = row["id"]?.string else { continue }
            leaves[ExactString(id)] = row["changes"]?.array?.compactMap { $0["rev"]?.string }
        }
        return leaves
    }
}
