// SPDX-License-Identifier: Apache-2.0

import Dispatch
import DivanHTTP
import DivanReplication
import DivanTestSupport
import Synchronization

extension CouchStandIn {
    /// A server that hands requests for `/db` to the stand-in; `fate` may answer instead. `traffic`
    /// counts what comes and goes.
    func serve(
        port: Int = 0, traffic: Traffic? = nil,
        _ fate: @escaping @Sendable (LoopbackRequest, LoopbackConnection) -> Bool = { _, _ in false
        }
    ) throws -> LoopbackServer {
        try LoopbackServer(port: port) { [self] request, connection in
            if fate(request, connection) { return }
            let answer = Mutex<(Int, [(String, String)], [UInt8])?>(nil)
            let done = DispatchSemaphore(value: 0)
            Task {
                do {
                    let response = try await respond(to: Self.wire(request))
                    var body: [UInt8] = []
                    while let piece = try await response.body.next() { body += piece }
                    let fields = response.headers.map { ($0.name, $0.value) }
                    answer.withLock { [body] in $0 = (response.status, fields, body) }
                } catch {}
                done.signal()
            }
            done.wait()
            guard let (status, fields, body) = answer.withLock({ $0 }) else {
                return connection.reset()
            }
            traffic?.count(request.body.count, body.count)
            connection.respond(status: status, headers: fields, body: body)
        }
    }

    private static func wire(_ request: LoopbackRequest) -> WireRequest {
        let parts = request.target.split(separator: "?", maxSplits: 1).map(String.init)
        var path = String(parts[0].dropFirst("/db".count))
        if path.hasPrefix("/") { path.removeFirst() }
        var query: [(name: String, value: String)] = []
        for pair in parts.count > 1 ? parts[1].split(separator: "&") : [] {
            let sides = pair.split(separator: "=", maxSplits: 1).map {
                PercentEncoding.decode($0) ?? ""
            }
            query.append((sides[0], sides.count > 1 ? sides[1] : ""))
        }
        let type = request.headers["content-type"] ?? ""
        let body = request.body
        var wire = WireRequest(
            HTTPMethod(rawValue: request.method), path, query: query,
            accept: request.headers["accept"] ?? "")
        if type.hasPrefix("multipart/") {
            wire.body = .pieces(length: body.count, type: type) { BytesPieces(body) }
        } else if !body.isEmpty {
            wire.body = .bytes(body, type: type)
        }
        return wire
    }
}

extension LoopbackServer {
    /// The URL of the stand-in's database.
    var databaseURL: String { "http://127.0.0.1:\(port)/db" }
}

/// How many requests a server has answered, and the bytes of their bodies and of the answers'.
final class Traffic: Sendable {
    private struct Counts {
        var requests = 0
        var received = 0
        var sent = 0
    }

    private let counts = Mutex(Counts())

    var requests: Int { counts.withLock(\.requests) }
    var received: Int { counts.withLock(\.received) }
    var sent: Int { counts.withLock(\.sent) }

    func count(_ received: Int, _ sent: Int) {
        counts.withLock { counts in
            counts.requests += 1
            counts.received += received
            counts.sent += sent
        }
    }

    func reset() { counts.withLock { $0 = Counts() } }
}
