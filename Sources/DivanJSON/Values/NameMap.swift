// SPDX-License-Identifier: Apache-2.0

/// Values by names that are compared byte for byte.
///
/// ```swift
/// var attachments: NameMap<AttachmentContent> = ["photo.jpg": .bytes(photo)]
/// attachments["caf\u{E9}.txt"] = .bytes(first)
/// attachments["cafe\u{301}.txt"] = .bytes(second)      // another name: both stay
/// let taken = NameMap(dictionary)                      // of a Swift dictionary
/// ```
///
/// A Swift dictionary holds `"é"` in one scalar and in two for the same key. In a database, and on every other
/// CouchDB, they are two names, so a dictionary would lose one of them. The order of the entries means nothing.
public struct NameMap<Value> {
    // Open to other modules, as are its members: what they make of a map is then compiled for its values. Else each map, also an
    // empty one, would look up the types of its dictionary while the program runs.
    @usableFromInline var storage: [ExactString: Value]

    /// Makes a map without entries.
    @inlinable public init() { storage = [:] }

    // Not by bytes: what a dictionary has taken for one name is lost before it comes here.
    /// Takes the entries of a Swift dictionary.
    @inlinable public init(_ entries: [String: Value]) {
        self.init(entries.lazy.map { ($0.key, $0.value) })
    }

    /// Takes pairs of a name and its value; the last one of a name counts.
    @inlinable package init(_ entries: some Sequence<(String, Value)>) {
        storage = [:]
        for (name, value) in entries { storage[ExactString(name)] = value }
    }

    @inlinable init(storage: [ExactString: Value]) { self.storage = storage }

    /// The value of a name; nil where there is none, and setting nil removes it.
    @inlinable public subscript(name: String) -> Value? {
        get { storage[ExactString(name)] }
        _modify { yield &storage[ExactString(name)] }
    }

    /// The value of a name, or another one where there is none.
    @inlinable public subscript(name: String, default value: @autoclosure () -> Value) -> Value {
        get { storage[ExactString(name), default: value()] }
        _modify { yield &storage[ExactString(name), default: value()] }
    }

    /// Sets the value of a name.
    ///
    /// - Returns: The former value.
    @discardableResult
    @inlinable public mutating func updateValue(_ value: Value, forKey name: String) -> Value? {
        storage.updateValue(value, forKey: ExactString(name))
    }

    /// Removes the entry of a name.
    ///
    /// - Returns: The former value.
    @discardableResult
    @inlinable public mutating func removeValue(forKey name: String) -> Value? {
        storage.removeValue(forKey: ExactString(name))
    }

    /// How many entries there are.
    @inlinable public var count: Int { storage.count }

    /// Whether there are no entries.
    @inlinable public var isEmpty: Bool { storage.isEmpty }

    /// The names.
    @inlinable public var keys: some Collection<String> { storage.keys.lazy.map(\.text) }

    /// The values.
    @inlinable public var values: some Collection<Value> { storage.values }

    /// The same names with other values.
    @inlinable public func mapValues<T>(_ transform: (Value) throws -> T) rethrows -> NameMap<T> {
        NameMap<T>(storage: try storage.mapValues(transform))
    }

    /// The entries that a test lets through.
    @inlinable public func filter(_ isIncluded: (Element) throws -> Bool) rethrows -> NameMap {
        NameMap(storage: try storage.filter { try isIncluded(($0.key.text, $0.value)) })
    }

    /// Adds the entries of another map; where both have a name, `combine` makes one value of the two.
    @inlinable public mutating func merge(
        _ other: NameMap, uniquingKeysWith combine: (Value, Value) throws -> Value
    ) rethrows {
        try storage.merge(other.storage, uniquingKeysWith: combine)
    }

    /// The entries, sorted by name.
    package var sortedByName: [(key: String, value: Value)] {
        sorted { KeyOrder.isBefore($0.key, $1.key) }
    }
}

extension NameMap: Sequence {
    /// Walks through the entries, in no order.
    public struct Iterator: IteratorProtocol {
        @usableFromInline var base: Dictionary<ExactString, Value>.Iterator

        @inlinable init(base: Dictionary<ExactString, Value>.Iterator) { self.base = base }

        /// The next entry.
        @inlinable public mutating func next() -> (key: String, value: Value)? {
            base.next().map { ($0.key.text, $0.value) }
        }
    }

    /// An iterator at the first entry.
    @inlinable public func makeIterator() -> Iterator { Iterator(base: storage.makeIterator()) }

    /// How many entries there are, which is known.
    @inlinable public var underestimatedCount: Int { storage.count }
}

extension NameMap: ExpressibleByDictionaryLiteral {
    /// Takes a literal; of two entries with the same bytes as their names, the last one counts.
    @inlinable public init(dictionaryLiteral entries: (String, Value)...) { self.init(entries) }
}

extension NameMap: Sendable where Value: Sendable {}

extension NameMap: Equatable where Value: Equatable {}

extension NameMap: Hashable where Value: Hashable {}

extension NameMap: CustomStringConvertible {
    /// The entries, sorted by name.
    public var description: String {
        guard !isEmpty else { return "[:]" }
        let entries = sortedByName.map { "\($0.key.debugDescription): \($0.value)" }
        return "[" + entries.joined(separator: ", ") + "]"
    }
}
