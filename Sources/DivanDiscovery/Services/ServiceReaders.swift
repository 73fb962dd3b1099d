// SPDX-License-Identifier: Apache-2.0

internal import Dispatch

/// The sequences of services that are read now.
struct ServiceReaders: Sendable {
    typealias Continuation = AsyncStream<[DiscoveredService]>.Continuation

    private var readers: [Int: (type: ServiceType, continuation: Continuation)] = [:]

    /// Adds one, and has its end told on a queue.
    ///
    /// The sequence holds what `end` holds for as long as it is read. Its end comes with a lock of its task, which a `yield`
    /// under a driver's mutex takes, too; so a driver takes its mutex elsewhere.
    mutating func add(
        _ key: Int, _ type: ServiceType, _ continuation: Continuation, on queue: DispatchQueue,
        end: @escaping @Sendable () -> Void
    ) {
        continuation.onTermination = { _ in queue.async(execute: end) }
        readers[key] = (type, continuation)
    }

    /// Takes one away. Gives its type when it was the last one of that.
    mutating func remove(_ key: Int) -> ServiceType? {
        guard let reader = readers.removeValue(forKey: key),
            !readers.values.contains(where: { $0.type == reader.type })
        else { return nil }
        return reader.type
    }

    /// Gives those of a type the services that are there now.
    func tell(_ type: ServiceType, _ services: [DiscoveredService]) {
        for reader in readers.values where reader.type == type {
            reader.continuation.yield(services)
        }
    }

    /// Ends all.
    func finish() {
        for reader in readers.values { reader.continuation.finish() }
    }
}
