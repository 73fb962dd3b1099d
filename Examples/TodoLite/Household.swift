// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanListener
import DivanPeers
import Foundation

/// This device and those that it shares the tasks with.
///
/// Three objects do the work: the device has a key and knows its peers, the listener serves the database to them, and the
/// sync pulls from each peer that is there. There is no server.
struct Household: Sendable {
    let device: PeerDevice
    private let listener: Listener
    private let sync: PeerSync
    private let database: Database

    init(_ manager: Manager, sharing database: Database, _ options: TodoOptions) throws {
        self.database = database
        device = try PeerDevice(manager, name: options.name)
        if options.name == nil, device.name == "Divan" {
            try device.rename(to: ProcessInfo.processInfo.userName)
        }
        var listening = ListenerOptions()
        listening.host = options.host
        listening.device = device
        listener = Listener(manager, listening)
        try listener.start()
        var syncing = PeerSync.Options()
        syncing.databases = [database.name]
        // Both devices edited a task while they were apart: each property is merged on its own, in the same way on both.
        syncing.configure = { $0.conflictResolver = .mergeFields }
        sync = PeerSync(listener, syncing)
        try sync.start()
    }

    /// Says goodbye, and waits until nothing is under way.
    func leave() async {
        await sync.stop()
        listener.stop()
    }

    // MARK: - Pairing

    /// Makes a link by which one other device joins, if the function says yes to it.
    func invite(_ ask: @escaping @Sendable (PairingCandidate) async -> Bool) throws -> PeerLink {
        try listener.link(for: database, confirm: ask)
    }

    /// Joins the device that made a link, and waits a while for the first tasks.
    ///
    /// - Parameters:
    ///   - text: The link.
    ///   - showing: Gets the digits that the other screen shows, too.
    /// - Returns: The device.
    /// - Throws: Why it was not joined.
    func join(
        _ text: String, showing: @escaping @Sendable (String) -> Void
    ) async throws -> PairedPeer {
        let link = try PeerLink(text)
        guard link.database == database.name else {
            throw TodoError("The link belongs to another app; make one with: share")
        }
        let pairing = try await device.pair(with: link, showing: showing)
        let end = ContinuousClock.now + .seconds(10)
        while ContinuousClock.now < end, status(of: pairing.peer.id)?.isUpToDate != true {
            try await Task.sleep(for: .milliseconds(50))
        }
        return pairing.peer
    }

    /// Lets a device in no more. What it has, it keeps.
    func forget(_ name: String) throws {
        let named = device.peers.filter { $0.name == name }
        guard let peer = named.first else {
            throw TodoError("No device is called '\(name)'; see them with: people")
        }
        guard named.count == 1 else {
            throw TodoError(
                "\(named.count) devices are called '\(name)'; rename one of them first.")
        }
        try device.revoke(peer.id)
    }

    // MARK: - People

    /// How the other devices stand: at once, and each time that it changes.
    var statuses: AsyncStream<[PeerStatus]> { sync.statuses }
    var people: [PeerStatus] { sync.currentStatuses }

    private func status(of id: String) -> PeerStatus? { people.first { $0.id == id } }
}

extension PeerStatus {
    /// Where the peer is, in words.
    var words: String {
        switch presence {
        case .connected: isUpToDate ? "here, up to date" : "here, exchanging tasks"
        case .connecting: "seen, connecting"
        case .unreachable: "seen, but cannot be reached"
        case .refused: "has forgotten this device"
        case .away: "away"
        }
    }
}
