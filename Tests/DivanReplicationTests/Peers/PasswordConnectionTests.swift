// SPDX-License-Identifier: Apache-2.0

import DivanHTTP
import DivanJSON
import Foundation
import Synchronization
import Testing

@testable import DivanReplication

/// How often a server is shown a name and password that it calls wrong.
@Suite struct PasswordConnectionTests {
    /// A server with one answer, which counts what it is asked.
    private final class Server: WireConnection {
        let name = "server"
        let answer = Mutex((status: 401, reason: "Name or password is incorrect."))
        let count = Mutex(0)

        func respond(to request: WireRequest) async throws -> WireResponse {
            count.withLock { $0 += 1 }
            // Others come meanwhile.
            for _ in 0..<1_000 { await Task.yield() }
            let (status, reason) = answer.withLock { $0 }
            guard status != 0 else {
                throw ReplicationError(.unreachable, reason, isTransient: true)
            }
            let body: JSONValue = ["error": "x", "reason": .string(reason)]
            return WireResponse(
                status: status, headers: [:], body: BytesPieces(Array(body.description.utf8)))
        }
    }

    private let server = Server()
    private let place: HTTPURL

    init() throws { place = try HTTPURL("http://\(UUID().uuidString):wrong@127.0.0.1/") }

    private func connection(isAutomatic: Bool = true, rest: Duration = .seconds(300))
        -> PasswordConnection
    {
        PasswordConnection(base: server, place: place, isAutomatic: isAutomatic, rest: rest)
    }

    private var count: Int { server.count.withLock { $0 } }

    /// The errors of twenty requests at once.
    private func ask(_ connection: PasswordConnection) async -> [ReplicationError] {
        await withTaskGroup(of: ReplicationError?.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    do {
                        _ = try await connection.respond(to: WireRequest(.get, ""))
                        return nil
                    } catch { return ReplicationError(error) }
                }
            }
            return await group.reduce(into: []) { if let error = $1 { $0.append(error) } }
        }
    }

    @Test func `what tries by itself shows a wrong password once, and says so`() async {
        for _ in 0..<2 {
            let errors = await ask(connection())
            #expect(errors.count == 20)
            #expect(errors.allSatisfy { $0.code == .unauthorized && $0.status == 401 })
            #expect(errors.allSatisfy { $0.message.contains("not sent again for ") })
            #expect(errors.allSatisfy { ($0.retryAfter ?? 0) > 200 })
        }
        #expect(count == 1)
    }

    @Test func `after the rest one request asks for all`() async {
        _ = await ask(connection(rest: .zero))
        let before = count
        _ = await ask(connection())
        #expect(count == before + 1)
        server.answer.withLock { $0 = (200, "") }
        #expect(await ask(connection()).count == 20)
    }

    @Test func `what is asked for is asked in any case, and all know what was answered`() async {
        #expect(await ask(connection(isAutomatic: false)).count == 20)
        #expect(count == 20)
        #expect(await ask(connection()).count == 20)
        #expect(count == 20)
        server.answer.withLock { $0 = (200, "") }
        #expect(await ask(connection(isAutomatic: false)).isEmpty)
        #expect(await ask(connection()).isEmpty)
        #expect(count == 60)
    }

    @Test func `a refusal of another kind says nothing about the password`() async {
        server.answer.withLock { $0 = (401, "You are not a server admin.") }
        #expect(await ask(connection()).isEmpty)
        #expect(count == 20)
    }

    @Test func `requests that wait for one without an answer fail with it`() async {
        server.answer.withLock { $0 = (0, "gone") }
        let errors = await ask(connection())
        #expect(errors.count == 20)
        #expect(errors.allSatisfy { $0.code == .unreachable })
        #expect(count < 20)
    }
}
