// SPDX-License-Identifier: Apache-2.0

import DivanHTTP
import DivanTestSupport
import Testing

/// What a faulty server does to one request.
private enum Fault: CaseIterable {
    case none, dropped, reset, silent, silentInHead, silentInBody, cutHead, cutBody, damagedHead
    case damagedLength, damagedChunks, dripping, refused
}

// Soak slices: 4
@Suite struct CurlWatchdogTests {
    /// Answers a request with its body doubled, with a fault.
    private static func answer(
        _ request: LoopbackRequest, _ connection: LoopbackConnection, _ fault: Fault
    ) {
        let body = request.body + request.body
        let head = "HTTP/1.1 200 OK\nX-Length: \(body.count)\n"
        let half = body.prefix(body.count / 2)
        switch fault {
        case .none: connection.respond(status: 200, body: body)
        case .dropped: connection.interrupt()
        case .reset: connection.reset()
        case .silent: connection.waitForClose()
        case .silentInHead:
            connection.write(lines: "HTTP/1.1 200 OK\nContent-")
            connection.waitForClose()
        case .silentInBody:
            connection.write(lines: head + "Content-Length: \(body.count)\n\n")
            connection.write(half)
            connection.waitForClose()
        case .cutHead:
            connection.write(lines: "HTTP/1.1 20")
            connection.interrupt()
        case .cutBody:
            connection.write(lines: head + "Content-Length: \(body.count + 1)\n\n")
            connection.write(half)
            connection.interrupt()
        case .damagedHead:
            connection.write(lines: "HTPT/1.1 200 OK\nContent-Length: 3\n\nabc")
            connection.interrupt()
        case .damagedLength:
            connection.write(lines: head + "Content-Length: \(body.count)x\n\n")
            connection.interrupt()
        case .damagedChunks:
            connection.write(lines: head + "Transfer-Encoding: chunked\n\n")
            connection.write(chunk: Array(half.isEmpty ? [1] : half))
            connection.write(lines: "zz\nabc\n")
            connection.interrupt()
        case .dripping:
            connection.write(lines: head + "Content-Length: \(body.count)\n\n")
            for start in stride(from: 0, to: body.count, by: 4_000) {
                connection.write(body[start..<min(start + 4_000, body.count)])
            }
        case .refused: connection.respond(status: 503, headers: [("Retry-After", "0")])
        }
    }

    @Test func `whatever a server does, a request ends in time, and right when it succeeds`()
        async throws
    {
        let faults = Fault.allCases
        let server = try LoopbackServer { request, connection in
            let number = request.headers["x-fault"].flatMap { Int($0) } ?? 0
            Self.answer(request, connection, faults[number])
        }
        defer { server.stop() }
        let transport = try CurlTransport.direct { options in
            options.timeouts.head = .milliseconds(400)
            options.timeouts.silence = .milliseconds(400)
        }
        let rounds = Soak.rounds(test: 200, soak: 8_000)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, round) in rounds.enumerated() {
                if index >= 16 { try await group.next() }
                group.addTask {
                    try await Self.persist(
                        round: round, transport, server, faultCount: faults.count)
                }
            }
            try await group.waitForAll()
        }
        #expect(server.acceptedConnections > 0)
    }

    /// Sends one body until the right answer comes, as a replication does, through random faults.
    private static func persist(
        round: Int, _ transport: CurlTransport, _ server: LoopbackServer, faultCount: Int
    ) async throws {
        var random = Soak.random(round: round)
        let body = (0..<random.element(of: [0, 10, 5_000, 100_000])).map {
            UInt8(truncatingIfNeeded: $0)
        }
        for attempt in 0..<60 {
            var request = HTTPRequest(.post, try server.url())
            // After many faults there is none, as a network mends in the end.
            request.headers["X-Fault"] = "\(attempt < 20 ? random.below(faultCount) : 0)"
            request.body =
                random.oneIn(2)
                ? .bytes(body)
                : .stream(length: body.count) {
                    BytesSource(
                        stride(from: 0, to: body.count, by: 7_000).map {
                            Array(body[$0..<min($0 + 7_000, body.count)])
                        })
                }
            let sent = request
            do {
                let bytes = try await within(seconds: 60) {
                    let response = try await transport.send(sent)
                    return response.status == 200 ? try await response.body.collect() : nil
                }
                guard let bytes else { continue }
                #expect(bytes == body + body, "round \(round)")
                return
            } catch let error as HTTPError {
                #expect(error.isTransient, "round \(round): \(error)")
            }
        }
        Issue.record("round \(round) never got through")
    }

    /// Fails when something takes much longer than every timeout allows.
    private static func within<T: Sendable>(
        seconds: Int, _ body: @escaping @Sendable () async throws -> T
    ) async throws -> T {
        try await withThrowingTaskGroup(of: T?.self) { group in
            group.addTask { try await body() }
            group.addTask {
                try await Task.sleep(for: .seconds(seconds))
                return nil
            }
            defer { group.cancelAll() }
            guard let first = try await group.next(), let value = first else {
                Issue.record("a request hangs")
                throw CancellationError()
            }
            return value
        }
    }
}
