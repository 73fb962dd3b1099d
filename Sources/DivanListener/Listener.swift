// SPDX-License-Identifier: Apache-2.0

public import DivanDatabase
internal import DivanHTTP
internal import DivanLogging
package import DivanSystem
public import FoundationEssentials
internal import Synchronization

/// Serves the databases of a manager over HTTP, in CouchDB's language.
///
/// ```swift
/// var options = ListenerOptions()
/// options.access = .users(["ann": "secret"])
/// let listener = Listener(manager, options)
/// try listener.start()
/// print(listener.urls)            // [http://127.0.0.1:49213/]
/// ```
///
/// CouchDB, PouchDB, Couchbase Lite 1.x, other Divans and general clients of CouchDB can replicate with
/// it and use it while the app goes on reading and writing. Hold on to the listener: letting go of it
/// stops it.
///
/// The listener lets in users with a password or, if the app says so, all programs on this machine: see
/// ``ListenerAccess``. `docs/listener.md` tells what it serves and what differs from CouchDB.
///
/// State: `running`, guarded by its mutex.
public final class Listener: Sendable {
    /// The manager whose databases are served.
    public let manager: Manager
    /// How it listens.
    public let options: ListenerOptions
    private struct Running {
        let server: any HTTPServer
        let site: Site
        /// The address that it listens on.
        let host: String
    }
    private let running = Mutex<Running?>(nil)
    /// How long replications have to save a last checkpoint.
    private static let replicationGrace = Duration.seconds(10)

    /// Makes a listener, which does not listen yet.
    public init(_ manager: Manager, _ options: ListenerOptions = ListenerOptions()) {
        self.manager = manager
        self.options = options
    }

    deinit { stop() }

    /// Starts to listen; it serves when this returns. Starting what has started does nothing.
    ///
    /// - Throws: `DatabaseError` with code `.io` when the port is taken, the host is no address of this
    ///   machine, or key and certificate do not fit; `.forbidden` when ``ListenerAccess/everybodyOnLoopback``
    ///   is set for an interface that other machines can reach, or clients are to show certificates without TLS;
    ///   `.invalidName` when a field of `responseHeaders` cannot be one.
    public func start() throws { try start(on: nil) }

    /// Starts to listen on a socket that listens already, in place of the address and port of the options.
    ///
    /// - Parameters:
    ///   - given: The socket, which is the listener's from now on, also when this throws; nil for one of its own.
    ///   - former: A listener of the same manager that stops after this: its replications end before those of this one
    ///     begin.
    /// - Throws: As ``start()``.
    package func start(on given: ListeningSocket?, succeeding former: Listener? = nil) throws {
        // The server closes the socket once it has that.
        var untaken = given
        defer { untaken?.close() }
        try running.withLock { running in
            guard running == nil else { return }
            guard options.clientCertificates == nil || options.tls != nil else {
                throw DatabaseError(
                    .forbidden,
                    "Clients show certificates over TLS only; give the listener one, too.")
            }
            guard options.devices == nil || options.tls != nil else {
                throw DatabaseError(
                    .forbidden,
                    "Devices are known by their keys over TLS only; give the listener one.")
            }
            if let own = options.devices?.key,
                !Secrets.areEqual(own, options.tls?.keyDigest ?? [])
            {
                throw DatabaseError(
                    .forbidden,
                    "Peers know this device by its key; leave `tls` as setting `device` leaves it.")
            }
            // The library closes the socket where it finds that itself, though it is not the library's yet.
            guard options.tls?.fits ?? true else {
                throw DatabaseError(
                    .io, "The key of the listener is not that of its certificate; give both of one."
                )
            }
            let site = try Site(manager, options, succeeding: former?.site)
            let socket = try given ?? boundSocket()
            untaken = socket
            let host = given?.host ?? options.host
            if case .everybodyOnLoopback = options.access, !socket.isLoopback {
                throw DatabaseError(
                    .forbidden,
                    "A listener without users serves this machine only; listen on 127.0.0.1, or "
                        + "name users.")
            }
            untaken = nil
            let made = try MicroHTTPServer(
                socket, Router(site: site), options.limits, tls: options.tls,
                clientCertificates: options.clientCertificates, knowsDevices: options.devices != nil
            )
            former?.site?.endReplications(within: Self.replicationGrace)
            site.begin(host: host, port: made.port)
            running = Running(server: made, site: site, host: host)
            options.devices?.keep(port: made.port)
            Log.listener.info("Listening on port \(made.port) of '\(host)'.")
        }
    }

