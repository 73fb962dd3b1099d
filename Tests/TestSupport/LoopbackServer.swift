// SPDX-License-Identifier: Apache-2.0

internal import Foundation
internal import Synchronization

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Darwin)
internal import Darwin
#endif

/// A small HTTP server on loopback, whose handler writes raw bytes: right ones, wrong ones, or none.
///
/// ```swift
/// let server = try LoopbackServer { request, connection in
///     connection.respond(status: 200, body: Array("hello".utf8))
/// }
/// defer { server.stop() }
/// let url = "http://127.0.0.1:\(server.port)/"
/// ```
///
/// Each connection has a thread of its own, on which the handler runs and may block. A connection is kept open
/// until the handler closes it, the client does, or the server stops.
///
/// A server that has stopped keeps its port until it is released, so that no other server answers there unless it
/// is started on just this port: tests run beside each other, and the system gives a free port to the next one.
public final class LoopbackServer: Sendable {
    /// Answers a request.
    public typealias Handler = @Sendable (LoopbackRequest, LoopbackConnection) -> Void

    private struct State {
        var connections: [ObjectIdentifier: LoopbackConnection] = [:]
        var accepted = 0
        var isStopped = false
    }

    /// The port that it listens on.
    public let port: Int
    private let listener: LoopbackSocket
    /// Is bound to the port and never listens.
    private let keeper: LoopbackSocket
    private let handler: Handler
    private let answersEarly: Bool
    private let isRaw: Bool
    private let state = Mutex(State())

    /// Starts a server on 127.0.0.1.
    ///
    /// - Parameters:
    ///   - port: The port; 0 for any.
    ///   - isDeaf: Whether to take connections and never read from them.
    ///   - isRaw: Whether to call the handler once for each connection, before anything is read from it.
    ///   - answersEarly: Whether to call the handler once the head has come, and leave the body.
    ///   - handler: Answers requests.
    /// - Throws: `LoopbackFailure` when the port cannot be had.
    public init(
        port: Int = 0, isDeaf: Bool = false, isRaw: Bool = false, answersEarly: Bool = false,
        _ handler: @escaping Handler = { _, _ in }
    )
        throws
    {
        let (kept, port) = try Self.bound(to: port)
        keeper = LoopbackSocket(kept)
        let (descriptor, _) = try Self.bound(to: port)
        listener = LoopbackSocket(descriptor)
        self.port = port
        self.handler = handler
        self.answersEarly = answersEarly
        self.isRaw = isRaw
        guard beginListening(descriptor) else { throw LoopbackFailure() }
        let thread = Thread { [weak self, listener] in
            while true {
                let descriptor = accept(listener.descriptor, nil, nil)
                if descriptor < 0 {
                    if errno == EINTR || errno == ECONNABORTED { continue }
                    return
                }
                let connection = LoopbackConnection(descriptor)
                guard let self, self.take(connection, isDeaf: isDeaf) else { return }
            }
        }
        thread.start()
    }

    deinit { stop() }

    /// How many connections have come.
    public var acceptedConnections: Int { state.withLock { $0.accepted } }

    /// How many connections are open.
    public var openConnections: Int { state.withLock { $0.connections.count } }

    /// Closes all connections, and takes no more.
    public func stop() {
        let connections = state.withLock { state -> [LoopbackConnection]? in
            guard !state.isStopped else { return nil }
            state.isStopped = true
            return Array(state.connections.values)
        }
        guard let connections else { return }
        listener.interrupt()
        listener.end()
        for connection in connections { connection.interrupt() }
        state.withLock { $0.connections = [:] }
    }

    /// A socket that is bound to a port, by itself or beside another one, and the port.
    private static func bound(to port: Int) throws -> (Int32, Int) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw LoopbackFailure() }
        var yes: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        #if canImport(Darwin)
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, &yes, socklen_t(MemoryLayout<Int32>.size))
        #endif
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(descriptor, pointer, length) == 0
                    && getsockname(descriptor, pointer, &length) == 0
            }
        }
        guard isBound else {
            close(descriptor)
            throw LoopbackFailure()
        }
        return (descriptor, Int(in_port_t(bigEndian: address.sin_port)))
    }

    private func take(_ connection: LoopbackConnection, isDeaf: Bool) -> Bool {
        let isTaken = state.withLock { state in
            guard !state.isStopped else { return false }
            state.accepted += 1
            state.connections[ObjectIdentifier(connection)] = connection
            return true
        }
        guard isTaken else { return false }
        if isDeaf { return true }
        let handler = handler
        let (answersEarly, isRaw) = (answersEarly, isRaw)
        let thread = Thread { [weak self] in
            if isRaw {
                handler(
                    LoopbackRequest(method: "", target: "", headers: [:], body: []), connection)
                connection.interrupt()
            }
            while let request = connection.readRequest(withBody: !answersEarly) {
                handler(request, connection)
            }
            connection.end()
            _ = self?.state.withLock {
                $0.connections.removeValue(forKey: ObjectIdentifier(connection))
            }
        }
        thread.stackSize = 512 * 1_024
        thread.start()
        return true
    }
}

/// The system refused a socket.
public struct LoopbackFailure: Error {}

/// A request as it came.
public struct LoopbackRequest: Sendable {
    /// The method.
    public var method: String
    /// The target, undecoded.
    public var target: String
    /// The header fields, names in lower case; of a name that came twice the last.
    public var headers: [String: String]
    /// The body, read whole.
    public var body: [UInt8]
}

/// The system's function, whose name the method hides.
private func beginListening(_ descriptor: Int32) -> Bool { listen(descriptor, 128) == 0 }

/// Keeps a server's thread waiting.
public enum LoopbackPause {
    /// Waits for so many milliseconds.
    public static func milliseconds(_ count: Int) { usleep(UInt32(count) * 1_000) }
}
