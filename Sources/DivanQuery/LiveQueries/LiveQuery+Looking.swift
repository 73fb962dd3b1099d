// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import DivanDatabase
internal import DivanModel
internal import DivanSystem
internal import Observation
internal import Synchronization

// What runs on the live query's queue.
extension LiveQuery {
    private struct Work {
        var source: any LiveSource<Rows>
        var dependency: (any LiveDependency)?
        var pending: LivePending
        var epoch: Int
    }

    /// Looks whether the answer can have changed; if so, runs the query, compares and tells.
    func look(_ number: Int) {
        guard let work = take(number) else { return }
        defer { finish(number) }
        if work.source.isClosed { return end() }
        do {
            if let dependency = work.dependency, !work.pending.mustFetch {
                var dependency = dependency
                if try !dependency.isTouched(by: work.pending.documentIDs) {
                    return keep(dependency, work.epoch)
                }
            }
            state.withLock { $0.fetchCount += 1 }
            let answer = try work.source.fetch()
            tell(answer, work)
        } catch {
            if work.source.isClosed { return end() }
            if (error as? DatabaseError)?.code == .databaseSuspended {
                return forget(work.epoch)
            }
            fail(error, work.epoch)
        }
    }

    private func take(_ number: Int) -> Work? {
        state.withLock { state in
            guard state.phase == .running, state.look == number else { return nil }
            state.lookCount += 1
            defer { state.pending = LivePending() }
            return Work(
                source: state.source, dependency: state.dependency, pending: state.pending,
                epoch: state.epoch)
        }
    }

    /// Schedules the next look when something came meanwhile.
    private func finish(_ number: Int) {
        let next = state.withLock { state -> (Int, Duration)? in
            guard state.look == number else { return nil }
            state.look = nil
            return state.pending.isEmpty ? nil : state.scheduleLook()
        }
        if let (number, delay) = next { look(number, after: delay) }
    }

    private func keep(_ dependency: any LiveDependency, _ epoch: Int) {
        state.withLock { state in
            state.lastLook = .now
            if state.epoch == epoch { state.dependency = dependency }
        }
    }

    private func tell(_ answer: LiveFetch<Rows>, _ work: Work) {
        let before = state.withLock { ($0.rows, $0.failure == nil) }
        let isNews =
            !before.1 || !(before.0.map { work.source.areEqual($0, answer.rows) } ?? false)
        let listeners = state.withLock { state -> [LiveListener<Rows>] in
            state.lastLook = .now
            guard state.epoch == work.epoch else { return [] }
            state.dependency = answer.dependency
            // Equal rows may be of a later moment.
            state.rows = answer.rows
            state.failure = nil
            guard isNews else { return [] }
            state.generation += 1
            return Array(state.listeners.values)
        }
        if isNews { notify(listeners) }
    }

    /// Has the next look ask; resuming a suspended database brings one.
    private func forget(_ epoch: Int) {
        state.withLock { if $0.epoch == epoch { $0.dependency = nil } }
    }

    private func fail(_ error: any Error, _ epoch: Int) {
        let listeners = state.withLock { state -> [LiveListener<Rows>]? in
            state.lastLook = .now
            guard state.epoch == epoch else { return nil }
            state.dependency = nil
            defer { state.failure = error }
            // A lasting failure is told once.
            guard state.failure.map({ "\($0)" }) != "\(error)" else { return nil }
            state.generation += 1
            return Array(state.listeners.values)
        }
        if let listeners { notify(listeners) }
        // A failure of the query itself ends with a commit or another query.
        guard Self.mayPass(error) else { return }
        queue.asyncAfter(deadline: .now() + .seconds(1)) { [weak self] in self?.fetchAgain() }
    }

    /// Whether the same query may succeed later though nothing has changed.
    private static func mayPass(_ error: any Error) -> Bool {
        guard let error = error as? DatabaseError else { return false }
        return [.io, .databaseBusy, .storageFull].contains(error.code)
    }

    private func notify(_ listeners: [LiveListener<Rows>]) {
        signal.send()
        tellObservers()
        // A reader that has looked just before may be registered after this.
        let wasRead = state.withLock { $0.lastReading.isWithin(milliseconds: 200) }
        if wasRead {
            queue.asyncAfter(deadline: .now() + .milliseconds(200)) { [weak self] in
                self?.tellObservers()
            }
        }
        for listener in listeners { listener.wake(self) }
    }

    private func tellObservers() {
        registrar.withMutation(of: self, keyPath: \.rows) {}
        registrar.withMutation(of: self, keyPath: \.lastError) {}
    }

    // MARK: - The newest result

    /// What a follower finds that has seen results up to a generation.
    enum News {
        case none
        case ended
        case result(generation: Int, Result<Rows, any Error>)
    }

    /// The newest result after a generation, for a follower that came in a run; nil for any run.
    func news(after generation: Int, in run: Int? = nil) -> News {
        state.withLock { state in
            guard state.phase == .running, run ?? state.run == state.run else { return .ended }
            guard state.generation > generation else { return .none }
            if let failure = state.failure {
                return .result(generation: state.generation, .failure(failure))
            }
            guard let rows = state.rows else { return .none }
            return .result(generation: state.generation, .success(rows))
        }
    }

    /// Whether two results are the same to a follower.
    func areEqual(_ old: Rows?, _ new: Rows) -> Bool {
        guard let old else { return false }
        return state.withLock { $0.source }.areEqual(old, new)
    }

    /// How to get from one result to the next.
    func difference(from old: Rows?, to new: Rows) -> RowDifference {
        state.withLock { $0.source }.difference(from: old, to: new)
    }
}
