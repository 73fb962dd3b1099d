// SPDX-License-Identifier: Apache-2.0

/// The properties of a JSON object, in the order in which they were added.
///
/// ```swift
/// var person: JSONObject = ["name": "Ann", "age": 30]
/// person["age"] = 31
/// for (key, value) in person { print(key, value) }
/// ```
///
/// A key occurs once: adding it again replaces the value and keeps its place. Keys are compared by
/// their UTF-8 bytes, so two spellings of one text in different Unicode forms are two keys. Two
/// objects are equal when they have equal properties, in whatever order.
///
/// Finding a key looks through up to eight keys, and uses a hash table in larger objects.
public struct JSONObject: Sendable {
    /// Objects up to this size are searched in a line: building a table would cost more.
    private static let linearLimit = 8

    /// The keys, in order.
    public private(set) var keys: [String] = []
    /// The values, in the order of their keys.
    public private(set) var values: [JSONValue] = []
    /// Where each key stands; `nil` for small objects.
    private var positions: [ExactString: Int]?

    /// Creates an empty object.
    public init() {}

    /// Creates an object from keys and values; of a key given twice the last value counts.
    public init(_ properties: some Sequence<(key: String, value: JSONValue)>) {
        reserveCapacity(properties.underestimatedCount)
        for (key, value) in properties { self[key] = value }
    }

    /// Makes room for a number of properties.
    public mutating func reserveCapacity(_ count: Int) {
        keys.reserveCapacity(count)
        values.reserveCapacity(count)
    }

    /// The value of a property; `nil` when the object has none of this name.
    ///
    /// Setting `nil` removes the property, setting `.null` keeps it with the value null.
    public subscript(key: String) -> JSONValue? {
        get { position(of: key).map { values[$0] } }
        set {
            switch (position(of: key), newValue) {
            case (let found?, let value?): values[found] = value
            case (let found?, nil): remove(at: found)
            case (nil, let value?): append(key, value)
            case (nil, nil): break
            }
        }
    }

    /// Removes a property and returns its value, or `nil` if there was none.
    @discardableResult
    public mutating func removeValue(forKey key: String) -> JSONValue? {
        guard let found = position(of: key) else { return nil }
        let old = values[found]
        remove(at: found)
        return old
    }

    /// Whether the object has a property of this name, be it null.
    public func contains(key: String) -> Bool {
        position(of: key) != nil
    }

    /// Where a key stands in the order of the object.
    private func position(of key: String) -> Int? {
        if let positions { return positions[ExactString(key)] }
        return keys.firstIndex { $0.hasSameBytes(as: key) }
    }

    private mutating func append(_ key: String, _ value: JSONValue) {
        keys.append(key)
        values.append(value)
        if positions != nil {
            positions?[ExactString(key)] = keys.count - 1
        } else if keys.count > Self.linearLimit {
            rebuildPositions()
        }
    }

    private mutating func remove(at index: Int) {
        keys.remove(at: index)
        values.remove(at: index)
        if positions != nil { rebuildPositions() }
    }

    private mutating func rebuildPositions() {
        guard keys.count > Self.linearLimit else {
            positions = nil
            return
        }
        var table = [ExactString: Int](minimumCapacity: keys.count)
        for (index, key) in keys.enumerated() { table[ExactString(key)] = index }
        positions = table
    }
}

extension JSONObject: RandomAccessCollection {
    /// A property.
    public typealias Element = (key: String, value: JSONValue)

    /// Zero.
    public var startIndex: Int { 0 }
    /// The number of properties.
    public var endIndex: Int { keys.count }
    /// The property at a place in the order.
    public subscript(position: Int) -> Element { (keys[position], values[position]) }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    /// Creates an object from a literal; of a key written twice the last value counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        for (key, value) in elements { self[key] = value }
    }
}

extension JSONObject: Hashable {
    /// Whether both have the same properties, in whatever order.
    public static func == (left: JSONObject, right: JSONObject) -> Bool {
        guard left.count == right.count else { return false }
        return left.allSatisfy { key, value in right[key] == value }
    }

    /// Hashes the properties so that their order does not matter.
    public func hash(into hasher: inout Hasher) {
        hash(into: &hasher, levels: JSONValue.maximumDepth)
    }

    /// Hashes so many levels: see ``JSONValue``.
    func hash(into hasher: inout Hasher, levels: Int) {
        hasher.combine(count)
        guard levels > 0 else { return }
        var sum = 0
        for (key, value) in self {
            var one = Hasher()
            one.combine(ExactString(key))
            value.hash(into: &one, levels: levels - 1)
            sum &+= one.finalize()
        }
        hasher.combine(sum)
    }
}

extension JSONObject: CustomStringConvertible {
    /// The object as compact JSON.
    public var description: String { JSONValue.object(self).description }
}