    /// A socket on the address and port of the options.
    package func boundSocket() throws -> ListeningSocket {
        if options.port == 0, let last = options.devices?.lastPort,
            let socket = try? ListeningSocket(host: options.host, port: last)
        {
            return socket
        }
        do throws(SystemError) {
            return try ListeningSocket(host: options.host, port: options.port)
        } catch { throw DatabaseError.cannotListen(options.host, options.port, error) }
    }

    /// Stops listening; requests that are being answered are broken off, and replications that clients
    /// started end. Stopping twice is fine.
    public func stop() { stop(finishing: .zero) }

    /// Takes no new connection from now on; `stop(finishing:)` follows. Those that come wait for another listener on the socket.
    package func stopAccepting() { running.withLock { $0?.server }?.stopAccepting() }

    /// Stops listening when the requests that have come are answered.
    ///
    /// No connection is taken meanwhile. Feeds that go on without an end come to a proper one: their clients see the place
    /// from which another feed goes on. What is not answered in time is broken off, as by ``stop()``.
    ///
    /// - Parameter limit: How long to wait, a day at most.
    public func stop(finishing limit: Duration) {
        let stopped = running.withLock { running in
            defer { running = nil }
            running?.site.endListening()
            return running
        }
        guard let stopped else { return }
        let limit = min(limit, .seconds(86_400))
        if limit > .zero, !stopped.server.finish(within: limit) {
            Log.listener.warning("Requests were broken off that were not answered in time.")
        }
        if limit > .zero { stopped.site.endReplications(within: Self.replicationGrace) }
        stopped.site.end()
        stopped.server.stop()
        Log.listener.info("Stopped listening on port \(stopped.server.port).")
    }

    /// Whether it listens.
    public var isRunning: Bool { running.withLock { $0 != nil } }

    /// The port it listens on; nil while it does not.
    public var port: UInt16? { running.withLock { $0?.server.port } }

    /// How many connections are open.
    public var connectionCount: Int { running.withLock { $0?.server.connectionCount ?? 0 } }

    /// The URLs under which clients reach it; empty while it does not listen.
    ///
    /// A listener on one address has its one URL. One on all interfaces (`0.0.0.0` or `::`) has a URL for each address
    /// that another device can use, IPv4 first: those of the loopback are left out, and those that are good on one
    /// network only where there are others. They are looked up at each call, since a machine changes its networks.
    public var urls: [URL] {
        guard let (port, host) = running.withLock({ $0.map { ($0.server.port, $0.host) } }) else {
            return []
        }
        let scheme = options.tls == nil ? "http" : "https"
        return ReachableHosts.of(host, LocalAddresses.all).compactMap {
            URL(string: "\(scheme)://\($0):\(port)/")
        }
    }

    /// What requests share while it listens; another one after each start.
    package var site: Site? { running.withLock { $0?.site } }

    /// The hosts of ``urls``, an IPv6 address without brackets.
    package var hosts: [String] { site?.reachableHosts ?? [] }

    /// The URL of a database by the first of ``urls``, which is one that another device can use unless the listener
    /// listens on the loopback; nil while it does not listen.
    public func url(of database: Database) -> URL? {
        urls.first.flatMap {
            URL(string: $0.absoluteString + PercentEncoding.encode(database.name))
        }
    }

    /// What clients that pin the certificate compare, as `TrustPolicy.fingerprints(_:)` takes it; nil without TLS.
    public var fingerprint: String? { options.tls?.fingerprint }
}
