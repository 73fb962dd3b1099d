// SPDX-License-Identifier: Apache-2.0

/// A set of names that are compared byte for byte: roles of a user, names of attachments.
///
/// ```swift
/// var roles: NameSet = ["staff", "editors"]
/// roles.contains("staff")                      // true
/// roles.insert("caf\u{E9}")
/// roles.contains("cafe\u{301}")                // false: other bytes, another name
/// ```
///
/// See ``NameMap`` for what Swift's own sets would do to such names.
public struct NameSet: SetAlgebra, Sequence, Hashable, Sendable {
    private var storage: Set<ExactString>

    /// Makes an empty set.
    public init() { storage = [] }

    /// Takes names.
    public init(_ names: some Sequence<String>) {
        storage = Set(names.lazy.map { ExactString($0) })
    }

    /// Takes a literal.
    public init(arrayLiteral names: String...) { self.init(names) }

    private init(storage: Set<ExactString>) { self.storage = storage }

    /// How many names there are.
    public var count: Int { storage.count }

    /// Whether there are no names.
    public var isEmpty: Bool { storage.isEmpty }

    /// Whether a name is one of them.
    public func contains(_ name: String) -> Bool { storage.contains(ExactString(name)) }

    /// Adds a name; tells whether it was new, and the one that is there now.
    @discardableResult
    public mutating func insert(_ name: String) -> (inserted: Bool, memberAfterInsert: String) {
        let (inserted, member) = storage.insert(ExactString(name))
        return (inserted, member.text)
    }

    /// Removes a name and returns it; nil where it was none of them.
    @discardableResult
    public mutating func remove(_ name: String) -> String? {
        storage.remove(ExactString(name))?.text
    }

    /// Adds a name and returns the one that it replaces.
    @discardableResult
    public mutating func update(with name: String) -> String? {
        storage.update(with: ExactString(name))?.text
    }

    /// The names of either set.
    public func union(_ other: NameSet) -> NameSet {
        NameSet(storage: storage.union(other.storage))
    }

    /// The names of both sets.
    public func intersection(_ other: NameSet) -> NameSet {
        NameSet(storage: storage.intersection(other.storage))
    }

    /// The names of one set only.
    public func symmetricDifference(_ other: NameSet) -> NameSet {
        NameSet(storage: storage.symmetricDifference(other.storage))
    }

    /// Adds the names of another set.
    public mutating func formUnion(_ other: NameSet) { storage.formUnion(other.storage) }

    /// Leaves the names that another set has, too.
    public mutating func formIntersection(_ other: NameSet) {
        storage.formIntersection(other.storage)
    }

    /// Leaves the names of one set only.
    public mutating func formSymmetricDifference(_ other: NameSet) {
        storage.formSymmetricDifference(other.storage)
    }

    /// Walks through the names, in no order.
    public struct Iterator: IteratorProtocol {
        fileprivate var base: Set<ExactString>.Iterator

        /// The next name.
        public mutating func next() -> String? { base.next()?.text }
    }

    /// An iterator at the first name.
    public func makeIterator() -> Iterator { Iterator(base: storage.makeIterator()) }

    /// How many names there are, which is known.
    public var underestimatedCount: Int { storage.count }

    /// The names, sorted.
    public func sorted() -> [String] { sortedByName }
}

extension Sequence<String> {
    /// The names in an order that tells each from every other, which Swift's order of strings does not.
    package var sortedByName: [String] { sorted { KeyOrder.isBefore($0, $1) } }
}

extension NameSet: CustomStringConvertible {
    /// The names, sorted.
    public var description: String { sorted().description }
}
