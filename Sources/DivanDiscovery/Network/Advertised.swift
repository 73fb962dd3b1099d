// SPDX-License-Identifier: Apache-2.0

/// A service of this host, as it is announced on all links.
///
/// The name is one for all links: where it is taken on one of them, it changes on all.
struct Advertised: Sendable {
    /// Conflicts after which it waits before it tries another name (RFC 6762, 8.1).
    private static let hastyConflicts = 15

    let wanted: String
    let type: DNSName
    let port: UInt16
    var text: ServiceText
    private(set) var instance: DNSName
    private var host: DNSName
    private var conflicts = 0
    private var responders: [UInt32: Responder] = [:]
    private(set) var isAnnounced = false

    /// - Parameter service: The service that the app wants to have announced.
    init(_ service: OfferedService) {
        wanted = service.name
        type = service.type.name
        port = service.port
        text = service.text
        instance = service.instance
        host = Self.randomHost()
    }

    /// When something is to be done.
    var deadline: Duration? { responders.values.compactMap(\.deadline).min() }

    /// Announces the service on these links, and on no others.
    mutating func follow(_ links: [NetworkLink], at now: Duration) {
        for index in responders.keys where !links.contains(where: { $0.index == index }) {
            responders[index] = nil
        }
        let all = links.flatMap { ServiceRecords.records(of: $0.addresses.map(\.bytes), host) }
        for link in links {
            let records = ServiceRecords(
                instance: instance, host: host, port: port, text: text,
                addresses: link.addresses.map(\.bytes))
            if responders[link.index] == nil {
                var responder = Responder(records, seed: .random(in: 0...UInt64.max))
                let isHasty = conflicts > Self.hastyConflicts
                responder.start(at: isHasty ? now + .seconds(5) : now)
                responders[link.index] = responder
            } else {
                responders[link.index]?.update(records, at: now)
            }
            responders[link.index]?.elsewhere = all
        }
    }

    /// Takes a packet.
    mutating func receive(
        _ message: DNSMessage, _ peer: PacketPeer, on link: UInt32, at now: Duration
    ) {
        responders[link]?.receive(message, from: peer, at: now)
    }

    /// Does what is due.
    mutating func tick(at now: Duration) {
        for index in responders.keys { responders[index]?.tick(at: now) }
    }

    /// Says that the service is gone.
    mutating func stop(at now: Duration) {
        for index in responders.keys { responders[index]?.stop(at: now) }
    }

    /// Hands over what is to be sent. A name that is taken on one link is given up on all.
    mutating func perform(
        _ links: [NetworkLink], at now: Duration,
        send: (DNSMessage, UInt32, PacketPeer?) -> Void
    ) {
        var taken: DNSName?
        for index in responders.keys.sorted() {
            while let action = responders[index]?.takeAction() {
                switch action {
                case .multicast(let message): send(message, index, nil)
                case .unicast(let message, let peer): send(message, index, peer)
                case .conflict(let name): taken = name
                case .announced: isAnnounced = true
                }
            }
        }
        guard let taken else { return }
        for index in responders.keys {
            responders[index]?.stop(at: now)
            while let action = responders[index]?.takeAction() {
                if case .multicast(let message) = action { send(message, index, nil) }
            }
        }
        (responders, isAnnounced) = ([:], false)
        conflicts += 1
        if taken == host { host = Self.randomHost() } else { instance = nextName() }
        follow(links, at: now)
    }

    /// The wanted name with a number that was not tried yet, cut where it would be too long.
    private func nextName() -> DNSName {
        let suffix = " (\(conflicts + 1))"
        var base = wanted
        while base.utf8.count + suffix.utf8.count > DNSName.longestLabel { base.removeLast() }
        return DNSName(trusted: [Array((base + suffix).utf8)] + type.labels)
    }

    /// A name that tells neither the device nor its owner.
    private static func randomHost() -> DNSName {
        let digits = String(UInt32.random(in: 0...UInt32.max), radix: 16)
        return DNSName(trusted: [Array("divan-\(digits)".utf8), Array("local".utf8)])
    }
}
