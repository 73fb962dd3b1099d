// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanReplication
import DivanTestSupport
import Synchronization

/// What a replication may be made to do wrong.
enum Flaw: CaseIterable {
    /// It saves a checkpoint for what it has only read.
    case savesTooEarly
    /// It passes over all leaves but the first.
    case forgetsConflicts
    /// It takes what it was sent for stored.
    case storesNothing
}

extension ReplicationEngine.Limits {
    /// So small that a few documents already make several units, fetches and stores.
    static var small: Self {
        var limits = Self()
        limits.page = 3
        limits.units = 3
        limits.revisionsPerFetch = 2
        limits.fetches = 2
        limits.revisionsPerStore = 2
        limits.stores = 2
        limits.changesPerCheckpoint = 4
        return limits
    }
}

/// Drives an engine one action at a time, in an order drawn from a seed: so a run repeats exactly.
struct SequentialRun {
    /// Where documents come from and go to.
    let source: Database
    let target: Database
    /// Whether the local database, which keeps the incarnation, is the source.
    var isPush = true
    var limits = ReplicationEngine.Limits.small
    /// One request in so many fails; 0 for none.
    var faults = 0
    /// One event in so many is the last one: the process dies; 0 for none.
    var crashes = 0
    var resolver: (any ConflictResolver)?
    /// What it does wrong; nil for nothing.
    var flaw: Flaw?

    static func id(_ local: Database, _ remote: Database, isPush: Bool) -> ReplicationID {
        ReplicationID(
            .init(
                localUUID: local.privateUUID, remoteURL: "db:\(remote.publicUUID)", isPush: isPush))
    }

    enum Ending: Equatable { case finished, failed, crashed }

    struct Result {
        var ending: Ending
        var reports: [ReplicationEngine.Report] = []
        var documentsPut = 0
        var since: RemoteSequence?
    }

    /// Runs until the end, a fault or a crash.
    func run(_ random: inout SeededRandom) async throws -> Result {
        var reception = Reception(source: "test")
        reception.resolver = resolver
        let from = FaultyPeer(LocalPeer(source), random: SeededRandom(seed: random.next()))
        let to = FaultyPeer(
            LocalPeer(target, reception: reception), random: SeededRandom(seed: random.next()))
        let (local, remote) = isPush ? (from, to) : (to, from)
        remote.faults.withLock { $0 = faults }
        let localDatabase = isPush ? source : target
        let remoteDatabase = isPush ? target : source
        let keeper = CheckpointKeeper(
            Self.id(localDatabase, remoteDatabase, isPush: isPush), local: local, remote: remote,
            isPush: isPush, incarnation: localDatabase.testIncarnation)
        let worker = ReplicationWorker(source: from, target: to, keeper: keeper)
        var result = Result(ending: .finished)
        do {
            try await reception.resolveNoted(in: target)
            result.since = try await keeper.load()
            var engine = ReplicationEngine(
                since: result.since, isContinuous: false, limits: limits)
            var open = engine.start()
            engine.checkInvariants()
            while !open.isEmpty {
                let action = open.remove(at: random.below(open.count))
                if case .finish(let failure) = action {
                    result.reports += engine.takeReports()
                    result.ending = failure == nil ? .finished : .failed
                    break
                }
                guard var event = try await worker.perform(spoiled(action)) else { continue }
                if case .page(var page) = event {
                    if flaw == .savesTooEarly { try await keeper.save(page.lastSequence) }
                    if flaw == .forgetsConflicts {
                        for index in page.changes.indices {
                            page.changes[index].revisions.removeLast(
                                page.changes[index].revisions.count - 1)
                        }
                        event = .page(page)
                    }
                }
                if flaw == .storesNothing, case .store(let number, let documents) = action {
                    event = .stored(number, documents.map { _ in .stored })
                }
                open += engine.handle(event)
                engine.checkInvariants()
                if random.oneIn(7) { open += engine.handle(.timer) }
                engine.checkInvariants()
                result.reports += engine.takeReports()
                if crashes > 0, random.oneIn(crashes) {
                    result.ending = .crashed
                    break
                }
            }
        } catch is ReplicationError {
            result.ending = .failed
        }
        result.documentsPut = to.count("documents")
        return result
    }
}

extension SequentialRun {
    /// An action as a flawed replication carries it out.
    private func spoiled(_ action: ReplicationEngine.Action) -> ReplicationEngine.Action {
        guard flaw == .storesNothing, case .store(let number, let documents) = action else {
            return action
        }
        return .store(number, Array(documents.dropLast()))
    }
}

extension Database {
    var testIncarnation: String { incarnation }
}
