// SPDX-License-Identifier: Apache-2.0

internal import CMulticast
internal import Dispatch
internal import Synchronization

/// Announces services on the networks of this host, and finds those of others, by multicast DNS (RFC 6762, RFC 6763).
///
/// ```swift
/// let discovery = try Discovery()
/// let mine = try discovery.advertise("Ann's notes", port: listener.port)
/// for await services in discovery.services() {
///     print(services.map(\.name))                // each time one appears, changes or goes
/// }
/// ```
///
/// It needs no daemon and stands beside one: Avahi, Bonjour and other programs have the port open as well. It uses all interfaces that
/// multicast, by IPv4 and IPv6, and follows them as they come and go.
///
/// What it tells can be read by every device on the network, and what it finds can be made up by any of them. So names and texts should
/// give nothing away, and a connection has to prove itself: pin the certificate.
///
/// A discovery goes on until `stop()`, or until the app holds neither it, nor an advertisement of it, nor a sequence of
/// services that it reads.
///
/// ## State
/// One mutex guards everything; sockets, timer and changes of interfaces call on one serial queue.
public final class Discovery: Sendable {
    struct Reader {
        let type: ServiceType
        let continuation: AsyncStream<[DiscoveredService]>.Continuation
    }

    struct State {
        var links: [NetworkLink] = []
        var advertised: [Int: Advertised] = [:]
        var browsed: [ServiceType: Browsed] = [:]
        var readers: [Int: Reader] = [:]
        var announcements: [Int: AsyncStream<String>.Continuation] = [:]
        var nextNumber = 0
        var isStopped = false
        var sources: [any DispatchSourceProtocol] = []
        var timer: (any DispatchSourceTimer)?
    }

    private let state = Mutex(State())
    private let sockets: [MulticastSocket]
    private let queue = DispatchQueue(label: "divan.discovery")
    private let beginning = ContinuousClock.now

    /// Opens the sockets.
    ///
    /// - Throws: `DiscoveryError` with code `.networkUnavailable` when the port of multicast DNS, 5353, can be opened for neither IPv4
    ///   nor IPv6: a program has it open and does not share it, or the process may not use the network.
    public init() throws(DiscoveryError) {
        sockets = [4, 6].compactMap { MulticastSocket(family: $0) }
        guard !sockets.isEmpty else {
            throw DiscoveryError(
                .networkUnavailable,
                "Port 5353, which multicast DNS uses, cannot be opened; let other programs share it, or allow this one the network."
            )
        }
        listen()
        followLinks()
    }

    deinit { stop() }

    /// Says goodbye for each service, and ends all sequences. Once is enough; a discovery that was stopped stays so.
    public func stop() {
        let now = now
        let readers = state.withLock { state -> [Reader] in
            guard !state.isStopped else { return [] }
            for key in state.advertised.keys {
                state.advertised[key]?.stop(at: now)
                perform(&state, advertisement: key, at: now)
            }
            for names in state.announcements.values { names.finish() }
            for source in state.sources { source.cancel() }
            state.timer?.cancel()
            let readers = Array(state.readers.values)
            state = State(isStopped: true)
            return readers
        }
        // Outside the mutex, which the end of a sequence takes.
        for reader in readers { reader.continuation.finish() }
    }

    /// Announces a service until the advertisement is stopped or let go.
    ///
    /// - Parameters:
    ///   - name: The name that others see, 1 to 63 bytes; nil for a random one, which tells nothing. Where another device has the
    ///     name, a number is added: `advertisement.name` says which.
    ///   - type: The type of services.
    ///   - port: Where the service listens.
    ///   - text: What it tells about itself.
    /// - Returns: What keeps it announced.
    /// - Throws: `DiscoveryError` with code `.invalidName`, or `.stopped`.
    public func advertise(
        _ name: String? = nil, type: ServiceType = .divan, port: Int, text: ServiceText = [:]
    ) throws(DiscoveryError) -> ServiceAdvertisement {
        guard let number = UInt16(exactly: port), number > 0 else {
            throw DiscoveryError(.invalidName, "\(port) is no port; give one from 1 to 65535.")
        }
        let random = "divan-" + String(UInt64.random(in: 0...UInt64.max), radix: 36)
        let advertised = try Advertised(name ?? random, type, port: number, text)
        let (names, continuation) = AsyncStream<String>.makeStream(
            bufferingPolicy: .bufferingNewest(1))
        let now = now
        let key = state.withLock { state -> Int? in
            guard !state.isStopped else { return nil }
            state.nextNumber += 1
            let key = state.nextNumber
            state.advertised[key] = advertised
            state.announcements[key] = continuation
            state.advertised[key]?.follow(state.links, at: now)
            schedule(&state)
            return key
        }
        guard let key else {
            throw DiscoveryError(.stopped, "The discovery was stopped; make another one.")
        }
        return ServiceAdvertisement(self, key, names)
    }

