// SPDX-License-Identifier: Apache-2.0

internal import Divan
internal import DivanJSON
internal import DivanListener
internal import DivanPeers
internal import FoundationEssentials

extension Command {
    /// `divan nearby`: paired devices without a server.
    static let nearby = Command(
        CommandSchema(
            name: "nearby",
            summary:
                "Keep the databases that paired devices share the same while they are on one network.",
            discussion: """
                The device serves its peers over TLS and pulls from those that it sees. Peers come and go; what \
                happens is told line by line, on a terminal below them how far the pulls have come. It ends with Control-C or SIGTERM. Pair devices with --qr on one and \
                "divan pair" on the other, also while this runs.
                """,
            arguments: [.directory],
            options: [
                .value("name", nil, "NAME", "What other devices call this one."),
                .value(
                    "database", nil, "NAME", "Only this database of those that are shared.",
                    repeats: true),
                .value("host", nil, "HOST", "Listen on an address, 0.0.0.0 unless given."),
                .value("port", "p", "PORT", "Listen on a port, any free one unless given."),
            ] + PeerLinkOutput.options + KeySource.options,
            examples: ["divan nearby data", "divan nearby data --qr notes --name \"Ann's laptop\""]),
        waiting: runNearby)

    private static func runNearby(_ invocation: Invocation) async throws {
        let arguments = invocation.arguments
        let showsLink = try PeerLinkOutput.isAskedFor(arguments)
        var options = ListenerOptions()
        options.host = arguments.string("host") ?? "0.0.0.0"
        if let port = try arguments.count("port") {
            guard let number = UInt16(exactly: port) else {
                throw UsageError("--port takes a number up to 65535.")
            }
            options.port = number
        }
        let (manager, device) = try invocation.device(
            key: KeySource.key(arguments, invocation.environment, invocation.interruption))
        defer { manager.close() }
        options.device = device
        let listener = Listener(manager, options)
        invocation.interruption.listenToTermination()
        try listener.start()
        defer { listener.stop() }
        var syncOptions = PeerSync.Options()
        let databases = arguments.strings("database")
        if !databases.isEmpty { syncOptions.databases = NameSet(databases) }
        let sync = PeerSync(listener, syncOptions)
        try sync.start()
        invocation.output.remark(
            "\(device.name) looks for its peers: \(device.peers.count) are paired.")
        if showsLink { try PeerLinkOutput.show(invocation, listener) }
        try invocation.output.out.flush()
        let report = Task {
            var report = NearbyReport()
            var progress = NearbyProgress(invocation.output)
            defer { progress.hide() }
            for await statuses in sync.statuses {
                let lines = report.lines(statuses)
                if !lines.isEmpty { progress.hide() }
                for line in lines { try invocation.output.line(line) }
                try invocation.output.out.flush()
                progress.show(statuses)
            }
        }
        await withCheckedContinuation { continuation in
            invocation.interruption.onRequest { continuation.resume() }
        }
        report.cancel()
        // Its bar is gone before something else is said.
        _ = await report.result
        await sync.stop()
    }
}

/// Tells what happens to peers, one line for each change that a person wants to know.
struct NearbyReport {
    private struct Known {
        var presence = PeerStatus.Presence.away
        var isUpToDate = false
        var transferred: NameMap<Int> = [:]
    }

    private var known: NameMap<Known> = [:]

    /// The lines for the newest statuses.
    mutating func lines(_ statuses: [PeerStatus]) -> [String] {
        var lines: [String] = []
        for status in statuses {
            let before = known[status.id]
            var now = before ?? Known()
            if before == nil || now.presence != status.presence {
                now.presence = status.presence
                lines.append("\(status.peer.name): \(status.presence.rawValue)")
            }
            for (name, pull) in status.pulls where pull.activity == .idle {
                // The counts begin anew with each burst.
                if pull.transferred != now.transferred[name] ?? 0, pull.transferred > 0 {
                    lines.append(
                        "\(status.peer.name): \(name): \(Quantity.counted(pull.transferred, "document")) received"
                    )
                }
                now.transferred[name] = pull.transferred
            }
            if status.isUpToDate, !now.isUpToDate {
                lines.append("\(status.peer.name): up to date")
            }
            now.isUpToDate = status.isUpToDate
            known[status.id] = now
        }
        for (id, _) in known where !statuses.contains(where: { $0.id.hasSameBytes(as: id) }) {
            known.removeValue(forKey: id)
            lines.append("A peer is no longer paired: \(id)")
        }
        return lines
    }
}
