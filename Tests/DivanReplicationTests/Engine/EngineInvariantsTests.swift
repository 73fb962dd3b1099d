// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanReplication
import DivanTestSupport
import Testing

/// The engine alone, against ends that answer as oddly as servers may: its invariants hold between any two events, and
/// it comes to its end.
@Suite struct EngineInvariantsTests {
    @Test func `invariants hold and a run ends, whatever the ends answer`() throws {
        for round in Soak.rounds(test: 300, soak: 20_000) {
            var ends = OddEnds(Soak.random(round: round, salt: 0xE9614))
            var engine = ReplicationEngine(since: nil, isContinuous: false, limits: ends.limits)
            var open = engine.start()
            var isFinished = false
            for _ in 0..<20_000 where !open.isEmpty {
                let action = open.remove(at: ends.random.below(open.count))
                guard let event = try ends.answer(action) else {
                    isFinished = true
                    break
                }
                open += engine.handle(event)
                engine.checkInvariants(isFaithful: false)
                if ends.random.oneIn(9) { open += engine.handle(.timer) }
                if ends.random.oneIn(400) { open += engine.handle(.stop) }
                engine.checkInvariants(isFaithful: false)
            }
            try #require(isFinished, "round \(round)")
        }
    }

    @Test func `a revision that a feed names twice is one`() throws {
        var engine = ReplicationEngine(since: nil, isContinuous: false)
        _ = engine.start()
        let id: DocumentID = "a"
        let revision = RevisionID("1-a")
        let page = ChangesPage(
            changes: [PeerChange(id: id, revisions: [revision, revision])],
            lastSequence: RemoteSequence(1 as UInt64), isAtEnd: true)
        guard case .findMissing(let unit, let offers) = engine.handle(.page(page)).first else {
            Issue.record("Nothing is compared.")
            return
        }
        #expect(offers.first?.revisions == [revision])
        let missing = offers.map { MissingRevisions(id: $0.id, revisions: $0.revisions) }
        guard case .fetch(let fetch, _) = engine.handle(.missing(unit: unit, missing)).first else {
            Issue.record("Nothing is fetched.")
            return
        }
        _ = engine.handle(.fetched(fetch, [FetchedRevision(id: id, revision: revision, .gone)]))
        engine.checkInvariants()
        #expect(engine.wantedDocuments == 0)
    }
}

/// A source and a target that keep nothing and answer by chance.
private struct OddEnds {
    var random: SeededRandom
    private var page = 0
    private let pages: Int

    init(_ random: SeededRandom) {
        self.random = random
        pages = 1 + self.random.below(8)
    }

    var limits: ReplicationEngine.Limits {
        var limits = ReplicationEngine.Limits.small
        limits.readyBytes = 100
        return limits
    }

    /// What comes of an action; nil for the end.
    mutating func answer(_ action: ReplicationEngine.Action) throws -> ReplicationEngine.Event? {
        switch action {
        case .readChanges: .page(nextPage())
        case .findMissing(let unit, let changes): .missing(unit: unit, try missing(of: changes))
        case .fetch(let number, let wanted): .fetched(number, try fetched(wanted))
        case .store(let number, let documents): .stored(number, outcomes(of: documents))
        case .saveCheckpoint(let sequence, _): .checkpointSaved(sequence)
        case .finish: nil
        }
    }

    /// A page: sometimes an empty one, or a document or a revision twice.
    private mutating func nextPage() -> ChangesPage {
        page += 1
        let changes = (0..<random.below(5)).map { _ in
            let revisions = (0...random.below(4)).map { _ in revision() }
            return PeerChange(id: "doc\(random.below(6))", revisions: revisions)
        }
        return ChangesPage(
            changes: changes, lastSequence: RemoteSequence(SequenceNumber(page)),
            isAtEnd: page >= pages, pending: random.oneIn(2) ? random.below(9) : nil)
    }

    private mutating func revision() -> RevisionID {
        RevisionID("\(1 + random.below(2))-\(random.below(3))")
    }

    private mutating func missing(of changes: [PeerChange]) throws -> [MissingRevisions] {
        var missing: [MissingRevisions] = []
        for change in changes where !random.oneIn(4) {
            let revisions = change.revisions.filter { _ in !random.oneIn(4) }
            missing.append(MissingRevisions(id: change.id, revisions: revisions))
        }
        return missing
    }

    /// Answers to a fetch: sometimes none, too few, or some that were not asked for, or twice.
    private mutating func fetched(_ wanted: [MissingRevisions]) throws -> [FetchedRevision] {
        if random.oneIn(12) { return [] }
        var answers: [FetchedRevision] = []
        for one in wanted {
            for revision in one.revisions where !random.oneIn(8) {
                let answer = try fetched(one.id, revision)
                answers.append(answer)
                if random.oneIn(8) { answers.append(answer) }
            }
        }
        if random.oneIn(8) {
            answers.append(try fetched("doc\(random.below(6))", revision()))
        }
        return answers
    }

    private mutating func fetched(_ id: DocumentID, _ revision: RevisionID) throws
        -> FetchedRevision
    {
        switch random.below(12) {
        case 0: return FetchedRevision(id: id, revision: revision, .gone)
        case 1: return FetchedRevision(id: id, revision: revision, .failed(failure(id)))
        default:
            let document = WireDocument(
                id: id, history: try RevisionHistory([revision]), isDeleted: false,
                body: PackedValue(["n": .integer(Int64(random.below(1_000)))]))
            return FetchedRevision(id: id, revision: revision, .document(document))
        }
    }

    /// Answers to a store: sometimes too few, or too many.
    private mutating func outcomes(of documents: [WireDocument]) -> [PutOutcome] {
        var outcomes = documents.map { document in
            switch random.below(14) {
            case 0: PutOutcome.failed(failure(document.id))
            case 1: PutOutcome.storedWithout(failure(document.id))
            case 2, 3: PutOutcome.needsAttachments
            default: PutOutcome.stored
            }
        }
        if random.oneIn(12) { _ = outcomes.popLast() }
        if random.oneIn(12) { outcomes.append(.stored) }
        return outcomes
    }

    private mutating func failure(_ id: DocumentID?) -> ReplicationError {
        ReplicationError(
            .rejected, "It is refused.", documentID: id, isTransient: random.oneIn(3))
    }
}