    /// The services of a type that are there: at once those that are known, and then again each time that one appears, changes or goes.
    ///
    /// A service is listed once its port and an address are known, and no longer when it says goodbye or has not been heard of for two
    /// minutes. A reader that is slow is given the newest list and misses older ones. The services of this host are listed, too.
    /// The sequence ends when the discovery is stopped.
    public func services(of type: ServiceType = .divan) -> AsyncStream<[DiscoveredService]> {
        let (stream, continuation) = AsyncStream<[DiscoveredService]>.makeStream(
            bufferingPolicy: .bufferingNewest(1))
        let now = now
        state.withLock { state in
            guard !state.isStopped else {
                continuation.finish()
                return
            }
            state.nextNumber += 1
            let key = state.nextNumber
            // The sequence holds the discovery for as long as it is read. Its end comes with a lock of its task, which a `yield`
            // under the mutex takes, too; so the mutex is taken elsewhere.
            continuation.onTermination = { [queue] _ in queue.async { self.endBrowsing(key) } }
            state.readers[key] = Reader(type: type, continuation: continuation)
            if state.browsed[type] == nil {
                state.browsed[type] = Browsed(type)
                state.browsed[type]?.follow(state.links, at: now)
            }
            continuation.yield(state.browsed[type]?.services(state.links) ?? [])
            schedule(&state)
        }
        return stream
    }

    private func endBrowsing(_ key: Int) {
        state.withLock { state in
            guard let reader = state.readers.removeValue(forKey: key) else { return }
            if !state.readers.values.contains(where: { $0.type == reader.type }) {
                state.browsed[reader.type] = nil
            }
        }
    }

    /// Says goodbye for one service.
    func endAdvertising(_ key: Int) {
        let now = now
        state.withLock { state in
            state.advertised[key]?.stop(at: now)
            perform(&state, advertisement: key, at: now)
            state.advertised[key] = nil
            state.announcements.removeValue(forKey: key)?.finish()
        }
    }

    /// Announces another text for a service.
    func setText(_ text: ServiceText, of key: Int) throws(DiscoveryError) {
        try text.check()
        let now = now
        state.withLock { state in
            state.advertised[key]?.text = text
            state.advertised[key]?.follow(state.links, at: now)
            work(&state, at: now)
        }
    }

    /// The name of a service; nil when it is announced no longer.
    func name(of key: Int) -> String? {
        state.withLock { $0.advertised[key]?.instance.firstLabel }
    }

    private var now: Duration { ContinuousClock.now - beginning }
}

// Sockets, links and time.
extension Discovery {
    private func listen() {
        for socket in sockets {
            watch(socket.descriptor) {
                $0.receive(socket)
            } closing: {
                socket.close()
            }
        }
        let changes = divan_interfaces_watch()
        if changes >= 0 {
            watch(changes) {
                $0.followLinks(interrupted: NetworkLink.interrupted(changes))
            } closing: {
                divan_close(changes)
            }
        }
        state.withLock { state in
            let timer = DispatchSource.makeTimerSource(queue: queue)
            timer.setEventHandler { [weak self] in
                guard let self else { return }
                self.state.withLock { self.work(&$0, at: self.now) }
            }
            timer.resume()
            state.timer = timer
        }
    }

    /// Calls a handler when a descriptor can be read, until the discovery is stopped; then closes it.
    private func watch(
        _ descriptor: Int32, _ handler: @escaping @Sendable (Discovery) -> Void,
        closing: @escaping @Sendable () -> Void
    ) {
        let queue = queue
        state.withLock { state in
            let source = Self.makeSource(descriptor, queue)
            source.setEventHandler { [weak self] in
                if let self { handler(self) }
            }
            source.setCancelHandler { closing() }
            source.resume()
            state.sources.append(source)
        }
    }

    private static func makeSource(
        _ descriptor: Int32, _ queue: DispatchQueue
    ) -> any DispatchSourceProtocol {
        DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
    }

