// SPDX-License-Identifier: Apache-2.0

internal import Divan
internal import DivanJSON
internal import DivanPeers
internal import FoundationEssentials

extension Invocation {
    /// The device of the directory `DIR`, which is made when missing.
    ///
    /// - Parameter key: The key of its databases.
    /// - Returns: The device, and the manager of its databases.
    /// - Throws: `DatabaseError` and `PeerError`.
    func device(key: EncryptionKey? = nil) throws -> (manager: Manager, device: PeerDevice) {
        var options = ManagerOptions()
        options.databaseOptions.encryptionKey = key
        let manager = try Manager(
            directory: URL(filePath: try arguments.argument("DIR")), options: options)
        return (manager, try PeerDevice(manager, name: arguments.string("name")))
    }
}

extension Command {
    /// `divan pair`: trust between two devices.
    static let pair = Command(
        CommandSchema(
            name: "pair",
            summary: "Pair this device with the one that shows a link.",
            discussion: """
                The link is what "divan serve --qr" or "divan nearby --qr" shows. Afterwards each of the two devices \
                knows the other's key, and "divan nearby" keeps the databases that they share the same. \
                The link counts once. Compare the digits: both devices show the same. Where they differ, \
                revoke the peer with "divan peers".
                """,
            arguments: [
                ArgumentSchema(
                    name: "LINK", summary: "The text of the link; - for standard input."),
                .directory,
            ],
            options: [
                .value("name", nil, "NAME", "What other devices call this one."),
                .flag(
                    "share-existing", nil,
                    "Let the other device read and change the documents that this one has already."),
            ] + KeySource.options,
            examples: [
                "divan pair - data < link.txt",
                "divan pair 'divan://192.168.1.7:49213/notes#1&c=...' data",
            ]),
        waiting: runPair)

    private static func runPair(_ invocation: Invocation) async throws {
        var text = try invocation.arguments.argument("LINK")
        if text == "-" {
            guard let line = readLine() else {
                throw UsageError("Standard input has no link.")
            }
            text = line
        }
        let link = try PeerLink(text)
        let (manager, device) = try invocation.device(
            key: KeySource.key(
                invocation.arguments, invocation.environment, invocation.interruption))
        defer { manager.close() }
        let existing = try manager.existingDatabase(named: link.database)?.documentCount ?? 0
        guard existing == 0 || invocation.arguments.flag("share-existing") else {
            throw CommandFailure(
                .conflict,
                "This device has \(existing) documents in '\(link.database)', which the other one could read and change; "
                    + "say --share-existing if that is meant.")
        }
        invocation.output.remark("Asking the other device...")
        let output = invocation.output
        let task = Task {
            try await device.pair(with: link) { code in
                output.remark("Both screens show \(code).")
            }
        }
        invocation.interruption.onRequest { task.cancel() }
        let pairing = try await task.value
        let peer = pairing.peer
        try invocation.output.line(
            "Paired with \(peer.name) (\(peer.id)). Both show \(pairing.code).")
        let names = peer.databases.sorted().joined(separator: ", ")
        invocation.output.remark("The two share \(names): run \"divan nearby\" on both.")
    }

    /// `divan peers`: the devices that are paired.
    static let peers = Command(
        CommandSchema(
            name: "peers",
            summary: "List, rename and revoke the devices that are paired with this one.",
            discussion: """
                Without an option the peers are listed. A device that is revoked is refused at once, also by a \
                listener that runs; what it has received stays with it.
                """,
            arguments: [.directory],
            options: [
                .value("name", nil, "NAME", "What other devices call this one."),
                .value("rename", nil, "ID=NAME", "Give a peer another name here."),
                .value("revoke", nil, "ID", "End the pairing with a peer."),
                .value(
                    "share", nil, "ID=DATABASES",
                    "Share these databases with a peer, with commas between."),
                .flag("json", nil, "Print JSON objects."),
            ],
            examples: [
                "divan peers data", "divan peers data --revoke 9f2c4b1a0d3e5f60718293a4b5c6d7e8",
            ]
        )
    ) { invocation in
        let arguments = invocation.arguments
        let actions = ["rename", "share", "revoke"].filter { arguments.string($0) != nil }
        guard actions.count <= 1 else {
            throw UsageError("--\(actions[0]) and --\(actions[1]) do not go together.")
        }
        let (manager, device) = try invocation.device()
        defer { manager.close() }
        if let text = arguments.string("rename") {
            let (id, name) = try pair(text, "--rename takes ID=NAME.")
            try device.rename(peer: id, to: name)
        } else if let text = arguments.string("share") {
            let (id, names) = try pair(text, "--share takes ID=DATABASES.")
            let databases = names.split(separator: ",").map(String.init)
            for name in databases where !Manager.isValidDatabaseName(name) {
                throw CommandFailure(.badInput, "'\(name)' is no name of a database.")
            }
            try device.share(NameSet(databases), withPeer: id)
        } else if let id = arguments.string("revoke") {
            try device.revoke(id)
        } else {
            try list(device, invocation)
        }
    }

    private static func pair(_ text: String, _ usage: String) throws -> (String, String) {
        guard let place = text.utf8.firstIndex(of: UInt8(ascii: "=")) else {
            throw UsageError(usage)
        }
        return (String(text[..<place]), String(text[text.utf8.index(after: place)...]))
    }

    private static func list(_ device: PeerDevice, _ invocation: Invocation) throws {
        if !invocation.arguments.flag("json") {
            invocation.output.remark("This device is \(device.name) (\(device.id)).")
        }
        for peer in device.peers {
            let databases = peer.databases.sorted()
            if invocation.arguments.flag("json") {
                let value: JSONObject = [
                    "id": .string(peer.id), "name": .string(peer.name),
                    "databases": .array(databases.map { .string($0) }),
                    "paired": .string(peer.pairedAt.formatted(.iso8601)),
                ]
                try invocation.output.line(JSONValue.object(value).description)
            } else {
                try invocation.output.line(
                    "\(peer.id)  \(peer.name)  \(databases.joined(separator: ", "))")
            }
        }
    }
}
