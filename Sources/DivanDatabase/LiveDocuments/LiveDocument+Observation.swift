// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import DivanModel
public import Observation

extension LiveDocument: Observable {}

extension LiveDocument {
    /// How long an observer may take from looking to being registered.
    private static let registrationTime = DispatchTimeInterval.milliseconds(200)

    /// Tells observers what has changed since they were told last.
    ///
    /// Called on the queue of notifications, one commit after the other. Where a reader was faster,
    /// the newer revision is in memory already; the comparison is with what observers know. A
    /// document that has not been looked at has no observers and is not read.
    ///
    /// `withObservationTracking` first looks and then registers, so an observer on another thread
    /// may be registered just after it should have been told:
    ///
    ///     observer                    this queue
    ///     reads the old revision
    ///                                 announces the new one: none is registered
    ///     is registered               and is never told
    ///
    /// So when a reader has looked shortly before, all observers are told once more a moment later.
    /// An observer that was told the first time looks once in vain.
    func announceChanges(on queue: DispatchQueue) {
        guard cache.newest != nil, let snapshot = try? cache.load(id, from: database)
        else { return }
        let (known, mayMissIt) = cache.announce(snapshot)
        let hasOtherRevision = snapshot.hasOtherRevision(than: known)
        guard hasOtherRevision || snapshot.differs(from: known) else { return }
        tellObservers(hasOtherRevision: hasOtherRevision)
        guard mayMissIt else { return }
        queue.asyncAfter(deadline: .now() + Self.registrationTime) { [weak self] in
            self?.tellObservers(hasOtherRevision: hasOtherRevision)
        }
    }

    private func tellObservers(hasOtherRevision: Bool) {
        if hasOtherRevision {
            registrar.withMutation(of: self, keyPath: Self.contentPath) {}
        }
        registrar.withMutation(of: self, keyPath: Self.treePath) {}
    }
}