    /// Takes the links as they are now. One that was down in the meantime begins anew: it may lead to another network.
    ///
    /// - Parameter interrupted: The interfaces that were down; nil for all.
    private func followLinks(interrupted: Set<UInt32>? = []) {
        let links = NetworkLink.current()
        let now = now
        state.withLock { state in
            guard !state.isStopped else { return }
            let kept = state.links.filter { link in
                interrupted.map { !$0.contains(link.index) } ?? false
            }
            if kept.count < state.links.count { follow(&state, kept, at: now) }
            if links != state.links { follow(&state, links, at: now) }
            work(&state, at: now)
        }
    }

    private func follow(_ state: inout State, _ links: [NetworkLink], at now: Duration) {
        for socket in sockets {
            for link in state.links where !links.contains(where: { $0.index == link.index }) {
                socket.hear(link.index, false)
            }
            for link in links where link.families.contains(socket.family) {
                socket.hear(link.index, true)
            }
        }
        state.links = links
        for key in state.advertised.keys { state.advertised[key]?.follow(links, at: now) }
        for key in state.browsed.keys {
            state.browsed[key]?.follow(links, at: now)
            tell(&state, key)
        }
    }

    private func receive(_ socket: MulticastSocket) {
        // The queue is given back now and then, so that a flood does not keep the timer waiting.
        for _ in 0..<64 {
            guard let packet = socket.receive() else { return }
            let now = now
            state.withLock { state in
                guard !state.isStopped,
                    let link = state.links.first(where: { $0.index == packet.interface }),
                    link.holds(packet.peer.address),
                    let message = try? DNSMessage(packet.bytes)
                else { return }
                for key in state.advertised.keys {
                    state.advertised[key]?.receive(
                        message, packet.peer, on: link.index, at: now)
                }
                // Answers come from the port of multicast DNS, or are none (RFC 6762, 11).
                if packet.peer.port == PacketPeer.multicastPort {
                    for key in state.browsed.keys {
                        state.browsed[key]?.receive(message, on: link.index, at: now)
                    }
                }
                work(&state, at: now)
            }
        }
    }

    /// Does what is due and sends what is to be sent.
    private func work(_ state: inout State, at now: Duration) {
        guard !state.isStopped else { return }
        for key in state.advertised.keys {
            state.advertised[key]?.tick(at: now)
            perform(&state, advertisement: key, at: now)
        }
        for key in state.browsed.keys {
            state.browsed[key]?.tick(at: now)
            let links = state.links
            let isChanged =
                state.browsed[key]?.perform { send($0, on: $1, to: nil, links) } ?? false
            if isChanged { tell(&state, key) }
        }
        schedule(&state)
    }

    private func tell(_ state: inout State, _ type: ServiceType) {
        let services = state.browsed[type]?.services(state.links) ?? []
        for reader in state.readers.values where reader.type == type {
            reader.continuation.yield(services)
        }
    }

    private func perform(_ state: inout State, advertisement key: Int, at now: Duration) {
        let links = state.links
        let wasAnnounced = state.advertised[key]?.isAnnounced ?? false
        state.advertised[key]?.perform(links, at: now) { send($0, on: $1, to: $2, links) }
        if !wasAnnounced, let advertised = state.advertised[key], advertised.isAnnounced,
            let name = advertised.instance.firstLabel
        {
            state.announcements[key]?.yield(name)
        }
    }

    private func send(
        _ message: DNSMessage, on link: UInt32, to peer: PacketPeer?, _ links: [NetworkLink]
    ) {
        let families = links.first { $0.index == link }?.families ?? []
        for packet in message.packets {
            for socket in sockets where families.contains(socket.family) {
                if let peer, peer.address.count != (socket.family == 4 ? 4 : 16) { continue }
                socket.send(packet, on: link, to: peer)
            }
        }
    }

    /// Sets the timer to what is due next.
    private func schedule(_ state: inout State) {
        let deadlines =
            state.advertised.values.compactMap(\.deadline)
            + state.browsed.values.compactMap(\.deadline)
        guard let next = deadlines.min() else { return }
        let wait = max(.zero, next - now)
        let (seconds, attoseconds) = wait.components
        state.timer?.schedule(
            deadline: .now() + .seconds(Int(clamping: min(seconds, 3_600)))
                + .nanoseconds(Int(clamping: attoseconds / 1_000_000_000)),
            leeway: .milliseconds(2))
    }
}
