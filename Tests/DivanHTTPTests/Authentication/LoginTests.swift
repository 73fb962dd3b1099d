// SPDX-License-Identifier: Apache-2.0

import DivanHTTP
import DivanTestSupport
import Testing

/// Logins that take long, that are given up, and that another server answers.
@Suite(.timeLimit(.minutes(5))) struct LoginTests {
    private func transport(_ authenticator: any HTTPAuthenticator, to server: LoopbackServer) throws
        -> AuthenticatedTransport
    {
        AuthenticatedTransport(try CurlTransport.direct(), authenticator, origin: try server.url())
    }

    @Test
    func `a wait for a login ends with its task, and the login with the last task that waits`()
        async throws
    {
        let server = try LoopbackServer { $1.respond(status: 200) }
        defer { server.stop() }
        let (asked, cancelled, page) = (Counter(), Flag(), Gate())
        defer { page.open() }
        // Waits for a user, whatever becomes of its task.
        let authenticator = BearerAuthenticator { _ in
            asked.add()
            await withTaskCancellationHandler {
                await page.passed()
            } onCancel: {
                cancelled.set()
            }
            return "late"
        }
        let transport = try transport(authenticator, to: server)
        let request = HTTPRequest(.get, try server.url("/x"))
        let (ended, first) = (Flag(), Flag())
        let tasks = [first, ended].map { flag in
            Task {
                defer { flag.set() }
                return try await transport.send(request).status
            }
        }
        await eventually { asked.value == 1 }
        tasks[0].cancel()
        await eventually { first.isSet }
        #expect(!cancelled.isSet && !ended.isSet)
        tasks[1].cancel()
        await eventually { ended.isSet && cancelled.isSet }
        for task in tasks {
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        // The next request does not get what the cancelled login brings.
        let next = Task { try await transport.send(request).status }
        await eventually { asked.value == 2 }
        page.open()
        #expect(try await next.value == 200)
    }
}
