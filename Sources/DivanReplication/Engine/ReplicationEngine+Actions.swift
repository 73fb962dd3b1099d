// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanModel

// What is to be done next, within the limits.
extension ReplicationEngine {
    mutating func nextActions() -> [Action] {
        var actions: [Action] = []
        if !isStopping {
            readMore(&actions)
            compare(&actions)
            fetchMore(&actions)
        }
        storeMore(&actions)
        saveCheckpoint(&actions)
        finishIfDone(&actions)
        return actions
    }

    private mutating func readMore(_ actions: inout [Action]) {
        let isOpen = isContinuous || !hasReachedEnd
        let open = nextUnit - firstUnit
        guard !isReading, isOpen, open < limits.units, wanted.count - wantedStart < limits.page * 2
        else { return }
        // What failed for now is tried again by the next run; waiting here would put that off.
        if hasReachedEnd, failure != nil { return }
        isReading = true
        var request = ChangesRequest(since: readPosition)
        request.limit = limits.page
        request.waits = hasReachedEnd
        request.isActiveOnly = activeOnlyEnd != nil
        actions.append(.readChanges(request))
    }

    private mutating func compare(_ actions: inout [Action]) {
        for unit in offers.keys.sorted() {
            guard let changes = offers.removeValue(forKey: unit) else { continue }
            actions.append(.findMissing(unit: unit, changes))
        }
    }

    private mutating func fetchMore(_ actions: inout [Action]) {
        while fetches.count < limits.fetches, wantedStart < wanted.count,
            readyBytes < limits.readyBytes
        {
            var piece: [Wanted] = []
            var count = 0
            while wantedStart < wanted.count, count < limits.revisionsPerFetch {
                var next = wanted[wantedStart]
                let room = limits.revisionsPerFetch - count
                if next.missing.revisions.count > room {
                    // A document with thousands of leaves comes in pieces.
                    wanted[wantedStart].missing.revisions.removeFirst(room)
                    next.missing.revisions = Array(next.missing.revisions.prefix(room))
                } else {
                    wantedStart += 1
                }
                count += next.missing.revisions.count
                piece.append(next)
            }
            if wantedStart == wanted.count {
                wanted = []
                wantedStart = 0
            } else if wantedStart > 10_000 {
                wanted.removeFirst(wantedStart)
                wantedStart = 0
            }
            fetches[nextRequest] = piece
            actions.append(.fetch(nextRequest, piece.map(\.missing)))
            nextRequest += 1
        }
    }

    private mutating func storeMore(_ actions: inout [Action]) {
        while stores.count < limits.stores, !ready.isEmpty {
            let batch = Array(ready.prefix(limits.revisionsPerStore))
            ready.removeFirst(batch.count)
            readyBytes -= batch.reduce(0) { $0 + $1.document.heldBytes }
            stores[nextRequest] = batch
            actions.append(.store(nextRequest, batch.map(\.document)))
            nextRequest += 1
        }
    }

    private mutating func saveCheckpoint(_ actions: inout [Action]) {
        guard isCheckpointDue, !isSaving else { return }
        guard let safe = unsaved else {
            isCheckpointDue = false
            return
        }
        isSaving = true
        isCheckpointDue = false
        changesSinceCheckpoint = 0
        actions.append(.saveCheckpoint(safe, counts))
    }

    /// The safe sequence, where saving it would tell anything new.
    private var unsaved: RemoteSequence? {
        guard let safe, safe != saved else { return nil }
        // The beginning of a feed is where a run without a checkpoint begins.
        if saved == nil, safe.estimate == 0 { return nil }
        // CouchDB writes the same place in more than one way.
        if changesSinceCheckpoint == 0, let saved, safe.isSamePlace(as: saved) { return nil }
        return safe
    }

    private mutating func finishIfDone(_ actions: inout [Action]) {
        guard !isSaving else { return }
        let isDone: Bool
        if isStopping {
            isDone = stores.isEmpty
        } else {
            isDone = hasReachedEnd && isDrained && (!isContinuous || failure != nil)
        }
        guard isDone else { return }
        if unsaved != nil {
            isCheckpointDue = true
            return saveCheckpoint(&actions)
        }
        isFinished = true
        actions.append(.finish(failure))
    }
}
