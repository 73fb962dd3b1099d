// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanModel

// What becomes of single revisions.
extension ReplicationEngine {
    /// Takes what a fetch has brought; what it left out is asked for again.
    mutating func take(_ revisions: [FetchedRevision], _ fetch: Int) {
        guard let asked = fetches.removeValue(forKey: fetch) else { return }
        var byID: [DocumentID: [Int]] = [:]
        for (index, wanted) in asked.enumerated() {
            byID[wanted.missing.id, default: []].append(index)
        }
        var left = asked
        for fetched in revisions {
            let index = byID[fetched.id]?.first {
                left[$0].missing.revisions.contains(fetched.revision)
            }
            guard let index else { continue }
            left[index].missing.revisions.removeAll { $0 == fetched.revision }
            take(fetched, unit: left[index].unit)
        }
        left.removeAll { $0.missing.revisions.isEmpty }
        guard !left.isEmpty else { return }
        if revisions.isEmpty {
            // Asking again would go on for ever.
            for wanted in left {
                for revision in wanted.missing.revisions {
                    fail(
                        ReplicationError(
                            .invalidAnswer,
                            "The source left out the revision \(revision) of '\(wanted.missing.id)'.",
                            documentID: wanted.missing.id, isTransient: true),
                        Place(unit: wanted.unit, id: wanted.missing.id), revision)
                }
            }
        } else {
            wanted.append(contentsOf: left)
        }
    }

    private mutating func take(_ fetched: FetchedRevision, unit: Int) {
        let place = Place(unit: unit, id: fetched.id)
        switch fetched.outcome {
        case .document(let document):
            // Fetched once more for its attachments, it is still one.
            if remaining[place]?.completions.contains(fetched.revision) != true { counts.read += 1 }
            readyBytes += document.heldBytes
            ready.append(
                Ready(unit: unit, document: document, id: fetched.id, revision: fetched.revision))
        case .gone, .absent: finish(place) { _ in }
        case .failed(let error): fail(error, place, fetched.revision)
        }
    }

    /// Takes what a target made of revisions.
    mutating func take(_ outcomes: [PutOutcome], _ store: Int) {
        guard let batch = stores.removeValue(forKey: store) else { return }
        for (index, item) in batch.enumerated() {
            let place = Place(unit: item.unit, id: item.id)
            let outcome =
                index < outcomes.count
                ? outcomes[index]
                : .failed(
                    ReplicationError(
                        .invalidAnswer, "The target said nothing about '\(item.id)'.",
                        documentID: item.id, isTransient: true))
            switch outcome {
            case .stored:
                counts.written += 1
                reports.append(
                    Report(
                        id: item.id, revision: item.revision, isDeleted: item.document.isDeleted,
                        isAccessRemoved: item.document.isRemoved))
                finish(place) { $0.isStored = true }
            case .storedWithout(let error):
                counts.written += 1
                reports.append(Report(id: item.id, revision: item.revision, error: error))
                finish(place) { $0.isStored = true }
            case .needsAttachments:
                guard remaining[place]?.completions.insert(item.revision).inserted == true else {
                    fail(
                        ReplicationError(
                            .rejected,
                            "'\(item.id.text.bounded)' came without the content of its attachments, which the target "
                                + "lacks.",
                            documentID: item.id), place, item.revision)
                    continue
                }
                wanted.append(
                    Wanted(
                        unit: item.unit,
                        missing: MissingRevisions(id: item.id, revisions: [item.revision])))
            case .failed(let error): fail(error, place, item.revision)
            }
        }
    }

    /// Notes a revision that could not be brought over, for good or for now.
    private mutating func fail(_ error: ReplicationError, _ place: Place, _ revision: RevisionID) {
        reports.append(Report(id: place.id, revision: revision, error: error))
        if error.isTransient {
            units[place.unit]?.hasFailed = true
            failure = failure ?? error
        } else {
            counts.failed += 1
        }
        finish(place) { $0.hasFailed = true }
    }

    /// Counts a revision as done, and its document with the last one.
    private mutating func finish(_ place: Place, _ note: (inout Remainder) -> Void) {
        guard var left = remaining[place] else { return }
        note(&left)
        left.revisions -= 1
        guard left.revisions <= 0 else {
            remaining[place] = left
            return
        }
        remaining[place] = nil
        if left.isStored, !left.hasFailed { transferred += 1 }
        changesSinceCheckpoint += 1
        units[place.unit]?.open -= 1
    }
}
