// SPDX-License-Identifier: Apache-2.0

import Dispatch
import DivanStorage
import Foundation
import Testing

@Suite struct ConnectionQueueTests {
    /// A resource that would show two threads in it at once.
    final class Counter {
        var value = 0
        var order: [Int] = []
    }

    @Test func `one thread at a time uses the resource`() {
        let queue = ConnectionQueue(label: "test", Counter())
        DispatchQueue.concurrentPerform(iterations: 8) { _ in
            for _ in 0..<1_000 {
                queue.sync { $0.value += 1 }
            }
        }
        #expect(queue.sync { $0.value } == 8_000)
    }

    @Test func `a call from inside joins`() {
        let queue = ConnectionQueue(label: "test", Counter())
        #expect(!queue.isOwnedByCurrentThread)
        queue.sync { outer in
            #expect(queue.isOwnedByCurrentThread)
            queue.sync { inner in
                #expect(inner === outer)
                inner.value += 1
            }
            #expect(queue.isOwnedByCurrentThread)
        }
        #expect(!queue.isOwnedByCurrentThread)
        #expect(queue.sync { $0.value } == 1)
    }

    @Test func `a blocking body runs on the calling thread`() {
        let queue = ConnectionQueue(label: "test", Counter())
        let here = ObjectIdentifier(Thread.current)
        #expect(queue.sync { _ in ObjectIdentifier(Thread.current) == here })
    }

    @Test func `an error comes through, and the queue goes on`() async {
        struct Refusal: Error {}
        let queue = ConnectionQueue(label: "test", Counter())
        #expect(throws: Refusal.self) { try queue.sync { _ in throw Refusal() } }
        await #expect(throws: Refusal.self) { try await queue.async { _ in throw Refusal() } }
        #expect(!queue.isOwnedByCurrentThread)
        #expect(queue.sync { $0.value } == 0)
    }

    @Test func `callers are served in the order in which they asked`() async throws {
        let queue = ConnectionQueue(label: "test", Counter())
        //      this thread                    the queue
        //      sync begins ──────────────────▶ busy
        //      ten async calls line up         busy
        //      sync ends ────────────────────▶ the ten, in order
        let group = DispatchGroup()
        let isBusy = DispatchSemaphore(value: 0)
        let mayEnd = DispatchSemaphore(value: 0)
        DispatchQueue.global().async(group: group) {
            queue.sync { _ in
                isBusy.signal()
                mayEnd.wait()
            }
        }
        await Self.wait(isBusy)
        let tasks = (0..<10).map { number in
            // An immediate task runs to its first suspension, which is its place in the line.
            Task.immediate { try await queue.async { $0.order.append(number) } }
        }
        mayEnd.signal()
        for task in tasks {
            try await task.value
        }
        #expect(queue.sync { $0.order } == Array(0..<10))
    }

    @Test func `a task that is cancelled before its turn does not run`() async throws {
        let queue = ConnectionQueue(label: "test", Counter())
        let isBusy = DispatchSemaphore(value: 0)
        let mayEnd = DispatchSemaphore(value: 0)
        DispatchQueue.global().async {
            queue.sync { _ in
                isBusy.signal()
                mayEnd.wait()
            }
        }
        await Self.wait(isBusy)
        let task = Task.immediate { try await queue.async { $0.value += 1 } }
        task.cancel()
        mayEnd.signal()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(queue.sync { $0.value } == 0)
    }

    @Test func `tasks waiting for the queue do not hold up others`() async throws {
        let queue = ConnectionQueue(label: "test", Counter())
        let mayEnd = DispatchSemaphore(value: 0)
        async let slow: Void = queue.async { _ in mayEnd.wait() }
        // More tasks than there are threads for tasks wait; this one still runs on.
        let waiting = (0..<64).map { _ in Task { try await queue.async { $0.value += 1 } } }
        let other = await Task { 42 }.value
        #expect(other == 42)
        mayEnd.signal()
        try await slow
        for task in waiting {
            try await task.value
        }
        #expect(queue.sync { $0.value } == 64)
    }

    /// Waits for a semaphore on a thread that may block.
    private static func wait(_ semaphore: DispatchSemaphore) async {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                semaphore.wait()
                continuation.resume()
            }
        }
    }
}
