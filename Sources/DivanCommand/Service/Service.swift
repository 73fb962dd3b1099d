// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Divan
internal import DivanListener
internal import DivanPeers
internal import DivanSystem
internal import FoundationEssentials

/// The databases that `divan serve` serves until it is told to end.
///
///     start ──► serving ── SIGHUP ──► the options are read again
///                  ▲                        │ fine: a new listener takes the socket, the old one finishes its requests
///                  └────────────────────────┤
///                                           │ wrong: this is logged, and the old listener goes on
///                  ┌────────────────────────┘
///     SIGTERM, Control-C ──► no new connection; requests that have come are answered, feeds end
///                            ──► replications save their checkpoints ──► the databases are closed
///
/// The service manager, where there is one, may hand over the socket, and hears of each step. The socket stays open
/// between two listeners, so no client is refused.
///
/// State: all but `finishing` is used by the one task that runs it.
final class Service {
    /// How long requests may take that have come when it is told to end.
    private static let grace = Duration.seconds(20)

    /// Options that hold as long as the process: the databases are open by them, or devices know it by them.
    private static let fixed: NameSet = NameSet(
        JavaScriptOptions.serving.map(\.name) + [
            "color", "encryption-key", "encryption-password", "log-file", "name", "nearby",
            "peers", "qr", "qr-background", "qr-file", "qr-seconds", "quiet", "read-only",
        ])

    private enum Event { case reload, end }

    private let schema: CommandSchema
    private var invocation: Invocation
    private let directory: URL
    private let supervisor: ServiceManager
    private let manager: Manager
    /// Whether a link for pairing is shown once the listener listens.
    private let showsLink: Bool
    private var socket: ListeningSocket?
    private var listener: Listener
    /// Pulls from paired devices; nil unless that is asked for.
    private var sync: PeerSync?
    /// Former listeners that finish their requests.
    private let finishing = DispatchGroup()

    /// Opens the directory as the options say; nothing is served yet.
    init(_ invocation: Invocation, _ schema: CommandSchema) throws {
        self.invocation = invocation
        self.schema = schema
        directory = URL(filePath: try invocation.arguments.argument("DIR"))
        showsLink = try PeerLinkOutput.isAskedFor(invocation.arguments)
        let environment = invocation.environment
        supervisor = ServiceManager(
            address: environment["NOTIFY_SOCKET"], count: environment["LISTEN_FDS"],
            process: environment["LISTEN_PID"])
        guard supervisor.sockets.count < 2 else {
            throw UsageError(
                "The service manager hands over \(supervisor.sockets.count) sockets; give divan one."
            )
        }
        let path = directory.path(percentEncoded: false)
        let isMissing = !Files.exists(path)
        var options = try ServeOptions.read(invocation, directory)
        options.scripts = try JavaScriptOptions.servingRuntimes(invocation)
        var managerOptions = ManagerOptions()
        managerOptions.readOnly = options.readOnly
        managerOptions.databaseOptions.encryptionKey = try KeySource.key(
            invocation.arguments, environment, invocation.interruption)
        manager = try Manager(directory: directory, options: managerOptions)
        // A name that was mistyped would be served, too, without a database.
        if isMissing, Files.exists(path) {
            invocation.output.remark(
                "Made the directory \(Invocation.shown(path)), which was not there.")
        }
        if PeerLinkOutput.servesPeers(invocation.arguments) {
            options.device = try PeerDevice(manager, name: invocation.arguments.string("name"))
        }
        listener = Listener(manager, options)
    }

    /// Serves until the process is told to end.
    func run() async throws {
        let (events, continuation) = AsyncStream.makeStream(of: Event.self)
        // It ends by Control-C, or as a service is told to end; also when that comes while it starts.
        invocation.interruption.listenToTermination()
        if supervisor.listens || invocation.typed.flag(OptionsFile.option.name) {
            // Elsewhere the signal says that the terminal is gone, and ends the process.
            try Signals.watch(Signals.reload) { continuation.yield(.reload) }
        }
        do { try start() } catch {
            await end()
            throw error
        }
        invocation.interruption.onRequest { continuation.yield(.end) }
        for await event in events {
            guard event == .reload else { break }
            await reload()
        }
        await end()
    }

    private func start() throws {
        let socket = try supervisor.sockets.first.map(adopt) ?? listener.boundSocket()
        self.socket = socket
        try listener.start(on: try socket.duplicated())
        try startSync()
        let output = invocation.output
        for url in listener.urls { try output.line(url.absoluteString) }
        if listener.options.console != nil, let url = listener.urls.first {
            try output.line("console: \(url.absoluteString)_utils/")
        }
        if let fingerprint = listener.fingerprint {
            try output.line("certificate SHA-256: \(fingerprint)")
        }
        if showsLink { try PeerLinkOutput.show(invocation, listener) }
        try output.out.flush()
        tell(.ready(status))
    }

    private func startSync() throws {
        guard invocation.arguments.flag("nearby") else { return }
        let sync = PeerSync(listener)
        try sync.start()
        self.sync = sync
    }

    private func adopt(_ descriptor: Int32) throws -> ListeningSocket {
        do throws(SystemError) { return try ListeningSocket(adopting: descriptor) } catch {
            throw CommandFailure(
                .failure,
                "The socket that the service manager hands over is not one of TCP that listens: \(error.reason)."
            )
        }
    }

    /// Reads the options again, and serves by them if they are right.
    private func reload() async {
        tell(.reloading)
        do {
            try await follow(OptionsFile.completing(invocation.typed, schema))
            Log.listener.info("The options were read again.")
        } catch {
            Log.listener.error(
                "The options were read again, and the former ones hold: "
                    + CommandFailure(describing: error).message)
        }
        tell(.ready(status))
    }

    private func follow(_ arguments: ParsedArguments) async throws {
        for name in Self.fixed
        where arguments.strings(name) != invocation.arguments.strings(name) {
            throw UsageError("--\(name) changes when the service starts again, and not before.")
        }
        _ = try CommandLog.levels(arguments)
        var next = invocation
        next.arguments = arguments
        var options = try ServeOptions.read(next, directory)
        let former = listener
        guard (options.host, options.port) == (former.options.host, former.options.port) else {
            throw UsageError(
                "--host and --port change when the service starts again, and not before.")
        }
        options.scripts = former.options.scripts
        options.device = former.options.device
        let new = Listener(manager, options)
        try new.start(on: try socket?.duplicated(), succeeding: former)
        try invocation.log.follow(arguments)
        (listener, invocation) = (new, next)
        // By the time that the service manager is told, no connection comes to the former one. Its requests end while the
        // service hears of the next signal.
        former.stopAccepting()
        DispatchQueue.global().async(group: finishing) { former.stop(finishing: Self.grace) }
        await sync?.stop()
        try startSync()
    }

    private func end() async {
        tell(.stopping)
        await sync?.stop()
        listener.stopAccepting()
        // The service manager's own socket goes on to listen, for the next start.
        if supervisor.sockets.isEmpty { socket?.refuse() }
        socket?.close()
        listener.stop(finishing: Self.grace)
        // They began earlier.
        finishing.wait()
        manager.close()
    }

    private var status: String {
        "Listening on " + listener.urls.map(\.absoluteString).joined(separator: " ")
    }

    private func tell(_ state: ServiceManager.State) {
        do throws(SystemError) { try supervisor.tell(state) } catch {
            Log.listener.warning("The service manager could not be told: \(error.reason).")
        }
    }
}
