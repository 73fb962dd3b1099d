// SPDX-License-Identifier: Apache-2.0

/// Announces one service on one link and answers questions about it, as a value: packets and times in, packets out (RFC 6762, 6, 8 to 10).
///
///      start          three probes, 250 ms apart     two announcements, 1 s apart
///        │  0–250 ms       │                              │
///        └────────────► probing ───────────────────► announcing ───────► settled ──► stop: goodbye
///                          │  ▲ a claim that comes before ours: again in 1 s      │
///                          │  └─────────────────────────────────────────────────── a contradiction
///                          └─► a contradiction: `.conflict`; the owner begins anew with another name
///
/// ```swift
/// var responder = Responder(records, seed: 7)
/// responder.start(at: now)
/// while let action = responder.takeAction() { … }        // send it
/// responder.tick(at: later)                              // not before `responder.deadline`
/// ```
///
/// Times are durations since any one moment. It does no I/O and knows no clock, so the tests run hours in milliseconds.
///
/// ## Invariants
///
/// `checkInvariants()` tests what the state shows of 1 and 3. `ResponderRandomTests` call it, and look for 1 and 2 in all that
/// hosts say on a busy link.
///
/// 1. No record is said to be true before the probes are done.
/// 2. A record is multicast at most once a second, but in answer to a probe.
/// 3. What waits to be answered is bounded by the records of the service, whatever is asked, and however often. Answers to single
///    hosts are at most `unicastsPerSecond`, of one datagram each, so that a stranger cannot flood another host through it.
package struct Responder: Sendable {
    /// What its driver is to do.
    package enum Action: Sendable, Equatable {
        /// Send a message to all on the link.
        case multicast(DNSMessage)
        /// Send a message to one host.
        case unicast(DNSMessage, PacketPeer)
        /// The name is taken: begin anew with another one.
        case conflict(DNSName)
        /// The service is announced.
        case announced
    }

    private enum Phase: Sendable, Equatable {
        case probing(sent: Int)
        case announcing(sent: Int)
        case settled
        case stopped
    }

    /// Answers to single hosts within a second.
    static let unicastsPerSecond = 50

    private(set) var records: ServiceRecords
    /// Records of this service on other links of the same host, which are no contradiction when two links are one.
    var elsewhere: [DNSRecord] = []
    private var phase = Phase.stopped
    private var step: Duration?
    private var jitter: Jitter
    private var pending: [DNSRecord: Duration] = [:]
    /// Where the questions whose answers wait came from.
    private var askers: Set<PacketPeer> = []
    private var lastSent: [DNSRecord: Duration] = [:]
    private var unicasts: (since: Duration, count: Int) = (.zero, 0)
    private var actions: [Action] = []

    /// - Parameters:
    ///   - records: The service.
    ///   - seed: For random delays.
    init(_ records: ServiceRecords, seed: UInt64) {
        self.records = records
        jitter = Jitter(seed: seed)
    }

    /// When `tick` has something to do; nil when nothing is to be done before a packet comes.
    package var deadline: Duration? {
        let due = pending.values.min()
        return step.map { min($0, due ?? $0) } ?? due
    }

    private var isAnnounced: Bool {
        switch phase {
        case .announcing(let sent): sent > 0
        case .settled: true
        case .probing, .stopped: false
        }
    }

    /// The next thing to do.
    package mutating func takeAction() -> Action? { actions.isEmpty ? nil : actions.removeFirst() }

    /// Begins to claim the name.
    package mutating func start(at now: Duration) {
        (phase, pending, askers) = (.probing(sent: 0), [:], [])
        step = now + jitter.milliseconds(0...250)
    }

    /// Says that the service is gone.
    package mutating func stop(at now: Duration) {
        if isAnnounced { actions.append(.multicast(.response(records.all.map(\.withdrawn)))) }
        (phase, step, pending) = (.stopped, nil, [:])
    }

    /// Announces other addresses or another text under the same names.
    mutating func update(_ changed: ServiceRecords, at now: Duration) {
        guard changed != records else { return }
        let gone = records.all.filter { !changed.all.contains($0) }
        records = changed
        pending = pending.filter { changed.all.contains($0.key) }
        switch phase {
        case .announcing, .settled:
            // A unique record flushes what it replaces; one that nothing replaces has to be withdrawn.
            let orphans = gone.filter { old in
                !changed.unique.contains { $0.name == old.name && $0.type == old.type }
            }
            if !orphans.isEmpty { actions.append(.multicast(.response(orphans.map(\.withdrawn)))) }
            phase = .announcing(sent: 0)
            step = now
        case .probing, .stopped: break
        }
    }

    /// Does what is due.
    package mutating func tick(at now: Duration) {
        if let due = step, due <= now { takeStep(at: now) }
        answerPending(at: now)
    }

    private mutating func takeStep(at now: Duration) {
        switch phase {
        case .probing(let sent) where sent < 3:
            let names = [records.instance, records.host]
            actions.append(
                .multicast(
                    .query(names.map { DNSQuestion($0, .any) }, proposed: records.unique)))
            phase = .probing(sent: sent + 1)
            step = now + .milliseconds(250)
            // After a contradiction a record may have been sent in the second before. Nothing is sent while it probes, so
            // no question can put this off.
            if sent == 2 {
                step = max(now + .milliseconds(250), earliest(for: records.all, at: now))
            }
        case .probing: announce(1, at: now)
        case .announcing(let sent): announce(sent + 1, at: now)
        case .settled, .stopped: step = nil
        }
    }

    /// Says what is true to all on the link, but for what it has said to them within a second.
    private mutating func announce(_ count: Int, at now: Duration) {
        let due = records.all.filter { earliest(for: [$0], at: now) == now }
        if !due.isEmpty { multicast(due, at: now) }
        if count == 1 { actions.append(.announced) }
        phase = count < 2 ? .announcing(sent: count) : .settled
        step = count < 2 ? now + .seconds(1) : nil
    }

    /// When all of these records may be multicast again.
    private func earliest(for answers: [DNSRecord], at now: Duration) -> Duration {
        answers.compactMap { lastSent[$0] }.max().map { max(now, $0 + .seconds(1)) } ?? now
    }

    /// Stops the program where an invariant does not hold; for tests.
    func checkInvariants() {
        switch phase {
        case .probing, .stopped: precondition(pending.isEmpty, "invariant 1")
        case .announcing, .settled: break
        }
        let isOurs = { (record: DNSRecord) in
            records.all.contains(record) || record.type == .nsec
        }
        precondition(pending.keys.allSatisfy(isOurs), "invariant 3")
        precondition(pending.count <= records.all.count + 2, "invariant 3")
        precondition(askers.count <= 64, "invariant 3")
        precondition(unicasts.count <= Self.unicastsPerSecond, "invariant 3")
    }

    private mutating func multicast(_ answers: [DNSRecord], at now: Duration) {
        for record in answers { (lastSent[record], pending[record]) = (now, nil) }
        lastSent = lastSent.filter { now - $0.value < .seconds(1) }
        actions.append(
            .multicast(.response(answers, additional: records.companions(of: answers))))
    }
}

