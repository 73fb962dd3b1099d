// SPDX-License-Identifier: Apache-2.0

/// Brings requests from sockets to a handler, and its answers back.
///
/// It is the seam between the listener and the library that speaks HTTP on sockets: everything above
/// it works without a network, and another library takes the place of this one by another
/// implementation.
package protocol HTTPServer: AnyObject, Sendable {
    /// The port it listens on.
    var port: UInt16 { get }
    /// How many connections are open.
    var connectionCount: Int { get }
    /// Takes no new connection; those that come wait for another server of the socket, if there is one. `stop` follows.
    func stopAccepting()
    /// Takes no new connection, lets the requests that have come be answered and ends answers that go on without an end;
    /// `stop` follows.
    ///
    /// - Parameter limit: How long it waits for them.
    /// - Returns: Whether all were answered.
    func finish(within limit: Duration) -> Bool
    /// Stops: requests that are being worked on are broken off, and nothing is answered after this
    /// returns. Stopping twice is fine.
    func stop()
}

/// What an `HTTPServer` asks about requests and lets answer them.
package protocol HTTPRequestHandler: Sendable {
    /// Who makes a request.
    ///
    /// - Parameters:
    ///   - head: The head of the request.
    ///   - mayTakeLong: Whether a password may be hashed, which takes a good part of a second.
    /// - Returns: nil only when that is needed and not allowed.
    func identity(of head: RequestHead, mayTakeLong: Bool) -> Identity?
    /// The longest body of a request of a client, in bytes.
    func largestBody(of identity: Identity) -> Int
    /// Answers a request that takes less time than to hand it to another thread; nil for all others.
    func answerAtOnce(_ request: ListenerRequest) -> ListenerResponse?
    /// The answer to a request whose answer failed before anything of it was sent.
    func fail(_ error: any Error, _ head: RequestHead) -> ListenerResponse
    /// Where a request waits for its turn, so that none holds up those of another kind.
    func lane(_ request: ListenerRequest) -> Router.Lane
    /// The memory for bodies that come in and are too long to be kept for each connection.
    var receivedBodies: MemoryBudget { get }
    /// Answers a request; on a thread that may block.
    func respond(_ request: ListenerRequest) -> ListenerResponse
    /// The answer to a request that was refused before its body came.
    func refuse(_ failure: HTTPFailure, _ head: RequestHead) -> ListenerResponse
}

extension Router: HTTPRequestHandler {}
