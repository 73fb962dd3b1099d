// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import DivanDatabase
internal import Synchronization

/// Who follows a replication: streams and callbacks.
///
/// A stream of statuses keeps the newest one only, so a slow reader misses some and never the last. A
/// stream of documents keeps the newest thousand. Callbacks run one at a time, on a queue of the
/// replication. State: the tables, guarded by the mutex; nothing is called while it is held.
final class Followers<Element: Sendable>: Sendable {
    private struct State {
        var next = 0
        var streams: [Int: AsyncStream<Element>.Continuation] = [:]
        var callbacks: [Int: @Sendable (Element) -> Void] = [:]
    }

    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "divan.replication.followers")

    /// A stream that begins with an element, if there is one.
    ///
    /// `isOver` is asked once the stream would miss nothing: whether nothing more will come.
    func stream(keeping count: Int, first: Element? = nil, isOver: () -> Bool)
        -> AsyncStream<Element>
    {
        let (stream, continuation) = AsyncStream<Element>.makeStream(
            bufferingPolicy: .bufferingNewest(count))
        let number = state.withLock { state in
            state.next += 1
            state.streams[state.next] = continuation
            return state.next
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { $0.streams[number] = nil }
        }
        if let first { continuation.yield(first) }
        if isOver() { continuation.finish() }
        return stream
    }

    /// Calls a function with each element from now on.
    func add(_ callback: @escaping @Sendable (Element) -> Void) -> ListenerToken {
        let number = state.withLock { state in
            state.next += 1
            state.callbacks[state.next] = callback
            return state.next
        }
        return ListenerToken { [weak self] in
            self?.state.withLock { $0.callbacks[number] = nil }
        }
    }

    /// Gives an element to every stream and every callback.
    func tell(_ element: Element) {
        let (streams, isHeard) = state.withLock {
            (Array($0.streams.values), !$0.callbacks.isEmpty)
        }
        for stream in streams { stream.yield(element) }
        guard isHeard else { return }
        queue.async { [self] in
            let callbacks = state.withLock { Array($0.callbacks.values) }
            for callback in callbacks { callback(element) }
        }
    }

    /// Waits until the callbacks were told of everything so far.
    func told() async {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume() }
        }
    }

    /// Ends the streams.
    func finish() {
        let streams = state.withLock { state in
            defer { state.streams = [:] }
            return Array(state.streams.values)
        }
        for stream in streams { stream.finish() }
    }
}
