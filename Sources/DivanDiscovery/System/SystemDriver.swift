// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Synchronization

/// Announces and finds services by the system's service for DNS-SD.
///
/// What is wanted of the service follows from the state: an operation for each service of ours, one for each type that is read,
/// and for each service that was found one for its port and text and two for its host's addresses. `adjust` begins what is missing and
/// closes what is left over. An operation that ends with an error is begun again after 1, 2, 4 … 30 seconds, so that nothing is asked
/// in haste of a daemon that is gone, and all is asked again once it is back.
///
/// ## State
/// One mutex guards everything. The library is called on one serial queue, without the mutex: a call may wait for the daemon.
final class SystemDriver: DiscoveryDriver {
    /// Services that are looked up at a time. Each takes three connections to the message bus, of which a user may have 256.
    static let lookupLimit = 64

    enum Task: Hashable {
        case register(Int)
        case browse(ServiceType)
        case resolve(ServiceType, DNSName)
        case addresses(ServiceType, DNSName, DNSType, host: [UInt8])
    }

    struct Offer {
        var service: OfferedService
        var name: String
        var isAnnounced = false
        let continuation: AsyncStream<String>.Continuation
    }

    struct Failure {
        var next: ContinuousClock.Instant
        var pause: Duration
    }

    struct State {
        var offers: [Int: Offer] = [:]
        var searches: [ServiceType: SystemSearch] = [:]
        /// What readers of a type were told last.
        var told: [ServiceType: [DiscoveredService]] = [:]
        var readers = ServiceReaders()
        var operations: [Task: SystemOperation] = [:]
        var failures: [Task: Failure] = [:]
        var nextNumber = 0
        var isStopped = false
        var timer: (any DispatchSourceTimer)?
    }

    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "divan.discovery.system")

    /// Asks whether the service is there.
    ///
    /// - Throws: `DiscoveryError` with code `.serviceUnavailable`.
    init() throws(DiscoveryError) {
        if let error = SystemOperation.trial() { throw error }
    }

    deinit { stop() }

    func stop() {
        let readers = state.withLock { state -> ServiceReaders? in
            guard !state.isStopped else { return nil }
            for offer in state.offers.values { offer.continuation.finish() }
            for operation in state.operations.values { operation.close() }
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
        let (names, continuation) = AsyncStream<String>.makeStream(
            bufferingPolicy: .bufferingNewest(1))
        let key = state.withLock { state -> Int? in
            guard !state.isStopped else { return nil }
            state.nextNumber += 1
            state.offers[state.nextNumber] = Offer(
                service: service, name: service.name, continuation: continuation)
            return state.nextNumber
        }
        guard let key else { throw .stopped }
        adjustSoon()
        return (key, names)
    }

    func setText(_ text: ServiceText, of key: Int) {
        let operation = state.withLock { state in
            state.offers[key]?.service.text = text
            return state.operations[.register(key)]
        }
        guard let operation else { return }
        queue.async { [weak self] in
            if !operation.setText(text) { self?.fail(.register(key), operation) }
        }
    }

    func name(of key: Int) -> String? { state.withLock { $0.offers[key]?.name } }

    func endAdvertising(_ key: Int) {
        state.withLock { $0.offers.removeValue(forKey: key)?.continuation.finish() }
        adjustSoon()
    }

    func services(of type: ServiceType) -> AsyncStream<[DiscoveredService]> {
        let (stream, continuation) = AsyncStream<[DiscoveredService]>.makeStream(
            bufferingPolicy: .bufferingNewest(1))
        let links = NetworkLink.current()
        state.withLock { state in
            guard !state.isStopped else {
                continuation.finish()
                return
            }
            state.nextNumber += 1
            let key = state.nextNumber
            state.readers.add(key, type, continuation, on: queue) { self.endBrowsing(key) }
            let search = state.searches[type] ?? SystemSearch()
            state.searches[type] = search
            let services = search.services(links)
            state.told[type] = services
            continuation.yield(services)
        }
        adjustSoon()
        return stream
    }

    private func endBrowsing(_ key: Int) {
        state.withLock { state in
            guard let type = state.readers.remove(key) else { return }
            state.searches[type] = nil
            state.told[type] = nil
        }
        adjust()
    }

    private func adjustSoon() { queue.async { [weak self] in self?.adjust() } }
}

// What is asked of the service.
extension SystemDriver {
    /// Begins what is missing, and closes what is left over.
    private func adjust() {
        let missing = state.withLock { state -> [(Task, SystemOperation.Request)] in
            let wanted = Self.wanted(state)
            for task in state.operations.keys where wanted[task] == nil {
                state.operations.removeValue(forKey: task)?.close()
            }
            state.failures = state.failures.filter { wanted[$0.key] != nil }
            let now = ContinuousClock.now
            return wanted.filter { task, _ in
                state.operations[task] == nil && state.failures[task].map { $0.next <= now } ?? true
            }.map { ($0.key, $0.value) }
        }
        for (task, request) in missing { begin(task, request) }
        schedule()
    }

