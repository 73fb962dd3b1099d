// SPDX-License-Identifier: Apache-2.0

internal import DivanModel
internal import Synchronization

// What runs on the hub's queue.
extension ChangeHub {
    /// Tells what has been published and, if asked to check, what other processes have committed.
    func drain() {
        let work = state.withLock { state in
            defer {
                state.pending = []
                state.pendingIDs = 0
                state.mustCheck = false
                state.isScheduled = false
            }
            return (
                core: state.core, mark: state.mark, pending: state.pending,
                mustCheck: state.mustCheck, epoch: state.epoch
            )
        }
        guard let core = work.core else { return }
        guard var mark = work.mark ?? findMark(core, work.pending.first, work.epoch)
        else { return }
        var mustRead = work.mustCheck
        for commit in work.pending where !commit.end.isReached(by: mark) {
            guard commit.begin == mark, let ids = commit.documentIDs else {
                // The feeds have this commit and those after it, too.
                mustRead = true
                break
            }
            mark = commit.end
            move(to: mark, work.epoch)
            tell(
                HubChange(
                    lastSequence: mark.sequence, lastPurge: mark.purge, documentIDs: ids,
                    source: commit.source), in: work.epoch)
        }
        if mustRead { readFeeds(core, after: mark, work.epoch) }
    }

    /// Finds out from where to tell when the first follower is still being added, or its mark could not be read.
    ///
    /// The first commit that waits gives a mark. Else the counters are read, and they hold only if no commit of this process came
    /// meanwhile: one that came after `follow` returned may be in them, and would never be told (invariant 3). Its own drain follows.
    func findMark(
        _ core: DatabaseCore, _ waiting: Commit?, _ epoch: Int
    ) -> DatabaseMark? {
        let read = waiting == nil ? try? core.committedMark() : nil
        return state.withLock { state in
            guard !state.followers.isEmpty, state.epoch == epoch else { return nil }
            if state.mark == nil {
                let isQuiet =
                    state.pending.isEmpty && !state.mustCheck && !state.sources.hasCommitInFlight
                state.mark = waiting?.begin ?? (isQuiet ? read : nil)
            }
            return state.mark
        }
    }

    /// Tells what the feeds have after `start`, a piece at a time.
    private func readFeeds(_ core: DatabaseCore, after start: DatabaseMark, _ epoch: Int) {
        var mark = start
        do {
            var isAtEnd = false
            while !isAtEnd {
                let from = mark
                let piece = try core.read {
                    try $0.touchedDocuments(after: from, limit: Self.largestCommit)
                }
                guard piece.end != mark else { return }
                mark = piece.end
                isAtEnd = piece.isAtEnd
                move(to: mark, epoch)
                // Only now, after reading, the transactions in flight of this process are certainly known.
                let sources = state.withLock { $0.sources }
                for change in piece.changes(by: sources) { tell(change, in: epoch) }
            }
        } catch {
            // The next commit, or the check in five seconds, tries again from the same mark.
            state.withLock { if !$0.followers.isEmpty { $0.mustCheck = true } }
        }
    }

    /// Remembers how far the followers have been told, unless they have gone: later ones have a mark of their own.
    private func move(to mark: DatabaseMark, _ epoch: Int) {
        state.withLock { state in
            guard !state.followers.isEmpty, state.epoch == epoch,
                state.mark?.isReached(by: mark) ?? true
            else { return }
            state.mark = mark
        }
    }

    /// Calls the handlers that a change concerns, in the order in which they came.
    ///
    /// - Parameters:
    ///   - change: The change.
    ///   - epoch: Whose change it is: later followers are not told. Nil for all.
    func tell(_ change: HubChange, in epoch: Int? = nil) {
        let handlers = state.withLock { state -> [Handler] in
            guard epoch ?? state.epoch == state.epoch else { return [] }
            var numbers = Set<Int>()
            if change.documentIDs.isEmpty {
                numbers = Set(state.followers.keys)
            } else if state.byDocument.isEmpty {
                return state.general.compactMap { state.followers[$0]?.handler }
            } else {
                numbers = Set(state.general)
                for id in change.documentIDs { numbers.formUnion(state.byDocument[id] ?? []) }
            }
            return numbers.sorted().compactMap { state.followers[$0]?.handler }
        }
        for handler in handlers { handler(.changed(change)) }
    }
}
