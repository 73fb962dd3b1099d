// SPDX-License-Identifier: Apache-2.0

import DivanHTTP
import DivanJSON
import Synchronization

/// A server that speaks CouchDB's language: the one that is compared with, or our own listener.
///
/// State: the databases that it made, guarded by the mutex.
final class Server: Sendable {
    /// What reports call it.
    let name: String
    private let url: HTTPURL
    private let transport: any HTTPTransport
    private let made = Mutex<[String]>([])

    init(name: String, url: HTTPURL, transport: any HTTPTransport) {
        self.name = name
        self.url = url.replacingTarget(by: "/")
        self.transport = transport
    }

    /// Sends a request and collects its answer, whatever its status is.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - target: The path and query, percent-encoded.
    ///   - body: The body; JSON unless `headers` say otherwise.
    ///   - headers: Further header fields.
    func send(
        _ method: HTTPMethod, _ target: String, _ body: [UInt8]? = nil, _ headers: HTTPHeaders = [:]
    ) async throws -> Answer {
        var all: HTTPHeaders = ["Accept": "application/json"]
        if let user = url.user {
            let text = Base64.encode(Array("\(user.name):\(user.password)".utf8))
            all["Authorization"] = "Basic \(text)"
        }
        if body != nil { all["Content-Type"] = "application/json" }
        all.merge(headers)
        var request = HTTPRequest(
            method, url.replacingTarget(by: target), headers: all,
            body: body.map { .bytes($0) } ?? .none)
        var timeouts = HTTPTimeouts()
        timeouts.head = .seconds(600)
        timeouts.silence = .seconds(600)
        request.timeouts = timeouts
        let response = try await transport.send(request)
        let bytes = try await response.body.collect(limit: 256 << 20)
        return Answer(status: response.status, headers: response.headers, bytes: bytes)
    }

    /// The same with JSON.
    func send(_ method: HTTPMethod, _ target: String, json: JSONObject) async throws -> Answer {
        try await send(method, target, Array(JSONWriter.string(.object(json)).utf8))
    }

    /// Makes a database, which goes when the harness ends.
    func makeDatabase(_ name: String) async throws -> RemoteDatabase {
        made.withLock { $0.append(name) }
        // One shard, so that feeds are in the order of the changes.
        let answer = try await send(.put, "/\(name)?q=1")
        guard answer.status == 201 || answer.status == 202 else {
            throw Trouble("\(self.name) makes no database: \(answer)")
        }
        return RemoteDatabase(server: self, name: name)
    }

    /// Deletes the databases that were made.
    func removeDatabases() async {
        let names = made.withLock { made in
            defer { made = [] }
            return made
        }
        for name in names { _ = try? await send(.delete, "/\(name)") }
    }

    /// The address of a database, with credentials, as it stands in a request to replicate.
    func address(of database: String) -> String {
        let user = url.user.map {
            "\(PercentEncoding.encode($0.name)):\(PercentEncoding.encode($0.password))@"
        }
        return
            "\(url.isSecure ? "https" : "http")://\(user ?? "")\(url.host):\(url.port)/\(database)"
    }
}

/// An answer with its whole body.
struct Answer: Sendable, CustomStringConvertible {
    var status: Int
    var headers: HTTPHeaders
    var bytes: [UInt8]

    /// The body as JSON; nil when it is none.
    var json: JSONValue? {
        try? JSONParser.parse(bytes, options: .init(maximumDepth: JSONValue.maximumDepth))
    }

    var isSuccess: Bool { (200...299).contains(status) }

    var description: String { "\(status) \(String(decoding: bytes.prefix(300), as: UTF8.self))" }
}
