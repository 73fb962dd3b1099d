// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

// What the threads of a test note for it.

/// A list that several threads append to.
public final class Record<Element: Sendable>: Sendable {
    private let elements = Mutex<[Element]>([])

    /// Makes an empty one.
    public init() {}

    /// Adds an element at the end.
    public func append(_ element: Element) { elements.withLock { $0.append(element) } }

    /// What was added so far.
    public var all: [Element] { elements.withLock { $0 } }
}

/// A yes or no that threads share.
public final class Flag: Sendable {
    private let value = Atomic(false)

    /// Makes one that is not set.
    public init() {}

    /// Sets it; returns whether it was set before.
    @discardableResult
    public func set() -> Bool { value.exchange(true, ordering: .relaxed) }

    /// Whether it is set.
    public var isSet: Bool { value.load(ordering: .relaxed) }
}

/// A number that several threads add to.
public final class Counter: Sendable {
    private let count = Atomic(0)

    /// Makes one that is zero.
    public init() {}

    /// Adds a number to it.
    public func add(_ number: Int = 1) { count.add(number, ordering: .relaxed) }

    /// The number now.
    public var value: Int { count.load(ordering: .relaxed) }

    /// Sets it back to zero; returns what it was.
    public func take() -> Int { count.exchange(0, ordering: .relaxed) }
}
