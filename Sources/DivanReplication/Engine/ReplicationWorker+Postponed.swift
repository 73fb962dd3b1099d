// SPDX-License-Identifier: Apache-2.0

internal import DivanModel

// What is postponed, and what comes of that.
extension ReplicationWorker {
    /// Says what became of fetched revisions in the end, and notes it.
    func settled(_ fetched: [FetchedRevision]) -> [FetchedRevision] {
        let postponed = keeper.postponed
        let again = fetched.map { one in
            guard case .failed(let error) = one.outcome else { return one }
            let key = PostponedRevisions.Key(one.id, one.revision)
            return FetchedRevision(
                id: one.id, revision: one.revision, .failed(postponed.again(error, key)))
        }
        return transformed(failedFetches?.settled(again) ?? again).map { one in
            let key = PostponedRevisions.Key(one.id, one.revision)
            switch one.outcome {
            case .document: return one
            case .gone, .absent:
                _ = postponed.settle(key, nil)
                return one
            case .failed(let error):
                let settled = postponed.settle(key, error) ?? error
                return FetchedRevision(id: one.id, revision: one.revision, .failed(settled))
            }
        }
    }

    /// Takes the failures of what was postponed before as theirs alone.
    func again(_ outcomes: [PutOutcome], _ documents: [WireDocument]) -> [PutOutcome] {
        mapFailures(of: documents, outcomes) { keeper.postponed.again($0, $1) }
    }

    /// Says what became of documents in the end, and notes it.
    func settled(_ outcomes: [PutOutcome], _ documents: [WireDocument]) -> [PutOutcome] {
        for (document, outcome) in zip(documents, outcomes) {
            switch outcome {
            case .stored, .storedWithout:
                if let key = Self.key(document) { _ = keeper.postponed.settle(key, nil) }
            case .needsAttachments, .failed: continue
            }
        }
        return mapFailures(of: documents, outcomes) { keeper.postponed.settle($1, $0) ?? $0 }
    }

    private func mapFailures(
        of documents: [WireDocument], _ outcomes: [PutOutcome],
        _ change: (ReplicationError, PostponedRevisions.Key) -> ReplicationError
    ) -> [PutOutcome] {
        zip(documents, outcomes).map { document, outcome in
            guard case .failed(let error) = outcome, let key = Self.key(document) else {
                return outcome
            }
            return .failed(change(error, key))
        }
    }

    private static func key(_ document: WireDocument) -> PostponedRevisions.Key? {
        guard let id = document.id, let revision = document.revision else { return nil }
        return PostponedRevisions.Key(id, revision)
    }
}
