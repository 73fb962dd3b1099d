// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport

@testable import DivanDiscovery

/// A link with hosts on it, in a time of its own: packets are written and read, delayed, and lost as the test says.
struct SimulatedLink {
    /// What a host has said or seen.
    enum Event: Equatable {
        case announced(String)
        case conflict(String)
        case found(String, UInt16)
        case lost(String)
    }

    private struct Delivery {
        var due: Duration
        var from: Int
        var bytes: [UInt8]
    }

    var now = Duration.zero
    var random: SeededRandom
    /// One packet in so many is lost; nil for none.
    var lossOneIn: Int?
    var longestDelay: UInt64 = 2
    private(set) var responders: [Int: Responder] = [:]
    private(set) var browsers: [Int: Browser] = [:]
    private(set) var events: [Int: [Event]] = [:]
    /// All packets that were sent, with the time and the host.
    private(set) var packets: [(time: Duration, host: Int, message: DNSMessage)] = []
    /// Answers to single hosts.
    private(set) var unicasts: [(DNSMessage, PacketPeer)] = []
    private var deliveries: [Delivery] = []
    private var nextHost = 0

    init(seed: UInt64 = 1) { random = SeededRandom(seed: seed) }

    static func records(
        _ name: String, host: String? = nil, port: UInt16 = 5_984, last: UInt8 = 1,
        text: ServiceText = [:]
    ) -> ServiceRecords {
        ServiceRecords(
            instance: ServiceType.divan.name.prefixed(by: name)!,
            host: DNSName("\(host ?? "host-\(last)").local")!, port: port, text: text,
            addresses: [[192, 0, 2, last]])
    }

    mutating func add(_ records: ServiceRecords) -> Int {
        nextHost += 1
        var responder = Responder(records, seed: random.next())
        responder.start(at: now)
        responders[nextHost] = responder
        return nextHost
    }

    mutating func addBrowser() -> Int {
        nextHost += 1
        var browser = Browser(ServiceType.divan.name, seed: random.next())
        browser.start(at: now)
        browsers[nextHost] = browser
        return nextHost
    }

    mutating func stop(_ host: Int) {
        responders[host]?.stop(at: now)
        drain()
        responders[host] = nil
    }

    /// Takes a host away without a word.
    mutating func unplug(_ host: Int) {
        responders[host] = nil
        browsers[host] = nil
    }

    mutating func update(_ host: Int, _ records: ServiceRecords) {
        responders[host]?.update(records, at: now)
        drain()
    }

    /// Sends a packet of a stranger to all.
    mutating func inject(_ message: DNSMessage, port: UInt16 = PacketPeer.multicastPort) {
        let peer = PacketPeer(address: [192, 0, 2, 99], port: port)
        for host in responders.keys.sorted() {
            responders[host]?.receive(message, from: peer, at: now)
            responders[host]?.checkInvariants()
        }
        for host in browsers.keys.sorted() { browsers[host]?.receive(message, at: now) }
        drain()
    }

    /// Lets time pass.
    mutating func run(for time: Duration) {
        let end = now + time
        drain()
        while let next = nextTime, next <= end {
            now = max(now, next)
            deliver()
            for host in responders.keys.sorted() {
                responders[host]?.tick(at: now)
                responders[host]?.checkInvariants()
            }
            for host in browsers.keys.sorted() {
                browsers[host]?.tick(at: now)
                browsers[host]?.checkInvariants()
            }
            drain()
        }
        now = end
    }

    /// The services that a browser knows.
    func known(_ host: Int) -> [String] {
        var names: Set<String> = []
        for event in events[host] ?? [] {
            switch event {
            case .found(let name, _): names.insert(name)
            case .lost(let name): names.remove(name)
            case .announced, .conflict: break
            }
        }
        return names.sorted()
    }

    private var nextTime: Duration? {
        (deliveries.map(\.due) + responders.values.compactMap(\.deadline)
            + browsers.values.compactMap(\.deadline)).min()
    }

    private mutating func deliver() {
        let due = deliveries.filter { $0.due <= now }
        deliveries.removeAll { $0.due <= now }
        for delivery in due {
            guard let message = try? DNSMessage(delivery.bytes) else { continue }
            let peer = PacketPeer(
                address: [192, 0, 2, UInt8(truncatingIfNeeded: delivery.from)],
                port: PacketPeer.multicastPort)
            // Each host hears its own packets, too.
            for host in responders.keys.sorted() where !isLost() {
                responders[host]?.receive(message, from: peer, at: now)
            }
            for host in browsers.keys.sorted() where !isLost() {
                browsers[host]?.receive(message, at: now)
            }
        }
    }

    private mutating func isLost() -> Bool { lossOneIn.map { random.oneIn($0) } ?? false }

    private mutating func drain() {
        for host in responders.keys.sorted() {
            while let action = responders[host]?.takeAction() {
                switch action {
                case .multicast(let message): send(message, host)
                case .unicast(let message, let peer): unicasts.append((message, peer))
                case .conflict(let name):
                    events[host, default: []].append(.conflict(name.firstLabel!))
                case .announced:
                    let name = responders[host]?.records.instance.firstLabel ?? ""
                    events[host, default: []].append(.announced(name))
                }
            }
        }
        for host in browsers.keys.sorted() {
            while let action = browsers[host]?.takeAction() {
                switch action {
                case .multicast(let message): send(message, host)
                case .found(let finding):
                    events[host, default: []].append(
                        .found(finding.instance.firstLabel!, finding.port))
                case .lost(let name): events[host, default: []].append(.lost(name.firstLabel!))
                }
            }
        }
    }

    private mutating func send(_ message: DNSMessage, _ host: Int) {
        packets.append((now, host, message))
        for bytes in message.packets {
            let delay = Duration.milliseconds(1 + random.next() % max(1, longestDelay))
            deliveries.append(Delivery(due: now + delay, from: host, bytes: bytes))
        }
    }
}
