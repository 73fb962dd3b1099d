// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanListener
import DivanTestSupport
import Foundation
import Testing

@testable import DivanDiscovery
@testable import DivanPeers

/// The code of docs/two-devices.md for devices that find each other, line for line: `scripts/check-docs` compares the two.
@Suite(.timeLimit(.minutes(10))) struct TwoDevicesNearbyTests {
    private struct Party {
        let notes: Database
        let device: PeerDevice
        let listener: Listener
        let sync: PeerSync
    }

    private func party(in folder: URL) throws -> Party {
        // nearby
        let manager = try Manager(directory: folder)
        let notes = try manager.database(named: "notes")
        let device = try PeerDevice(manager, name: "Ann's laptop")
        var options = ListenerOptions()
        options.host = "0.0.0.0"  // for other devices, too
        options.device = device  // paired devices get in, and no others
        let listener = Listener(manager, options)  // hold on to it: letting go stops it
        try listener.start()
        let sync = PeerSync(listener)  // goes on until it is stopped
        try sync.start()
        // end of nearby
        return Party(notes: notes, device: device, listener: listener, sync: sync)
    }

    @Test
    func `two devices pair by a scanned link, find each other by multicast, and stay the same`()
        async throws
    {
        guard !NetworkLink.current().isEmpty else {
            print("TwoDevicesNearbyTests: no network here has multicast; not run.")
            return
        }
        let folder = try ScratchDirectory()
        let (one, other) = (
            try party(in: folder.url.appending(path: "one")),
            try party(in: folder.url.appending(path: "other"))
        )
        try one.notes.put("a", ["n": 1], parent: nil)
        let scanned = try one.listener.link(for: one.notes, lifetime: .seconds(3_600)).text
        let pairing = try await other.device.pair(with: PeerLink(scanned))
        #expect(pairing.peer.id == one.device.id)
        try await eventually { try other.notes.contains("a") }
        try other.notes.put("b", ["n": 2], parent: nil)
        try await eventually { try one.notes.contains("b") }
        // The documents may have come by the address in the link, before the network told anything.
        await eventually { other.sync.whereabouts(of: one.device.id)?.seen.isEmpty == false }
        await one.sync.stop()
        await eventually { other.sync.currentStatuses.map(\.presence) == [.away] }
        await other.sync.stop()
        one.listener.stop()
        other.listener.stop()
    }
}
