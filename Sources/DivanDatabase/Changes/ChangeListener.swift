// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Synchronization

/// Calls an app's closure with the changes of a database or a document.
///
///     hub ── wake() ──► own serial queue: read the feeds ──► callback ──┐
///                          ▲                                           │ until nothing is new
///                          └───────────────────────────────────────────┘
///
/// However often it is woken, it runs once at a time, and while the callback runs nothing is read: a
/// slow callback gets all that happened meanwhile at once. With a queue of the app's the callback
/// runs there, and the reading never does.
///
/// State: `state`, guarded by its mutex. The hub and the queue hold the listener only while they call
/// it; its token keeps it.
final class ChangeListener<Element: Sendable>: Sendable {
    private struct State {
        var reader: any ChangeReader<Element>
        var following: ListenerToken?
        var isRunning = false
        var isWoken = false
        var isRemoved = false
    }

    private weak let database: Database?
    private let queue = DispatchQueue(label: "divan.listener")
    private let callbackQueue: DispatchQueue?
    private let callback: @Sendable (Element) -> Void
    private let state: Mutex<State>

    init(
        _ database: Database, _ reader: any ChangeReader<Element>, on callbackQueue: DispatchQueue?,
        _ callback: @escaping @Sendable (Element) -> Void
    ) {
        self.database = database
        self.callbackQueue = callbackQueue
        self.callback = callback
        state = Mutex(State(reader: reader))
        let token = reader.follow(database.core.hub) { [weak self] _ in self?.wake() }
        state.withLock { $0.following = token }
        // What was committed between the reader's mark and the following.
        wake()
    }

    func remove() {
        let following = state.withLock { state in
            defer { state.following = nil }
            state.isRemoved = true
            return state.following
        }
        following?.remove()
    }

    private var isRemoved: Bool { state.withLock { $0.isRemoved } }

    private func wake() {
        let mustRun = state.withLock { state in
            guard !state.isRemoved else { return false }
            state.isWoken = true
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if mustRun { queue.async { self.run() } }
    }

    /// Reads and delivers until nothing is new.
    private func run() {
        while true {
            guard let database, !database.isClosed else { return remove() }
            guard let reader = next() else { return }
            var moved = reader
            let elements: [Element]
            do { elements = try moved.next(database.core) } catch {
                if database.isClosed { return remove() }
                // Nothing is lost meanwhile: the reader has not moved.
                state.withLock { $0.isWoken = true }
                return queue.asyncAfter(deadline: .now() + .seconds(1)) { self.run() }
            }
            state.withLock { [moved] state in
                state.reader = moved
                // After something there may be more.
                if !elements.isEmpty { state.isWoken = true }
            }
            if elements.isEmpty { continue }
            guard let callbackQueue else {
                deliver(elements)
                continue
            }
            return callbackQueue.async {
                self.deliver(elements)
                self.queue.async { self.run() }
            }
        }
    }

    /// The reader, when there is a reason to read; otherwise the run is over.
    private func next() -> (any ChangeReader<Element>)? {
        state.withLock { state in
            guard state.isWoken, !state.isRemoved else {
                state.isRunning = false
                return nil
            }
            state.isWoken = false
            return state.reader
        }
    }

    private func deliver(_ elements: [Element]) {
        for element in elements where !isRemoved && database?.isClosed == false {
            callback(element)
        }
    }
}
