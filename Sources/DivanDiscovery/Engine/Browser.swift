// SPDX-License-Identifier: Apache-2.0

/// Looks for the services of one type on one link, as a value: packets and times in, questions and findings out (RFC 6762, 5 and 10).
///
/// It asks for instances after 20–120 ms, then after 1, 2, 4 … seconds, at last once an hour, and names those it knows. Of an instance it
/// keeps host, port, text and addresses, asks for what is missing, and asks again when four fifths of a record's time are over. A
/// service is found when host, port and an address are known.
///
/// It keeps what it looks for and nothing else: pointers from its type, records of the instances they name, addresses of
/// their hosts.
///
/// ## Invariants
/// 1. At most `instanceLimit` instances with `addressLimit` addresses each are kept, whatever comes. What is kept is not pushed out
///    by what comes later.
/// 2. Questions are at least a second apart.
/// 3. A service is told as found once, as changed when something of it has changed, and as lost once.
package struct Browser: Sendable {
    /// Instances that are kept at most.
    package static let instanceLimit = 512
    /// Addresses of a host that are kept at most.
    static let addressLimit = 16

    /// A service with all that is needed to connect to it on this link.
    package struct Finding: Sendable, Equatable {
        /// The name of the instance.
        package var instance: DNSName
        /// The name of its host.
        package var host: DNSName
        /// Its port.
        package var port: UInt16
        /// The strings of its text.
        package var text: [[UInt8]]
        /// The addresses of its host on this link, in their order.
        package var addresses: [[UInt8]]
    }

    /// What its driver is to do.
    package enum Action: Sendable, Equatable {
        /// Send a question to all on the link.
        case multicast(DNSMessage)
        /// A service is there, or something of it has changed.
        case found(Finding)
        /// A service is gone.
        case lost(DNSName)
    }

    private struct Instance {
        var pointer: TimedRecord
        var service: TimedRecord?
        var text: TimedRecord?
        var addresses: [TimedRecord] = []
        /// When to ask for what is missing, and how long to wait then.
        var nextQuestion: Duration
        var pause = Duration.seconds(1)
    }

    private let type: DNSName
    private var instances: [DNSName: Instance] = [:]
    private var told: [DNSName: Finding] = [:]
    private var nextQuestion: Duration?
    private var pause = Duration.seconds(1)
    private var lastQuestion: Duration?
    private var actions: [Action] = []
    private var jitter: Jitter

    /// - Parameters:
    ///   - type: The type in the domain of the link.
    ///   - seed: For random delays.
    package init(_ type: DNSName, seed: UInt64) {
        self.type = type
        jitter = Jitter(seed: seed)
    }

    /// The next thing to do.
    package mutating func takeAction() -> Action? { actions.isEmpty ? nil : actions.removeFirst() }

    /// Begins to look.
    package mutating func start(at now: Duration) {
        nextQuestion = now + jitter.milliseconds(20...120)
    }

    /// When `tick` has something to do; nil before `start`.
    package var deadline: Duration? {
        guard let nextQuestion else { return nil }
        var question = nextQuestion
        var end: Duration?
        for instance in instances.values {
            if isIncomplete(instance) { question = min(question, instance.nextQuestion) }
            for record in records(of: instance) {
                if let due = record.nextQuestion { question = min(question, due) }
                end = min(end ?? record.end, record.end)
            }
        }
        if let lastQuestion { question = max(question, lastQuestion + .seconds(1)) }
        return min(question, end ?? question)
    }

    /// Does what is due.
    package mutating func tick(at now: Duration) {
        dropExpired(at: now)
        ask(at: now)
        tell()
    }

    /// Takes a packet that came over the link.
    package mutating func receive(_ message: DNSMessage, at now: Duration) {
        guard message.isResponse, nextQuestion != nil else { return }
        let records = message.records
        for record in records where record.name == type {
            if case .ptr(let instance) = record.content { takePointer(record, instance, at: now) }
        }
        for record in records { takeInstanceRecord(record, records, at: now) }
        for record in records where record.type == .a || record.type == .aaaa {
            takeAddress(record, records, at: now)
        }
        tell()
    }

    private mutating func takePointer(_ record: DNSRecord, _ name: DNSName, at now: Duration) {
        guard name.parent == type else { return }
        if record.lifetime == 0 {
            instances[name]?.pointer.expire(soonAfter: now)
        } else if instances[name] != nil {
            instances[name]?.pointer = TimedRecord(record, at: now)
        } else if instances.count < Self.instanceLimit {
            // What is missing usually comes along; it is asked for if it does not.
            instances[name] = Instance(
                pointer: TimedRecord(record, at: now), nextQuestion: now + .milliseconds(100))
        }
    }

    private mutating func takeInstanceRecord(
        _ record: DNSRecord, _ all: [DNSRecord], at now: Duration
    ) {
        guard [.srv, .txt].contains(record.type), instances[record.name] != nil else { return }
        let place: WritableKeyPath<Instance, TimedRecord?> =
            record.type == .srv ? \.service : \.text
        guard record.lifetime > 0 else {
            if instances[record.name]?[keyPath: place]?.record.says(whatSays: record) ?? false {
                instances[record.name]?[keyPath: place]?.expire(soonAfter: now)
            }
            return
        }
        let former = instances[record.name]?[keyPath: place]?.record
        instances[record.name]?[keyPath: place] = TimedRecord(record, at: now)
        if record.type == .srv, former?.content != record.content {
            // Another host: addresses of the former one mean nothing.
            instances[record.name]?.addresses = []
            instances[record.name]?.pause = .seconds(1)
        }
    }

    private mutating func takeAddress(_ record: DNSRecord, _ all: [DNSRecord], at now: Duration) {
        for (name, instance) in instances where host(of: instance) == record.name {
            var addresses = instance.addresses
            let place = addresses.firstIndex { $0.record.says(whatSays: record) }
            if record.lifetime == 0 {
                if let place { addresses[place].expire(soonAfter: now) }
            } else {
                if let place {
                    addresses[place] = TimedRecord(record, at: now)
                } else if addresses.count < Self.addressLimit {
                    addresses.append(TimedRecord(record, at: now))
                }
                if record.isUnique {
                    // It stands for all of its name and kind, those beside it in the packet and of the last second apart.
                    for index in addresses.indices
                    where addresses[index].record.type == record.type
                        && now - addresses[index].heard > .seconds(1)
                        && !all.contains(where: { $0.says(whatSays: addresses[index].record) })
                    {
                        addresses[index].expire(soonAfter: now)
                    }
                }
            }
            instances[name]?.addresses = addresses
        }
    }

    private mutating func dropExpired(at now: Duration) {
        for (name, instance) in instances {
            if instance.pointer.end <= now {
                instances[name] = nil
                continue
            }
            if let end = instance.service?.end, end <= now {
                instances[name]?.service = nil
                instances[name]?.addresses = []
            }
            if let end = instance.text?.end, end <= now { instances[name]?.text = nil }
            instances[name]?.addresses.removeAll { $0.end <= now }
        }
    }

    private func host(of instance: Instance) -> DNSName? {
        guard case .srv(_, _, _, let host) = instance.service?.record.content else { return nil }
        return host
    }

    private func isIncomplete(_ instance: Instance) -> Bool {
        instance.service == nil || instance.text == nil || instance.addresses.isEmpty
    }

    private func records(of instance: Instance) -> [TimedRecord] {
        [instance.pointer] + [instance.service, instance.text].compactMap(\.self)
            + instance.addresses
    }
}