// What comes from others.
extension Responder {
    /// Takes a packet that came over the link.
    package mutating func receive(
        _ message: DNSMessage, from peer: PacketPeer, at now: Duration
    ) {
        guard phase != .stopped else { return }
        if message.isResponse {
            hear(message, at: now)
        } else {
            if !message.authorities.isEmpty { compareClaims(message.authorities, at: now) }
            answer(message, to: peer, at: now)
        }
    }

    /// The records of a service by what they say: made once for a packet, which may hold hundreds of records.
    private struct Spoken {
        /// Records of ours, and those that wait.
        let ours: [DNSRecord.Statement: DNSRecord]
        /// What is said of our names alone, also on other links.
        let unique: Set<DNSRecord.Statement>
        /// The kinds of records that each of our names has.
        let kinds: [DNSName: Set<DNSType>]

        init(_ responder: Responder) {
            let records = responder.records
            ours = Dictionary(
                (records.all + responder.pending.keys).map { ($0.statement, $0) },
                uniquingKeysWith: { first, _ in first })
            unique = Set((records.unique + responder.elsewhere).map(\.statement))
            kinds = Dictionary(grouping: records.unique, by: \.name).mapValues {
                Set($0.map(\.type))
            }
        }
    }

    private mutating func hear(_ message: DNSMessage, at now: Duration) {
        let spoken = Spoken(self)
        for record in message.records {
            if record.lifetime > 0, contradicts(record, spoken) {
                meetContradiction(of: record.name, at: now)
                return
            }
            guard let ours = spoken.ours[record.statement] else { continue }
            // Another host has given the answer: once is enough.
            if record.lifetime >= ours.lifetime / 2 {
                pending[ours] = nil
            } else if isAnnounced, ours.type != .nsec {
                // Said to be gone, or nearly so, while it is here: say that it is (RFC 6762, 6.6).
                pending[ours] = max(now, lastSent[ours].map { $0 + .seconds(1) } ?? now)
            }
        }
        answerPending(at: now)
    }

    private func contradicts(_ record: DNSRecord, _ spoken: Spoken) -> Bool {
        guard let kinds = spoken.kinds[record.name], record.type != .nsec,
            !spoken.unique.contains(record.statement)
        else { return false }
        if case .probing = phase { return true }
        return kinds.contains(record.type)
    }

    private mutating func meetContradiction(of name: DNSName, at now: Duration) {
        if case .probing = phase {
            (phase, step, pending) = (.stopped, nil, [:])
            actions.append(.conflict(name))
        } else {
            // Both hosts probe once more, and the claims decide (RFC 6762, 9).
            start(at: now)
        }
    }

    /// Two hosts that probe for one name at once: the one whose records come later keeps it (RFC 6762, 8.2).
    private mutating func compareClaims(_ claims: [DNSRecord], at now: Duration) {
        guard case .probing(let sent) = phase, sent > 0 else { return }
        for name in [records.instance, records.host] {
            let theirs = claims.filter { $0.name == name }.map(\.claim).sorted(by: precedes)
            let ours = records.unique.filter { $0.name == name }.map(\.claim).sorted(by: precedes)
            guard !theirs.isEmpty, ours.lexicographicallyPrecedes(theirs, by: precedes) else {
                continue
            }
            phase = .probing(sent: 0)
            step = now + .seconds(1)
            return
        }
    }

