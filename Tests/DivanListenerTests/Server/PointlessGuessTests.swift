// SPDX-License-Identifier: Apache-2.0

import DivanHTTP
import DivanSystem
import DivanTestSupport
import Testing

@testable import DivanListener

/// Passwords that wait to be checked when nothing waits for what that would find out.
@Suite struct PointlessGuessTests {
    /// Where a client gives its password.
    enum Place: CaseIterable { case header, body }

    /// A handler that notes each password that it checks, and for which that takes until a gate is open.
    private final class Handler: HTTPRequestHandler {
        let gate = Gate()
        /// How many passwords have come, and how many were checked.
        let (come, checked) = (Counter(), Counter())
        let receivedBodies = MemoryBudget(capacity: 1 << 20)

        private func check() {
            checked.add()
            gate.wait()
        }

        func identity(of head: RequestHead, mayTakeLong: Bool) -> Identity? {
            guard head.headers["Authorization"] != nil else {
                return .known(ListenerUser())
            }
            guard mayTakeLong else {
                come.add()
                return nil
            }
            check()
            return .refused(HTTPFailure(401, "unauthorized", "It is wrong."))
        }

        func largestBody(of identity: Identity) -> Int { 1 << 10 }

        func answerAtOnce(_ request: ListenerRequest) -> ListenerResponse? {
            guard request.head.method == "GET" else { return nil }
            if case .refused(let failure) = request.identity {
                return ListenerResponse(status: failure.status)
            }
            return ListenerResponse(status: 200)
        }

        func lane(_ request: ListenerRequest) -> Router.Lane {
            come.add()
            return .signingIn("ann")
        }

        func respond(_ request: ListenerRequest) -> ListenerResponse {
            check()
            return ListenerResponse(status: 401)
        }

        func fail(_ error: any Error, _ head: RequestHead) -> ListenerResponse {
            ListenerResponse(status: 500)
        }

        func refuse(_ failure: HTTPFailure, _ head: RequestHead) -> ListenerResponse {
            ListenerResponse(status: failure.status)
        }
    }

    private let handler = Handler()
    private let server: MicroHTTPServer

    init() throws {
        var limits = ListenerLimits()
        limits.workers = 1
        server = try MicroHTTPServer(
            try ListeningSocket(host: "127.0.0.1", port: 0), handler, limits, tls: nil)
    }

    private func guess(_ place: Place) throws -> RawClient {
        let client = try RawClient(port: server.port)
        switch place {
        case .header: client.request("GET", "/", ["Authorization: Basic YW5uOmE="])
        case .body: client.request("POST", "/_session", [], Array("name=ann&password=a".utf8))
        }
        return client
    }

    /// Sends forty passwords, and waits until one is being checked and the others wait.
    private func guesses(_ place: Place) throws -> [RawClient] {
        let clients = try (0..<40).map { _ in try guess(place) }
        eventually { handler.come.value == 40 && handler.checked.value == 1 }
        // One thread takes all requests, so it has handed over those that came before this one.
        let other = try RawClient(port: server.port)
        other.request("GET", "/")
        #expect(other.answer()?.status == 200)
        return clients
    }

    @Test(arguments: Place.allCases)
    func `passwords whose connections were reset are not checked`(_ place: Place) throws {
        defer { server.stop() }
        for client in try guesses(place) { client.reset() }
        let last = try guess(place)
        eventually { handler.come.value == 41 }
        handler.gate.open()
        // It is the last in the queue, and the second that is checked.
        #expect(last.answer()?.status == 401)
        #expect(handler.checked.value == 2)
    }

    @Test(arguments: Place.allCases)
    func `a server that stops checks none of the passwords that wait`(_ place: Place) throws {
        let clients = try guesses(place)
        let stopping = Running { [server] in server.stop() }
        eventually { server.isStopping }
        handler.gate.open()
        _ = try stopping.value()
        #expect(stopping.isDone(within: 0))
        #expect(handler.checked.value == 1)
        withExtendedLifetime(clients) {}
    }
}