    private static func wanted(_ state: State) -> [Task: SystemOperation.Request] {
        guard !state.isStopped else { return [:] }
        var wanted: [Task: SystemOperation.Request] = [:]
        for (key, offer) in state.offers { wanted[.register(key)] = .register(offer.service) }
        var room = lookupLimit
        for (type, search) in state.searches.sorted(by: { $0.key.description < $1.key.description })
        {
            wanted[.browse(type)] = .browse(type)
            for name in search.names.prefix(room) {
                guard let label = name.firstLabel else { continue }
                wanted[.resolve(type, name)] = .resolve(label, type)
                guard let host = search.instances[name]?.place?.host else { continue }
                for kind in [DNSType.a, .aaaa] {
                    wanted[.addresses(type, name, kind, host: Array(host.utf8))] = .addresses(
                        host: host, kind)
                }
            }
            room = max(0, room - search.names.count)
        }
        return wanted
    }

    private func begin(_ task: Task, _ request: SystemOperation.Request) {
        let operation = try? SystemOperation(request, on: queue) { [weak self] operation, event in
            self?.take(event, of: task, operation)
        }
        guard let operation else { return fail(task, nil) }
        let text = state.withLock { state -> ServiceText? in
            guard !state.isStopped else {
                operation.close()
                return nil
            }
            state.operations[task] = operation
            guard case .register(let key) = task else { return nil }
            return state.offers[key]?.service.text
        }
        // It may have been changed since the request was made.
        guard let text, case .register(let service) = request, service.text != text else { return }
        if !operation.setText(text) { fail(task, operation) }
    }

    /// An operation has ended with an error, or could not begin: it is tried again later.
    private func fail(_ task: Task, _ operation: SystemOperation?) {
        let links = NetworkLink.current()
        state.withLock { state in
            guard state.operations[task] === operation else { return }
            state.operations.removeValue(forKey: task)?.close()
            let pause = min((state.failures[task]?.pause ?? .milliseconds(500)) * 2, .seconds(30))
            state.failures[task] = Failure(next: .now + pause, pause: pause)
            switch task {
            case .register(let key): state.offers[key]?.isAnnounced = false
            case .browse(let type):
                guard state.searches[type] != nil else { return }
                state.searches[type] = SystemSearch()
                Self.tell(&state, type, links)
            case .resolve: break
            case .addresses(let type, let name, let kind, _):
                state.searches[type]?.dropAddresses(of: name, kind == .a ? 4 : 16)
                Self.tell(&state, type, links)
            }
        }
        adjustSoon()
    }

    /// Takes what the service says of an operation.
    private func take(
        _ event: SystemOperation.Event, of task: Task, _ operation: SystemOperation
    ) {
        guard event.error == 0 else { return fail(task, operation) }
        let links = NetworkLink.current()
        state.withLock { state in
            guard state.operations[task] === operation else { return }
            state.failures[task] = nil
            switch task {
            case .register(let key): Self.announce(&state, key, event.name)
            case .browse(let type):
                guard let name = event.name.flatMap({ type.name.prefixed(by: $0) }) else { return }
                state.searches[type]?.take(name, isThere: event.isThere)
                Self.tell(&state, type, links)
            case .resolve(let type, let name):
                state.searches[type]?.resolve(
                    name, host: event.name ?? "", port: event.port, text: event.bytes)
                Self.tell(&state, type, links)
            case .addresses(let type, let name, let kind, _):
                guard event.bytes.count == (kind == .a ? 4 : 16) else { return }
                let address = SystemSearch.Address(bytes: event.bytes, interface: event.interface)
                state.searches[type]?.take(address, of: name, isThere: event.isThere)
                Self.tell(&state, type, links)
            }
        }
        adjustSoon()
    }

    private static func tell(_ state: inout State, _ type: ServiceType, _ links: [NetworkLink]) {
        guard let services = state.searches[type]?.services(links), services != state.told[type]
        else { return }
        state.told[type] = services
        state.readers.tell(type, services)
    }

    private static func announce(_ state: inout State, _ key: Int, _ name: String?) {
        guard let offer = state.offers[key], let name,
            !offer.isAnnounced || !name.utf8.elementsEqual(offer.name.utf8)
        else { return }
        state.offers[key]?.name = name
        state.offers[key]?.isAnnounced = true
        offer.continuation.yield(name)
    }

    /// Sets the timer to the next operation that is to be tried again.
    private func schedule() {
        state.withLock { state in
            state.timer?.cancel()
            state.timer = nil
            let waiting = state.failures.filter { state.operations[$0.key] == nil }
            guard let next = waiting.values.map(\.next).min() else { return }
            let timer = DispatchSource.makeTimerSource(queue: queue)
            timer.setEventHandler { [weak self] in self?.adjust() }
            let wait = max(.zero, next - .now).components
            timer.schedule(
                deadline: .now() + .seconds(Int(clamping: wait.seconds))
                    + .nanoseconds(Int(clamping: wait.attoseconds / 1_000_000_000)))
            timer.resume()
            state.timer = timer
        }
    }
}
