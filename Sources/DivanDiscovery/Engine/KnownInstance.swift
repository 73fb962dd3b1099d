// SPDX-License-Identifier: Apache-2.0

/// What a browser knows of one instance.
struct KnownInstance: Sendable {
    /// Its name, as it was heard first.
    let name: DNSName
    var pointer: TimedRecord
    private var service: TimedRecord?
    private var text: TimedRecord?
    private(set) var addresses: [TimedRecord] = []
    /// When to ask for what is missing, and how long to wait then.
    private var nextQuestion: Duration
    private var pause = Duration.seconds(1)

    /// - Parameters:
    ///   - name: Its name.
    ///   - pointer: The record that named it.
    ///   - nextQuestion: When to ask for what is missing.
    init(name: DNSName, pointer: TimedRecord, nextQuestion: Duration) {
        self.name = name
        self.pointer = pointer
        self.nextQuestion = nextQuestion
    }

    /// The host that it is on, as far as that is known.
    var host: DNSName? {
        guard case .srv(_, _, _, let host) = service?.record.content else { return nil }
        return host
    }

    private var isIncomplete: Bool { service == nil || text == nil || addresses.isEmpty }

    /// When something is to be asked about it.
    var questionDue: Duration? {
        var due = isIncomplete ? nextQuestion : nil
        forEachRecord { record in
            if let next = record.nextQuestion { due = min(due ?? next, next) }
        }
        return due
    }

    /// When the first of its records ends.
    var firstEnd: Duration {
        var end = pointer.end
        forEachRecord { end = min(end, $0.end) }
        return end
    }

    private func forEachRecord(_ body: (TimedRecord) -> Void) {
        body(pointer)
        if let service { body(service) }
        if let text { body(text) }
        for address in addresses { body(address) }
    }

    /// The service, when all is known that is needed to connect to it.
    var finding: Browser.Finding? {
        guard case .srv(_, _, let port, let host) = service?.record.content, !addresses.isEmpty
        else { return nil }
        var strings: [[UInt8]] = []
        if case .txt(let found) = text?.record.content { strings = found }
        return Browser.Finding(
            instance: name, host: host, port: port, text: strings,
            addresses: addresses.compactMap(\.record.address).sorted { left, right in
                left.count != right.count
                    ? left.count < right.count : left.lexicographicallyPrecedes(right)
            })
    }

    /// Takes what was said of its host, port or text.
    ///
    /// - Parameters:
    ///   - record: A record of its name.
    ///   - now: The time.
    /// - Returns: Whether something else is known of it now.
    mutating func take(_ record: DNSRecord, at now: Duration) -> Bool {
        let place: WritableKeyPath<KnownInstance, TimedRecord?> =
            record.type == .srv ? \.service : \.text
        let former = self[keyPath: place]?.record.content
        guard record.lifetime > 0 else {
            if former == record.content { self[keyPath: place]?.expire(soonAfter: now) }
            return false
        }
        self[keyPath: place] = TimedRecord(record, at: now)
        guard former != record.content else { return false }
        if record.type == .srv {
            // Another host: addresses of the former one mean nothing.
            addresses = []
            pause = .seconds(1)
        }
        return true
    }

    /// Takes what was said of the addresses of its host.
    ///
    /// - Parameters:
    ///   - heard: What a packet says of the host.
    ///   - now: The time.
    /// - Returns: Whether something else is known of it now.
    mutating func take(_ heard: HeardAddresses, at now: Duration) -> Bool {
        heard.update(&addresses, limit: Browser.addressLimit, at: now)
    }

    /// Forgets what holds no longer.
    ///
    /// - Parameter now: The time.
    /// - Returns: Whether that is the instance itself.
    mutating func dropExpired(at now: Duration) -> Bool {
        if pointer.end <= now { return true }
        if let end = service?.end, end <= now { (service, addresses) = (nil, []) }
        if let end = text?.end, end <= now { text = nil }
        addresses.removeAll { $0.end <= now }
        return false
    }

    /// Asks what is due. That its pointer was asked for is only noted: one question is for all of them.
    ///
    /// - Parameters:
    ///   - questions: The questions, which are added to.
    ///   - now: The time.
    mutating func ask(_ questions: inout [DNSQuestion], at now: Duration) {
        if pointer.isDue(at: now) { pointer.noteQuestion() }
        let isMissingDue = isIncomplete && nextQuestion <= now
        if isMissingDue {
            nextQuestion = now + pause
            pause = min(pause * 3, .seconds(60))
        }
        if service.map({ $0.isDue(at: now) }) ?? isMissingDue {
            service?.noteQuestion()
            questions.append(DNSQuestion(name, .srv))
        }
        if text.map({ $0.isDue(at: now) }) ?? isMissingDue {
            text?.noteQuestion()
            questions.append(DNSQuestion(name, .txt))
        }
        guard let host else { return }
        var types: [DNSType] = addresses.isEmpty && isMissingDue ? [.a, .aaaa] : []
        for index in addresses.indices where addresses[index].isDue(at: now) {
            addresses[index].noteQuestion()
            let type = addresses[index].record.type
            if !types.contains(type) { types.append(type) }
        }
        questions += types.map { DNSQuestion(host, $0) }
    }
}
