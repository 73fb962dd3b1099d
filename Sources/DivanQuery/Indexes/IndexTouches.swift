// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex
internal import DivanModel
internal import Synchronization

/// Which rows of an index changed lately, for live queries that ask whether their rows are among them.
///
///     place of the index      12 ──────► 15 ──────► 19          (its last sequence and purge)
///     step                        k1 k7       k3
///
/// A live query knows the place at which it read the index, and finds the steps from there to where the
/// index is now. A step that is missing here was made by another process or inside a batch, or is too
/// old: then the rows are unknown, and the query runs.
///
/// Nothing is kept of indexes that no live query follows.
///
/// State: `logs`, guarded by its mutex.
final class IndexTouches: ModuleState {
    /// Where an index stands. The same place always means the same rows.
    struct Place: Sendable, Equatable {
        var number: UInt64
        var sequence: SequenceNumber
        var purge: UInt64
    }

    private struct Step {
        var start: Place
        var end: Place
        /// The keys of the rows that it added, removed or changed; nil when they are too many or
        /// were not recorded.
        var keys: [[UInt8]]?
    }

    private struct Log {
        var followers = 0
        var steps: [Step] = []
        var keyCount = 0
    }

    /// Enough for what is written between two looks of a live query.
    private static let mostSteps = 256
    private static let mostKeys = 10_000

    private let logs = Mutex<[IndexName: Log]>([:])

    /// Has steps of an index kept as long as the token lives.
    func follow(_ name: IndexName) -> ListenerToken {
        logs.withLock { $0[name, default: Log()].followers += 1 }
        return ListenerToken { self.unfollow(name) }
    }

    private func unfollow(_ name: IndexName) {
        logs.withLock { logs in
            logs[name]?.followers -= 1
            if logs[name]?.followers == 0 { logs[name] = nil }
        }
    }

    /// Whether a live query follows the steps of an index.
    func isFollowed(_ name: IndexName) -> Bool { logs.withLock { $0[name] != nil } }

    /// Notes a step that has been committed; without its keys when they were not looked at.
    func note(_ name: IndexName, from start: Place, to end: Place, keys: [[UInt8]]?) {
        // A pass that goes on from another index's place may leave this one where it stood: its rows are the same then.
        guard start != end else { return }
        logs.withLock { logs in
            guard var log = logs.removeValue(forKey: name) else { return }
            defer { logs[name] = log }
            let kept = keys.flatMap { $0.count > Self.mostKeys ? nil : $0 }
            log.steps.append(Step(start: start, end: end, keys: kept))
            log.keyCount += kept?.count ?? 0
            while log.steps.count > Self.mostSteps || log.keyCount > Self.mostKeys {
                log.keyCount -= log.steps.removeFirst().keys?.count ?? 0
            }
        }
    }

    /// The keys of the rows that changed between two places; nil when that is not known.
    func keys(_ name: IndexName, from start: Place, to end: Place) -> [[UInt8]]? {
        guard start != end else { return [] }
        return logs.withLock { logs in
            guard let log = logs[name] else { return nil }
            var (place, keys) = (start, [[UInt8]]())
            // Steps may have been noted in another order than they were made in.
            // No place comes twice on the way, so there are no more steps on it than there are.
            for _ in log.steps {
                guard let step = log.steps.first(where: { $0.start == place }),
                    let touched = step.keys
                else { return nil }
                keys += touched
                place = step.end
                if place == end { return keys }
            }
            return nil
        }
    }

    /// Does nothing: a closed database is not written to, and the live queries let go of their tokens.
    func close() {}
}

extension DatabaseCore {
    /// Which rows of its indexes changed lately.
    var indexTouches: IndexTouches { states.state(of: IndexTouches.self) }
}

extension IndexRecord {
    /// Where the index stands.
    var place: IndexTouches.Place {
        IndexTouches.Place(number: number, sequence: lastSequence, purge: lastPurge)
    }
}