// Questions and findings.
extension Browser {
    private mutating func ask(at now: Duration) {
        if let lastQuestion, now - lastQuestion < .seconds(1) { return }
        var questions: [DNSQuestion] = []
        let isTime = nextQuestion.map { $0 <= now } ?? false
        if isTime || instances.values.contains(where: { isDue($0.pointer, now) }) {
            questions.append(DNSQuestion(type, .ptr))
        }
        for name in instances.keys.sorted(by: <) { ask(of: name, &questions, at: now) }
        guard !questions.isEmpty else { return }
        if isTime {
            nextQuestion = now + pause
            pause = min(pause * 2, .seconds(3_600))
        }
        let known =
            questions[0].name == type
            ? instances.values.compactMap { $0.pointer.known(at: now) } : []
        lastQuestion = now
        actions.append(.multicast(.query(questions, known: known)))
    }

    private func isDue(_ record: TimedRecord, _ now: Duration) -> Bool {
        record.nextQuestion.map { $0 <= now } ?? false
    }

    private mutating func ask(
        of name: DNSName, _ questions: inout [DNSQuestion], at now: Duration
    ) {
        guard var instance = instances[name] else { return }
        defer { instances[name] = instance }
        if isDue(instance.pointer, now) { instance.pointer.noteQuestion() }
        let isMissingDue = isIncomplete(instance) && instance.nextQuestion <= now
        if isMissingDue {
            instance.nextQuestion = now + instance.pause
            instance.pause = min(instance.pause * 3, .seconds(60))
        }
        if instance.service.map({ isDue($0, now) }) ?? isMissingDue {
            instance.service?.noteQuestion()
            questions.append(DNSQuestion(name, .srv))
        }
        if instance.text.map({ isDue($0, now) }) ?? isMissingDue {
            instance.text?.noteQuestion()
            questions.append(DNSQuestion(name, .txt))
        }
        guard let host = host(of: instance) else { return }
        var types: [DNSType] = instance.addresses.isEmpty && isMissingDue ? [.a, .aaaa] : []
        for index in instance.addresses.indices where isDue(instance.addresses[index], now) {
            instance.addresses[index].noteQuestion()
            let type = instance.addresses[index].record.type
            if !types.contains(type) { types.append(type) }
        }
        questions += types.map { DNSQuestion(host, $0) }
    }

