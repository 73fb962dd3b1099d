// SPDX-License-Identifier: Apache-2.0

package import DivanJSON
internal import DivanListener
internal import DivanLogging
internal import Synchronization

/// How a peer answered the greeting.
///
/// A device greets each peer that it reaches, and tells where it listens itself. So both know where the other one is as soon
/// as one of them does, also where no multicast goes.
enum Greeting {
    /// The peer is at this address, and synchronises.
    case answered(PeerSpot)
    /// The peer is there, and is not paired with this device.
    case refused
    /// The peer answers at none of the addresses, or does not synchronise now.
    case unanswered
}

extension PeerDevice {
    /// Notes where a paired device is, which tells that of itself.
    ///
    /// - Parameters:
    ///   - greeting: What the device sent.
    ///   - key: Its key.
    /// - Returns: Whether this device synchronises now.
    package func greet(_ greeting: JSONObject, key: [UInt8]) -> Bool {
        guard state.withLock({ $0.runningSyncs > 0 }) else { return false }
        if let place = PeerPlace(greeting) { note(place, of: PeerKey.id(of: key)) }
        return true
    }

    /// Keeps where a peer is, if that is news.
    func note(_ place: PeerPlace, of id: String) {
        func updated(_ known: PeerPlace?) -> PeerPlace { known?.updated(by: place) ?? place }
        let known = state.withLock { $0.file.peers.first { $0.id.hasSameBytes(as: id) } }
        guard let known, updated(known.place) != known.place else { return }
        do {
            try change { file throws(PeerError) in
                guard let index = file.peers.firstIndex(where: { $0.id.hasSameBytes(as: id) })
                else { return }
                file.peers[index].place = updated(file.peers[index].place)
            }
        } catch {
            Log.replication.warning("Where '\(id)' was reached cannot be kept: \(error)")
        }
    }

    /// The port that it listened on last.
    package var lastPort: UInt16? { state.withLock { $0.file.port } }

    /// Keeps the port that it listens on.
    package func keep(port: UInt16) {
        guard port != lastPort else { return }
        do { try change { file throws(PeerError) in file.port = port } } catch {
            Log.replication.warning("The port of this device cannot be kept: \(error)")
        }
    }

    /// Begins to answer greetings.
    func begin(_ sync: any SynchronisingPeers) {
        state.withLock {
            $0.runningSyncs += 1
            $0.sync = sync
        }
    }

    /// Ends to answer greetings, unless another synchronises.
    func endSync() { state.withLock { $0.runningSyncs -= 1 } }
}
