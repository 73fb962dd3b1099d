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
///
/// Any machine on the link sends packets, so one costs as much as it is long, and at most one pass over what is kept; what is
/// due and what has changed is noted when it is heard.
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

    private let type: DNSName
    private var instances: [DNSName: KnownInstance] = [:]
    private var told: [DNSName: Finding] = [:]
    /// Instances of which something has changed since services were told.
    private var changed: Set<DNSName> = []
    private var nextQuestion: Duration?
    private var pause = Duration.seconds(1)
    private var lastQuestion: Duration?
    /// Not after the time when something is to be done: a record that is heard again may put that off.
    private var due = Duration.zero
    private var actions: ArraySlice<Action> = []
    private var jitter: Jitter

    /// - Parameters:
    ///   - type: The type in the domain of the link.
    ///   - seed: For random delays.
    package init(_ type: DNSName, seed: UInt64) {
        self.type = type
        jitter = Jitter(seed: seed)
    }

    /// The next thing to do.
    package mutating func takeAction() -> Action? { actions.popFirst() }

    /// Begins to look.
    package mutating func start(at now: Duration) {
        let first = now + jitter.milliseconds(20...120)
        (nextQuestion, due) = (first, first)
    }

    /// When `tick` may have something to do; nil before `start`.
    package var deadline: Duration? { nextQuestion == nil ? nil : due }

    /// Does what is due.
    package mutating func tick(at now: Duration) {
        // It is called after each packet, and mostly nothing is due.
        guard let deadline, deadline <= now else { return }
        dropExpired(at: now)
        ask(at: now)
        tell()
        due = instances.values.reduce(earliest(for: nextQuestion ?? now)) { soonest, instance in
            min(soonest, due(of: instance))
        }
    }

    /// Takes a packet that came over the link.
    package mutating func receive(_ message: DNSMessage, at now: Duration) {
        guard message.isResponse, nextQuestion != nil else { return }
        let records = message.records
        for record in records where record.name == type {
            if case .ptr(let instance) = record.content { takePointer(record, instance, at: now) }
        }
        for record in records { takeInstanceRecord(record, at: now) }
        takeAddresses(HeardAddresses.byHost(records), at: now)
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
            instances[name] = KnownInstance(
                name: name, pointer: TimedRecord(record, at: now),
                nextQuestion: now + .milliseconds(100))
        }
        noteDue(of: name)
    }

    private mutating func takeInstanceRecord(_ record: DNSRecord, at now: Duration) {
        guard [.srv, .txt].contains(record.type),
            let isChanged = instances[record.name]?.take(record, at: now)
        else { return }
        if isChanged { changed.insert(record.name) }
        noteDue(of: record.name)
    }

    /// Takes what a packet says of addresses, once for each instance of their hosts: many instances may be on one host.
    private mutating func takeAddresses(_ hosts: [DNSName: HeardAddresses], at now: Duration) {
        guard !hosts.isEmpty else { return }
        let concerned = instances.values.compactMap { instance in
            instance.host.flatMap { hosts[$0] }.map { (instance.name, $0) }
        }
        for (name, heard) in concerned {
            if instances[name]?.take(heard, at: now) ?? false { changed.insert(name) }
            noteDue(of: name)
        }
    }

    private mutating func dropExpired(at now: Duration) {
        let concerned = instances.values.filter { $0.firstEnd <= now }.map(\.name)
        for name in concerned {
            if instances[name]?.dropExpired(at: now) ?? false { instances[name] = nil }
            changed.insert(name)
        }
    }

    private mutating func noteDue(of name: DNSName) {
        if let instance = instances[name] { due = min(due, due(of: instance)) }
    }

    /// When something is to be asked about an instance, or something of it is over.
    private func due(of instance: KnownInstance) -> Duration {
        let question = instance.questionDue.map(earliest(for:))
        return min(instance.firstEnd, question ?? instance.firstEnd)
    }

    /// When a question may be asked that is due at some time.
    private func earliest(for question: Duration) -> Duration {
        lastQuestion.map { max(question, $0 + .seconds(1)) } ?? question
    }
}

// Questions and findings.
extension Browser {
    private mutating func ask(at now: Duration) {
        if let lastQuestion, now - lastQuestion < .seconds(1) { return }
        var questions: [DNSQuestion] = []
        let isTime = nextQuestion.map { $0 <= now } ?? false
        let waiting = Self.sorted(
            instances.values.filter { $0.questionDue.map { $0 <= now } ?? false }.map(\.name))
        if isTime || waiting.contains(where: { instances[$0]?.pointer.isDue(at: now) ?? false }) {
            questions.append(DNSQuestion(type, .ptr))
        }
        for name in waiting { instances[name]?.ask(&questions, at: now) }
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

    private mutating func tell() {
        guard !changed.isEmpty else { return }
        // In the order of their names, so that equal packets lead to equal actions.
        let names = Self.sorted(changed)
        changed = []
        var found: [Finding] = []
        for name in names {
            let finding = instances[name]?.finding
            guard finding != told[name] else { continue }
            told[name] = finding
            if let finding { found.append(finding) } else { actions.append(.lost(name)) }
        }
        actions += found.map(Action.found)
    }

    private static func sorted(_ names: some Collection<DNSName>) -> [DNSName] {
        // Each description is made once, not at each comparison.
        names.map { (text: $0.description, name: $0) }.sorted { $0.text < $1.text }.map(\.name)
    }

    /// Stops the program where an invariant does not hold; for tests.
    package func checkInvariants() {
        precondition(instances.count <= Self.instanceLimit, "invariant 1")
        precondition(
            instances.values.allSatisfy { $0.addresses.count <= Self.addressLimit }, "invariant 1")
        precondition(told.keys.allSatisfy { instances[$0] != nil }, "invariant 3")
    }
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