    private func precedes(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        one.lexicographicallyPrecedes(other)
    }

    private mutating func answer(_ message: DNSMessage, to peer: PacketPeer, at now: Duration) {
        if case .probing = phase { return }
        // What the asker knows already, also when it says so in a packet of its own.
        if message.questions.isEmpty {
            if askers.contains(peer) { forget(message.answers) }
            return
        }
        let known = Self.lifetimes(of: message.answers)
        let answers = answers(to: message.questions).filter { !isKnown($0, known) }
        guard !answers.isEmpty else { return }
        if peer.port != PacketPeer.multicastPort {
            answerOldResolver(message, answers, peer, at: now)
        } else {
            // A probe is answered at once, so that the other host does not take the name.
            let isProbe = !message.authorities.isEmpty
            schedule(answers, isProbe: isProbe, isTruncated: message.isTruncated, peer, at: now)
        }
    }

    /// The records that answer some questions, each once, however often it is asked for.
    private func answers(to questions: [DNSQuestion]) -> [DNSRecord] {
        let ours = Dictionary(grouping: records.all, by: \.name)
        var asked: Set<DNSQuestion> = []
        var chosen: Set<DNSRecord> = []
        var answers: [DNSRecord] = []
        for question in questions {
            guard let owned = ours[question.name],
                asked.insert(DNSQuestion(question.name, question.type)).inserted
            else { continue }
            var found = owned.filter(question.isAnswered)
            if found.isEmpty, let none = records.absence(of: question.type, at: question.name) {
                found = [none]
            }
            answers += found.filter { chosen.insert($0).inserted }
        }
        return answers
    }

    /// How long each thing holds that an asker knows, at most.
    private static func lifetimes(of known: [DNSRecord]) -> [DNSRecord.Statement: UInt32] {
        Dictionary(known.map { ($0.statement, $0.lifetime) }, uniquingKeysWith: max)
    }

    private func isKnown(_ answer: DNSRecord, _ known: [DNSRecord.Statement: UInt32]) -> Bool {
        known[answer.statement].map { $0 >= answer.lifetime / 2 } ?? false
    }

    private mutating func forget(_ known: [DNSRecord]) {
        let lifetimes = Self.lifetimes(of: known)
        pending = pending.filter { !isKnown($0.key, lifetimes) }
    }

    private mutating func schedule(
        _ answers: [DNSRecord], isProbe: Bool, isTruncated: Bool, _ peer: PacketPeer,
        at now: Duration
    ) {
        var due = now
        if isTruncated {
            due += jitter.milliseconds(400...500)
            if askers.count < 64 { askers.insert(peer) }
        } else if !isProbe, answers.contains(where: { !$0.isUnique }) {
            due += jitter.milliseconds(20...120)
        }
        for answer in answers {
            let isOurs = records.all.contains(answer) || answer.type == .nsec
            guard isOurs else { continue }
            let pause = isProbe ? Duration.milliseconds(250) : .seconds(1)
            let earliest = lastSent[answer].map { $0 + pause } ?? now
            pending[answer] = min(pending[answer] ?? max(due, earliest), max(due, earliest))
        }
        answerPending(at: now)
    }

    private mutating func answerPending(at now: Duration) {
        guard pending.values.contains(where: { $0 <= now }) else { return }
        // What would be due in a moment goes along, unless it was sent within a second.
        let due = pending.filter { record, due in
            due <= now || due <= now + .milliseconds(20) && earliest(for: [record], at: now) == now
        }.keys
        let answers = records.all.filter(due.contains) + due.filter { $0.type == .nsec }
        multicast(answers, at: now)
        if pending.isEmpty { askers = [] }
    }

    /// An old resolver is answered alone: with its identifier and question, for 10 seconds at most (RFC 6762, 6.7).
    ///
    /// The address that it asks from may be made up. So the answer is one datagram, and it repeats one question: a resolver asks
    /// no more at once.
    private mutating func answerOldResolver(
        _ message: DNSMessage, _ answers: [DNSRecord], _ peer: PacketPeer, at now: Duration
    ) {
        if now - unicasts.since >= .seconds(1) { unicasts = (now, 0) }
        guard unicasts.count < Self.unicastsPerSecond else { return }
        unicasts.count += 1
        let plain = { (record: DNSRecord) in
            DNSRecord(
                record.name, record.content, lifetime: min(10, record.lifetime), isUnique: false)
        }
        var response = DNSMessage.response(
            answers.map(plain), additional: records.companions(of: answers).map(plain))
        response.identifier = message.identifier
        let names = Set(answers.map(\.name))
        response.questions = Array(
            message.questions.lazy.filter { names.contains($0.name) }.prefix(1))
        actions.append(.unicast(response.inOnePacket, peer))
    }
}
