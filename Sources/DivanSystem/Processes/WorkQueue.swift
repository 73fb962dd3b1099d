// SPDX-License-Identifier: Apache-2.0

/// Work in the order in which it came. Adding and taking cost the same however much waits.
package struct WorkQueue<Work: Sendable>: Sendable {
    private var items: [Work?] = []
    /// The place of the first one; those before it have been taken.
    private var first = 0

    /// Makes a queue without work.
    package init() {}

    /// Whether nothing waits.
    package var isEmpty: Bool { first == items.count }

    /// How much waits.
    package var count: Int { items.count - first }

    /// Adds work behind all other.
    package mutating func append(_ item: Work) { items.append(item) }

    /// Takes what has waited longest; nil when nothing waits.
    package mutating func popFirst() -> Work? {
        guard !isEmpty else { return nil }
        // What the work captured must not outlive its run.
        let item = items[first].take()
        first += 1
        if first >= 32, first * 2 >= items.count {
            items.removeFirst(first)
            first = 0
        }
        return item
    }

    /// Takes what came last; nil when nothing waits.
    package mutating func popLast() -> Work? { isEmpty ? nil : items.removeLast() }
}