    private mutating func tell() {
        var findings: [DNSName: Finding] = [:]
        for (name, instance) in instances {
            guard case .srv(_, _, let port, let host) = instance.service?.record.content,
                !instance.addresses.isEmpty
            else { continue }
            var text: [[UInt8]] = []
            if case .txt(let strings) = instance.text?.record.content { text = strings }
            findings[name] = Finding(
                instance: name, host: host, port: port, text: text,
                addresses: instance.addresses.map(\.record).compactMap(\.address).sorted {
                    ($0.count, $0) < ($1.count, $1)
                })
        }
        // In the order of their names, so that equal packets lead to equal actions.
        for name in told.keys.sorted(by: <) where findings[name] == nil {
            actions.append(.lost(name))
        }
        for name in findings.keys.sorted(by: <) {
            if let finding = findings[name], told[name] != finding {
                actions.append(.found(finding))
            }
        }
        told = findings
    }

    /// Stops the program where an invariant does not hold; for tests.
    package func checkInvariants() {
        precondition(instances.count <= Self.instanceLimit, "invariant 1")
        precondition(
            instances.values.allSatisfy { $0.addresses.count <= Self.addressLimit }, "invariant 1")
        precondition(told.keys.allSatisfy { instances[$0] != nil }, "invariant 3")
    }
}

private func < (left: DNSName, right: DNSName) -> Bool { left.description < right.description }

private func < (left: (Int, [UInt8]), right: (Int, [UInt8])) -> Bool {
    left.0 != right.0 ? left.0 < right.0 : left.1.lexicographicallyPrecedes(right.1)
}

extension DNSRecord {
    /// The address that it says; nil for other records.
    var address: [UInt8]? {
        switch content {
        case .a(let bytes), .aaaa(let bytes): bytes
        default: nil
        }
    }
}
