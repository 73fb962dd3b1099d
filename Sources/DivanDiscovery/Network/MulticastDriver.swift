// SPDX-License-Identifier: Apache-2.0

internal import CMulticast
internal import Dispatch
internal import Synchronization

/// Announces and finds services by multicast DNS of Divan's own: sockets, links and time for the values that speak the protocol.
///
/// ## State
/// One mutex guards everything; sockets, timer and changes of interfaces call on one serial queue.
final class MulticastDriver: DiscoveryDriver {
    struct State {
        var links: [NetworkLink] = []
        var advertised: [Int: Advertised] = [:]
        var browsed: [ServiceType: Browsed] = [:]
        var readers = ServiceReaders()
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
    init() throws(DiscoveryError) {
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

    func stop() {
        let now = now
        let readers = state.withLock { state -> ServiceReaders? in
            guard !state.isStopped else { return nil }
            for key in state.advertised.keys {
                state.advertised[key]?.stop(at: now)
                perform(&state, advertisement: key, at: now)
            }
            for names in state.announcements.values { names.finish() }
            for source in state.sources { source.cancel() }
            state.timer?.cancel()
            let readers = state.readers
            state = State(isStopped: true)
            return readers
        }
        // Outside the mutex, which the end of a sequence takes.
        readers?.finish()
    }

    func advertise(
        _ service: OfferedService
    ) throws(DiscoveryError) -> (Int, AsyncStream<String>) {
        let advertised = Advertised(service)
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
        guard let key else { throw .stopped }
        return (key, names)
    }

    func services(of type: ServiceType) -> AsyncStream<[DiscoveredService]> {
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
            state.readers.add(key, type, continuation, on: queue) { self.endBrowsing(key) }
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
            if let type = state.readers.remove(key) { state.browsed[type] = nil }
        }
    }

    func endAdvertising(_ key: Int) {
        let now = now
        state.withLock { state in
            state.advertised[key]?.stop(at: now)
            perform(&state, advertisement: key, at: now)
            state.advertised[key] = nil
            state.announcements.removeValue(forKey: key)?.finish()
        }
    }

    func setText(_ text: ServiceText, of key: Int) {
        let now = now
        state.withLock { state in
            state.advertised[key]?.text = text
            state.advertised[key]?.follow(state.links, at: now)
            work(&state, at: now)
        }
    }

    func name(of key: Int) -> String? {
        state.withLock { $0.advertised[key]?.instance.firstLabel }
    }

    private var now: Duration { ContinuousClock.now - beginning }
}

// Sockets, links and time.
extension MulticastDriver {
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
        _ descriptor: Int32, _ handler: @escaping @Sendable (MulticastDriver) -> Void,
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
            // Nothing is sent from this port, and an answer to it would go to the whole group.
            guard packet.peer.port != 0 else { continue }
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
        state.readers.tell(type, state.browsed[type]?.services(state.links) ?? [])
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
