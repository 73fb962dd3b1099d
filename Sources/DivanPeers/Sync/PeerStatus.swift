// SPDX-License-Identifier: Apache-2.0

public import DivanJSON
public import DivanReplication

/// How a peer stands at a moment.
public struct PeerStatus: Sendable, Identifiable {
    /// Where a peer is.
    public enum Presence: String, Sendable, Hashable, CaseIterable {
        /// It is not seen on this network, and does not answer where it was before.
        case away
        /// It is seen, and asked to prove itself.
        case connecting
        /// It has proven itself, and its changes are pulled.
        case connected
        /// It is seen, and answers at none of its addresses. It is tried again.
        case unreachable
        /// It no longer lets this device in. It is tried again, each minute at most.
        case refused
    }

    /// The peer.
    public internal(set) var peer: PairedPeer
    /// Where it is.
    public internal(set) var presence = Presence.away
    /// The pulls from it, by the names of the databases; empty unless it is connected.
    public internal(set) var pulls: NameMap<ReplicationStatus> = [:]

    /// The peer's ID.
    public var id: String { peer.id }

    /// Notes that it is not seen.
    mutating func becomeAway() { (presence, pulls) = (.away, [:]) }

    /// Whether it is connected and there is nothing left to pull, as far as it is known.
    public var isUpToDate: Bool {
        presence == .connected && !pulls.isEmpty
            && pulls.allSatisfy { $0.value.activity == .idle && $0.value.error == nil }
    }
}

extension PeerSync: SynchronisingPeers {
    func report(on id: String) -> JSONObject? {
        currentStatuses.first { $0.id.hasSameBytes(as: id) }?.json
    }
}

extension PeerStatus {
    /// What administrators are told of it.
    fileprivate var json: JSONObject {
        var reports: JSONObject = [:]
        for (name, pull) in pulls {
            var report: JSONObject = [
                "activity": .string(pull.activity.rawValue),
                "transferred": JSONValue(UInt64(clamping: pull.transferred)),
            ]
            if let error = pull.error { report["error"] = .string(error.message) }
            reports[name] = .object(report)
        }
        return ["presence": .string(presence.rawValue), "pulls": .object(reports)]
    }
}
