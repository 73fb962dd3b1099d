// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanModel
internal import Synchronization

/// Which revisions are on their way into one database, by any of several pulls: so that a document which several peers offer at once
/// is fetched from one of them.
///
///     pull from Ann                                pull from Bob
///     claims d1, fetches it                        wants d1 and d2, claims d2, fetches d2
///     stores d1, releases it                       claims d1: the database has it, so it is not fetched
///
/// A pull fetches only what it has claimed, and asks the database again once it has: what another pull has stored in the meantime is
/// there. Stored or failed, a claim is released, and those who wait claim it in their turn. A pull that is broken off, or whose peer is
/// slow, releases nothing; after `patience` its claims count no longer. So no pull depends on another.
///
/// State: the claims, guarded by the mutex.
package final class ArrivingRevisions: Sendable {
    private struct Key: Hashable {
        var id: DocumentID
        var revision: RevisionID
    }

    private struct State {
        /// When each claim was made.
        var claims: [Key: ContinuousClock.Instant] = [:]
        var swept = ContinuousClock.now
    }

    /// How long a claim counts.
    private let patience: Duration
    private let state = Mutex(State())
    private let released = CountedSignal()

    /// - Parameter patience: How long a claim counts.
    package init(patience: Duration = .seconds(10)) { self.patience = patience }

    /// How many claims count.
    package var count: Int { state.withLock { $0.claims.count } }

    /// Fetches what is wanted and not on its way already.
    ///
    /// - Parameters:
    ///   - wanted: The revisions that a pull is to fetch.
    ///   - target: The database, which is asked what it has by now.
    ///   - source: Fetches revisions.
    /// - Returns: What was fetched, and what the database has by now as `gone`; at least one of those that were wanted. What is left
    ///   out is to be asked for again. Documents are to be stored and then to be released.
    /// - Throws: What the source or the database throws, and `CancellationError`.
    func fetch(
        _ wanted: [MissingRevisions], for target: any ReplicationPeer,
        by source: ([MissingRevisions]) async throws -> [FetchedRevision]
    ) async throws -> [FetchedRevision] {
        guard wanted.contains(where: { !$0.revisions.isEmpty }) else {
            return try await source(wanted)
        }
        var mine = claim(wanted)
        while mine.isEmpty {
            let seen = released.count
            mine = claim(wanted)
            if mine.isEmpty { try await wait(after: seen) }
        }
        do {
            let (lacking, known) = try await compared(mine, with: target)
            let fetched = lacking.isEmpty ? [] : try await source(lacking)
            release(mine, except: fetched)
            return fetched + known
        } catch {
            release(mine, except: [])
            throw error
        }
    }

    /// Notes that documents are stored, or that they failed.
    func release(_ documents: [WireDocument]) {
        state.withLock { state in
            for document in documents {
                guard let id = document.id, let revision = document.revision else { continue }
                state.claims[Key(id: id, revision: revision)] = nil
            }
        }
        released.send()
    }

    /// Claims what is free, or has been claimed for too long.
    private func claim(_ wanted: [MissingRevisions]) -> [MissingRevisions] {
        let now = ContinuousClock.now
        let patience = patience
        return state.withLock { state in
            if now - state.swept > patience {
                state.swept = now
                state.claims = state.claims.filter { now - $0.value <= patience }
            }
            return wanted.compactMap { one in
                var one = one
                one.revisions = one.revisions.filter { revision in
                    let key = Key(id: one.id, revision: revision)
                    if let made = state.claims[key], now - made <= patience { return false }
                    state.claims[key] = now
                    return true
                }
                return one.revisions.isEmpty ? nil : one
            }
        }
    }

    /// What of the claims the database lacks, and what it has by now.
    private func compared(
        _ mine: [MissingRevisions], with target: any ReplicationPeer
    ) async throws -> ([MissingRevisions], [FetchedRevision]) {
        let offers = mine.map { PeerChange(id: $0.id, revisions: $0.revisions) }
        let missing = try await target.missingRevisions(of: offers)
        let keys = Set(
            missing.flatMap { one in one.revisions.map { Key(id: one.id, revision: $0) } })
        var lacking: [MissingRevisions] = []
        var known: [FetchedRevision] = []
        // What was wanted is asked for as it was wanted: ancestors that were left out have a reason.
        for one in mine {
            var rest = one
            rest.revisions = one.revisions.filter { keys.contains(Key(id: one.id, revision: $0)) }
            if !rest.revisions.isEmpty { lacking.append(rest) }
            for revision in one.revisions where !rest.revisions.contains(revision) {
                known.append(FetchedRevision(id: one.id, revision: revision, .gone))
            }
        }
        return (lacking, known)
    }

    private func release(_ mine: [MissingRevisions], except fetched: [FetchedRevision]) {
        var kept: Set<Key> = []
        for one in fetched {
            if case .document = one.outcome {
                kept.insert(Key(id: one.id, revision: one.revision))
            }
        }
        state.withLock { state in
            for one in mine {
                for revision in one.revisions {
                    let key = Key(id: one.id, revision: revision)
                    if !kept.contains(key) { state.claims[key] = nil }
                }
            }
        }
        released.send()
    }

    /// Waits for a release, or a while, since a pull that was broken off releases nothing.
    private func wait(after seen: Int) async throws {
        let pause = min(patience, .seconds(1))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { [released] in await released.wait(after: seen) }
            group.addTask { try await Task.sleep(for: pause) }
            defer { group.cancelAll() }
            try await group.next()
        }
        try Task.checkCancellation()
    }
}
