// SPDX-License-Identifier: Apache-2.0

/// What a name can be: a string, one that may be missing, or several in their order.
public protocol NameLike: Sendable {
    /// Whether both are the same, byte for byte.
    func hasSameBytes(as other: Self) -> Bool

    /// Feeds a hasher with the bytes.
    func hashBytes(into hasher: inout Hasher)
}

extension String: NameLike {
    /// Feeds a hasher with the bytes of the string.
    public func hashBytes(into hasher: inout Hasher) { hasher.combine(ExactString(self)) }
}

extension String?: NameLike {
    /// Whether both strings are missing, or both are there and the same, byte for byte.
    public func hasSameBytes(as other: String?) -> Bool {
        map { ExactString($0) } == other.map { ExactString($0) }
    }

    /// Feeds a hasher with the bytes of the string, if it is there.
    public func hashBytes(into hasher: inout Hasher) {
        hasher.combine(map { ExactString($0) })
    }
}

extension [String]: NameLike {
    /// Whether both have the same strings in the same order, byte for byte.
    public func hasSameBytes(as other: [String]) -> Bool {
        elementsEqual(other) { $0.hasSameBytes(as: $1) }
    }

    /// Feeds a hasher with the bytes of the strings.
    public func hashBytes(into hasher: inout Hasher) {
        hasher.combine(count)
        for name in self { hasher.combine(ExactString(name)) }
    }
}

/// Marks a stored name that takes part in the `==` and the hash of its type by its bytes.
///
/// ```swift
/// struct Favourite: Hashable {
///     @ByBytes var attachment: String      // the synthesized == compares bytes
///     var stars: Int
/// }
/// ```
///
/// Without it, two values are equal whose names are written with other scalars for the same text, and a dictionary
/// or a set takes one for the other.
@propertyWrapper
public struct ByBytes<Name: NameLike>: Hashable, Sendable {
    /// The name.
    public var wrappedValue: Name

    /// Takes a name.
    public init(wrappedValue: Name) { self.wrappedValue = wrappedValue }

    /// Whether both names have the same bytes.
    public static func == (left: ByBytes, right: ByBytes) -> Bool {
        left.wrappedValue.hasSameBytes(as: right.wrappedValue)
    }

    /// Hashes the bytes.
    public func hash(into hasher: inout Hasher) { wrappedValue.hashBytes(into: &hasher) }
}
